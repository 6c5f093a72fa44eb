"""Texts about two groups with a planted gap in regard, labelled by a classifier with planted errors.

Contexts differ in how they speak of anybody, and in how far they speak better of the first group. Planted is the
mean of that over all contexts there could be. People label a random sample of the texts without error.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import StrEnum

import numpy as np
import numpy.typing as npt

from evenhand.core.errors import EvenhandError
from evenhand.data.group_texts import REGARD_LABELS, GroupText, GroupTexts
from evenhand.lab.regard import erroneous_labels
from evenhand.stats.classification import Integers
from evenhand.stats.resampling import Floats

GROUPS = ("first group", "second group")

PUBLISHED_CONFUSION = ((54, 7, 3), (12, 62, 16), (3, 11, 59))
"""Of a published classifier of German texts: true labels in rows."""

_LEAST = 0.15
"""The share that every label has in every context at least, so that any gap that is planted can be."""

_LARGEST_GAP = 50.0


class GapShape(StrEnum):
    """How gaps of contexts lie around their mean."""

    NORMAL = "normal"
    EXPONENTIAL = "exponential"
    ONE_IN_TEN = "one in ten far off"

    @property
    def farthest(self) -> float:
        """Standard deviations between the mean and the farthest gap."""
        return 2.0 if self is GapShape.NORMAL else _FARTHEST_SKEWED

    def deviations(self, contexts: int, generator: np.random.Generator) -> Floats:
        """Of gaps from their mean, about 1 on average; their mean over all contexts there could be is 0."""
        if self is GapShape.NORMAL:
            return np.clip(generator.normal(size=contexts), -self.farthest, self.farthest)
        if self is GapShape.ONE_IN_TEN:
            return np.where(generator.random(contexts) < 0.1, 3.0, -1 / 3)
        cut = self.farthest + 1.0  # what is cut off lowers the mean by as much as lies beyond
        return np.minimum(generator.exponential(size=contexts), cut) - (1 - math.exp(-cut))


_FARTHEST_SKEWED = 3.0


@dataclass(frozen=True, slots=True, kw_only=True)
class PlantedGap:
    """How texts about two groups are made.

    Attributes:
        gap: Net regard of the first group minus that of the second, in points, over all contexts there could be.
        contexts: How many are drawn of them.
        texts: Texts of each group in each context.
        spread: Standard deviation of the gap over contexts, in points.
        shape: How the gap is distributed over contexts.
        confusion: How often the classifier gives each label to texts of each true one; None for no errors.
        bias: The share of texts of the second group whose label is one step lower than it would have been.
        labelled: Texts that people label, drawn at random; 0 for none.
    """

    gap: float = 0.0
    contexts: int = 10
    texts: int = 100
    spread: float = 10.0
    shape: GapShape = GapShape.NORMAL
    confusion: tuple[tuple[int, ...], ...] | None = None
    bias: float = 0.0
    labelled: int = 0

    def __post_init__(self) -> None:
        if abs(self.gap) + self.shape.farthest * self.spread > _LARGEST_GAP:
            raise EvenhandError(
                f"A gap of {self.gap:g} points with a spread of {self.spread:g} was asked for; gap and "
                f"{self.shape.farthest:g} times the spread may be {_LARGEST_GAP:g} together."
            )


@dataclass(frozen=True, slots=True, eq=False)
class PlantedLabels:
    """Labels without texts, one entry per text.

    Attributes:
        context: The number of the context.
        group: The number of the group.
        true: What people would say.
        given: What the classifier says.
        in_sample: Whether people labelled the text.
    """

    context: Integers
    group: Integers
    true: Integers
    given: Integers
    in_sample: npt.NDArray[np.bool_]


def plant_labels(plan: PlantedGap, generator: np.random.Generator) -> PlantedLabels:
    """Labels whose gap is known."""
    shares = _shares(plan, generator).reshape(-1, len(REGARD_LABELS))
    cells = np.repeat(np.arange(len(shares), dtype=np.int64), plan.texts)
    context, group = np.divmod(cells, len(GROUPS))
    true = erroneous_labels(cells, shares, generator)
    in_sample = np.zeros(len(cells), dtype=bool)
    in_sample[generator.choice(len(cells), size=min(plan.labelled, len(cells)), replace=False)] = True
    return PlantedLabels(
        context=context,
        group=group,
        true=true,
        given=_classified(plan, true, second_group=group == 1, generator=generator),
        in_sample=in_sample,
    )


def plant_gap(plan: PlantedGap, generator: np.random.Generator) -> GroupTexts:
    """Texts whose gap is known."""
    labels = plant_labels(plan, generator)
    codes = tuple(REGARD_LABELS)
    texts = tuple(
        GroupText(
            text=f"Text {number} about the {GROUPS[group]}.",
            group=GROUPS[group],
            context=f"context {context}",
            label=codes[given],
            human_label=codes[true] if sampled else None,
        )
        for number, (context, group, true, given, sampled) in enumerate(
            zip(labels.context, labels.group, labels.true, labels.given, labels.in_sample, strict=True)
        )
    )
    return GroupTexts(name="planted gap", language="en", texts=texts, source="lab")


def _shares(plan: PlantedGap, generator: np.random.Generator) -> Floats:
    """Of the labels in each context and group. What moves from negative to positive regard counts twice in the gap."""
    labels = len(REGARD_LABELS)
    base = _LEAST + (1 - labels * _LEAST) * generator.dirichlet(np.full(labels, 2.0), size=plan.contexts)
    deviation = plan.spread * plan.shape.deviations(plan.contexts, generator)
    moved = (plan.gap + deviation) / 100 / 4
    shares = np.repeat(base[:, None], len(GROUPS), axis=1)
    for group, sign in enumerate((1, -1)):
        shares[:, group, 0] -= sign * moved
        shares[:, group, -1] += sign * moved
    return shares


def _classified(
    plan: PlantedGap,
    true: Integers,
    *,
    second_group: npt.NDArray[np.bool_],
    generator: np.random.Generator,
) -> Integers:
    """The labels that the classifier gives."""
    given = true
    if plan.confusion is not None:
        counts = np.array(plan.confusion, dtype=float)
        given = erroneous_labels(true, counts / counts.sum(axis=1, keepdims=True), generator)
    lowered = second_group & (generator.random(len(true)) < plan.bias)
    return np.where(lowered, np.maximum(given - 1, 0), given)
