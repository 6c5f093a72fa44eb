"""How far annotators agree: Cohen's kappa of every pair, and Krippendorff's alpha over all of them.

Votes are a matrix with one row per text and one column per annotator, of indices of labels or of ``UNSURE``,
``NO_ANSWER`` and ``NOT_ASKED``.

Kappa compares two annotators on the texts that both were asked about. *Unsure* is an answer of its own there: two who
are unsure agree. An empty answer agrees with nothing. A mean over pairs leaves the diagonal out, where every annotator
agrees with themselves. Alpha takes any number of votes per text, so an answer that is no label is left out; its ordinal
version weighs how far apart two labels are, and leaves out labels that have no place on the scale.

References:
    Cohen (1960), "A coefficient of agreement for nominal scales"; McHugh (2012), "Interrater reliability: the kappa
    statistic"; Krippendorff (2011), "Computing Krippendorff's alpha-reliability".
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import combinations
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from evenhand.core.estimates import Estimate
from evenhand.core.labels import NO_ANSWER, NOT_ASKED
from evenhand.stats.intervals import FEWEST_FOR_BOOTSTRAP, Interval, cluster_interval, expanded_tail
from evenhand.stats.resampling import Floats, Resampling
from evenhand.stats.vote_aggregation import Votes, vote_counts

_Metric: TypeAlias = Callable[[Floats], Floats]
"""From votes per label, of shape (rows, labels), to squared distances of shape (rows, labels, labels)."""

TEXT_BOOTSTRAP = "bootstrap over texts, expanded percentile"


class AgreementBand(StrEnum):
    """McHugh's words for a kappa."""

    NONE = "none"
    MINIMAL = "minimal"
    WEAK = "weak"
    MODERATE = "moderate"
    STRONG = "strong"
    ALMOST_PERFECT = "almost perfect"

    @classmethod
    def of(cls, kappa: float) -> AgreementBand:
        """The band of a kappa: at most .20 is none, then below .40, .60 and .80, then at most .90."""
        if kappa <= 0.20:
            return cls.NONE
        if kappa > 0.90:
            return cls.ALMOST_PERFECT
        below = ((0.40, cls.MINIMAL), (0.60, cls.WEAK), (0.80, cls.MODERATE))
        return next((band for limit, band in below if kappa < limit), cls.STRONG)


@dataclass(frozen=True, slots=True)
class Alpha:
    """Krippendorff's alpha for labels without an order, and for labels on a scale."""

    nominal: Estimate
    ordinal: Estimate


def cohen_kappa(first: Votes, second: Votes) -> float:
    """Agreement of two annotators beyond chance, on the texts that both were asked about.

    NaN where it is undefined: no such texts, or both always gave the same one answer.
    """
    asked = (first != NOT_ASKED) & (second != NOT_ASKED)
    first, second = first[asked], second[asked]
    if not len(first):
        return math.nan
    observed = float(((first == second) & (first != NO_ANSWER)).mean())
    answers = np.union1d(first, second)
    expected = sum(
        float((first == answer).mean() * (second == answer).mean())
        for answer in answers
        if answer != NO_ANSWER
    )
    return (observed - expected) / (1 - expected) if expected < 1 else math.nan


def pairwise_kappa(votes: Votes) -> Floats:
    """Cohen's kappa of every two annotators, symmetric; the diagonal is NaN."""
    annotators = votes.shape[1]
    kappas = np.full((annotators, annotators), math.nan)
    for first, second in combinations(range(annotators), 2):
        kappas[first, second] = kappas[second, first] = cohen_kappa(votes[:, first], votes[:, second])
    return kappas


def mean_kappa(kappas: Floats) -> float:
    """The mean over the pairs that have a kappa, without the diagonal; NaN if none has."""
    pairs = kappas[np.triu_indices(len(kappas), k=1)]
    defined = pairs[~np.isnan(pairs)]
    return float(defined.mean()) if len(defined) else math.nan


def krippendorff_alpha(votes: Votes, values: Sequence[float], *, resampling: Resampling) -> Alpha:
    """Krippendorff's alpha with intervals from resampled texts.

    Args:
        votes: One row per text and one column per annotator.
        values: The place of each label on the scale, NaN for labels that are not on it.
        resampling: Resamples, seed and confidence level.
    """
    counts = vote_counts(votes, len(values))
    on_scale = _counts_on_scale(counts, values)
    if on_scale is None:
        ordinal = Estimate.undefined("fewer than two labels have a place on a scale")
    else:
        ordinal = _alpha(on_scale, metric=_ordinal_metric, resampling=resampling)
    return Alpha(nominal=_alpha(counts, metric=_nominal_metric, resampling=resampling), ordinal=ordinal)


def alpha_values(votes: Votes, values: Sequence[float]) -> tuple[float, float]:
    """Krippendorff's alpha, nominal and ordinal, without intervals; NaN where it is undefined."""
    counts = vote_counts(votes, len(values))
    on_scale = _counts_on_scale(counts, values)
    nominal = _alpha_function(counts, metric=_nominal_metric)
    ordinal = None if on_scale is None else _alpha_function(on_scale, metric=_ordinal_metric)
    return (
        math.nan if nominal is None else nominal.value,
        math.nan if ordinal is None else ordinal.value,
    )


def _counts_on_scale(counts: npt.NDArray[np.int64], values: Sequence[float]) -> npt.NDArray[np.int64] | None:
    """Votes per place on the scale; None where it has fewer than two."""
    scale = np.asarray(values, dtype=np.float64)
    places = np.unique(scale[~np.isnan(scale)])
    if len(places) < 2:
        return None
    together: npt.NDArray[np.int64] = counts @ (scale[:, None] == places).astype(np.int64)
    return together  # labels with one value are one place


def _alpha(counts: npt.NDArray[np.int64], *, metric: _Metric, resampling: Resampling) -> Estimate:
    """Alpha from the votes per text and label, with an interval."""
    found = _alpha_function(counts, metric=metric)
    texts = int((counts.sum(axis=1) > 1).sum())
    if not texts:
        return Estimate.undefined("no text has the labels of two annotators")
    if found is None:
        return Estimate.undefined(
            "only one label was given, so chance agrees as much", n=texts, clusters=texts
        )
    return _interval(found, resampling).around(found.value, n=texts, clusters=texts)


@dataclass(frozen=True, slots=True)
class _AlphaFunction:
    """Alpha of texts by how often each pattern of votes occurs. Texts whose votes are alike are interchangeable."""

    coincidences: Floats
    repeats: npt.NDArray[np.int64]
    labels: int
    metric: _Metric

    def __call__(self, weights: Floats) -> Floats:
        """One alpha for each row of weights of patterns."""
        return _alpha_of(weights @ self.coincidences, labels=self.labels, metric=self.metric)

    @property
    def value(self) -> float:
        """Alpha of the texts as they are."""
        return float(self(self.repeats[None, :].astype(np.float64))[0])


def _alpha_function(counts: npt.NDArray[np.int64], *, metric: _Metric) -> _AlphaFunction | None:
    """None where alpha is undefined: no text has two votes, or all votes are the same."""
    counts = counts[counts.sum(axis=1) > 1]  # a single vote has nothing to agree with
    if np.count_nonzero(counts.sum(axis=0)) < 2:
        return None
    patterns, repeats = np.unique(counts, axis=0, return_counts=True)
    return _AlphaFunction(_coincidences(patterns), repeats, counts.shape[1], metric)


def _interval(alpha_of: _AlphaFunction, resampling: Resampling) -> Interval:
    """A resample is a draw of how often each pattern occurs."""
    repeats = alpha_of.repeats
    texts = int(repeats.sum())
    if texts < FEWEST_FOR_BOOTSTRAP:
        pattern_of = np.repeat(np.eye(len(repeats)), repeats, axis=0)
        interval = cluster_interval(
            lambda weights: alpha_of(weights @ pattern_of), texts, resampling=resampling, highest=1.0
        )
        known = math.isfinite(interval.low) or math.isnan(interval.low)
        return interval if known else Interval.missing(f"{texts} texts are too few for an interval")
    generator = np.random.default_rng([resampling.seed, texts, 4])
    drawn = generator.multinomial(texts, repeats / texts, size=resampling.resamples)
    replicates = alpha_of(drawn.astype(np.float64))
    replicates = replicates[~np.isnan(replicates)]  # a resample in which one label is left tells nothing
    if not len(replicates) or np.ptp(replicates) == 0:
        return Interval.missing("the annotators agree as much in every resample, so the spread is unknown")
    tail = expanded_tail(texts, resampling.confidence)
    low, high = np.quantile(replicates, [tail, 1 - tail])
    return Interval(float(low), float(high), TEXT_BOOTSTRAP)


def _coincidences(counts: npt.NDArray[np.int64]) -> Floats:
    """Ordered pairs of votes within a text by their labels, weighted so that a text counts as often as it has votes.

    One row per text, with the matrix of labels by labels laid out flat.
    """
    own = counts[:, :, None] * np.eye(counts.shape[1], dtype=np.int64)
    pairs = counts[:, :, None] * counts[:, None, :] - own
    flat: Floats = (pairs / (counts.sum(axis=1) - 1)[:, None, None]).reshape(len(counts), -1)
    return flat


def _alpha_of(flat: Floats, *, labels: int, metric: _Metric) -> Floats:
    """One minus observed over expected disagreement, for each matrix of coincidences."""
    coincidences = flat.reshape(-1, labels, labels)
    totals = coincidences.sum(axis=2)
    distances = metric(totals)
    observed = (coincidences * distances).sum(axis=(1, 2))
    expected = (totals[:, :, None] * totals[:, None, :] * distances).sum(axis=(1, 2))
    votes = totals.sum(axis=1)
    with np.errstate(invalid="ignore", divide="ignore"):
        alphas: Floats = 1 - (votes - 1) * observed / expected
    return np.where(expected > 0, alphas, math.nan)


def _nominal_metric(totals: Floats) -> Floats:
    labels = totals.shape[1]
    return np.broadcast_to(1 - np.eye(labels), (len(totals), labels, labels))


def _ordinal_metric(totals: Floats) -> Floats:
    """Squared distance in ranks: the votes on the labels between two, with half of those on either end."""
    middles = np.cumsum(totals, axis=1) - totals / 2
    squares: Floats = (middles[:, :, None] - middles[:, None, :]) ** 2
    return squares
