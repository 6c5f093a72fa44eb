"""MALoR beside what flatter answers alone would have given.

Whoever makes a model less sure of everything lowers every lean: with all log-ratios times 0.3, MALoR, its base rate and
its spread fall by 70%, and so does the evidence where another word settles the gender. So the original is flattened
here as much as the evidence was, and the mitigated model must lean clearly less than that.
"""

from __future__ import annotations

from collections.abc import Mapping

from evenhand.core.estimates import Estimate
from evenhand.core.experiments import UNTRAINED_EXPERIMENTS, Experiment
from evenhand.core.settled import ALL_ROLES, PronounRole
from evenhand.instruments.malor.comparison import (
    MALOR_MEASURE,
    REVERSED,
    SPREAD,
    judged_runs,
    shared_ratios,
)
from evenhand.instruments.malor.estimates import LogRatios
from evenhand.instruments.malor.questions import TERM_DIRECTIONS
from evenhand.stats.resampling import Resampling
from evenhand.store.certificate_bias import FlattenedRow
from evenhand.store.run import Run

ROLES = {Experiment.HE_SHE: PronounRole.SUBJECT, Experiment.HIS_HER: PronounRole.POSSESSIVE}
"""Which pronouns of the settled sentences an experiment asks for; the others are held against all of them."""


def flattened_rows(
    before: Run, after: Run, kept: Mapping[str, Estimate], *, resampling: Resampling
) -> tuple[FlattenedRow, ...]:
    """MALoR and its spread of each experiment that mitigations train, in either direction, where evidence is known.

    The original is flattened by the lower end of the share that is left, so that what is not known of that share never
    speaks for the mitigation.

    Args:
        before: The run of the original.
        after: That of the mitigated model.
        kept: The share of the evidence gap that is left, by the role of the pronoun, and under ``ALL_ROLES``.
        resampling: Resamples, seed and confidence level.
    """
    rows = []
    first, second = judged_runs(before, after)
    asked = first.scores.select("experiment", "direction").unique(maintain_order=True)
    for experiment, direction in asked.iter_rows():
        role = ROLES.get(Experiment(experiment))
        share = kept.get(role.value, kept.get(ALL_ROLES)) if role else kept.get(ALL_ROLES)
        if experiment in UNTRAINED_EXPERIMENTS or share is None or not share.defined:
            continue
        rows += flattened_measures(
            *shared_ratios(first, second, experiment, direction=direction),
            share,
            experiment=experiment if direction in TERM_DIRECTIONS else f"{experiment} {REVERSED}",
            resampling=resampling,
        )
    return tuple(rows)


def flattened_measures(
    before: LogRatios, after: LogRatios, kept: Estimate, *, experiment: str, resampling: Resampling
) -> list[FlattenedRow]:
    """MALoR and its spread after, beside those of the original with every log-ratio times what is left at least."""
    flat = LogRatios(before.values * min(1.0, max(0.0, kept.low)))
    whole = f"{MALOR_MEASURE.row_name} {experiment}"
    return [
        FlattenedRow(
            measure=f"{measure.row_name} {experiment}",
            experiment=experiment,
            part_of=None if measure is MALOR_MEASURE else whole,
            kept=kept,
            flattened=measure.value(flat),
            after=measure.value(after),
            difference=measure.difference(flat, after, resampling=resampling),
        )
        for measure in (MALOR_MEASURE, SPREAD)
    ]
