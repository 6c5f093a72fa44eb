"""The estimates of a run folder, held against its scores: hashes alone show that a file is as somebody wrote it."""

from __future__ import annotations

from collections.abc import Iterator
from importlib.metadata import version
from pathlib import Path
from typing import Any

from evenhand.core.errors import EvenhandError, RunError
from evenhand.store.certificate_files import equal_figures
from evenhand.store.records import ESTIMATES_FILE
from evenhand.store.run import Run

_ESTIMATE = {"value", "low", "high"}
"""Fields by which an estimate is known in JSON."""


def refuse_other_estimates(run: Run, folder: Path) -> str | None:
    """Compute the estimates of a run again from its scores.

    Other versions may give other intervals, so of a run of another version the values alone are compared.

    Returns:
        Why its estimates could not be computed again; None where they were.

    Raises:
        RunError: If the scores give others.
    """
    compute = getattr(run.instrument, "results_again", None)
    try:
        again = compute(run) if compute else None
    except (EvenhandError, ValueError, KeyError, IndexError) as problem:  # scores that fit no formula
        raise RunError(f"{folder} cannot be verified: {problem}. Make the run again with --fresh.") from None
    if again is None:
        return (
            f"the figures of {run.name} are shown as its folder states them: scores alone do not give them."
        )
    own_version = run.record.environment.evenhand == version("evenhand")
    stated, given = ([one.model_dump(mode="json") for one in results] for results in (run.results, again))
    for place, said, found in _differences(stated, given, values_only=not own_version):
        raise RunError(
            f"{folder / ESTIMATES_FILE} says {said} for {place}, and the scores beside it give {found}. Make the run "
            "again with --fresh."
        )
    return None


def _differences(
    stated: Any, given: Any, *, values_only: bool, place: str = ""
) -> Iterator[tuple[str, Any, Any]]:
    """Where two results differ, and what each says there; a measure that is new in this version is no difference."""
    if isinstance(stated, dict) and isinstance(given, dict):
        is_estimate = stated.keys() >= _ESTIMATE
        for name in stated:
            if values_only and (name not in given or (is_estimate and name != "value")):
                continue
            inner = f"{place}.{name}".lstrip(".")
            yield from _differences(stated[name], given.get(name), values_only=values_only, place=inner)
    elif isinstance(stated, list) and isinstance(given, list) and len(stated) == len(given):
        for number, pair in enumerate(zip(stated, given, strict=True)):
            yield from _differences(*pair, values_only=values_only, place=f"{place}.{number}".lstrip("."))
    elif values_only and not (isinstance(stated, float) and isinstance(given, float)):
        return
    elif not equal_figures(stated, given):
        yield place, stated, given
