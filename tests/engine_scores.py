"""Scores of items by the engine, and how to compare them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from evenhand.core.items import Association, Task
from evenhand.models.engine.execution import Answers, execute
from evenhand.models.language_model import LanguageModel
from evenhand.models.measurable import choose_method
from evenhand.models.questions import Method, Question

Scores = dict[str, float]

TOLERANCE = 2e-5
"""Relative, in single precision."""


def engine_scores(
    model: LanguageModel,
    items: Iterable[Association],
    *,
    protocol: str = "evenhand.v2",
    inter: str | None = None,
    score: str | None = None,
    max_tokens: int | None = None,
) -> Scores:
    """Each candidate's score as an audit computes it."""
    asked = questions(model, items, protocol=protocol, inter=inter, score=score)
    answers = model.answer([request for each in asked for request in each.requests], max_tokens=max_tokens)
    return combined(asked, answers)


def questions(
    model: LanguageModel,
    items: Iterable[Association],
    *,
    protocol: str = "evenhand.v2",
    inter: str | None = None,
    score: str | None = None,
) -> list[Question]:
    """What is asked about items."""
    methods: dict[Task, Method] = {}
    asked = []
    for item in items:
        if item.task not in methods:
            methods[item.task] = choose_method(model, item.task, protocol=protocol, inter=inter, score=score)
        asked += methods[item.task].questions(item)
    return asked


def combined(asked: Iterable[Question], answers: Answers) -> Scores:
    """Scores from answers."""
    scores: Scores = {}
    number = 0
    for each in asked:
        values = [answers.of(index) for index in range(number, number + len(each.requests))]
        scores[each.candidate] = each.combine(values)
        number += len(each.requests)
    return scores


def scores_without_sharing(model: LanguageModel, items: Iterable[Association], **wishes: str) -> Scores:
    """The same with every sequence in a row of its own."""
    asked = questions(model, items, **wishes)
    requests = [request for each in asked for request in each.requests]
    plan, forward = model.plan(requests, share_prefixes=False)
    return combined(asked, execute(plan, forward, model.runners(plan)))


def assert_same(found: Mapping[str, float], expected: Mapping[str, float]) -> None:
    """Both have the same candidates, and each score differs by less than the tolerance."""
    assert found.keys() == expected.keys()
    wrong = {
        candidate: (found[candidate], value)
        for candidate, value in expected.items()
        if not abs(found[candidate] - value) <= TOLERANCE * abs(value)
    }
    assert not wrong, (
        f"{len(wrong)} of {len(expected)} scores differ (found, expected): {dict(list(wrong.items())[:8])}"
    )
    assert len({f"{value:.6g}" for value in expected.values()}) > len(expected) / 2, "the scores hardly vary"
