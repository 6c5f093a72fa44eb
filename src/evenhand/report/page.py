"""The page of runs, whatever their instruments."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from evenhand.core.errors import RunError
from evenhand.core.files import write_text
from evenhand.report.association.page import render_association_page
from evenhand.report.probes.page import render_probe_page
from evenhand.runs.calibration import Calibration
from evenhand.runs.comparison import Comparison
from evenhand.runs.run import Run


def write_page(
    runs: Sequence[Run] | Run, path: str | Path, *, comparisons: Sequence[Comparison] = ()
) -> Path:
    """Write the page of one or several runs to a file."""
    target = Path(path)
    write_text(target, render_page([runs] if isinstance(runs, Run) else list(runs), comparisons=comparisons))
    return target


def render_page(
    runs: Sequence[Run], *, comparisons: Sequence[Comparison] = (), calibration: Calibration | None = None
) -> str:
    """The page of one or several runs as HTML.

    Args:
        runs: What the page is about.
        comparisons: Of runs with the first of their instrument.
        calibration: What is known about the measures; that of the package if not given.
    """
    if not runs:
        raise RunError("A page needs at least one run.")
    associations = [run for run in runs if run.record.instrument == "association"]
    if len(associations) == len(runs):
        return render_association_page(runs, comparisons=comparisons, calibration=calibration)
    return render_probe_page(runs)
