"""Calibrate: models of many planted strengths, what the measures read off them, and a page that compares the two."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from evenhand.core.files import write_text
from evenhand.core.progress import SILENT, Monitor
from evenhand.lab.calibration import calibrate as compare_with_planted
from evenhand.lab.calibration import chosen_expectations
from evenhand.lab.doses import DosePlan, measure_doses
from evenhand.lab.regard_calibration import calibrate_regard
from evenhand.reporting.calibration.page import write_calibration_page
from evenhand.store.calibration import Calibration
from evenhand.store.records import EnvironmentRecord

REGARD = "regard"
"""What is calibrated on texts of the lab instead of models, by the name of a measure."""

RECORD_FILE = "calibration.json"
PAGE_FILE = "calibration.html"


def calibrate(
    plan: DosePlan,
    *,
    out: str | Path,
    measures: Sequence[str] | None = None,
    workers: int | None = None,
    monitor: Monitor = SILENT,
) -> Calibration:
    """Build models of many strengths and compare what the measures read with what was planted.

    Args:
        plan: Which models are built.
        out: Folder for the runs and the result; an interrupted calibration goes on from there.
        measures: Only these, ``regard`` among them; all if None.
        workers: Models built at a time; one for each core if None.
        monitor: Told how it goes.
    """
    folder = Path(out)
    chosen = tuple(name for name in measures if name != REGARD) if measures else None
    chosen_expectations(chosen)
    calibration = Calibration(
        environment=EnvironmentRecord.current(),
        language=plan.language,
        strengths=(),
        seeds=0,
        items={},
        measures=(),
    )
    if chosen is None or chosen:
        with monitor.stage("building and measuring", "models") as progress:
            runs = measure_doses(plan, folder, workers=workers, progress=progress)
        monitor.note(f"Comparing {len(runs.audits)} models with what was planted")
        calibration = compare_with_planted(runs.audits, runs.probes, measures=chosen)
    if not measures or REGARD in measures:
        monitor.note("Comparing what is said about regard with what was planted")
        calibration = calibration.model_copy(
            update={"regard": calibrate_regard(), "regard_environment": EnvironmentRecord.current()}
        )
    write_text(folder / RECORD_FILE, calibration.model_dump_json(indent=1) + "\n")
    page = write_calibration_page(calibration, folder / PAGE_FILE)
    monitor.note(f"Wrote {page}")
    return calibration
