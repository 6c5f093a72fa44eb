"""A record of a mitigation counts for the weights that it is about, and for no others."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import mitigation_records
import pytest
from certificate_runs import nudged, probes_alone, small_plan

from evenhand.certificate import certify
from evenhand.core.errors import RunError
from evenhand.store.head_records import HEAD_WEIGHTS_FILE
from evenhand.store.mitigation_records import (
    MITIGATION_FILE,
    find_mitigation_record,
    read_mitigation_record,
)


@pytest.fixture(scope="module")
def bert(menagerie: Any) -> Path:
    return Path(menagerie.folder("bert"))


def test_a_record_copied_beside_other_weights_is_refused(bert: Path, tmp_path: Path) -> None:
    mitigated = nudged(bert, tmp_path / "mitigated")
    mitigation_records.put_beside(mitigated, mitigation_records.a_record())
    other = nudged(bert, tmp_path / "other", by=0.06)
    shutil.copyfile(mitigated / MITIGATION_FILE, other / MITIGATION_FILE)
    plan = probes_alone(small_plan())
    with pytest.raises(RunError, match="is about other weights than those beside it"):
        certify(str(bert), str(other), plan, place=tmp_path / "certificate.json")
    with pytest.raises(RunError, match="is about other weights"):
        read_mitigation_record(other)


def test_weights_that_change_after_the_record_are_other_weights(tmp_path: Path) -> None:
    (tmp_path / "model.safetensors").write_bytes(b"weights")
    record = mitigation_records.put_beside(tmp_path, mitigation_records.a_record())
    assert find_mitigation_record(tmp_path) == record
    (tmp_path / HEAD_WEIGHTS_FILE).write_bytes(b"a head that was trained for the model later")
    assert find_mitigation_record(tmp_path) == record
    (tmp_path / "model.safetensors").write_bytes(b"Weights")
    with pytest.raises(RunError, match="is about other weights"):
        find_mitigation_record(tmp_path)
    (tmp_path / "model.safetensors").unlink()
    with pytest.raises(RunError, match="is about other weights"):
        find_mitigation_record(tmp_path)
    (tmp_path / "model.safetensors").mkdir()
    with pytest.raises(RunError, match="is about other weights"):
        find_mitigation_record(tmp_path)


def test_a_record_that_names_no_weights_is_refused(tmp_path: Path) -> None:
    """Anybody can take the digest out of one."""
    (tmp_path / "model.safetensors").write_bytes(b"weights")
    record = mitigation_records.a_record().model_copy(update={"weights": ""})
    (tmp_path / MITIGATION_FILE).write_text(record.model_dump_json(), encoding="utf-8")
    with pytest.raises(RunError, match="is about other weights"):
        find_mitigation_record(tmp_path)
    (tmp_path / MITIGATION_FILE).write_text(record.model_dump_json(exclude={"weights"}), encoding="utf-8")
    with pytest.raises(RunError, match="is about other weights"):
        find_mitigation_record(tmp_path)


def test_a_record_says_what_was_trained_on(bert: Path, tmp_path: Path) -> None:
    after = nudged(bert, tmp_path / "after")
    mitigation_records.put_beside(after, mitigation_records.a_record())
    made = certify(str(bert), str(after), probes_alone(small_plan()), place=tmp_path / "certificate.json")
    assert made.trained_known
    assert {row.experiment for row in made.trained} == {"he-she"}
