"""Mean absolute log-ratio (MALoR).

Measures:
    How far a model leans to one gender when it reads of an occupation. For each of M occupations the log2 of
    P(male term) / P(female term) is averaged over N structures; MALoR is the mean of the absolute values:
    (1/M) sum over occupations of | (1/N) sum over structures of log2 P(male) / P(female) |.

Reads as:
    Bits. 0 is neutral: no occupation leans. At 1 the likelier term is twice as likely as the other in a typical
    occupation, at 2 four times. It has no upper end. Two figures beside it split it. The base rate, its signed mean,
    says to which side occupations lean on the whole; occupations that lean to opposite sides cancel out there and not
    here. The spread is the mean distance of occupations from the base rate: what ties gender to occupation.

Caveats:
    An absolute value cannot fall below 0, so noise alone makes MALoR positive. A structure that leans to one side moves
    all occupations at once, and many occupations do not average that out. Its interval is corrected for both, and its
    lower end is 0 unless the leans are more consistent over structures than chance allows. It speaks of the
    occupations, structures and terms that were asked, and of two genders only. Values from other structures or terms
    are not comparable.

References:
    The measure and its figures for BERT, RoBERTa and ALBERT: see the published figures on the page of the probes.
    Winogender's occupations: Rudinger et al. (2018), Gender bias in coreference resolution, NAACL.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import polars as pl

from evenhand.core.estimates import Estimate
from evenhand.core.probes import Occupation
from evenhand.instruments.gate import behind_gate
from evenhand.instruments.malor.questions import Floats, GenderProbabilities
from evenhand.instruments.malor.results import Correlation, MalorResult, OccupationLean
from evenhand.stats.absolute_means import ABSOLUTE_MEAN, absolute_mean_interval
from evenhand.stats.crossed import CROSSED_DEVIATION, absolute_deviation_interval, crossed_mean_interval
from evenhand.stats.intervals import Interval, cluster_interval, flip_test
from evenhand.stats.resampling import Resampling


@dataclass(frozen=True, slots=True)
class LogRatios:
    """log2 P(male) / P(female), one row per occupation and one column per structure; NaN where unasked."""

    values: Floats

    @property
    def occupations(self) -> int:
        """How many occupations there are."""
        return int(self.values.shape[0])

    @property
    def structures(self) -> int:
        """How many structures there are."""
        return int(self.values.shape[1])

    @property
    def leans(self) -> Floats:
        """Mean over structures of each occupation; NaN where nothing was asked."""
        known = np.isfinite(self.values)
        with np.errstate(invalid="ignore"):
            means: Floats = np.where(known, self.values, 0.0).sum(axis=1) / known.sum(axis=1)
        return means


def malor(ratios: LogRatios) -> float:
    """The mean absolute lean of occupations that were asked; NaN if none was."""
    leans = np.abs(_known_leans(ratios))
    return float(leans.mean()) if leans.size else math.nan


def base_rate(ratios: LogRatios) -> float:
    """The signed mean of their leans; NaN if there is none."""
    leans = _known_leans(ratios)
    return float(leans.mean()) if leans.size else math.nan


def spread(ratios: LogRatios) -> float:
    """The mean distance of their leans from the base rate; NaN if there is none."""
    leans = _known_leans(ratios)
    return float(np.abs(leans - leans.mean()).mean()) if leans.size else math.nan


def _known_leans(ratios: LogRatios) -> Floats:
    leans = ratios.leans
    return leans[np.isfinite(leans)]


NOTHING = "nothing could be asked"

FEWEST_STRUCTURES = 7
"""Below these no pattern of signs is rare enough to show that occupations differ, and MALoR is not told from 0."""

_TINY = 1e-12
"""Bits below which there is nothing but rounding."""

FLIP_METHOD = f"{CROSSED_DEVIATION}; 0 unless sign flips of structures exclude it"
TESTED_METHOD = f"{ABSOLUTE_MEAN}; 0 unless sign flips of structures or the base rate exclude it"


def malor_estimate(ratios: LogRatios, *, resampling: Resampling) -> Estimate:
    """MALoR with its interval.

    Close to 0 an interval can only miss by starting too high, so that all cases that it may miss are left to the test
    for its lower end. The interval is of the lean without noise. It is stretched to hold the value, which noise can
    raise above it.
    """
    known = _answered(ratios)
    if not known.occupations:
        return Estimate.undefined(NOTHING)
    interval = absolute_mean_interval(known.values, confidence=resampling.confidence)
    if interval.low > 0 and not _is_told_from_zero(known, resampling=resampling):
        interval = replace(interval, low=0.0)
    return _estimate(malor(known), interval, known, method=TESTED_METHOD)


def _is_told_from_zero(ratios: LogRatios, *, resampling: Resampling) -> bool:
    """Whether leans are more consistent over structures than chance allows, whatever distribution it has.

    Occupations that all lean alike hardly differ from flip to flip, so that a base rate that is surely away from 0 is
    enough by itself.
    """
    if ratios.structures < FEWEST_STRUCTURES:
        return False
    return (
        _leans_as_one(ratios, confidence=resampling.confidence)
        or _chance_of_lean(ratios, resampling=resampling) <= 1 - resampling.confidence
    )


def _leans_as_one(ratios: LogRatios, *, confidence: float) -> bool:
    """Whether the base rate is away from 0 by an interval that misses five times less often than others do."""
    shared = crossed_mean_interval(ratios.values, confidence=1 - (1 - confidence) / 5)
    return shared.low > 0 or shared.high < 0


def signed_estimate(ratios: LogRatios, *, resampling: Resampling) -> Estimate:
    """The signed mean over occupations with its interval."""
    known = _answered(ratios)
    if not known.occupations:
        return Estimate.undefined(NOTHING)
    interval = crossed_mean_interval(known.values, confidence=resampling.confidence)
    return _estimate(base_rate(known), interval, known, method=interval.method)


def spread_estimate(ratios: LogRatios, *, resampling: Resampling) -> Estimate:
    """How far occupations lie from the base rate that they share, with its interval.

    Noise alone gives a spread. If occupations did not differ, what an answer has beyond the mean of its structure would
    be as likely to have the opposite sign, so the lower end is 0 unless flips of whole structures exclude it. A lower
    end may be too high in half of the cases that the whole interval may miss.
    """
    known = _answered(ratios)
    if not known.occupations:
        return Estimate.undefined(NOTHING)
    interval = absolute_deviation_interval(known.values, confidence=resampling.confidence)
    beyond = LogRatios(known.values - np.nanmean(known.values, axis=0))
    if interval.low > 0 and _chance_of_lean(beyond, resampling=resampling) > (1 - resampling.confidence) / 2:
        interval = replace(interval, low=0.0)
    return _estimate(spread(known), interval, known, method=FLIP_METHOD)


def _chance_of_lean(ratios: LogRatios, *, resampling: Resampling) -> float:
    """Share of sign patterns over structures under which occupations lean as much."""
    return flip_test(_lean_of_flips(ratios), ratios.structures, resampling=resampling)


def field_estimates(
    ratios: LogRatios, occupations: Sequence[Occupation], *, resampling: Resampling
) -> dict[str, Estimate]:
    """The signed mean of each field."""
    fields = sorted({occupation.field for occupation in occupations if occupation.field})
    return {
        field: signed_estimate(
            LogRatios(ratios.values[[occupation.field == field for occupation in occupations]]),
            resampling=resampling,
        )
        for field in fields
    }


def occupation_leans(
    sides: GenderProbabilities, occupations: Sequence[Occupation], *, resampling: Resampling
) -> tuple[OccupationLean, ...]:
    """Each occupation with its lean, in the order of the list; those never asked have no value."""
    return tuple(
        _occupation_lean(occupation, sides.male[row], sides.female[row], resampling=resampling)
        for row, occupation in enumerate(occupations)
    )


def _occupation_lean(
    occupation: Occupation, male: Floats, female: Floats, *, resampling: Resampling
) -> OccupationLean:
    known = np.isfinite(male - female)
    ratios = (male - female)[known]
    n = len(ratios)
    if n == 0:
        estimate = Estimate.undefined(NOTHING)
    else:
        interval = cluster_interval(
            lambda weights: (weights @ ratios) / weights.sum(axis=1), n, resampling=resampling
        )
        estimate = interval.around(float(np.mean(ratios)), n=n, clusters=n)
    return OccupationLean(
        occupation=occupation.name,
        field=occupation.field,
        log2_ratio=estimate,
        p_male=float(np.mean(2.0 ** male[known])) if n else math.nan,
        p_female=float(np.mean(2.0 ** female[known])) if n else math.nan,
        n=n,
    )


def correlation(
    ratios: LogRatios,
    occupations: Sequence[Occupation],
    shares: Mapping[str, float],
    *,
    source: str,
    resampling: Resampling,
) -> Correlation:
    """How the lean towards men goes with the real share of women; a model of the world as it is reads close to -1."""
    from scipy import stats

    leans = ratios.leans
    chosen = [
        row
        for row, occupation in enumerate(occupations)
        if occupation.name in shares and math.isfinite(leans[row])
    ]
    lean = leans[chosen]
    women = np.array([shares[occupations[row].name] for row in chosen])
    ranks = (stats.rankdata(lean), stats.rankdata(women))
    return Correlation(
        source=source,
        pearson=_correlation_estimate(lean, women, resampling=resampling),
        spearman=_correlation_estimate(*ranks, resampling=resampling),
        n=len(chosen),
        shares={occupations[row].name: float(shares[occupations[row].name]) for row in chosen},
    )


def results_of_scores(stated: MalorResult, scores: pl.DataFrame, *, resampling: Resampling) -> MalorResult:
    """One result as scores give it, with what is stated beside it of the gate, and of what was left out."""
    own = scores.filter(experiment=stated.experiment, direction=stated.direction)
    asked = own.unique("occupation", keep="first", maintain_order=True)
    named = asked.select("occupation", "field").iter_rows()
    occupations = [Occupation(name, field, ()) for name, field in named]
    rows = {occupation.name: row for row, occupation in enumerate(occupations)}
    columns = {number: column for column, number in enumerate(own["structure"].unique(maintain_order=True))}
    cells = tuple(
        np.array([places[key] for key in own[name]], dtype=np.int64)
        for name, places in (("occupation", rows), ("structure", columns))
    )
    tables = np.full((2, len(rows), len(columns)), np.nan)
    for table, name in zip(tables, ("log2_male", "log2_female"), strict=True):
        table[cells] = own[name].fill_null(math.nan).to_numpy()
    sides = GenderProbabilities(*tables)
    ratios = LogRatios(sides.log_ratios)
    again = stated.model_copy(
        update={
            "MALoR": malor_estimate(ratios, resampling=resampling),
            "signed_mean": signed_estimate(ratios, resampling=resampling),
            "spread": spread_estimate(ratios, resampling=resampling),
            "by_field": field_estimates(ratios, occupations, resampling=resampling),
            "occupations": occupation_leans(sides, occupations, resampling=resampling),
            "correlations": tuple(
                correlation(ratios, occupations, one.shares, source=one.source, resampling=resampling)
                for one in stated.correlations
            ),
            "ungated": None,
        }
    )
    if not np.isfinite(ratios.values).any():  # why is no part of the scores
        again = again.model_copy(
            update={name: _undefined_as(getattr(stated, name), getattr(again, name)) for name in _WHOLE}
        )
    return behind_gate(again, stated.sense)


_WHOLE = ("MALoR", "signed_mean", "spread")


def _undefined_as(stated: Estimate, again: Estimate) -> Estimate:
    return again if stated.defined else stated


def _correlation_estimate(first: Floats, second: Floats, *, resampling: Resampling) -> Estimate:
    n = len(first)
    if n < 4 or np.ptp(first) == 0 or np.ptp(second) == 0:
        return Estimate.undefined("a correlation needs at least four occupations that differ", n=n)

    def weighted(weights: Floats) -> Floats:
        total = weights.sum(axis=1)
        means = [(weights @ values) / total for values in (first, second)]
        product = (weights @ (first * second)) / total - means[0] * means[1]
        spreads = [
            (weights @ values**2) / total - mean**2
            for values, mean in zip((first, second), means, strict=True)
        ]
        with np.errstate(invalid="ignore", divide="ignore"):
            found: Floats = product / np.sqrt(np.maximum(spreads[0] * spreads[1], 0.0))
        return np.nan_to_num(np.clip(found, -1.0, 1.0))

    interval = cluster_interval(weighted, n, resampling=resampling, lowest=-1.0, highest=1.0)
    named = replace(interval, method=interval.method.replace("cluster", "occupation"))
    return named.around(float(weighted(np.ones((1, n)))[0]), n=n, clusters=n)


def _answered(ratios: LogRatios) -> LogRatios:
    """Without occupations and structures that were never asked."""
    known = np.isfinite(ratios.values)
    return LogRatios(ratios.values[known.any(axis=1)][:, known.any(axis=0)])


def _lean_of_flips(ratios: LogRatios) -> Callable[[Floats], Floats]:
    """From signs of structures to how much all occupations lean as one and how far they lie apart, added up.

    Each is in units of about what it varies by from flip to flip, which no flip changes. Structures that lean to one
    side by several bits drown what occupations differ by in MALoR itself, and not here.
    """
    known = np.isfinite(ratios.values)
    in_row = known.sum(axis=1)[:, None]
    centred = np.where(known, ratios.values - np.nanmean(ratios.values, axis=0), 0.0) / in_row
    shared = (np.where(known, ratios.values, 0.0) / in_row).mean(axis=0)
    apart = np.sqrt((centred**2).sum(axis=1)).mean() / math.sqrt(ratios.occupations)
    by_chance = np.sqrt((shared**2).sum()), apart

    def lean(signs: Floats) -> Floats:
        parts = np.abs(signs @ shared), np.abs(signs @ centred.T).mean(axis=1)
        units = [part / unit for part, unit in zip(parts, by_chance, strict=True) if unit > _TINY]
        total: Floats = np.sum(units, axis=0) if units else np.zeros(len(signs))
        return total

    return lean


def _estimate(value: float, interval: Interval, ratios: LogRatios, *, method: str) -> Estimate:
    """The value with its interval, stretched to hold it."""
    if math.isfinite(interval.low):
        interval = Interval(min(value, interval.low), max(value, interval.high), method)
    return interval.around(value, n=int(np.isfinite(ratios.values).sum()), clusters=ratios.occupations)
