"""The whole calibration, on models that are there already and with few questions."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from evenhand.api.calibrate import PAGE_FILE, RECORD_FILE, calibrate
from evenhand.core.planted_bias import PLANTED_FILE, ProbePart
from evenhand.data.datasets import read_calibration
from evenhand.lab import doses, power
from evenhand.lab.building import LabFamily, LabSpec
from evenhand.lab.doses import DosePlan, measure_dose
from evenhand.lab.items import probe_part
from evenhand.models.backends.lab import embedded_folder


def one_after_the_other(specs: Sequence[LabSpec], out: Path, _workers: int) -> Iterator[None]:
    for spec in specs:
        measure_dose(spec, out)
        yield


def relabelled(spec: LabSpec, folder: Path) -> Path:
    """An embedded model that says that this was planted in it."""
    source = embedded_folder("lab:masked" if spec.strength else "lab:masked-neutral")
    shutil.copytree(source, folder, dirs_exist_ok=True)
    description = json.loads((folder / PLANTED_FILE).read_text(encoding="utf-8"))
    description["planted"]["strength"] = spec.strength
    (folder / PLANTED_FILE).write_text(json.dumps(description), encoding="utf-8")
    return folder


def test_a_calibration_keeps_the_error_of_every_model_on_every_part_of_the_probes(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(doses, "_in_parallel", one_after_the_other)
    monkeypatch.setattr(doses, "build_model", relabelled)
    monkeypatch.setattr(doses, "probe_part", lambda part, language: probe_part(part, language).first(1))
    monkeypatch.setattr(power, "ITEM_COUNTS", (96,))
    monkeypatch.setattr(power, "_SETS", 5)
    plan = DosePlan((LabFamily.MASKED,), doses=3, seeds=1)
    calibrate(plan, out=tmp_path, measures=("SS", "MALoR"))

    calibration = read_calibration(tmp_path / RECORD_FILE)
    assert calibration.schema_version == 3
    probed = {(entry.part, entry.task) for entry in calibration.measures if entry.measure == "MALoR"}
    assert len(probed) == 3 * 3 + 1
    assert (ProbePart.NAMES, "names") in probed
    for entry in calibration.measures:
        assert len(entry.errors) == 3
        assert (entry.part is ProbePart.TAUGHT) == bool(entry.checks)
    (he_she,) = calibration.of("MALoR", task="he-she")
    targets = {point.strength: point.target for point in he_she.points}
    assert targets == pytest.approx({-3.0: 3.0, 0.0: 0.0, 3.0: 3.0}, abs=1e-9)
    assert all(point.error == point.estimate.value - targets[point.strength] for point in he_she.points)
    assert "Errors, model by model" in (tmp_path / PAGE_FILE).read_text(encoding="utf-8")
