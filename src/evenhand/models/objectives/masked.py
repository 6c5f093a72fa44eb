"""Masked language modelling: find the tokens that were hidden."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import torch
from torch.nn import functional

from evenhand.models.engine.position_reader import PositionReader
from evenhand.models.objectives.batches import IGNORED, Batch
from evenhand.models.objectives.sentences import NO_WORD, Ids, TokenisedSentence, tokenised
from evenhand.models.references import ModelError

if TYPE_CHECKING:
    from evenhand.models.language_model import LanguageModel
    from evenhand.models.objectives.objective import PretrainingOptions

CHOSEN = 0.15
"""Share of tokens that the model has to find."""

MASKED, REPLACED = 0.8, 0.1
"""Of the chosen ones: shares that the mask stands for, and another token. The rest is left as it is."""


Flags = npt.NDArray[np.bool_]


class MaskedPretraining:
    """BERT's own objective: 15% of tokens, of them 80% masked, 10% replaced by another, 10% left.

    Each token is chosen by itself, or with ``whole_words`` together with the other tokens of its word. Special tokens
    are never chosen and never put in.
    """

    name = "masked language modelling"

    def __init__(self, sentences: Sequence[str], model: LanguageModel, options: PretrainingOptions) -> None:
        tokenizer = model.loaded.tokenizer
        if tokenizer.mask_token_id is None:
            raise ModelError(
                f"The tokenizer of {model.loaded.ref.id} has no mask token, so the model cannot be trained to fill "
                "gaps."
            )
        self.examples = tokenised(sentences, model, max_tokens=options.max_tokens)
        self.whole_words = options.whole_words
        self._reader = PositionReader(model.projection)
        self._mask = tokenizer.mask_token_id
        self._pad = model.loaded.pad_id
        special = set(tokenizer.all_special_ids)
        self._ordinary = np.array([token for token in range(len(tokenizer)) if token not in special])

    def collate(self, examples: Sequence[TokenisedSentence], generator: np.random.Generator) -> Batch:
        """Sentences with tokens hidden, and what is to be found there."""
        lengths = np.array([len(example) for example in examples])
        shape = (len(examples), int(lengths.max()))
        ids, words = np.full(shape, self._pad), np.full(shape, NO_WORD)
        for row, example in enumerate(examples):
            ids[row, : len(example)] = example.ids
            words[row, : len(example)] = example.words
        chosen = self._chosen(words, generator)
        rows, columns = np.nonzero(chosen)
        return {
            "input_ids": torch.from_numpy(self._hidden(ids, chosen, generator)),
            "attention_mask": torch.from_numpy((np.arange(shape[1]) < lengths[:, None]).astype(np.int64)),
            "labels": torch.from_numpy(np.where(chosen, ids, IGNORED)),
            "rows": torch.from_numpy(rows),
            "columns": torch.from_numpy(columns),
        }

    def loss(self, model: Any, batch: Batch) -> torch.Tensor:
        """Mean surprise at what was hidden."""
        # The places are known without asking the device, which so never has to be waited for.
        rows, columns = batch["rows"], batch["columns"]
        inputs = {name: batch[name] for name in ("input_ids", "attention_mask")}
        logits = self._reader.logits(model, inputs, rows, columns)
        lost = functional.cross_entropy(logits, batch["labels"][rows, columns], reduction="sum")
        # In a small batch it can happen that nothing was chosen: then there is nothing to learn, not 0 / 0.
        return lost / max(1, len(rows))

    def _chosen(self, words: Ids, generator: np.random.Generator) -> Flags:
        own: Flags = words != NO_WORD
        if self.whole_words:
            of_words = generator.random((len(words), int(words.max()) + 1))
            drawn = np.take_along_axis(of_words, np.where(own, words, 0), axis=1)
        else:
            drawn = generator.random(words.shape)
        chosen: Flags = own & (drawn < CHOSEN)
        return chosen

    def _hidden(self, ids: Ids, chosen: Flags, generator: np.random.Generator) -> Ids:
        kinds = generator.random(ids.shape)
        others = self._ordinary[generator.integers(len(self._ordinary), size=ids.shape)]
        hidden = np.where(kinds < MASKED, self._mask, np.where(kinds < MASKED + REPLACED, others, ids))
        return np.where(chosen, hidden, ids)
