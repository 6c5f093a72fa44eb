"""Decoders as published code scores them: the first token of a sentence apart from all others."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from evenhand.core.items import Association, Task
from evenhand.models.engine.requests import CausalRequest, Tokens
from evenhand.models.questions import (
    COMBINATIONS,
    CONTINUATION_SCORES,
    NEEDS_ALONE,
    NEEDS_CONTEXT,
    PUBLISHED_FINAL_PUNCTUATION,
    WHOLE,
    Continuation,
    LogProbabilities,
    Question,
    ScoreKind,
    geometric_mean,
    of_all,
    with_final_punctuation,
)
from evenhand.models.references import UnscorableError

PUBLISHED_START = "<|endoftext|>"

NOTHING = CausalRequest((), 0, "")
"""A request for no token, where a score has no use for a part."""


@dataclass(frozen=True, slots=True)
class StereosetSentence:
    """The candidate's own sentence as StereoSet's code scores it.

    The first token comes after the start token, all others after the sentence's own tokens without it; special
    tokens that the tokenizer adds by itself are scored like any other.
    """

    tokenizer: Any
    start: int
    kind: ScoreKind = ScoreKind.MEAN_LOG
    name: str = "own sentence, first token apart"
    description: str = (
        "as in StereoSet's code: the candidate's own sentence, its first token after the start token, the rest "
        "without it"
    )

    def texts(self, _item: Association) -> list[tuple[str, bool]]:
        """Nothing: these texts are tokenised in a way of their own."""
        return []

    def questions(self, item: Association) -> list[Question]:
        """One question for each candidate."""
        return [
            Question(
                candidate.id,
                first_token_apart(
                    tuple(self.tokenizer(candidate.text)["input_ids"]), start=self.start, group=item.id
                ),
                of_all(COMBINATIONS[self.kind]),
            )
            for candidate in item.candidates
        ]


def first_token_apart(ids: Tokens, *, start: int, group: str) -> tuple[CausalRequest, CausalRequest]:
    """The first token after the start token, and all others after those before them without it."""
    if not ids:
        raise UnscorableError("the sentence has no token that could be scored")
    return CausalRequest((start, ids[0]), 1, f"{group} start"), CausalRequest(ids, 1, group)


@dataclass(frozen=True, slots=True)
class PublishedDecoder:
    """Sentences as the multilingual study's code scores them.

    The first token comes after the start token, all others after the sentence's own tokens without it; special
    tokens that the tokenizer adds by itself are scored like any other.
    """

    tokenizer: Any
    variant: Continuation = Continuation.GIVEN_CONTEXT
    name: str = "sentence, first token apart"
    description: str = "as published in 2023: the first token after the start token, the rest without it"

    def texts(self, _item: Association) -> list[tuple[str, bool]]:
        """Nothing: these texts are tokenised in ways of their own."""
        return []

    def questions(self, item: Association) -> list[Question]:
        """One question for each candidate, of either task."""
        return [self._question(item, candidate.id, candidate.text) for candidate in item.candidates]

    def _question(self, item: Association, candidate: str, sentence: str) -> Question:
        if item.task is Task.INTRASENTENCE:
            ids = tuple(self.tokenizer(sentence)["input_ids"])
            return Question(candidate, self._whole(ids, item.id), of_all(geometric_mean))
        context = with_final_punctuation(item.context, PUBLISHED_FINAL_PUNCTUATION)
        ids = tuple(self.tokenizer(f"{context} {sentence}")["input_ids"])
        cut = len(self.tokenizer.encode(context))
        if not 0 < cut < len(ids):
            raise UnscorableError("context and candidate cannot be told apart in tokens")
        alone = tuple(self.tokenizer(sentence)["input_ids"])
        before = self._whole(ids[:cut], item.id) if self.variant in NEEDS_CONTEXT else (NOTHING, NOTHING)
        parts = (*before, CausalRequest(ids, cut, item.id))
        only = self._whole(alone, f"{item.id} alone") if self.variant in NEEDS_ALONE else ()
        score = CONTINUATION_SCORES[self.variant]

        def combine(answers: Sequence[LogProbabilities]) -> float:
            rest = [value for answer in answers[3:] for value in answer]
            return score([[*answers[0], *answers[1]], answers[2], rest])

        return Question(candidate, (*parts, *only), combine, whole=self.variant in WHOLE)

    def _whole(self, ids: Tokens, group: str) -> tuple[CausalRequest, CausalRequest]:
        return first_token_apart(ids, start=self.tokenizer.encode(PUBLISHED_START)[0], group=group)
