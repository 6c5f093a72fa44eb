"""Objectives of pre-training: masked language modelling, next-token prediction and span corruption."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import torch
from torch.nn import functional

from evenhand.models.engine.projection import PositionReader
from evenhand.models.engine.requests import Tokens
from evenhand.models.objectives.held_out import random_spans, sentinels_of
from evenhand.models.objectives.objective import IGNORED, Batch, padded
from evenhand.models.objectives.sentences import (
    NO_WORD,
    Ids,
    TokenisedSentence,
    longest_row,
    refuse_whole_words,
    tokenised,
)
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


class SpanPretraining:
    """Spans of 15% of the tokens, three long on average, each behind a sentinel that the decoder writes out.

    The encoder reads the rest with a sentinel for every span; the decoder writes each sentinel with its span, then the
    sentinel after the last and the end token. The decoder's input is what the model's own shift makes of that.
    """

    name = "span corruption"

    def __init__(self, sentences: Sequence[str], model: LanguageModel, options: PretrainingOptions) -> None:
        refuse_whole_words(model, options)
        self.examples = tokenised(sentences, model, max_tokens=options.max_tokens)
        self._sentinels = sentinels_of(model.loaded.tokenizer)
        self._end = model.loaded.tokenizer.eos_token_id
        self._pad = model.loaded.pad_id

    def collate(self, examples: Sequence[TokenisedSentence], generator: np.random.Generator) -> Batch:
        """What the encoder reads, and what the decoder is to write."""
        pairs = [self._corrupted(example, generator) for example in examples]
        sources = [source for source, _ in pairs]
        return {
            "input_ids": padded(sources, self._pad),
            "attention_mask": padded([[1] * len(source) for source in sources], 0),
            "labels": padded([target for _, target in pairs], IGNORED),
        }

    def loss(self, model: Any, batch: Batch) -> torch.Tensor:
        """Mean surprise at what the decoder is to write."""
        logits = model(**batch, use_cache=False).logits
        return functional.cross_entropy(
            logits.flatten(0, 1).float(), batch["labels"].flatten(), ignore_index=IGNORED
        )

    def _corrupted(
        self, example: TokenisedSentence, generator: np.random.Generator
    ) -> tuple[list[int], list[int]]:
        ids, own = example.ids.tolist(), example.own.tolist()
        most = max(1, len(self._sentinels) - 1)  # one is left for the end, where the tokenizer has several
        source, target, after = ids[: own[0]], [], 0
        for number, (begin, end) in enumerate(random_spans(len(own), most, generator)):
            sentinel = self._sentinels[number]
            source += [*(ids[place] for place in own[after:begin]), sentinel]
            target += [sentinel, *(ids[place] for place in own[begin:end])]
            after = end
        source += [*(ids[place] for place in own[after:]), *ids[own[-1] + 1 :]]
        target += self._sentinels[number + 1 : number + 2]
        return source, target if self._end is None else [*target, self._end]
