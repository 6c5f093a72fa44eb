"""Next-token prediction: a decoder's own objective."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain
from typing import Any

import numpy as np
import torch
from torch.nn import functional

from evenhand.mitigation.pretraining.sentences import longest_row, tokenised
from evenhand.scoring.language_model import LanguageModel
from evenhand.scoring.methods.decoder import start_token
from evenhand.training import Batch, padded

IGNORED = -100

Row = tuple[int, ...]


class DecoderPretraining:
    """Every token from those before it, each sentence behind the model's start token.

    Args of the constructor:
        pack_into: Put sentences one behind the other into rows of so many tokens, each still behind a start token.
            Fewer rows, and sentences that see what stands before them; without it rows are padded.
    """

    name = "next-token prediction"

    def __init__(
        self,
        sentences: Sequence[str],
        model: LanguageModel,
        *,
        max_tokens: int | None = None,
        pack_into: int | None = None,
    ) -> None:
        loaded = model.loaded
        start = start_token(loaded.tokenizer, loaded.config)
        before = () if start is None else (start,)
        longest = longest_row(model, max_tokens)
        rows = [
            (*before, *sentence.ids[sentence.own].tolist())[:longest]
            for sentence in tokenised(sentences, model, max_tokens=max_tokens)
        ]
        self._pad = loaded.pad_id
        self.examples: list[Row] = (
            [row for row in rows if len(row) > 1]
            if pack_into is None
            else _packed(rows, length=longest_row(model, pack_into) or pack_into)
        )

    def collate(self, examples: Sequence[Row], _generator: np.random.Generator) -> Batch:
        """Rows that are their own labels: as everywhere in Transformers, a label is wanted one place before its own."""
        return {
            "input_ids": padded(examples, self._pad),
            "attention_mask": padded([[1] * len(row) for row in examples], 0),
            "labels": padded(examples, IGNORED),
        }

    def loss(self, model: Any, batch: Batch) -> torch.Tensor:
        """Mean surprise at every next token."""
        logits = model(
            input_ids=batch["input_ids"], attention_mask=batch["attention_mask"], use_cache=False
        ).logits
        return functional.cross_entropy(
            logits[:, :-1].flatten(0, 1).float(), batch["labels"][:, 1:].flatten(), ignore_index=IGNORED
        )


def _packed(rows: Sequence[Row], *, length: int) -> list[Row]:
    """One long row cut into pieces of one length; a last piece of one token teaches nothing."""
    joined = tuple(chain.from_iterable(rows))
    pieces = [joined[first : first + length] for first in range(0, len(joined), length)]
    return [piece for piece in pieces if len(piece) > 1]
