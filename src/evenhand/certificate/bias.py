"""Bias before and after: one row per figure of every instrument, what was trained on, and who was pushed too far."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from scipy import stats

from evenhand.certificate.measurements import Measurements
from evenhand.core.errors import UnknownNameError
from evenhand.core.estimates import Estimate
from evenhand.core.experiments import UNTRAINED_EXPERIMENTS
from evenhand.core.probes import GENDERS
from evenhand.instruments.malor.comparison import shared_ratios
from evenhand.instruments.malor.estimates import LogRatios
from evenhand.instruments.malor.questions import TERM_DIRECTIONS, Floats
from evenhand.instruments.malor.results import MalorResult
from evenhand.models.references import ModelError
from evenhand.stats.resampling import Resampling
from evenhand.stats.significance import holm
from evenhand.store.certificate_bias import BiasRow
from evenhand.store.certificates import LeanChange, OverCorrection
from evenhand.store.run import INSTRUMENTS, Run

_FEWEST_STRUCTURES = 3
"""Structures without which nothing is said about an occupation."""


@dataclass(frozen=True, slots=True)
class KeyedRow:
    """A row with the key of its figure, which is unique within an instrument."""

    key: str
    row: BiasRow

    def is_about(self, names: Iterable[str]) -> bool:
        """Whether any name is the key or its beginning: ``he-she.gender.MALoR`` or ``he-she``.

        An experiment by its name alone is the direction that mitigations train, in which the gendered term is hidden.
        """
        return any(
            (self.key == name or self.key.startswith(f"{name}."))
            and (self.row.direction is None or self.row.direction in name.split("."))
            for name in names
        )


def bias_rows(before: Measurements, after: Measurements, *, resampling: Resampling) -> list[KeyedRow]:
    """The rows of every instrument that measured both models."""
    return [
        KeyedRow(key, row)
        for name, run in before.runs.items()
        if name in after.runs
        for key, row in INSTRUMENTS.get(name).bias_rows(run, after.runs[name], resampling=resampling).items()
    ]


def split_by_training(
    rows: Sequence[KeyedRow], trained: Sequence[str] | None
) -> tuple[list[BiasRow], list[BiasRow]]:
    """What was trained on, and the rest. Where it is not known, all experiments count as trained on.

    Args:
        rows: All rows.
        trained: Keys of figures, or their beginnings.
    """
    if trained is not None:
        wholes = {keyed.row.measure for keyed in rows if keyed.is_about(trained)}
        is_trained = [keyed.is_about(trained) or keyed.row.part_of in wholes for keyed in rows]
    elif any(keyed.row.experiment for keyed in rows):
        is_trained = [keyed.row.experiment is not None for keyed in rows]
    else:
        is_trained = [True] * len(rows)
    ours, theirs = (
        [keyed.row for keyed, own in zip(rows, is_trained, strict=True) if own is side]
        for side in (True, False)
    )
    return ours, theirs


def refuse_unknown_figures(rows: Sequence[KeyedRow], trained: Sequence[str]) -> None:
    """Refuse what is said to be trained on and no figure is about."""
    for name in trained:
        if not any(keyed.is_about([name]) for keyed in rows):
            raise UnknownNameError("figure", name, [keyed.key for keyed in rows])


def refuse_unasked_experiments(
    rows: Sequence[KeyedRow], before: Measurements, experiments: Sequence[str]
) -> None:
    """Refuse a model that cannot be asked what it was trained for and the original can.

    Raises:
        ModelError: If it is so; what is left would say nothing about the mitigation as a whole.
    """
    asked = {figure.group[0] for run in before.runs.values() for figure in run.figures if figure.group}
    for name in experiments:
        if name in asked and not any(keyed.is_about([name]) for keyed in rows):
            raise ModelError(
                f"The model after was trained for {name}, and only the model before can be asked for it. Compare how "
                "both tokenizers read its terms, or name what is to be judged with --trained."
            )


def groups_of(run: Run) -> dict[str, tuple[str, str]]:
    """The groups of experiments that are not about men and women."""
    return {
        result.experiment: result.groups
        for result in run.results
        if isinstance(result, MalorResult) and result.groups != GENDERS
    }


def lean_changes(before: Run, after: Run) -> list[LeanChange]:
    """Every occupation of every experiment that both models could be asked, before and after."""
    first, second = (_leans(run) for run in (before, after))
    return [
        LeanChange(
            experiment=experiment,
            occupation=occupation,
            before=lean,
            after=second[experiment, occupation],
        )
        for (experiment, occupation), lean in first.items()
        if (experiment, occupation) in second
    ]


def _leans(run: Run) -> dict[tuple[str, str], Estimate]:
    """Every lean that is defined, by experiment and occupation."""
    return {
        (result.experiment, lean.occupation): lean.log2_ratio
        for result in malor_results(run)
        for lean in result.occupations
        if lean.log2_ratio.defined
    }


def flipped_occupations(before: Run, after: Run, *, confidence: float) -> list[OverCorrection]:
    """Occupations that lean to the other side after, more surely than chance allows; the farthest first.

    Whether an occupation leans after is a t-test over structures, adjusted by Holm for all occupations of the
    experiment: where nothing leans any more, the chance that any occupation seems to have flipped is small.
    """
    flips = []
    changes = {(change.experiment, change.occupation): change for change in lean_changes(before, after)}
    for result in malor_results(before):
        names = [lean.occupation for lean in result.occupations]
        first, second = shared_ratios(before, after, result.experiment)
        adjusted = flip_p_values(first, second)
        for name, p_value in zip(names, adjusted, strict=True):
            change = changes.get((result.experiment, name))
            if change is not None and p_value <= 1 - confidence:
                flips.append(
                    OverCorrection(
                        experiment=result.experiment,
                        occupation=name,
                        before=change.before,
                        after=change.after,
                        p_value=p_value,
                    )
                )
    return sorted(flips, key=lambda row: -abs(row.after.value))


def flip_p_values(before: LogRatios, after: LogRatios) -> list[float]:
    """For each occupation the adjusted p-value of no lean after; 1 where the side is the same as before."""
    own = holm(_p_values(after.values))
    turned = np.sign(before.leans) * np.sign(after.leans) < 0
    return [p_value if flips else 1.0 for p_value, flips in zip(own, turned, strict=True)]


def malor_results(run: Run) -> list[MalorResult]:
    """The results of the experiments that mask the gendered term, without those that no mitigation is trained for."""
    return [
        result
        for result in run.results
        if isinstance(result, MalorResult)
        and result.direction in TERM_DIRECTIONS
        and result.experiment not in UNTRAINED_EXPERIMENTS
    ]


def _p_values(ratios: Floats) -> list[float]:
    """Of a t-test against 0 for each row; undefined where too little is known."""
    defined = np.isfinite(ratios)
    counts = defined.sum(axis=1)
    with np.errstate(invalid="ignore", divide="ignore"):
        means = np.where(defined, ratios, 0.0).sum(axis=1) / counts
        squares = np.where(defined, (ratios - means[:, None]) ** 2, 0.0).sum(axis=1)
        errors = np.sqrt(squares / (counts - 1) / counts)
        p_values = 2 * stats.t.sf(np.abs(means) / errors, counts - 1)
    return [
        float(value) if count >= _FEWEST_STRUCTURES and error > 0 else float("nan")
        for value, count, error in zip(p_values, counts, errors, strict=True)
    ]
