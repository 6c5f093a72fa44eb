"""Methods in plain text: what is asked of a model that takes texts and not tokens."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from evenhand.core.items import Association, SentencePair
from evenhand.models.questions import (
    COMBINATIONS,
    CONTINUATION_SCORES,
    DESCRIPTIONS,
    NEEDS_ALONE,
    NEEDS_CANDIDATE,
    NEEDS_CONTEXT,
    WHOLE,
    Continuation,
    Question,
    ScoreKind,
    fill_of,
    filled_context,
    of_all,
    with_final_punctuation,
)
from evenhand.models.sentence_pairs import PairRequests


@dataclass(frozen=True, slots=True)
class FillRequest:
    """A word in the blank of a context."""

    context: str
    word: str


@dataclass(frozen=True, slots=True)
class WholeTextRequest:
    """A text from its start."""

    text: str


@dataclass(frozen=True, slots=True)
class ContinuationRequest:
    """What stands in a text after its context."""

    context: str
    text: str


@dataclass(frozen=True, slots=True)
class FollowerRequest:
    """Whether a sentence follows another."""

    first: str
    second: str


TextRequest: TypeAlias = FillRequest | WholeTextRequest | ContinuationRequest | FollowerRequest


@dataclass(frozen=True, slots=True)
class BlankInText:
    """A word in the blank, its tokens as the model cuts them."""

    kind: ScoreKind
    name: str = "blank in text"
    description: str = "the tokens of the candidate in the blank, as the model gives their probabilities"

    def texts(self, _item: Association) -> list[tuple[str, bool]]:
        """Nothing is tokenised here."""
        return []

    def questions(self, item: Association) -> list[Question]:
        """One question for each candidate."""
        return [
            Question(
                candidate.id,
                (FillRequest(item.context, fill_of(item, candidate)),),
                of_all(COMBINATIONS[self.kind]),
            )
            for candidate in item.candidates
        ]


@dataclass(frozen=True, slots=True)
class SentenceInText:
    """The candidate's own sentence, from its start."""

    kind: ScoreKind
    name: str = "own sentence in text"
    description: str = "the candidate's own sentence, as the model gives its probability"

    def texts(self, _item: Association) -> list[tuple[str, bool]]:
        """Nothing is tokenised here."""
        return []

    def questions(self, item: Association) -> list[Question]:
        """One question for each candidate."""
        return [
            Question(candidate.id, (WholeTextRequest(candidate.text),), of_all(COMBINATIONS[self.kind]))
            for candidate in item.candidates
        ]


@dataclass(frozen=True, slots=True)
class FilledSentenceInText:
    """The context with the candidate in its blank, from its start."""

    kind: ScoreKind
    name: str = "sentence in text"
    description: str = "the whole sentence with the candidate in place, as the model gives its probability"

    def texts(self, _item: Association) -> list[tuple[str, bool]]:
        """Nothing is tokenised here."""
        return []

    def questions(self, item: Association) -> list[Question]:
        """One question for each candidate."""
        return [
            Question(
                candidate.id,
                (WholeTextRequest(filled_context(item.context, fill_of(item, candidate))[0]),),
                of_all(COMBINATIONS[self.kind]),
            )
            for candidate in item.candidates
        ]


@dataclass(frozen=True, slots=True)
class ContinuationInText:
    """The candidate as the sentence after the context."""

    variant: Continuation

    @property
    def name(self) -> str:
        """The variant's letter."""
        return f"continuation {self.variant.value} in text"

    @property
    def description(self) -> str:
        """What is divided by what."""
        return DESCRIPTIONS[self.variant]

    def texts(self, _item: Association) -> list[tuple[str, bool]]:
        """Nothing is tokenised here."""
        return []

    def questions(self, item: Association) -> list[Question]:
        """One question for each candidate."""
        context = with_final_punctuation(item.context)
        return [
            Question(
                candidate.id,
                tuple(request for _, request in self._parts(context, candidate.text)),
                self._combine,
                whole=self.variant in WHOLE,
            )
            for candidate in item.candidates
        ]

    def _parts(self, context: str, candidate: str) -> Iterator[tuple[int, TextRequest]]:
        if self.variant in NEEDS_CONTEXT:
            yield 0, WholeTextRequest(context)
        if self.variant in NEEDS_CANDIDATE:
            yield 1, ContinuationRequest(context, f"{context} {candidate}")
        if self.variant in NEEDS_ALONE:
            yield 2, WholeTextRequest(candidate)

    def _combine(self, answers: Sequence[Sequence[float]]) -> float:
        parts: list[Sequence[float]] = [(), (), ()]
        for (place, _), answer in zip(self._parts("", ""), answers, strict=True):
            parts[place] = answer
        return CONTINUATION_SCORES[self.variant](parts)


@dataclass(frozen=True, slots=True)
class FollowerInText:
    """Whether the candidate follows the context, as the model judges."""

    name: str = "next-sentence in text"
    description: str = "the probability that the candidate follows the context, as the model gives it"

    def texts(self, _item: Association) -> list[tuple[str, bool]]:
        """Nothing is tokenised here."""
        return []

    def questions(self, item: Association) -> list[Question]:
        """One question for each candidate."""
        return [
            Question(
                candidate.id,
                (FollowerRequest(item.context, candidate.text),),
                lambda answers: math.exp(answers[0][0]),
            )
            for candidate in item.candidates
        ]


@dataclass(frozen=True, slots=True)
class SentencesInText:
    """Both sentences of a pair, each from its start."""

    name: str = "sentence in text"
    description: str = "log-probability of the whole sentence, as the model gives it"
    special: bool = False

    def requests(self, pair: SentencePair) -> PairRequests:
        """One request for each sentence."""
        return PairRequests((WholeTextRequest(pair.more),), (WholeTextRequest(pair.less),))
