"""Many questions in one go: planned together, kept as they are answered, and counted item by item."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from evenhand.core.files import sha256_of
from evenhand.core.records import ModelRecord
from evenhand.scoring.engine import carry_out
from evenhand.scoring.limits import length_of
from evenhand.scoring.requests import Request
from evenhand.scoring.store import BatchStore
from evenhand.scoring.work import Gathered

if TYPE_CHECKING:
    from evenhand.scoring.language_model import LanguageModel

Report = Callable[[int, int], None]
"""Told how many items are done, of how many."""


@dataclass(frozen=True, slots=True)
class Asked:
    """Requests that belong together, and the item that they are about; an item may have several of these."""

    item: str
    requests: tuple[Request, ...]


def ask(
    model: LanguageModel,
    asked: Sequence[Asked],
    *,
    identity: ModelRecord,
    max_tokens: int | None = None,
    unfinished: Path | None = None,
    report: Report | None = None,
) -> list[list[float]]:
    """Natural log-probabilities for each of the asked, those of its requests one after the other.

    Args:
        model: Who is asked.
        asked: The questions.
        identity: What identifies the model; unfinished values of another model are refused.
        max_tokens: Most tokens in a batch.
        unfinished: A folder for what is done so far, from which an interrupted run goes on.
        report: Told about progress.
    """
    requests = [request for each in asked for request in each.requests]
    plan, gathered = model.plan(requests, max_tokens=max_tokens)
    store = None
    if unfinished:
        fingerprint = sha256_of(f"{plan.fingerprint} {identity.weights} {identity.precision}".encode())
        store = BatchStore(unfinished, fingerprint)
        store.open()
    progress = _ItemProgress(asked, gathered, report) if report else None
    answers = carry_out(plan, gathered, model.runners(plan), store=store, progress=progress)
    found = []
    number = 0
    for each in asked:
        places = range(number, number + len(each.requests))
        found.append([value for place in places for value in answers.of(place)])
        number += len(each.requests)
    return found


def too_long(requests: Iterable[Request], longest: int | None) -> str | None:
    """Why requests do not fit into the model, if one of them does not."""
    if longest is None or all(length_of(request) <= longest for request in requests):
        return None
    return f"the input is longer than the {longest:,} tokens that the model takes"


class _ItemProgress:
    """Counts items whose works are all done."""

    def __init__(self, asked: Sequence[Asked], gathered: Gathered, report: Report) -> None:
        self.report = report
        self.waiting: dict[int, list[str]] = {}
        self.missing: dict[str, int] = {}
        places = iter(gathered.places)
        for each in asked:
            for _, place in zip(each.requests, places, strict=False):
                if place is not None:
                    self.waiting.setdefault(place[0], []).append(each.item)
                    self.missing[each.item] = self.missing.get(each.item, 0) + 1
        self.total = len(self.missing)
        self.done = 0

    def __call__(self, works: Sequence[int]) -> None:
        for work in works:
            for item in self.waiting.get(work, ()):
                self.missing[item] -= 1
                self.done += self.missing[item] == 0
        self.report(self.done, self.total)
