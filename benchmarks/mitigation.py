"""How fast continued pre-training is, against the recipe it replaces, on the same sentences and device.

    python benchmarks/mitigation.py --corpus novels/ --tokenizer MODEL_FOLDER --size base

The plain recipe is that of the thesis: every sentence padded to one length, the power of two above the longest, 32-bit
floats, and MALoR from a loop over sentences (not timed here; see ``benchmarks/probe.py``). Ours pads each batch to its
own longest sentence, puts sentences of like length together and computes in bf16 on a GPU. Both train a BERT of the
same size with random weights on the same sentences, masked anew. Told are epochs per minute, their ratio, and what
reading MALoR after an epoch costs as a share of the epoch.
"""

from __future__ import annotations

import argparse
import itertools
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import torch
from torch.utils.data import DataLoader
from transformers import AutoTokenizer, BertConfig, BertForMaskedLM, DataCollatorForLanguageModeling

from evenhand.core.experiments import Experiment
from evenhand.core.recipes import Recipe
from evenhand.data.corpora import sentences
from evenhand.data.probes import load_probes
from evenhand.instruments.malor.prepared import PreparedProbe
from evenhand.models.language_model import LanguageModel, load_language_model
from evenhand.models.references import ModelRef
from evenhand.text.word_search import words_of
from evenhand.training.pretraining import pretraining_objective
from evenhand.training.trainer import EpochTrainer, Examples

SIZES = {"base": (768, 12, 30_522), "tiny": (64, 2, 0)}
BATCH = 32
WARMED_UP, TIMED = 1, 2
"""Epochs that are not timed, and that are."""


def chosen_sentences(corpus: Path, count: int) -> list[str]:
    """Sentences with a pronoun, as many as the thesis had."""
    pronouns = {"he", "she", "He", "She"}
    return list(itertools.islice((one for one in sentences(corpus) if words_of(one) & pronouns), count))


def bert(tokenizer_folder: Path, size: str, folder: Path) -> ModelRef:
    """A BERT with random weights, saved with a tokenizer."""
    tokenizer = AutoTokenizer.from_pretrained(tokenizer_folder)
    width, layers, vocabulary = SIZES[size]
    torch.manual_seed(0)
    model = BertForMaskedLM(
        BertConfig(
            vocab_size=max(vocabulary, len(tokenizer)),
            hidden_size=width,
            num_hidden_layers=layers,
            num_attention_heads=width // 64,
            intermediate_size=4 * width,
            max_position_embeddings=512,
        )
    )
    model.save_pretrained(folder)
    tokenizer.model_max_length = 512
    tokenizer.save_pretrained(folder)
    return ModelRef(id=str(folder))


def synchronised() -> float:
    """The time when the device has done what it was told to."""
    if torch.cuda.is_available():
        torch.cuda.synchronize()
    return time.perf_counter()


def our_epoch(model: LanguageModel, texts: list[str], scratch: Path) -> float:
    """Seconds of an epoch, without reading anything after it."""
    ends: list[float] = []

    def after_epoch(_epoch: int, _trainer: EpochTrainer) -> bool:
        ends.append(synchronised())
        return len(ends) == WARMED_UP + TIMED

    trainer = EpochTrainer(
        model.loaded.model,
        pretraining_objective(texts, model),
        Recipe(epochs=WARMED_UP + TIMED, batch_size=BATCH),
        device=model.loaded.device,
        memory=model.memory,
        scratch=scratch,
        after_epoch=after_epoch,
    )
    trainer.train()
    return (ends[-1] - ends[-1 - TIMED]) / TIMED


def plain_epoch(model: LanguageModel, texts: list[str], *, steps: int | None) -> float:
    """Seconds of an epoch of the plain recipe; of so many steps, and scaled up, if told so."""
    tokenizer, device = model.loaded.tokenizer, model.loaded.device
    rows = tokenizer(texts, truncation=True, max_length=512)["input_ids"]
    length = 1 << (max(map(len, rows)) - 1).bit_length()
    print(f"plain: all {len(rows):,} sentences padded to {length} tokens", flush=True)
    collate = DataCollatorForLanguageModeling(tokenizer, mlm_probability=0.15)
    fixed = tokenizer.pad({"input_ids": rows}, padding="max_length", max_length=length)
    examples = [
        {"input_ids": ids, "attention_mask": mask}
        for ids, mask in zip(fixed["input_ids"], fixed["attention_mask"], strict=True)
    ]
    loader: DataLoader[Any] = DataLoader(
        Examples(examples), batch_size=BATCH, shuffle=True, collate_fn=collate
    )
    network = model.loaded.model.train()
    optimizer = torch.optim.AdamW(network.parameters(), lr=2e-5)
    batches = iter(loader)
    for batch in itertools.islice(batches, 5):
        _plain_step(network, batch, optimizer, device)
    began = synchronised()
    done = sum(1 for batch in _limited(batches, steps) if _plain_step(network, batch, optimizer, device))
    return (synchronised() - began) * len(loader) / done


def _limited(batches: Iterator[Any], steps: int | None) -> Iterator[Any]:
    return itertools.islice(batches, steps) if steps else batches


def _plain_step(network: Any, batch: Any, optimizer: Any, device: torch.device) -> bool:
    loss = network(**{name: value.to(device) for name, value in batch.items()}).loss
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
    return True


def reading(model: LanguageModel, experiments: tuple[Experiment, ...]) -> float:
    """Seconds to read MALoR once it is prepared."""
    prepared = PreparedProbe(model, load_probes("en"), experiments=experiments)
    prepared.malor()
    began = synchronised()
    prepared.malor()
    return synchronised() - began


def main() -> None:
    """Time both, tell the ratio."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--corpus", type=Path, required=True)
    parser.add_argument("--tokenizer", type=Path, required=True)
    parser.add_argument("--size", choices=SIZES, default="base")
    parser.add_argument("--sentences", type=int, default=6_848, help="As many as the thesis had for he-she.")
    parser.add_argument(
        "--plain-steps", type=int, help="Steps of the plain recipe that are timed, then scaled up."
    )
    chosen = parser.parse_args()
    texts = chosen_sentences(chosen.corpus, chosen.sentences)
    with tempfile.TemporaryDirectory() as scratch:
        model = load_language_model(bert(chosen.tokenizer, chosen.size, Path(scratch) / "bert"))
        print(f"{len(texts):,} sentences, BERT {chosen.size}, {model.loaded.device}", flush=True)
        ours = our_epoch(model, texts, Path(scratch) / "logs")
        one = reading(model, (Experiment.HE_SHE,))
        print(f"ours: {60 / ours:.2f} epochs a minute ({ours:.2f} s an epoch)")
        print(f"reading MALoR, he-she: {one:.3f} s, {one / ours:.1%} of an epoch", flush=True)
        plain = plain_epoch(
            load_language_model(ModelRef(id=str(Path(scratch) / "bert"))), texts, steps=chosen.plain_steps
        )
        print(f"plain: {60 / plain:.2f} epochs a minute ({plain:.2f} s an epoch)")
        print(f"ratio: {plain / ours:.2f}")


if __name__ == "__main__":
    main()
