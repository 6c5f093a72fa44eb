"""The badges of a run: what the lab says about each figure of each of its tasks."""

from __future__ import annotations

from evenhand.data.bundled_files import bundled_calibration, bundled_calibration_path
from evenhand.instruments.association.results import TaskResult
from evenhand.report.calibration.badge import Badge, badge
from evenhand.runs.calibration import Calibration
from evenhand.runs.run import Run

Badges = dict[str, dict[str, Badge]]
"""By task and measure; what the lab says nothing about is missing."""


def shipped_calibration() -> Calibration | None:
    """The calibration that ships with the package; None where it ships without one."""
    return bundled_calibration() if bundled_calibration_path().is_file() else None


def run_badges(run: Run, calibration: Calibration | None) -> Badges:
    """What a calibration says about a run."""
    if calibration is None:
        return {task: {} for task in run.result.tasks}
    family = run.record.model.family if run.record.model else None
    return {
        task: _task_badges(result, calibration, task=task, family=family)
        for task, result in run.result.tasks.items()
    }


def _task_badges(
    result: TaskResult, calibration: Calibration, *, task: str, family: str | None
) -> dict[str, Badge]:
    return {
        name: found
        for name, estimate in result.estimates()
        if estimate.defined
        and (found := badge(calibration, name, task=task, items=result.n, family=family)) is not None
    }
