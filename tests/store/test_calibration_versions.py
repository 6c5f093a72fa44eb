"""Calibrations in files: read with their targets, or refused where they are in another format."""

from __future__ import annotations

import json
from pathlib import Path

import calibrations
import pytest

from evenhand.core.errors import EvenhandError
from evenhand.data.datasets import read_calibration
from evenhand.store.calibration import SCHEMA_VERSION


def written(tmp_path: Path, version: int) -> Path:
    entry = calibrations.entry("SS", targets={0.0: 50.0, 3.0: 91.5})
    content = json.loads(calibrations.calibration_of(entry).model_dump_json())
    content["schema_version"] = version
    path = tmp_path / "calibration.json"
    path.write_text(json.dumps(content), encoding="utf-8")
    return path


def test_targets_and_errors_come_back_from_a_file(tmp_path: Path) -> None:
    (entry,) = read_calibration(written(tmp_path, SCHEMA_VERSION)).measures

    assert {point.strength: point.error for point in entry.errors} == {0.0: 0.0, 3.0: -1.5}
    assert entry.largest_error == 1.5


@pytest.mark.parametrize("version", [1, SCHEMA_VERSION + 1])
def test_another_format_is_refused(tmp_path: Path, version: int) -> None:
    with pytest.raises(EvenhandError, match=rf"version {version} of the format.*reads {SCHEMA_VERSION}"):
        read_calibration(written(tmp_path, version))
