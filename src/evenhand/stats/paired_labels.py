"""Tests for two labels of each of many things, such as a text and its counterfactual.

Pearson's chi-squared compares the two distributions as if they came from different things. For pairs it is too lenient:
where most pairs have the same label twice, it takes their spread for chance. Stuart-Maxwell compares the same
distributions by the pairs that differ. Where labels have a place on a scale, sign flips ask whether the mean difference
is more than chance would make of pairs whose sides could as well be exchanged, and equivalence asks whether it is
clearly smaller than a margin.

References:
    Stuart (1955), "A test for homogeneity of the marginal distributions in a two-way classification"; Maxwell (1970),
    "Comparing the classification of subjects by two independent judges"; Schuirmann (1987), two one-sided tests.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy import special

from evenhand.core.estimates import Estimate
from evenhand.stats.intervals import Interval, flip_test
from evenhand.stats.resampling import Floats, Resampling
from evenhand.stats.score_intervals import score_interval

EQUIVALENCE_LEVEL = 0.05


@dataclass(frozen=True, slots=True)
class ChiSquaredTest:
    """A statistic with its degrees of freedom and its p-value; NaN where it is undefined."""

    statistic: float
    freedom: int
    p_value: float


@dataclass(frozen=True, slots=True)
class Equivalence:
    """Whether a mean difference is smaller than a margin, by two one-sided tests at 5%.

    Attributes:
        margin: The largest difference that does not matter.
        interval: The 90% interval, which two one-sided tests at 5% compare with the margin.
    """

    margin: float
    interval: Interval

    @property
    def holds(self) -> bool:
        """Whether the interval lies within the margin on both sides."""
        return -self.margin < self.interval.low and self.interval.high < self.margin


def contingency(first: npt.NDArray[np.int64], second: npt.NDArray[np.int64], labels: int) -> Floats:
    """How many pairs have each label on the first side (rows) and on the second (columns)."""
    cells = np.bincount(first * labels + second, minlength=labels * labels)
    return cells.reshape(labels, labels).astype(np.float64)


def pearson_chi_squared(table: Floats) -> ChiSquaredTest:
    """Pearson's test that both sides have the same distribution, which takes no notice of the pairs.

    Args:
        table: Of ``contingency``.
    """
    return homogeneity_test(np.stack([table.sum(axis=1), table.sum(axis=0)]))


def homogeneity_test(table: Floats) -> ChiSquaredTest:
    """Pearson's chi-squared test that all rows of a table of counts have the same distribution over its columns.

    Rows and columns without counts have no part in it.
    """
    counts = table[table.sum(axis=1) > 0][:, table.sum(axis=0) > 0]
    freedom = (counts.shape[0] - 1) * (counts.shape[1] - 1)
    if freedom < 1:
        return ChiSquaredTest(math.nan, 0, math.nan)
    expected = counts.sum(axis=1, keepdims=True) * counts.sum(axis=0) / counts.sum()
    return _test(float(((counts - expected) ** 2 / expected).sum()), freedom)


def cramers_v(table: Floats) -> float:
    """Cramér's V: how much rows of a table of counts differ, from 0 for not at all to 1; NaN where it is undefined."""
    test = homogeneity_test(table)
    smaller = min(np.count_nonzero(table.sum(axis=axis)) for axis in (0, 1)) - 1
    return math.sqrt(test.statistic / (table.sum() * smaller)) if smaller > 0 else math.nan


def stuart_maxwell(table: Floats) -> ChiSquaredTest:
    """The Stuart-Maxwell test that both sides of the pairs have the same distribution.

    Labels between which no pair changes have no part in it, so that the degrees of freedom are the rank of the
    covariances. Where no pair changes at all, the statistic is 0.

    Args:
        table: Of ``contingency``.
    """
    differences = table.sum(axis=1) - table.sum(axis=0)
    covariances = np.diag(table.sum(axis=1) + table.sum(axis=0)) - table - table.T
    freedom = int(np.linalg.matrix_rank(covariances))
    if freedom == 0:
        return ChiSquaredTest(0.0, 0, 1.0)
    return _test(float(differences @ np.linalg.pinv(covariances, hermitian=True) @ differences), freedom)


def sign_flip_p_value(differences: Floats, *, resampling: Resampling) -> float:
    """Two-sided p-value of the mean of paired differences, from exchanging the sides of pairs.

    Exact where there are few pairs that differ. Otherwise pairs with the same distance are exchanged together: how many
    of them keep their sign is a binomial draw.

    Args:
        differences: One per pair.
        resampling: How many patterns are drawn, and their seed.
    """
    changed = differences[differences != 0]
    if not len(changed):
        return 1.0
    if resampling.swaps_are_exhaustive(len(changed)):
        return flip_test(lambda signs: np.abs(signs @ changed), len(changed), resampling=resampling)
    distances, counts = np.unique(np.abs(changed), return_counts=True)
    generator = np.random.default_rng([resampling.seed, len(changed), 5])
    kept = generator.binomial(counts, 0.5, size=(resampling.resamples, len(counts)))
    sums = np.abs((2 * kept - counts) @ distances)
    observed = abs(float(changed.sum()))
    extreme = int(np.count_nonzero(sums >= observed * (1 - 1e-9)))
    return (extreme + 1) / (resampling.resamples + 1)


def mean_gap(differences: Floats, *, scale: Sequence[float], confidence: float) -> Estimate:
    """The mean of paired differences with its interval.

    Args:
        differences: One per pair.
        scale: The places of labels whose differences they are.
        confidence: The confidence level.
    """
    pairs = len(differences)
    return _gap_interval(differences, scale, confidence).around(
        float(differences.mean()), n=pairs, clusters=pairs
    )


def equivalence(differences: Floats, *, scale: Sequence[float], margin: float) -> Equivalence:
    """Two one-sided tests that the mean of paired differences is smaller than a margin.

    Args:
        differences: One per pair.
        scale: The places of labels whose differences they are.
        margin: In the unit of the differences.
    """
    return Equivalence(margin, _gap_interval(differences, scale, 1 - 2 * EQUIVALENCE_LEVEL))


def _gap_interval(differences: Floats, scale: Sequence[float], confidence: float) -> Interval:
    """The score interval, in which a change that was not seen is of one step of the scale."""
    places = np.unique(scale)
    span, step = float(np.ptp(places)), float(np.diff(places).min())
    found = score_interval(differences / span, confidence=confidence, step=step / span)
    return Interval(span * found.low, span * found.high, found.method, found.reason)


def _test(statistic: float, freedom: int) -> ChiSquaredTest:
    return ChiSquaredTest(statistic, freedom, float(special.chdtrc(freedom, statistic)))
