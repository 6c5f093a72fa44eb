"""How much of the evidence is left in the runs of two models, and which leans fell by more than that."""

from __future__ import annotations

from collections.abc import Mapping

from evenhand.core.estimates import Estimate
from evenhand.stats.resampling import Resampling
from evenhand.store.certificate_bias import FlattenedRow
from evenhand.store.run import INSTRUMENTS, Run


def flattened_between(
    before: Mapping[str, Run], after: Mapping[str, Run], *, resampling: Resampling
) -> tuple[FlattenedRow, ...]:
    """The rows of all instruments that measured both models; none where no evidence could be measured.

    The share of the evidence that is left, by the role of the pronoun, is known to instruments with ``kept_evidence``;
    figures that shrink where all answers get flatter are those of instruments with ``flattened_rows``.
    """
    shared = {name: (run, after[name]) for name, run in before.items() if name in after}
    instruments = {name: INSTRUMENTS.get(runs[0].record.instrument) for name, runs in shared.items()}
    kept: dict[str, Estimate] = {}
    for name, instrument in instruments.items():
        if hasattr(instrument, "kept_evidence"):
            kept |= instrument.kept_evidence(*shared[name], resampling=resampling)
    return tuple(
        row
        for name, instrument in instruments.items()
        if hasattr(instrument, "flattened_rows")
        for row in instrument.flattened_rows(*shared[name], kept, resampling=resampling)
    )
