"""Train a small BERT from scratch on novels, so that there is a model of real text to measure and to mitigate.

    python examples/novels/train_bert.py --corpus NOVELS_FOLDER --out runs/novels --size gpu

``--size gpu`` makes about 10 million parameters and takes minutes on a data-centre GPU; ``--size cpu`` makes a tenth
of that and takes about as long on two cores. The folder gets ``bert/`` (the model), ``train.txt`` and
``held_out.txt``: one sentence in twenty, chosen by its digest, is never trained on.
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
    dropout: float = 0.1


SIZES = {
    "gpu": Size(
        vocabulary=12_000, width=256, layers=8, heads=4, epochs=60, batch_size=256, learning_rate=1e-3
    ),
    "cpu": Size(vocabulary=6_000, width=96, layers=3, heads=2, epochs=6, batch_size=64, learning_rate=2e-3),
}


class Passages(Dataset[dict[str, list[int]]]):
    """Sentences one after the other, as many as fit into a length that is drawn anew each time."""

    def __init__(self, tokenised: list[list[int]], tokenizer: Any, *, longest: int = 128) -> None:
        self.tokenised = tokenised
        self.first, self.last = tokenizer.cls_token_id, tokenizer.sep_token_id
        self.longest = longest
        self.each = 3  # sentences that an epoch steps forward by, about what a passage holds

    def __len__(self) -> int:
        return len(self.tokenised) // self.each

    def __getitem__(self, place: int) -> dict[str, list[int]]:
        generator = np.random.default_rng()
        start = place * self.each + int(generator.integers(self.each))
        room = int(generator.integers(12, self.longest)) - 2
        passage: list[int] = []
        for sentence in islice(self.tokenised, start, None):
            if passage and len(passage) + len(sentence) > room:
                break
            passage += sentence
        return {"input_ids": [self.first, *passage[: self.longest - 2], self.last]}


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
        model_max_length=128,
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
    parser.add_argument("--size", choices=SIZES, default="gpu")
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
            max_position_embeddings=128,
            hidden_dropout_prob=size.dropout,
            attention_probs_dropout_prob=size.dropout,
            pad_token_id=tokenizer.pad_token_id,
        )
    )
    print(f"{sum(weight.numel() for weight in model.parameters()) / 1e6:.1f} million parameters, ", end="")
    print(f"{len(train):,} sentences, {len(held_out):,} held out", flush=True)
    tokenised = [tokenizer(part, add_special_tokens=False)["input_ids"] for part in (train, held_out)]
    on_gpu = torch.cuda.is_available()
    trainer = Trainer(
        model=model,
        args=TrainingArguments(
            output_dir=str(chosen.out / "training"),
            num_train_epochs=size.epochs,
            per_device_train_batch_size=size.batch_size,
            per_device_eval_batch_size=256,
            learning_rate=size.learning_rate,
            warmup_steps=500,
            weight_decay=0.01,
            lr_scheduler_type="linear",
            bf16=on_gpu,
            eval_strategy="steps",
            eval_steps=1_000,
            save_strategy="no",
            logging_steps=500,
            report_to=[],
            disable_tqdm=True,
            dataloader_num_workers=4 if on_gpu else 0,
            dataloader_persistent_workers=on_gpu,
            seed=0,
        ),
        train_dataset=Passages(tokenised[0], tokenizer),
        eval_dataset=[
            {"input_ids": [tokenizer.cls_token_id, *one[:126], tokenizer.sep_token_id]}
            for one in tokenised[1]
        ],
        data_collator=DataCollatorForLanguageModeling(tokenizer, mlm_probability=0.15),
    )
    trainer.train()
    loss = trainer.evaluate()["eval_loss"]
    print(f"perplexity of held-out sentences: {math.exp(loss):.2f}")
    model.save_pretrained(chosen.out / "bert", max_shard_size="15MB")
    tokenizer.save_pretrained(chosen.out / "bert")


if __name__ == "__main__":
    main()
