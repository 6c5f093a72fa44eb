"""Objectives of pre-training: masked language modelling, next-token prediction and span corruption."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import torch
from torch.nn import functional

from evenhand.core.errors import EvenhandError
from evenhand.models.engine.projection import PositionReader
from evenhand.models.engine.requests import Tokens
from evenhand.models.objectives.held_out import random_spans, sentinels_of
from evenhand.models.objectives.objective import IGNORED, Batch, padded
from evenhand.models.references import ModelError

if TYPE_CHECKING:
    from evenhand.models.language_model import LanguageModel
    from evenhand.models.objectives.objective import PretrainingOptions


Ids = npt.NDArray[np.int64]

NO_WORD = -1

AT_ONCE = 10_000
"""Sentences that are tokenised together."""


@dataclass(frozen=True, slots=True)
class TokenisedSentence:
    """The tokens of a sentence, special ones included."""

    ids: Ids
    words: Ids
    """Which word each token belongs to; ``NO_WORD`` for special tokens."""

    def __len__(self) -> int:
        return len(self.ids)

    @property
    def own(self) -> Ids:
        """The places of the tokens that are no special ones."""
        places: Ids = np.flatnonzero(self.words != NO_WORD)
        return places


def tokenised(
    sentences: Sequence[str], model: LanguageModel, *, max_tokens: int | None = None
) -> list[TokenisedSentence]:
    """Sentences as tokens, cut where they are too long; those without a token are left out."""
    longest = longest_row(model, max_tokens)
    rows = []
    for first in range(0, len(sentences), AT_ONCE):
        encoded = model.loaded.tokenizer(
            list(sentences[first : first + AT_ONCE]),
            truncation=longest is not None,
            max_length=longest,
            return_special_tokens_mask=True,
        )
        for number, ids in enumerate(encoded["input_ids"]):
            special = np.array(encoded["special_tokens_mask"][number], dtype=bool)
            if not special.all():
                rows.append(
                    TokenisedSentence(
                        np.array(ids, dtype=np.int64), np.where(special, NO_WORD, _words(encoded, number))
                    )
                )
    return rows


def longest_row(model: LanguageModel, max_tokens: int | None) -> int | None:
    """The most tokens in a row: what was asked for, if the model takes as many."""
    if max_tokens is not None and max_tokens < 3:
        raise EvenhandError(
            f"Sentences of at most {max_tokens} tokens leave nothing to learn; give 3 or more."
        )
    limits = [limit for limit in (max_tokens, model.longest_input) if limit is not None]
    return min(limits, default=None)


def refuse_whole_words(model: LanguageModel, options: PretrainingOptions) -> None:
    """Refuse to hide whole words from a model that has no mask to hide them behind."""
    if options.whole_words:
        raise ModelError(f"{model.ref.id} is no masked model, so it has no whole words to hide.")


def _words(encoded: Any, number: int) -> Ids:
    """Which word each token belongs to; without a fast tokenizer every token is a word of its own."""
    if not getattr(encoded, "is_fast", False):
        return np.arange(len(encoded["input_ids"][number]))
    word_ids = encoded.word_ids(number)
    return np.array([NO_WORD if word is None else word for word in word_ids], dtype=np.int64)


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
