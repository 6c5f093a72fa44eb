"""Masked language modelling: find the tokens that were hidden."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from torch.nn import functional

from evenhand.core.models import ModelError
from evenhand.mitigation.pretraining.sentences import Ids, TokenisedSentence, tokenised
from evenhand.scoring.language_model import LanguageModel
from evenhand.training import Batch, padded

CHOSEN = 0.15
"""Share of tokens that the model has to find."""

MASKED, REPLACED = 0.8, 0.1
"""Of the chosen ones: shares that the mask stands for, and another token. The rest is left as it is."""

IGNORED = -100


class MaskedPretraining:
    """BERT's own objective: 15% of tokens, of them 80% masked, 10% replaced by another, 10% left.

    Each token is chosen by itself, or with ``whole_words`` together with the other tokens of its word. Special tokens
    are never chosen and never put in.
    """

    name = "masked language modelling"

    def __init__(
        self,
        sentences: Sequence[str],
        model: LanguageModel,
        *,
        whole_words: bool = False,
        max_tokens: int | None = None,
    ) -> None:
        tokenizer = model.loaded.tokenizer
        if tokenizer.mask_token_id is None:
            raise ModelError(
                f"The tokenizer of {model.loaded.ref.id} has no mask token, so the model cannot be trained to fill "
                "gaps."
            )
        self.examples = tokenised(sentences, model, max_tokens=max_tokens)
        self.whole_words = whole_words
        self._mask = tokenizer.mask_token_id
        self._pad = model.loaded.pad_id
        special = set(tokenizer.all_special_ids)
        self._ordinary = np.array([token for token in range(len(tokenizer)) if token not in special])

    def collate(self, examples: Sequence[TokenisedSentence], generator: np.random.Generator) -> Batch:
        """Sentences with tokens hidden, and what is to be found there."""
        shown, wanted = [], []
        for example in examples:
            chosen = self._chosen(example, generator)
            labels = np.full(len(example), IGNORED)
            labels[chosen] = example.ids[chosen]
            shown.append(self._hidden(example.ids, chosen, generator).tolist())
            wanted.append(labels.tolist())
        return {
            "input_ids": padded(shown, self._pad),
            "attention_mask": padded([[1] * len(row) for row in shown], 0),
            "labels": padded(wanted, IGNORED),
        }

    def loss(self, model: Any, batch: Batch) -> torch.Tensor:
        """Mean surprise at what was hidden."""
        logits = model(input_ids=batch["input_ids"], attention_mask=batch["attention_mask"]).logits
        hidden = batch["labels"] != IGNORED
        lost = functional.cross_entropy(logits[hidden].float(), batch["labels"][hidden], reduction="sum")
        # In a small batch it can happen that nothing was chosen: then there is nothing to learn, not 0 / 0.
        return lost / hidden.sum().clamp(min=1)

    def _chosen(self, example: TokenisedSentence, generator: np.random.Generator) -> Ids:
        own = example.own
        if not self.whole_words:
            return own[generator.random(len(own)) < CHOSEN]
        words = np.unique(example.words[own])
        picked = words[generator.random(len(words)) < CHOSEN]
        return np.flatnonzero(np.isin(example.words, picked))

    def _hidden(self, ids: Ids, chosen: Ids, generator: np.random.Generator) -> Ids:
        kinds = generator.random(len(chosen))
        others = generator.choice(self._ordinary, size=len(chosen))
        hidden = ids.copy()
        hidden[chosen] = np.select(
            [kinds < MASKED, kinds < MASKED + REPLACED], [self._mask, others], ids[chosen]
        )
        return hidden
