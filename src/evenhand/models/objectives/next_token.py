"""Next-token prediction: a decoder's own objective."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch.nn import functional

from evenhand.models.engine.requests import Tokens
from evenhand.models.objectives.batches import IGNORED, Batch, padded
from evenhand.models.objectives.sentences import longest_row, refuse_whole_words, tokenised

if TYPE_CHECKING:
    from evenhand.models.language_model import LanguageModel
    from evenhand.models.objectives.objective import PretrainingOptions


class NextTokenPretraining:
    """Every token from those before it, each sentence behind the model's start token."""

    name = "next-token prediction"

    def __init__(self, sentences: Sequence[str], model: LanguageModel, options: PretrainingOptions) -> None:
        refuse_whole_words(model, options)
        loaded, max_tokens = model.loaded, options.max_tokens
        start = model.family.text_start(loaded)
        before = () if start is None else (start,)
        longest = longest_row(model, max_tokens)
        rows = [
            (*before, *sentence.ids[sentence.own].tolist())[:longest]
            for sentence in tokenised(sentences, model, max_tokens=max_tokens)
        ]
        self._pad = loaded.pad_id
        self.examples: list[Tokens] = [row for row in rows if len(row) > 1]

    def collate(self, examples: Sequence[Tokens], _generator: np.random.Generator) -> Batch:
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
