"""Runs that version 0.1.0 wrote still open, compare and show."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from evenhand.core.errors import RunError
from evenhand.reporting import render_page
from evenhand.runs.comparison import compare
from evenhand.runs.run import open_run

FOLDER = Path(__file__).parent / "version_0_1_0"


@pytest.mark.parametrize(
    ("name", "instrument", "key"),
    [
        ("association", "association", "overall.SS"),
        ("evaluation", "association", "overall.SS"),
        ("malor", "malor", "he-she.gender.MALoR"),
    ],
)
def test_a_run_of_the_first_version_opens(name: str, instrument: str, key: str) -> None:
    run = open_run(FOLDER / name)
    written = json.loads((FOLDER / name / "estimates.json").read_text(encoding="utf-8"))

    assert run.record.schema_version == 2
    assert run.record.instrument == instrument
    assert run.record.environment.evenhand == "0.1.0"
    expected = {
        "overall.SS": lambda: written["tasks"]["overall"]["SS"]["value"],
        "he-she.gender.MALoR": lambda: written[0]["MALoR"]["value"],
    }[key]()
    assert run.figure(key).estimate.value == expected
    assert name in render_page([run])


def test_pairs_of_the_first_version_are_to_be_measured_again() -> None:
    """Their results had fields of their own."""
    with pytest.raises(RunError, match="Make the run again with --fresh"):
        open_run(FOLDER / "crows-pairs")


def test_it_compares_with_itself() -> None:
    run = open_run(FOLDER / "malor")

    assert [row.difference.value for row in compare(run, run).differences] == [0, 0, 0]


def test_its_fingerprint_is_that_of_no_run_of_this_version() -> None:
    run = open_run(FOLDER / "association")
    later = run.record.model_copy(
        update={"environment": run.record.environment.model_copy(update={"evenhand": "0.2.0"})}
    )

    assert later.fingerprint != run.record.fingerprint


def test_a_changed_file_is_noticed(tmp_path: Path) -> None:
    folder = shutil.copytree(FOLDER / "malor", tmp_path / "malor")
    (folder / "estimates.json").write_bytes((folder / "estimates.json").read_bytes() + b" ")

    with pytest.raises(RunError, match=r"estimates\.json was changed after the run"):
        open_run(folder)
