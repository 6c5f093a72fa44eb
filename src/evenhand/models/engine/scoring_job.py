"""Many questions in one go: planned together, kept as they are answered, and counted item by item."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import count
from typing import TYPE_CHECKING

from evenhand.core.progress import Progress
from evenhand.models.engine.execution import execute
from evenhand.models.engine.forward_inputs import ForwardInputs
from evenhand.models.engine.requests import RequestGroup
from evenhand.runs.store import Parts

if TYPE_CHECKING:
    from evenhand.models.language_model import LanguageModel


class ScoringJob:
    """Questions that are planned together, to be answered as often as wanted."""

    def __init__(
        self, model: LanguageModel, asked: Sequence[RequestGroup], *, max_tokens: int | None = None
    ) -> None:
        """Plan.

        Args:
            model: Who is asked.
            asked: The questions.
            max_tokens: Most tokens in a batch.
        """
        self.model = model
        self.asked = asked
        requests = [request for each in asked for request in each.requests]
        self.plan, self.forward = model.plan(requests, max_tokens=max_tokens)

    def answers(
        self, *, parts: Parts | None = None, progress: Progress | None = None
    ) -> list[list[list[float]]]:
        """For each of the asked, the natural log-probabilities of each of its requests.

        Args:
            parts: Where finished batches are kept, so that an interrupted job goes on. They are of one model only.
            progress: Told how many items are done.
        """
        counter = _ItemProgress(self.asked, self.forward, progress) if progress else None
        runners = self.model.runners(self.plan)
        answers = execute(self.plan, self.forward, runners, parts=parts, progress=counter)
        numbers = count()
        return [[answers.of(next(numbers)) for _ in each.requests] for each in self.asked]


class _ItemProgress:
    """Counts items whose inputs are all done."""

    def __init__(self, asked: Sequence[RequestGroup], forward: ForwardInputs, report: Progress) -> None:
        self.report = report
        self.waiting: dict[int, list[str]] = {}
        self.missing: dict[str, int] = {}
        places = iter(forward.places)
        for each in asked:
            for _, place in zip(each.requests, places, strict=False):
                if place is not None:
                    self.waiting.setdefault(place[0], []).append(each.item)
                    self.missing[each.item] = self.missing.get(each.item, 0) + 1
        self.total = len(self.missing)
        self.done = 0

    def __call__(self, inputs: Sequence[int]) -> None:
        for entry in inputs:
            for item in self.waiting.get(entry, ()):
                self.missing[item] -= 1
                self.done += self.missing[item] == 0
        self.report(self.done, self.total)
