"""What a model is asked for a probe: sentences with a gap, words to fill it, and their probabilities."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from evenhand.core.errors import EvenhandError, UnknownNameError
from evenhand.core.items import overlong_reason
from evenhand.core.progress import Progress
from evenhand.models.engine.modes import gc_disabled
from evenhand.models.engine.requests import RequestGroup, Requests, RequestValues, too_long
from evenhand.models.measurable import Measurable
from evenhand.models.questions import filled_context
from evenhand.models.references import UnscorableError
from evenhand.models.tokenised_text import prepare
from evenhand.runs.store import Parts


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


@dataclass(frozen=True, slots=True)
class Answer:
    """The natural logarithm of a word's probability, or why there is none."""

    log_probability: float
    problem: str | None = None
    tokens: int = 0
    """Whose probabilities it is made of; of the whole sentence where whole sentences are scored."""


UNKNOWN_WORD = "it has a word that the tokenizer does not know"


class WordScorer:
    """Puts open sentences to a model, in the way that suits it."""

    def __init__(self, model: Measurable, *, score: WordScore = WordScore.PRODUCT) -> None:
        self.model = model
        self.score = score
        self._method = model.word_method()
        if self.by_sentence and score is WordScore.MEAN_PROB:
            # A mean over the tokens of a sentence hardly depends on the one word that differs.
            raise EvenhandError(
                f"--score {score.value} averages over the tokens of a word in a gap, but {model.ref.id} is asked for "
                f"the probability of whole sentences. Use --score {WordScore.PRODUCT.value}."
            )

    @property
    def by_sentence(self) -> bool:
        """Whether probabilities are those of whole sentences, and compare only with each other."""
        return self._method.by_sentence

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
    ) -> list[tuple[Answer, ...]]:
        """An answer for every word of every question."""
        words = self.requests(questions)
        asked = [
            RequestGroup(str(number), requests)
            for number, of_question in enumerate(words)
            for requests in of_question
            if not isinstance(requests, str)
        ]
        found = iter(self.model.answer_groups(asked, max_tokens=max_tokens, parts=parts, progress=progress))
        return [
            tuple(
                Answer(math.nan, word) if isinstance(word, str) else self._answer(next(found))
                for word in of_question
            )
            for of_question in words
        ]

    def requests(self, questions: Sequence[OpenQuestion]) -> list[list[Requests | str]]:
        """For every word of every question its requests, or why it cannot be asked for."""
        with gc_disabled():
            texts = (
                filled_context(question.text, fill)[0] for question in questions for fill in question.fills
            )
            prepare(self.model.tokenizer, texts, special=not self.by_sentence)
            return [[self._asked(question.text, fill) for fill in question.fills] for question in questions]

    def _answer(self, values: RequestValues) -> Answer:
        if isinstance(values, str):
            return Answer(math.nan, values)
        logs = [value for of_request in values for value in of_request]
        if not logs or not all(math.isfinite(value) for value in logs):
            return Answer(math.nan, "the model gave NaN or infinite values")
        return Answer(self.score.combine(logs), tokens=len(logs))

    def _asked(self, text: str, fill: str) -> Requests | str:
        """The requests for a word, or why it cannot be asked for."""
        overlong = overlong_reason(text, fill)
        if overlong:
            return overlong
        try:
            requests = self._method.requests(text, fill)
        except UnscorableError as reason:
            return str(reason)
        if self.model.shows_unknown_word(requests):
            return UNKNOWN_WORD
        return too_long(requests, self.model.longest_input) or requests
