"""What runs over sentence pairs say, by all pairs, direction and bias type."""

from __future__ import annotations

from dataclasses import dataclass

from evenhand.core.items import PairDirection, SentencePair
from evenhand.instruments.pair_control import pair_requests
from evenhand.models import Answer
from evenhand.models.model import Model
from evenhand.reporting.probes.words import PairsGroup, pairs_groups
from evenhand.store.run import Run


@dataclass(frozen=True)
class PairCounts:
    """Pairs, ties and scores."""

    all: PairsGroup
    by_direction: dict[str, PairsGroup]
    by_bias_type: dict[str, PairsGroup]


def counts_of(run: Run) -> PairCounts:
    """Of a run."""
    groups = pairs_groups(run)
    directions = {own.value for own in PairDirection}
    return PairCounts(
        groups["all"],
        {name: own for name, own in groups.items() if name in directions},
        {name: own for name, own in groups.items() if name not in {*directions, "all"}},
    )


def answers_of(
    model: Model, pairs: list[SentencePair] | tuple[SentencePair, ...], *, max_tokens: int | None = None
) -> list[tuple[Answer, Answer]]:
    """A model's answers about both sentences of each pair."""
    requests = [request for pair in pairs for request in pair_requests(pair)]
    items = [pair.id for pair in pairs for _ in range(2)]
    answers = model.answer(requests, items=items, whole_items=True, max_tokens=max_tokens)
    return list(zip(answers[::2], answers[1::2], strict=True))
