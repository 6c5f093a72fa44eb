"""Words in the gap of a sentence: how the log-probabilities of a word's tokens become that of the word."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from evenhand.core.errors import EvenhandError, UnknownNameError
from evenhand.core.progress import Progress
from evenhand.models.model import Model, missing_capability
from evenhand.models.requests import Answer, Continue, Fill, ScoringRequest, filled_text
from evenhand.store.jobs import Parts


class WordScore(StrEnum):
    """How the probabilities of a word's tokens become that of the word."""

    PRODUCT = "product"
    """What the chain rule says, so that words of different length compare."""
    MEAN_PROB = "mean-prob"
    """The arithmetic mean, as in the context association tests."""

    @classmethod
    def named(cls, name: str) -> WordScore:
        """The score of this name."""
        if name not in set(cls):
            raise UnknownNameError("score", name, [known.value for known in cls])
        return cls(name)

    def combine(self, logs: Sequence[float]) -> float:
        """The natural logarithm of the word's probability."""
        if self is WordScore.PRODUCT:
            return math.fsum(logs)
        return math.log(math.fsum(map(math.exp, logs)) / len(logs)) if logs else -math.inf


@dataclass(frozen=True, slots=True)
class OpenQuestion:
    """A sentence with ``BLANK`` at its gap, and the words whose probabilities are wanted there."""

    text: str
    fills: tuple[str, ...]

    @property
    def requests(self) -> tuple[Fill, ...]:
        """One for each word."""
        return tuple(Fill(self.text, word) for word in self.fills)


@dataclass(frozen=True, slots=True)
class WordAnswer:
    """The natural logarithm of a word's probability, or why there is none."""

    log_probability: float
    problem: str | None = None
    tokens: int = 0
    """Whose probabilities it is made of; of the whole sentence where whole sentences are scored."""


class WordScorer:
    """Puts open sentences to a model, in the way that suits it."""

    def __init__(self, model: Model, *, score: WordScore = WordScore.PRODUCT) -> None:
        if not (model.has_capability(Fill) or model.has_capability(Continue)):
            raise missing_capability(model, Fill, Continue, purpose="be asked for the probability of a word")
        self.model = model
        self.score = score
        if self.by_sentence and score is WordScore.MEAN_PROB:
            # A mean over the tokens of a sentence hardly depends on the one word that differs.
            raise EvenhandError(
                f"--score {score.value} averages over the tokens of a word in a gap, but {model.ref.id} is asked for "
                f"the probability of whole sentences. Use --score {WordScore.PRODUCT.value}."
            )

    @property
    def by_sentence(self) -> bool:
        """Whether probabilities are those of whole sentences, and compare only with each other."""
        return self.model.fills_by_sentence

    @property
    def compares_lengths(self) -> bool:
        """Whether words of different numbers of tokens compare.

        They do in whole sentences, by the chain rule, and by the mean of their tokens' probabilities, which is meant
        for that. The product of tokens in a gap does not: every further token makes a word less likely.
        """
        return self.by_sentence or self.score is WordScore.MEAN_PROB

    @property
    def description(self) -> str:
        """How words are scored, in a sentence."""
        if self.by_sentence:
            return "probability of the whole sentence with each word in place"
        what = "product" if self.score is WordScore.PRODUCT else "mean"
        return (
            f"{what} of the probabilities of a word's tokens, each in the gap after the word's earlier tokens"
        )

    def answers(
        self,
        questions: Sequence[OpenQuestion],
        *,
        max_tokens: int | None = None,
        parts: Parts | None = None,
        progress: Progress | None = None,
    ) -> list[tuple[WordAnswer, ...]]:
        """An answer for every word of every question."""
        found = iter(
            self.model.answer(
                [request for question in questions for request in self._requests(question)],
                items=[str(number) for number, question in enumerate(questions) for _ in question.fills],
                known_words=True,
                max_tokens=max_tokens,
                parts=parts,
                progress=progress,
            )
        )
        return [tuple(self._word(next(found)) for _ in question.fills) for question in questions]

    def _requests(self, question: OpenQuestion) -> Sequence[ScoringRequest]:
        if self.model.has_capability(Fill) or Fill in self.model.also_answers:
            return question.requests
        return [Continue("", filled_text(question.text, word)[0]) for word in question.fills]

    def _word(self, answer: Answer) -> WordAnswer:
        if answer.problem or not answer.log_probs:
            return WordAnswer(math.nan, answer.problem or "the model gave no value")
        return WordAnswer(self.score.combine(answer.log_probs), tokens=len(answer.log_probs))
