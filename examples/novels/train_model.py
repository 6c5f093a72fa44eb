"""Train a small model from scratch on novels, so that there is a model of real text to measure and to mitigate.

    python examples/novels/train_model.py --corpus NOVELS_FOLDER --out runs/novels --size gpu

``--size gpu`` makes a BERT of about 10 million parameters and takes minutes on a data-centre GPU. ``--size cpu`` makes
a GPT-2 of less than a tenth of that, which learns from every token where a BERT learns from one in seven, and takes
about as long on two cores. The folder gets ``model/``, ``train.txt`` and ``held_out.txt``: one sentence in twenty,
chosen by its digest, is never trained on.
"""

from __future__ import annotations

import argparse
import hashlib
import math
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from tokenizers import BertWordPieceTokenizer, ByteLevelBPETokenizer
from tokenizers.processors import BertProcessing
from torch.utils.data import Dataset
from transformers import (
    BertConfig,
    BertForMaskedLM,
    DataCollatorForLanguageModeling,
    GPT2Config,
    GPT2LMHeadModel,
    PreTrainedModel,
    PreTrainedTokenizerFast,
    Trainer,
    TrainingArguments,
)

from evenhand.data.corpora import sentences
from evenhand.data.probes import load_probes

HELD_OUT = 20
"""One sentence in so many is held out."""

LONGEST = 128
"""Tokens of a passage at most."""

END, PADDING = "<|endoftext|>", "<|padding|>"


@dataclass(frozen=True)
class Size:
    """What model, how large, and how long it is trained."""

    family: str
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
        family="bert",
        vocabulary=12_000,
        width=256,
        layers=8,
        heads=4,
        epochs=60,
        batch_size=256,
        learning_rate=1e-3,
    ),
    "cpu": Size(
        family="gpt2",
        vocabulary=4_000,
        width=96,
        layers=3,
        heads=2,
        epochs=6,
        batch_size=32,
        learning_rate=3e-3,
        dropout=0.0,
    ),
}


class Passages(Dataset[dict[str, list[int]]]):
    """Sentences one after the other, as many as fit into a length that is drawn anew each time."""

    def __init__(self, tokenised: list[list[int]], ends: tuple[int, int], *, longest: int = LONGEST) -> None:
        self.tokenised = tokenised
        self.first, self.last = ends
        self.longest = longest
        self.each = 3  # sentences that an epoch steps forward by, about what a passage holds

    def __len__(self) -> int:
        return len(self.tokenised) // self.each

    def __getitem__(self, place: int) -> dict[str, list[int]]:
        generator = np.random.default_rng()
        start = place * self.each + int(generator.integers(self.each))
        room = int(generator.integers(12, self.longest)) - 2
        passage: list[int] = []
        for sentence in map(self.tokenised.__getitem__, range(start, len(self.tokenised))):
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


def probe_words() -> list[str]:
    """Words of the probes, which are to be in the vocabulary, as they are in that of published models."""
    probes = load_probes("en")
    words = {form.noun for occupation in probes.occupations for form in occupation.forms}
    words |= {term for terms in probes.terms.values() for term in terms.all}
    return sorted({piece for word in words for piece in word.split()})


def wordpiece_tokenizer(text: list[str], size: Size) -> PreTrainedTokenizerFast:
    """For a BERT, in lower case."""
    trainer = BertWordPieceTokenizer(lowercase=True)
    words = " ".join(probe_words()).lower()
    trainer.train_from_iterator([*text, *(words for _ in range(50))], vocab_size=size.vocabulary)
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


def bytes_tokenizer(text: list[str], size: Size) -> PreTrainedTokenizerFast:
    """For a GPT-2."""
    trainer = ByteLevelBPETokenizer()
    words = " " + " ".join(probe_words())
    trainer.train_from_iterator(
        [*text, *(words for _ in range(50))], vocab_size=size.vocabulary, special_tokens=[END, PADDING]
    )
    return PreTrainedTokenizerFast(
        tokenizer_object=trainer._tokenizer,
        model_max_length=LONGEST,
        bos_token=END,
        eos_token=END,
        pad_token=PADDING,
    )


def untrained(size: Size, tokenizer: PreTrainedTokenizerFast) -> PreTrainedModel:
    """A model with random weights."""
    if size.family == "gpt2":
        return GPT2LMHeadModel(
            GPT2Config(
                vocab_size=len(tokenizer),
                n_embd=size.width,
                n_layer=size.layers,
                n_head=size.heads,
                n_positions=LONGEST,
                resid_pdrop=size.dropout,
                embd_pdrop=size.dropout,
                attn_pdrop=size.dropout,
                bos_token_id=tokenizer.bos_token_id,
                eos_token_id=tokenizer.eos_token_id,
            )
        )
    return BertForMaskedLM(
        BertConfig(
            vocab_size=len(tokenizer),
            hidden_size=size.width,
            num_hidden_layers=size.layers,
            num_attention_heads=size.heads,
            intermediate_size=4 * size.width,
            max_position_embeddings=LONGEST,
            hidden_dropout_prob=size.dropout,
            attention_probs_dropout_prob=size.dropout,
            pad_token_id=tokenizer.pad_token_id,
        )
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
    is_masked = size.family == "bert"
    tokenizer = (wordpiece_tokenizer if is_masked else bytes_tokenizer)(train, size)
    model = untrained(size, tokenizer)
    print(f"{sum(weight.numel() for weight in model.parameters()) / 1e6:.1f} million parameters, ", end="")
    print(f"{len(train):,} sentences, {len(held_out):,} held out", flush=True)
    tokenised = [tokenizer(part, add_special_tokens=False)["input_ids"] for part in (train, held_out)]
    first, last = (
        (tokenizer.cls_token_id, tokenizer.sep_token_id)
        if is_masked
        else (tokenizer.bos_token_id, tokenizer.eos_token_id)
    )
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
        train_dataset=Passages(tokenised[0], (first, last)),
        eval_dataset=[{"input_ids": [first, *one[: LONGEST - 2], last]} for one in tokenised[1]],
        data_collator=DataCollatorForLanguageModeling(tokenizer, mlm=is_masked, mlm_probability=0.15),
    )
    trainer.train()
    loss = trainer.evaluate()["eval_loss"]
    print(f"perplexity of held-out sentences: {math.exp(loss):.2f}")
    model.save_pretrained(chosen.out / "model", max_shard_size="15MB")
    tokenizer.save_pretrained(chosen.out / "model")


if __name__ == "__main__":
    main()
