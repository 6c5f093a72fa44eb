"""``check_model`` passes every model that ships, and finds what breaks a promise."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import pytest
from zoo_fixtures import Zoo

import evenhand as eh
from evenhand.core.items import BLANK, Label, Task
from evenhand.lab.items import lab_benchmark
from evenhand.models.backends.lab import embedded_names
from evenhand.models.requests import Answer, Continue, Fill, Recover, Request, Train
from evenhand.testing import AnalyticModel, FakeModel, ModelSamples, check_model


def lab_samples(language: str = "en") -> ModelSamples:
    """Sentences that the lab's grammar makes, which its models know; unrelated candidates are impossible there."""
    intra, inter = (lab_benchmark(language).of_task(task)[0] for task in Task)
    possible, following = (
        [candidate for candidate in item.candidates if candidate.label is not Label.UNRELATED]
        for item in (intra, inter)
    )
    words = tuple(candidate.word or "" for candidate in possible)
    return ModelSamples(
        context=intra.context,
        words=words,
        texts=tuple(intra.context.replace(BLANK, word) for word in words),
        first=inter.context,
        seconds=tuple(candidate.text for candidate in following),
    )


@pytest.mark.parametrize("name", embedded_names())
def test_the_embedded_models_conform(name: str) -> None:
    check_model(eh.load(name, device="cpu"), lab_samples("de" if name.endswith("-de") else "en"))


@pytest.mark.parametrize("name", ["bert", "roberta", "gpt2", "t5", "bart"])
def test_models_of_every_family_conform(menagerie: Zoo, name: str) -> None:
    check_model(menagerie.model(name))


def test_models_without_weights_conform() -> None:
    check_model(FakeModel(lambda text: 1 / (1 + len(text))))
    check_model(FakeModel({}, otherwise=0.5, capabilities=[Fill]))
    check_model(eh.load("fake:anything"))
    check_model(AnalyticModel(), lab_samples())


Change = Callable[[list[Answer]], list[Answer]]


class Broken(FakeModel):
    """A model with one promise broken."""

    def __init__(self, change: Change, **options: Any) -> None:
        super().__init__(lambda text: 1 / (1 + len(text)), **options)
        self.change = change

    def answer_batch(self, requests: Sequence[Request]) -> list[Answer]:
        return self.change(super().answer_batch(requests))


def with_values(answer: Answer, value: float) -> Answer:
    return Answer((value,) * len(answer.log_probs))


def by_batch(answers: list[Answer]) -> list[Answer]:
    return [with_values(answer, -float(len(answers))) for answer in answers]


def by_place(answers: list[Answer]) -> list[Answer]:
    return [with_values(answer, -1.0 - place) for place, answer in enumerate(answers)]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda answers: [with_values(answer, 0.5) for answer in answers], "at most 0"),
        (lambda answers: [with_values(answer, -math.inf) for answer in answers], "infinite"),
        (lambda answers: answers[:1], "gave 1 answers to 3 requests"),
        (by_batch, "one by one gives other values"),
        (by_place, "in another order gives other values"),
        (lambda answers: [Answer() for _ in answers], "gets no log-probability"),
    ],
)
def test_scores_that_break_a_promise_are_found(change: Change, message: str) -> None:
    with pytest.raises(AssertionError, match=message):
        check_model(Broken(change))


def test_answers_that_change_are_found() -> None:
    times = iter(range(1, 1000))

    with pytest.raises(AssertionError, match="asked again gives other values"):
        check_model(Broken(lambda answers: [with_values(answer, -float(next(times))) for answer in answers]))


@pytest.mark.parametrize(
    ("capability", "message"),
    [
        (Train, "claims Train and lacks loaded, position_reader"),
        (Recover, "claims Recover and does not answer"),
    ],
)
def test_a_capability_that_is_claimed_without_its_methods_is_found(capability: type, message: str) -> None:
    with pytest.raises(AssertionError, match=message):
        check_model(FakeModel({}, otherwise=0.5, capabilities=[capability]))


def test_a_capability_that_is_not_claimed_must_be_refused() -> None:
    class Loose(FakeModel):
        def answer_batch(self, requests: Sequence[Request]) -> list[Answer]:
            return [Answer((-1.0,)) for _ in requests]

    with pytest.raises(AssertionError, match="does not claim Continue and answers all the same"):
        check_model(Loose({}, otherwise=0.5, capabilities=[Fill]))


def test_an_error_of_another_kind_is_found() -> None:
    class Failing(FakeModel):
        def score_fills(self, context: str, fills: Sequence[str]) -> list[Answer]:
            if "BLANK" not in context:
                raise KeyError(context)
            return super().score_fills(context, fills)

    with pytest.raises(AssertionError, match="an EvenhandError is needed"):
        check_model(Failing({}, otherwise=0.5))


def test_a_signature_that_differs_is_found() -> None:
    class Narrow(FakeModel):
        def score_texts(self, sentences):  # type: ignore[no-untyped-def]
            return super().score_texts(sentences)

    with pytest.raises(AssertionError, match="score_texts of fake:model takes no texts"):
        check_model(Narrow({}, otherwise=0.5, capabilities=[Continue]))


def test_a_text_that_is_too_long_must_be_refused() -> None:
    class Endless(FakeModel):
        longest_input = 10

    with pytest.raises(AssertionError, match="beyond the 10 tokens"):
        check_model(Endless({}, otherwise=0.5, capabilities=[Continue]))


def test_a_fake_model_tells_what_its_table_lacks() -> None:
    with pytest.raises(eh.EvenhandError, match="no probability of 'Nobody'"):
        FakeModel({}).score_texts(["Nobody"])
    with pytest.raises(eh.EvenhandError, match="must be from 0 to 1"):
        FakeModel({"Nobody": 1.5}).score_texts(["Nobody"])
