"""Train a small BERT from scratch on novels, so that there is a model of real text to measure and to mitigate.

    python examples/novels/train_bert.py --corpus NOVELS_FOLDER --out runs/novels

``--size cpu`` makes a BERT of five million parameters, in half an hour on two cores that compute in bf16;
``--size gpu`` makes one of ten million, in minutes on a data-centre GPU. The folder gets ``bert/`` (the model),
``train.txt`` and ``held_out.txt``: one sentence in twenty, chosen by its digest, is never trained on.
"""

from __future__ import annotations

import argparse
import hashlib
import math
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import torch
from tokenizers import BertWordPieceTokenizer
from tokenizers.processors import BertProcessing
from torch import Tensor
from torch.nn import functional
from torch.utils.data import Dataset
from transformers import (
    BertConfig,
    BertForMaskedLM,
    DataCollatorForLanguageModeling,
    PreTrainedTokenizerFast,
    Trainer,
    TrainingArguments,
)

from evenhand.data.corpora import sentences
from evenhand.data.probes import load_probes

HELD_OUT = 20
"""One sentence in so many is held out."""

IGNORED = -100
"""The label of a token that is not hidden."""


@dataclass(frozen=True)
class Size:
    """How large a model, and how long it is trained."""

    vocabulary: int
    width: int
    layers: int
    heads: int
    epochs: int
    batch_size: int
    learning_rate: float


SIZES = {
    "gpu": Size(
        vocabulary=12_000, width=256, layers=8, heads=4, epochs=60, batch_size=256, learning_rate=1e-3
    ),
    "cpu": Size(vocabulary=8_000, width=256, layers=4, heads=4, epochs=13, batch_size=32, learning_rate=1e-3),
}

DROPOUT = 0.1

HIDDEN = 0.25
"""Share of tokens that are hidden in training. With 15%, as perplexity is told of, a batch has less to learn from."""

LONGEST = 128
"""Tokens of a passage, with the two at its ends."""


class Passages(Dataset[list[int]]):
    """Sentences one after the other, as many as a passage holds, from a beginning that is drawn anew each time."""

    def __init__(self, tokenised: list[list[int]], *, seed: int = 0) -> None:
        self.tokenised = tokenised
        self.generator = np.random.default_rng(seed)
        self.each = 3  # sentences that an epoch steps forward by, about what a passage holds

    def __len__(self) -> int:
        return len(self.tokenised) // self.each

    def __getitem__(self, place: int) -> list[int]:
        start = place * self.each + int(self.generator.integers(self.each))
        passage: list[int] = []
        for sentence in islice(self.tokenised, start, None):
            passage += sentence
            if len(passage) >= LONGEST - 2:
                break
        return passage[: LONGEST - 2]


class HiddenTokens:
    """Batches with tokens hidden as BERT hides them, cut to a length that is drawn for each batch.

    So the model meets short texts and long ones, and hardly any of a batch is padding.
    """

    def __init__(self, tokenizer: Any, *, seed: int = 0) -> None:
        self._tokenizer = tokenizer
        self._hide = DataCollatorForLanguageModeling(tokenizer, mlm_probability=HIDDEN)
        self._generator = np.random.default_rng(seed)

    def __call__(self, passages: list[list[int]]) -> dict[str, Tensor]:
        """A batch of passages."""
        length = int(self._generator.choice([16, 32, 64, LONGEST])) - 2
        first, last = self._tokenizer.cls_token_id, self._tokenizer.sep_token_id
        batch: dict[str, Tensor] = self._hide(
            [{"input_ids": [first, *passage[:length], last]} for passage in passages]
        )
        return batch


class HiddenTokenTrainer(Trainer):  # type: ignore[misc]
    """Projects only the hidden tokens to the vocabulary."""

    def compute_loss(self, model: Any, inputs: dict[str, Tensor], *_: Any, **__: Any) -> Tensor:
        """Mean over the hidden tokens."""
        labels = inputs["labels"]
        hidden = labels != IGNORED
        with torch.autocast(labels.device.type, torch.bfloat16):
            read = model.bert(inputs["input_ids"], attention_mask=inputs["attention_mask"])
            scores = model.cls(read.last_hidden_state[hidden])
        return functional.cross_entropy(scores.float(), labels[hidden])


def perplexity(model: Any, sentences: list[list[int]], hide: DataCollatorForLanguageModeling) -> float:
    """Of the hidden tokens of sentences."""
    lost, count = 0.0, 0
    model.eval()
    with torch.no_grad():
        for begin in range(0, len(sentences), 64):
            batch = hide([{"input_ids": sentence} for sentence in sentences[begin : begin + 64]])
            labels = batch.pop("labels").to(model.device)
            logits = model(**batch.to(model.device)).logits
            lost += float(functional.cross_entropy(logits.flatten(0, 1), labels.flatten(), reduction="sum"))
            count += int((labels != IGNORED).sum())
    return math.exp(lost / count)


def split(folder: Path, out: Path) -> tuple[list[str], list[str]]:
    """Sentences to train on and sentences that are held out, written down as well."""
    parts: dict[bool, list[str]] = {False: [], True: []}
    for sentence in sentences(folder):
        held_out = int.from_bytes(hashlib.sha256(sentence.encode()).digest()[:4], "big") % HELD_OUT == 0
        parts[held_out].append(sentence)
    for name, held_out in (("train.txt", False), ("held_out.txt", True)):
        (out / name).write_text("\n".join(parts[held_out]) + "\n", encoding="utf-8")
    return parts[False], parts[True]


def trained_tokenizer(text: list[str], size: Size) -> PreTrainedTokenizerFast:
    """WordPiece in lower case. The probes' words are in its vocabulary, as they are in that of published models."""
    probes = load_probes("en")
    words = {form.noun for occupation in probes.occupations for form in occupation.forms}
    words |= {term for terms in probes.terms.values() for term in terms.all}
    trainer = BertWordPieceTokenizer(lowercase=True)
    pieces = sorted({piece.lower() for word in words for piece in word.split()})
    trainer.train_from_iterator([*text, *(" ".join(pieces) for _ in range(50))], vocab_size=size.vocabulary)
    ends = [(token, trainer.token_to_id(token)) for token in ("[SEP]", "[CLS]")]
    trainer._tokenizer.post_processor = BertProcessing(*ends)
    return PreTrainedTokenizerFast(
        tokenizer_object=trainer._tokenizer,
        model_max_length=LONGEST,
        cls_token="[CLS]",
        sep_token="[SEP]",
        mask_token="[MASK]",
        pad_token="[PAD]",
        unk_token="[UNK]",
    )


def main() -> None:
    """Split, train the tokenizer, train the model, tell its perplexity."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--corpus", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--size", choices=SIZES, default="cpu")
    chosen = parser.parse_args()
    chosen.out.mkdir(parents=True, exist_ok=True)
    size = SIZES[chosen.size]
    torch.manual_seed(0)
    train, held_out = split(chosen.corpus, chosen.out)
    tokenizer = trained_tokenizer(train, size)
    model = BertForMaskedLM(
        BertConfig(
            vocab_size=len(tokenizer),
            hidden_size=size.width,
            num_hidden_layers=size.layers,
            num_attention_heads=size.heads,
            intermediate_size=4 * size.width,
            max_position_embeddings=LONGEST,
            hidden_dropout_prob=DROPOUT,
            attention_probs_dropout_prob=0.0,
            pad_token_id=tokenizer.pad_token_id,
        )
    )
    print(f"{sum(weight.numel() for weight in model.parameters()) / 1e6:.1f} million parameters, ", end="")
    print(f"{len(train):,} sentences, {len(held_out):,} held out", flush=True)
    tokenised = [tokenizer(part, add_special_tokens=False)["input_ids"] for part in (train, held_out)]
    trainer = HiddenTokenTrainer(
        model=model,
        args=TrainingArguments(
            output_dir=str(chosen.out / "training"),
            num_train_epochs=size.epochs,
            per_device_train_batch_size=size.batch_size,
            learning_rate=size.learning_rate,
            warmup_steps=500,
            weight_decay=0.01,
            lr_scheduler_type="linear",
            use_cpu=not torch.cuda.is_available(),
            save_strategy="no",
            logging_steps=100,
            report_to=[],
            disable_tqdm=True,
            remove_unused_columns=False,
            seed=0,
        ),
        train_dataset=Passages(tokenised[0]),
        data_collator=HiddenTokens(tokenizer),
    )
    trainer.train()
    judged = [[tokenizer.cls_token_id, *one[: LONGEST - 2], tokenizer.sep_token_id] for one in tokenised[1]]
    hide = DataCollatorForLanguageModeling(tokenizer, mlm_probability=0.15, seed=0)
    print(f"perplexity of held-out sentences: {perplexity(model, judged, hide):.2f}")
    model.save_pretrained(chosen.out / "bert", max_shard_size="15MB")
    tokenizer.save_pretrained(chosen.out / "bert")


if __name__ == "__main__":
    main()
