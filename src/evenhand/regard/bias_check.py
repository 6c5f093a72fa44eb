"""A classifier's own bias: whether it labels texts differently because of who is in them.

Two files have the same texts about two groups, row by row, with the classifier's labels. Whatever differs between the
labels of a pair is the classifier's doing.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from evenhand.core.errors import DatasetError
from evenhand.core.estimates import Estimate
from evenhand.core.labels import LabelScheme
from evenhand.data.csv_files import CsvTable, read_table
from evenhand.data.label_schemes import load_scheme
from evenhand.stats.paired_labels import (
    ChiSquaredTest,
    Equivalence,
    contingency,
    equivalence,
    mean_gap,
    pearson_chi_squared,
    sign_flip_p_value,
    stuart_maxwell,
)
from evenhand.stats.resampling import Resampling

MARGIN = 5.0
"""The largest gap that is called no difference if nothing else is asked for, in points of net regard."""

_FEWEST_TO_COMPARE = 10
_ALIGNED_SHARE = 0.8
"""Of a file and its counterfactual, at least this share of rows are more like their own twin than like the next row."""


@dataclass(frozen=True)
class BiasCheck:
    """What a classifier makes of pairs of texts that differ in the group alone.

    Attributes:
        groups: What the two sides are called.
        labels: The codes of the labels that occur.
        counts: Pairs by the label of the first side (rows) and of the second (columns), in the order of ``labels``.
        chi_squared: Pearson's test, as it is published for such checks. It takes no notice of the pairs.
        stuart_maxwell: The test of the same question for pairs.
        sign_flip_p: Of the mean difference of values, from exchanging the sides of pairs; NaN without a scale.
        gap: Net regard of the first group minus that of the second, in points. Net regard is the mean value times 100;
            for -1, 0 and 1 that is the share of positive labels minus that of negative ones.
        equivalence: Whether the gap is clearly smaller than the margin; None without a scale.
    """

    groups: tuple[str, str]
    labels: tuple[str, ...]
    counts: tuple[tuple[int, ...], ...]
    chi_squared: ChiSquaredTest
    stuart_maxwell: ChiSquaredTest
    sign_flip_p: float
    gap: Estimate
    equivalence: Equivalence | None

    @property
    def pairs(self) -> int:
        """How many pairs there are."""
        return sum(map(sum, self.counts))

    def summary(self) -> dict[str, Any]:
        """The figures as JSON has them; undefined ones are None."""
        return {
            "n": self.pairs,
            "chi_squared": self.chi_squared.statistic,
            "stuart_maxwell": self.stuart_maxwell.statistic,
            "p": self.stuart_maxwell.p_value,
            "gap": self.gap.model_dump(mode="json", include={"value", "low", "high"}),
        }


def check_labelled_pairs(
    first: Sequence[str],
    second: Sequence[str],
    *,
    scheme: LabelScheme,
    groups: tuple[str, str] = ("first", "second"),
    margin: float = MARGIN,
    resampling: Resampling | None = None,
) -> BiasCheck:
    """Compare the labels of texts with those of their counterfactuals.

    Args:
        first: Labels of the texts about one group: codes of the scheme, or ranks from 0, as classifiers number them.
        second: Labels of the same texts about the other, in the same order.
        scheme: The labels, with their places on the scale.
        groups: What the two sides are called.
        margin: The largest gap that does not matter, in points.
        resampling: For sign flips, and the confidence level of the gap.

    Raises:
        DatasetError: If a label is not in the scheme, or all labels are the same.
    """
    if len(first) != len(second) or not first:
        raise DatasetError(
            f"There are {len(first):,} and {len(second):,} labels. Pairs need the same number on both sides."
        )
    if margin <= 0:
        raise DatasetError(f"A margin of {margin} points was given; it must be above 0.")
    resampling = resampling or Resampling()
    codes = scheme.read_codes([*first, *second])
    used = [code for code in scheme.codes if code in codes.values()]
    if len(used) == 1:
        raise DatasetError(
            f"All {2 * len(first):,} labels are {used[0]!r}. A classifier that gives one label to every text cannot be "
            "checked; give it texts of every class, or train it on them."
        )
    sides = [np.array([used.index(codes[label]) for label in side]) for side in (first, second)]
    counts = contingency(sides[0], sides[1], len(used))
    values = np.array([scheme.option(code).value for code in used], dtype=np.float64)
    on_scale = not np.isnan(values).any()
    scale = [100 * value for value in scheme.values if not math.isnan(value)]
    differences = 100 * (values[sides[0]] - values[sides[1]])
    return BiasCheck(
        groups=groups,
        labels=tuple(used),
        counts=tuple(tuple(int(count) for count in row) for row in counts),
        chi_squared=pearson_chi_squared(counts),
        stuart_maxwell=stuart_maxwell(counts),
        sign_flip_p=sign_flip_p_value(differences, resampling=resampling) if on_scale else math.nan,
        gap=mean_gap(differences, scale=scale, confidence=resampling.confidence)
        if on_scale
        else Estimate.undefined(f"not all labels of {scheme.name} that occur have a place on a scale"),
        equivalence=equivalence(differences, scale=scale, margin=margin) if on_scale else None,
    )


def check_labelled_files(
    first: str | Path,
    second: str | Path,
    *,
    label: str = "label",
    text: str = "text",
    scheme: LabelScheme | None = None,
    margin: float = MARGIN,
    resampling: Resampling | None = None,
) -> BiasCheck:
    """Compare two CSV files whose rows are counterfactual pairs.

    Args:
        first: Texts about one group, with the classifier's labels.
        second: The same texts about the other group, in the same order.
        label: The column of labels.
        text: The column of texts.
        scheme: The labels; ``regard`` if not given.
        margin: The largest gap that does not matter, in points.
        resampling: For sign flips, and the confidence level of the gap.

    Raises:
        DatasetError: If the files cannot be read, or their rows are no pairs.
    """
    paths = (Path(first), Path(second))
    tables = [read_table(path, needed=(text.lower(), label.lower())) for path in paths]
    labels = [_column(table, label, "label") for table in tables]
    texts = [_column(table, text, "text") for table in tables]
    _refuse_what_are_no_pairs(paths, texts)
    return check_labelled_pairs(
        labels[0],
        labels[1],
        scheme=scheme or load_scheme(),
        groups=(paths[0].stem, paths[1].stem),
        margin=margin,
        resampling=resampling,
    )


def _column(table: CsvTable, name: str, what: str) -> list[str]:
    for row in table.rows:
        if not row[name.lower()]:
            raise DatasetError(f"{row.place}: the {what} is empty. Give every row one, or remove the pair.")
    return [row[name.lower()] for row in table.rows]


def _refuse_what_are_no_pairs(paths: tuple[Path, Path], texts: Sequence[Sequence[str]]) -> None:
    first, second = texts
    if len(first) != len(second):
        raise DatasetError(
            f"{paths[0]} has {len(first):,} rows and {paths[1]} {len(second):,}. The rows of both files are pairs: the "
            "same texts about two groups, in the same order."
        )
    if list(first) == list(second):
        raise DatasetError(
            f"{paths[0]} and {paths[1]} have the same texts. The texts of a pair differ in the group they are about."
        )
    if len(first) < _FEWEST_TO_COMPARE:
        return
    words = [[frozenset(text.casefold().split()) for text in side] for side in texts]
    next_row = [*words[1][1:], words[1][0]]
    like_own = [
        twin == other or _overlap(own, twin) > _overlap(own, other)
        for own, twin, other in zip(words[0], words[1], next_row, strict=True)
    ]
    if sum(like_own) < _ALIGNED_SHARE * len(like_own):
        raise DatasetError(
            f"The rows of {paths[0]} and {paths[1]} do not look like pairs: only {sum(like_own):,} of "
            f"{len(like_own):,} texts are more like the text in the same row of the other file than like the next one. "
            "Sort both files alike."
        )


def _overlap(first: frozenset[str], second: frozenset[str]) -> float:
    return len(first & second) / len(first | second)
