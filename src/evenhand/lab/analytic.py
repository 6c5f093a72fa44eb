"""A model without weights: it knows the lab's language, so all its probabilities are exact."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from functools import cached_property

from evenhand.core.items import BLANK, Benchmark, Task, filled_spans
from evenhand.lab.corpus import language
from evenhand.lab.world import World
from evenhand.models.model import Model
from evenhand.models.references import ModelError, ModelRef
from evenhand.models.requests import Answer, Continue, Fill, Follow, Part, Request
from evenhand.store.records import ModelRecord

Answers = Mapping[str, Mapping[str, float]]
"""For each question the probability of each answer."""


class AnalyticModel(Model):
    """Fills blanks, scores texts and judges next sentences as the planted world has it.

    Use it to test a measure of your own without a model: what it should read is known.

        >>> model = AnalyticModel(strength=1.0)
        >>> scores = model.score_fills("The baker is BLANK today.", ["honest", "sly"])

    Args:
        strength: Bits by which stereotypes are more likely than anti-stereotypes, on average over items.
        language: ``en`` or ``de``.
    """

    capabilities = frozenset({Fill, Continue, Follow})

    def __init__(self, strength: float = 2.0, language: str = "en") -> None:
        self.world = World(language, strength)
        self.ref = ModelRef(id=f"analytic-{language}-{strength:+g}", device="cpu")

    @property
    def record(self) -> ModelRecord:
        """What identifies it: the planted world."""
        return ModelRecord(
            id=self.ref.id,
            revision=None,
            weights=f"exact, {self.ref.id}",
            family="analytic",
            architecture=type(self).__name__,
            precision=self.ref.precision.value,
            device=self.ref.device,
        )

    def answer_batch(self, requests: Sequence[Request]) -> list[Answer]:
        """Answers from the planted world.

        A word in the blank of a sentence of the lab, a sentence among all that stand alone or after another, and
        whether a sentence follows another in a story and was not taken from anywhere.
        """
        return [Answer((_log(self._probability(request)),)) for request in requests]

    def _probability(self, request: Request) -> float:
        match request:
            case Fill():
                return _share(request.word, _answers_to(request.text, self._blanks))
            case Continue(prefix="", text=text):
                return self._sentences.get(text, 0.0)
            case Continue(part=Part.TEXT, prefix=prefix, text=text):
                return _share(text, _answers_to(prefix, self._stories))
            case Follow():
                story = _answers_to(request.first, self._stories)
                even = sum(story.values()) / len(self._continuations)
                return story.get(request.second, 0.0) / (story.get(request.second, 0.0) + even)
        raise ModelError(f"{self.ref.id} cannot be asked for {request!r}.")

    def scores(self, benchmark: Benchmark) -> dict[str, float]:
        """A score for every candidate of the lab's items, to be given to ``evaluate``."""
        scores: dict[str, float] = {}
        for item in benchmark:
            texts = [candidate.text for candidate in item.candidates]
            if item.task is Task.INTRASENTENCE:
                fills = [filled_spans(item.context, text)[0].of(text) for text in texts]
                values = [_share(fill, _answers_to(item.context, self._blanks)) for fill in fills]
            else:
                values = [self._probability(Follow(item.context, text)) for text in texts]
            scores |= {candidate.id: value for candidate, value in zip(item.candidates, values, strict=True)}
        return scores

    @cached_property
    def _sentences(self) -> dict[str, float]:
        """How likely each is among those that stand alone."""
        alone = {
            document[0].text: probability
            for document, probability in language(self.world)
            if len(document) == 1
        }
        total = sum(alone.values())
        return {text: probability / total for text, probability in alone.items()}

    @cached_property
    def _blanks(self) -> Answers:
        """For each sentence with one of its chosen words left out, how often which word stands there."""
        answers: defaultdict[str, defaultdict[str, float]] = defaultdict(lambda: defaultdict(float))
        for document, probability in language(self.world):
            if len(document) > 1:
                continue
            text = document[0].text
            for _, start, end in document[0].slots:
                answers[f"{text[:start]}{BLANK}{text[end:]}"][text[start:end]] += probability
        return answers

    @cached_property
    def _stories(self) -> Answers:
        answers: defaultdict[str, defaultdict[str, float]] = defaultdict(lambda: defaultdict(float))
        for document, probability in language(self.world):
            if len(document) == 2:
                answers[document[0].text][document[1].text] += probability
        return answers

    @cached_property
    def _continuations(self) -> frozenset[str]:
        return frozenset(second for story in self._stories.values() for second in story)


def _share(answer: str, answers: Mapping[str, float]) -> float:
    return answers.get(answer, 0.0) / sum(answers.values())


def _answers_to(question: str, answers: Answers) -> Mapping[str, float]:
    if question not in answers:
        raise ModelError(
            f"{question!r} is not of the lab's grammar, so its probabilities are not known. The lab's items are: "
            "evenhand.testing.lab_benchmark()."
        )
    return answers[question]


def _log(probability: float) -> float:
    return math.log(probability) if probability > 0 else -math.inf
