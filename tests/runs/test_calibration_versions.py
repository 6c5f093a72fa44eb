"""Calibrations of earlier and later versions of the format: read with what they lack, or refused in words."""

from __future__ import annotations

import json
import math
from pathlib import Path

import calibrations
import pytest

from evenhand.core.errors import EvenhandError
from evenhand.core.planted_bias import ProbePart
from evenhand.data.datasets import read_calibration
from evenhand.runs.calibration import SCHEMA_VERSION


def written(tmp_path: Path, version: int, *, keep_targets: bool = True) -> Path:
    entry = calibrations.entry("SS", targets={0.0: 50.0, 3.0: 91.5})
    content = json.loads(calibrations.calibration_of(entry).model_dump_json())
    content["schema_version"] = version
    if not keep_targets:
        for measure in content["measures"]:
            del measure["part"]
            for point in measure["points"]:
                del point["target"]
    path = tmp_path / "calibration.json"
    path.write_text(json.dumps(content), encoding="utf-8")
    return path


def test_targets_and_errors_come_back_from_a_file(tmp_path: Path) -> None:
    (entry,) = read_calibration(written(tmp_path, SCHEMA_VERSION)).measures

    assert {point.strength: point.error for point in entry.errors} == {0.0: 0.0, 3.0: -1.5}
    assert entry.largest_error == 1.5


def test_a_calibration_of_version_1_has_no_targets_and_speaks_of_what_was_taught(tmp_path: Path) -> None:
    calibration = read_calibration(written(tmp_path, 1, keep_targets=False))
    (entry,) = calibration.measures

    assert not calibration.has_targets
    assert entry.part is ProbePart.TAUGHT
    assert entry.errors == ()
    assert math.isnan(entry.largest_error)


@pytest.mark.parametrize("version", [0, SCHEMA_VERSION + 1])
def test_another_version_is_refused_with_those_that_can_be_read(tmp_path: Path, version: int) -> None:
    with pytest.raises(EvenhandError, match=rf"version {version} of the format.*reads 1 to {SCHEMA_VERSION}"):
        read_calibration(written(tmp_path, version))
