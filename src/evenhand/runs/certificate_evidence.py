"""How much of the evidence is left in the runs of two models, and which leans fell by more than that."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol, runtime_checkable

from evenhand.core.estimates import Estimate
from evenhand.runs.certificate_bias import FlattenedRow
from evenhand.runs.run import INSTRUMENTS, Run
from evenhand.stats.resampling import Resampling


@runtime_checkable
class MeasuresEvidence(Protocol):
    """An instrument that knows how sure a model is where another word settles the answer."""

    def kept_evidence(self, before: Run, after: Run, *, resampling: Resampling) -> Mapping[str, Estimate]:
        """The share of the evidence that is left, by the role of the pronoun."""
        ...


@runtime_checkable
class ComparesFlattened(Protocol):
    """An instrument whose figures shrink where all answers get flatter."""

    def flattened_rows(
        self, before: Run, after: Run, kept: Mapping[str, Estimate], *, resampling: Resampling
    ) -> tuple[FlattenedRow, ...]:
        """Its figures beside those of the original with answers as flat as the evidence became."""
        ...


def flattened_between(
    before: Mapping[str, Run], after: Mapping[str, Run], *, resampling: Resampling
) -> tuple[FlattenedRow, ...]:
    """The rows of all instruments that measured both models; none where no evidence could be measured."""
    shared = {name: (run, after[name]) for name, run in before.items() if name in after}
    instruments = {name: INSTRUMENTS.get(runs[0].record.instrument) for name, runs in shared.items()}
    kept: dict[str, Estimate] = {}
    for name, instrument in instruments.items():
        if isinstance(instrument, MeasuresEvidence):
            kept |= instrument.kept_evidence(*shared[name], resampling=resampling)
    return tuple(
        row
        for name, instrument in instruments.items()
        if isinstance(instrument, ComparesFlattened)
        for row in instrument.flattened_rows(*shared[name], kept, resampling=resampling)
    )
