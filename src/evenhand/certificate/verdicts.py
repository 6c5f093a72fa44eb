"""From rows to the two statements of a certificate."""

from __future__ import annotations

from collections.abc import Sequence

from evenhand.runs.certificates import BiasRow, BiasVerdict, QualityRow, QualityVerdict


def bias_verdict(trained: Sequence[BiasRow], *, changed: bool) -> BiasVerdict:
    """Lowered if every measure that was trained on fell by more than chance explains."""
    if not changed:
        return BiasVerdict.NOTHING_CHANGED
    fell = [row.difference.defined and row.difference.high < 0 for row in trained]
    return BiasVerdict.LOWERED if fell and all(fell) else BiasVerdict.NOT_LOWERED


def quality_verdict(rows: Sequence[QualityRow]) -> QualityVerdict:
    """Lost if any part is lost, kept if every part that was measured is kept, else undecided."""
    found = {row.verdict for row in rows} - {QualityVerdict.NOT_MEASURED}
    if not found:
        return QualityVerdict.NOT_MEASURED
    if QualityVerdict.LOST in found:
        return QualityVerdict.LOST
    return QualityVerdict.KEPT if found == {QualityVerdict.KEPT} else QualityVerdict.UNDECIDED
