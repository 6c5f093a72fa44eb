"""Scores of items by the engine, and how to compare them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain

from evenhand.core.items import Association, Task
from evenhand.instruments.association.ways import Combine, Method, MethodOptions, choose_method
from evenhand.models.engine.execution import Answers, execute
from evenhand.models.engine.requests import TokenRequest
from evenhand.models.language_model import LanguageModel
from evenhand.models.requests import ScoringRequest

Scores = dict[str, float]

TOLERANCE = 2e-5
"""Relative, in single precision."""


@dataclass(frozen=True)
class Asked:
    """What is asked of a model's tokens for a candidate: for each request of the method a few."""

    candidate: str
    groups: tuple[tuple[TokenRequest, ...], ...]
    combine: Combine

    @property
    def requests(self) -> tuple[TokenRequest, ...]:
        return tuple(chain.from_iterable(self.groups))


def tokens_asked(
    model: LanguageModel, requests: Sequence[ScoringRequest], *, items: Sequence[str] | None = None
) -> list[tuple[TokenRequest, ...]]:
    """What is asked of a model's tokens, for requests that can all be asked."""
    found = []
    for asked in model.token_requests(requests, items=items):
        assert not isinstance(asked, str), asked
        found.append(asked)
    return found


def values_of(model: LanguageModel, requests: Sequence[TokenRequest]) -> list[list[float]]:
    """The log-probabilities that answer requests about tokens."""
    answers = model.answer_tokens(requests)
    return [answers.of(number) for number in range(len(requests))]


def method_of(
    model: LanguageModel,
    task: Task,
    *,
    protocol: str = "evenhand.v2",
    inter: str | None = None,
    score: str | None = None,
) -> Method:
    """How candidates of a task are scored, with options by their names."""
    return choose_method(model, task, MethodOptions.named(protocol, inter=inter, score=score))


def asked_of(
    model: LanguageModel, items: Iterable[Association], **wishes: str | None
) -> list[tuple[str, str, Method, tuple[ScoringRequest, ...]]]:
    """For each candidate its item, its id, how it is scored, and what is requested."""
    methods: dict[Task, Method] = {}
    found = []
    for item in items:
        if item.task not in methods:
            methods[item.task] = method_of(model, item.task, **wishes)  # type: ignore[arg-type]
        method = methods[item.task]
        found += [
            (item.id, candidate.id, method, method.requests(item, candidate)) for candidate in item.candidates
        ]
    return found


def engine_scores(
    model: LanguageModel,
    items: Iterable[Association],
    *,
    max_tokens: int | None = None,
    **wishes: str | None,
) -> Scores:
    """Each candidate's score as an audit computes it; ``wishes`` are protocol, inter and score."""
    asked = asked_of(model, items, **wishes)
    requests = [request for *_, own in asked for request in own]
    names = [item for item, *_, own in asked for _ in own]
    answers = iter(model.answer(requests, items=names, max_tokens=max_tokens))
    scores = {}
    for _, candidate, method, own in asked:
        values = [next(answers) for _ in own]
        assert not any(answer.problem for answer in values), values
        scores[candidate] = method.combine([answer.log_probs for answer in values])
    return scores


def questions(model: LanguageModel, items: Iterable[Association], **wishes: str | None) -> list[Asked]:
    """What is asked of a model's tokens about items."""
    return [
        Asked(candidate, tuple(tokens_asked(model, own, items=[item] * len(own))), method.combine)
        for item, candidate, method, own in asked_of(model, items, **wishes)
    ]


def combined(asked: Iterable[Asked], answers: Answers) -> Scores:
    """Scores from answers."""
    scores: Scores = {}
    number = 0
    for each in asked:
        values = []
        for group in each.groups:
            own = [answers.of(number + place) for place in range(len(group))]
            values.append(list(chain.from_iterable(own)))
            number += len(group)
        scores[each.candidate] = each.combine(values)
    return scores


def scores_without_sharing(
    model: LanguageModel, items: Iterable[Association], **wishes: str | None
) -> Scores:
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
