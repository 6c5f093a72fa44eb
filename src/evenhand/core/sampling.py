"""Samples of items: seeded, every item as likely as any other, and spread over clusters."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from random import Random
from typing import TypeVar

SAMPLE_SEED = 20_210_801
"""One seed for all samples, so that two models with the same limit get the same items."""

Member = TypeVar("Member")


def sample(
    members: Sequence[Member],
    limit: int | None,
    *,
    cluster: Callable[[Member], Hashable],
    part: str = "",
) -> tuple[Member, ...]:
    """A sample of this size in the order of the members; all of them where the limit is None or not below their number.

    Systematic sampling: clusters in random order, the members of each in random order, and of this line every k-th from
    a random place. Every member is as likely as any other, so figures over the sample estimate those over all; and a
    cluster gets its share of the sample, up to rounding, so a small sample has as many clusters as it can.

    Args:
        members: What is sampled.
        limit: How many are taken.
        cluster: What the members of a cluster have in common, such as their target term.
        part: Of what they are a part, such as a task, so that the samples of two parts are of other clusters.
    """
    if limit is None or limit >= len(members):
        return tuple(members)
    chance = Random(f"{SAMPLE_SEED} {part}")  # noqa: S311 # nothing secret
    by_cluster: dict[Hashable, list[int]] = {}
    for place, member in enumerate(members):
        by_cluster.setdefault(cluster(member), []).append(place)
    clusters = list(by_cluster.values())
    chance.shuffle(clusters)
    line = [place for own in clusters for place in chance.sample(own, len(own))]
    start = chance.randrange(len(line))
    chosen = (line[(start + number * len(line)) // limit] for number in range(limit))
    return tuple(members[place] for place in sorted(chosen))
