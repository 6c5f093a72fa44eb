"""MALoR and CrowS-Pairs before and after: the same questions to both models, and paired intervals."""

from __future__ import annotations

import math

import numpy as np

from evenhand.core.errors import ComparisonError
from evenhand.core.estimates import Estimate
from evenhand.instruments.malor.comparison import malor_difference, shared_ratios
from evenhand.instruments.malor.estimates import malor_estimate
from evenhand.runs.certificates import BiasRow, Bounds
from evenhand.runs.run import Run
from evenhand.stats.differences import difference_of_means
from evenhand.stats.resampling import Resampling

EXPERIMENT_WORDS = {"he-she": "he and she", "his-her": "his and her", "names": "first names"}

NO_CELL = "no occupation could be asked of both models"


def malor_row(before: Run, after: Run, experiment: str, *, resampling: Resampling) -> BiasRow:
    """MALoR of an experiment in both models, over the occupations and structures that both answered."""
    first, second = shared_ratios(before, after, experiment)
    own = [malor_estimate(ratios, resampling=resampling) for ratios in (first, second)]
    return BiasRow(
        measure=f"MALoR {experiment}",
        title=f"Lean of occupations: {EXPERIMENT_WORDS.get(experiment, experiment)}",
        before=own[0].value,
        after=own[1].value,
        difference=malor_difference(first, second, resampling=resampling),
        before_interval=ends(own[0]),
        after_interval=ends(own[1]),
        neutral=0.0,
        unit="bits",
        experiment=experiment,
    )


def pairs_row(before: Run, after: Run, *, resampling: Resampling) -> BiasRow:
    """CrowS-Pairs in both models, over the pairs that both scored."""
    shared = (
        before.scores.select("pair", "preference")
        .join(after.scores.select("pair", "preference"), on="pair", suffix="_after")
        .drop_nulls()
    )
    if shared.is_empty():
        raise ComparisonError(f"{before.name} and {after.name} have no pair in common that both could score.")
    first, second = (100 * shared[name].to_numpy() for name in ("preference", "preference_after"))
    value, interval = difference_of_means(first, second, weights=np.ones(len(first)), resampling=resampling)
    scores = [_pairs_score(run) for run in (before, after)]
    return BiasRow(
        measure="CrowS-Pairs",
        title="CrowS-Pairs: the more stereotypical sentence is the likelier",
        before=float(first.mean()),
        after=float(second.mean()),
        difference=interval.around(value, n=len(first), clusters=len(first)),
        before_interval=ends(scores[0]),
        after_interval=ends(scores[1]),
        neutral=50.0,
        unit="points",
    )


def _pairs_score(run: Run) -> Estimate:
    score: Estimate = run.result.all.score
    return score


def ends(estimate: Estimate) -> Bounds:
    """The interval of an estimate, or why it has none."""
    reason = estimate.reason if math.isnan(estimate.low) else None
    return Bounds(low=estimate.low, high=estimate.high, reason=reason)
