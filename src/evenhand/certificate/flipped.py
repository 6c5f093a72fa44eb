"""Over-correction: occupations that lean to the other side than before."""

from __future__ import annotations

import numpy as np
from scipy import stats

from evenhand.core.estimates import Estimate
from evenhand.instruments.malor.comparison import shared_ratios
from evenhand.instruments.malor.measure import Floats, LogRatios
from evenhand.instruments.probe_results import MalorResult
from evenhand.runs.certificates import Flipped, LeanChange
from evenhand.runs.run import Run
from evenhand.stats.significance import holm

_FEWEST = 3
"""Structures without which nothing is said about an occupation."""


def lean_changes(before: Run, after: Run) -> list[LeanChange]:
    """Every occupation of every experiment that both models could be asked, before and after."""
    later = {
        (result.experiment, lean.occupation): lean.log2_ratio
        for result in malor_results(after)
        for lean in result.occupations
    }
    return [
        LeanChange(
            experiment=result.experiment,
            occupation=lean.occupation,
            before=lean.log2_ratio,
            after=later[result.experiment, lean.occupation],
        )
        for result in malor_results(before)
        for lean in result.occupations
        if lean.log2_ratio.defined
        and later.get((result.experiment, lean.occupation), Estimate.undefined("not asked")).defined
    ]


def flipped_occupations(before: Run, after: Run, *, confidence: float) -> list[Flipped]:
    """Occupations that lean to the other side after, more surely than chance allows; the farthest first.

    Whether an occupation leans after is a t-test over structures, adjusted by Holm for all occupations of the
    experiment: where nothing leans any more, the chance that any occupation seems to have flipped is small.
    """
    found = []
    changes = {(change.experiment, change.occupation): change for change in lean_changes(before, after)}
    for result in malor_results(before):
        names = [lean.occupation for lean in result.occupations]
        first, second = shared_ratios(before, after, result.experiment)
        adjusted = flip_p_values(first, second)
        for name, p_value in zip(names, adjusted, strict=True):
            change = changes.get((result.experiment, name))
            if change is not None and p_value <= 1 - confidence:
                found.append(
                    Flipped(
                        experiment=result.experiment,
                        occupation=name,
                        before=change.before,
                        after=change.after,
                        p_value=p_value,
                    )
                )
    return sorted(found, key=lambda row: -abs(row.after.value))


def flip_p_values(before: LogRatios, after: LogRatios) -> list[float]:
    """For each occupation the adjusted p-value of no lean after; 1 where the side is the same as before."""
    own = holm(_p_values(after.values))
    turned = np.sign(before.own_leans) * np.sign(after.own_leans) < 0
    return [p_value if flips else 1.0 for p_value, flips in zip(own, turned, strict=True)]


def malor_results(run: Run) -> list[MalorResult]:
    """The results of the experiments that mask the gendered term."""
    return [
        result for result in run.results if isinstance(result, MalorResult) and result.direction == "gender"
    ]


def _p_values(ratios: Floats) -> list[float]:
    """Of a t-test against 0 for each row; undefined where too little is known."""
    known = np.isfinite(ratios)
    counts = known.sum(axis=1)
    with np.errstate(invalid="ignore", divide="ignore"):
        means = np.where(known, ratios, 0.0).sum(axis=1) / counts
        squares = np.where(known, (ratios - means[:, None]) ** 2, 0.0).sum(axis=1)
        errors = np.sqrt(squares / (counts - 1) / counts)
        found = 2 * stats.t.sf(np.abs(means) / errors, counts - 1)
    return [
        float(value) if count >= _FEWEST and error > 0 else float("nan")
        for value, count, error in zip(found, counts, errors, strict=True)
    ]
