"""Heads of encoder-decoders learn as in a plain loop of PyTorch and Transformers."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
import torch
from judge_models import RECIPE, model_folder, small_pairs
from safetensors.torch import load_file
from transformers import (
    AutoModelForSeq2SeqLM,
    AutoTokenizer,
    get_cosine_with_hard_restarts_schedule_with_warmup,
)

from evenhand.heads.pairs import NextSentencePairs
from evenhand.heads.workflow import train_next_sentence
from evenhand.models.references import ModelRef
from evenhand.training.batches import StageBatches

RATE = 5e-3
PASSES = 2


def plain_loop(folder: Path, pairs: NextSentencePairs) -> tuple[dict[str, torch.Tensor], list[float]]:
    """Weights after the training and the loss of every step; only the order of pairs is the house's."""
    tokenizer: Any = AutoTokenizer.from_pretrained(folder)
    model: Any = AutoModelForSeq2SeqLM.from_pretrained(folder).train()
    shards = [
        pl.concat([frame.filter(pl.col("follows")), frame.filter(~pl.col("follows"))])
        for frame in pairs.frames("train")
    ]
    rows = pl.concat(shards)
    texts = [
        f"binary classification: {first} {second}"
        for first, second in zip(rows["first"], rows["second"], strict=True)
    ]
    labels = [str(int(follows)) for follows in rows["follows"]]
    lengths = np.array([len(ids) for ids in tokenizer(texts)["input_ids"]])
    size = RECIPE["batch_size"]
    batches = StageBatches(lengths, batch_size=size, seed=0, stages=RECIPE["checkpoints"], passes=PASSES)
    steps = batches.stages * len(batches)
    optimizer = torch.optim.AdamW(model.parameters(), lr=RATE, weight_decay=0.0)
    schedule = get_cosine_with_hard_restarts_schedule_with_warmup(optimizer, steps // 100 + 1, steps)
    losses = []
    for epoch in range(batches.stages):
        batches.set_epoch(epoch)
        for batch in batches:
            places = [draw.place for draw in batch]
            inputs = tokenizer([texts[place] for place in places], padding=True, return_tensors="pt")
            targets = tokenizer([labels[place] for place in places], return_tensors="pt")["input_ids"]
            optimizer.zero_grad()
            loss = model(
                input_ids=inputs["input_ids"], attention_mask=inputs["attention_mask"], labels=targets
            ).loss
            loss.backward()
            torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            schedule.step()
            losses.append(loss.item())
    return {f"network.{name}": weight.detach() for name, weight in model.named_parameters()}, losses


def test_a_t5_ends_with_the_weights_of_a_plain_loop(tmp_path: Path) -> None:
    torch.set_num_threads(1)
    pairs = small_pairs(tmp_path / "pairs", articles=20)
    folder = model_folder("t5", tmp_path / "t5")
    config = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps({**config, "dropout_rate": 0.0}))
    before = load_file(folder / "model.safetensors")

    result = train_next_sentence(
        ModelRef(id=str(folder), device="cpu"),
        [pairs.folder],
        out=tmp_path / "out",
        recipe={
            **RECIPE,
            "body_rate": RATE,
            "passes": PASSES,
            "report_every": RECIPE["batch_size"],
            "max_tokens": 128,  # none is cut
        },
    )

    expected, losses = plain_loop(folder, pairs)
    assert [point.loss for point in result.curve.losses] == pytest.approx(losses, rel=1e-3)
    assert losses[-1] < losses[0] - 1
    weights = load_file(tmp_path / "out" / "next_sentence.safetensors")
    assert weights.keys() == expected.keys()
    for name, weight in weights.items():
        # The weights before and after are over a hundred times as far apart.
        assert torch.allclose(weight, expected[name], atol=0.02 * RATE), name
    moved = max(float((weights[f"network.{name}"] - own).abs().max()) for name, own in before.items())
    assert moved > 2 * RATE
