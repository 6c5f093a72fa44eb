"""Objectives of pre-training: masked language modelling, next-token prediction and span corruption."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import torch

from evenhand.core.errors import EvenhandError
from evenhand.models.engine.requests import Tokens
from evenhand.models.objectives.held_out import random_spans, sentinels_of
from evenhand.models.objectives.objective import TokenQuestions, TokenRow, model_inputs
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


class _TokenObjective:
    """Rows of tokens, some of which a model has to find: the mean surprise at them is to be lowered."""

    pads = True

    def __init__(self, model: LanguageModel) -> None:
        self._reader = model.position_reader
        self._pad = model.loaded.pad_id

    def loss(self, model: Any, pieces: Sequence[TokenRow]) -> torch.Tensor:
        """The weighted surprise at what was asked for."""
        device = next(model.parameters()).device
        asked = TokenQuestions.of(pieces, device=device)
        inputs = model_inputs(pieces, pad=self._pad, device=device)
        states = self._reader.states(model, inputs, rows=asked.rows, columns=asked.columns)
        return states.surprise(asked.targets, asked.weights)


def _weighted(rows: Sequence[TokenRow]) -> list[TokenRow]:
    """Rows of a batch in which every token that is asked for counts the same."""
    # In a small batch it can happen that nothing was chosen: then there is nothing to learn, not 0 / 0.
    asked = max(1, sum(len(row.places) for row in rows))
    return [replace(row, weight=1 / asked) for row in rows]


class MaskedPretraining(_TokenObjective):
    """BERT's own objective: 15% of tokens, of them 80% masked, 10% replaced by another, 10% left.

    Each token is chosen by itself, or with ``whole_words`` together with the other tokens of its word. Special tokens
    are never chosen and never put in.
    """

    name = "masked language modelling"

    def __init__(self, sentences: Sequence[str], model: LanguageModel, options: PretrainingOptions) -> None:
        super().__init__(model)
        tokenizer = model.loaded.tokenizer
        if tokenizer.mask_token_id is None:
            raise ModelError(
                f"The tokenizer of {model.loaded.ref.id} has no mask token, so the model cannot be trained to fill "
                "gaps."
            )
        self.examples = tokenised(sentences, model, max_tokens=options.max_tokens)
        self.whole_words = options.whole_words
        self._mask = tokenizer.mask_token_id
        special = set(tokenizer.all_special_ids)
        self._ordinary = np.array([token for token in range(len(tokenizer)) if token not in special])

    def lay_out(
        self, examples: Sequence[TokenisedSentence], generator: np.random.Generator
    ) -> list[TokenRow]:
        """Sentences with tokens hidden, and what is to be found there."""
        shape = (len(examples), max(map(len, examples)))
        ids, words = np.full(shape, self._pad), np.full(shape, NO_WORD)
        for row, example in enumerate(examples):
            ids[row, : len(example)] = example.ids
            words[row, : len(example)] = example.words
        chosen = self._chosen(words, generator)
        shown = self._hidden(ids, chosen, generator)
        rows = []
        for row, example in enumerate(examples):
            places = np.flatnonzero(chosen[row])
            rows.append(
                TokenRow(
                    ids=tuple(shown[row, : len(example)].tolist()),
                    places=tuple(places.tolist()),
                    targets=tuple(ids[row, places].tolist()),
                )
            )
        return _weighted(rows)

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


class NextTokenPretraining(_TokenObjective):
    """Every token from those before it, each sentence behind the model's start token."""

    name = "next-token prediction"

    def __init__(self, sentences: Sequence[str], model: LanguageModel, options: PretrainingOptions) -> None:
        super().__init__(model)
        refuse_whole_words(model, options)
        loaded, max_tokens = model.loaded, options.max_tokens
        start = model.family.text_start(loaded)
        before = () if start is None else (start,)
        longest = longest_row(model, max_tokens)
        rows = [
            (*before, *sentence.ids[sentence.own].tolist())[:longest]
            for sentence in tokenised(sentences, model, max_tokens=max_tokens)
        ]
        self.examples: list[Tokens] = [row for row in rows if len(row) > 1]

    def lay_out(self, examples: Sequence[Tokens], _generator: np.random.Generator) -> list[TokenRow]:
        """Rows in which every token is asked for at the place before its own."""
        return _weighted(
            [TokenRow(ids=row, places=tuple(range(len(row) - 1)), targets=row[1:]) for row in examples]
        )


class SpanPretraining(_TokenObjective):
    """Spans of 15% of the tokens, three long on average, each behind a sentinel that the decoder writes out.

    The encoder reads the rest with a sentinel for every span; the decoder writes each sentinel with its span, then the
    sentinel after the last and the end token. What it has written so far is its input, behind its start token.
    """

    name = "span corruption"

    def __init__(self, sentences: Sequence[str], model: LanguageModel, options: PretrainingOptions) -> None:
        super().__init__(model)
        refuse_whole_words(model, options)
        self.examples = tokenised(sentences, model, max_tokens=options.max_tokens)
        self._sentinels = sentinels_of(model.loaded.tokenizer)
        self._end = model.loaded.tokenizer.eos_token_id
        start = getattr(model.loaded.config, "decoder_start_token_id", None)
        self._start = self._pad if start is None else int(start)
        self._marks = frozenset((*self._sentinels, self._end))

    def lay_out(
        self, examples: Sequence[TokenisedSentence], generator: np.random.Generator
    ) -> list[TokenRow]:
        """What the encoder reads, and what the decoder is to write."""
        rows = []
        for example in examples:
            source, written = self._corrupted(example, generator)
            rows.append(
                TokenRow(
                    ids=(self._start, *written[:-1]),
                    source=source,
                    places=tuple(range(len(written))),
                    targets=written,
                    marks=sum(token in self._marks for token in written),
                )
            )
        return _weighted(rows)

    def _corrupted(self, example: TokenisedSentence, generator: np.random.Generator) -> tuple[Tokens, Tokens]:
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
        return tuple(source), tuple(target if self._end is None else [*target, self._end])
