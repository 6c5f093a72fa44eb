"""Records of mitigations, with training and without."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from mitigation_records import HE_SHE, a_record

from evenhand.core.errors import RunError
from evenhand.store.mitigation_records import (
    MITIGATION_FILE,
    MITIGATION_SCHEMA_VERSION,
    MitigationRecord,
    find_mitigation_record,
    read_mitigation_record,
)


def test_a_method_that_trains_nothing_has_a_record_too() -> None:
    trained = a_record()
    record = MitigationRecord(
        method="shrink",
        model=trained.model,
        environment=trained.environment,
        energy=trained.energy,
        fingerprint="f",
        settings={"factor": 0.5},
    )
    assert MitigationRecord.model_validate_json(record.model_dump_json()) == record
    assert record.chosen is None
    assert record.recipe is None
    assert record.data is None


def test_a_folder_without_a_record_is_no_mitigated_model(tmp_path: Path) -> None:
    assert find_mitigation_record(tmp_path) is None
    with pytest.raises(RunError, match="is not the folder of a mitigated model"):
        read_mitigation_record(tmp_path)


def test_a_damaged_record_is_named(tmp_path: Path) -> None:
    (tmp_path / MITIGATION_FILE).write_text('{"method": "equalise"}')
    with pytest.raises(RunError, match=r"mitigation\.json is damaged"):
        find_mitigation_record(tmp_path)


@pytest.mark.parametrize("version", [1, MITIGATION_SCHEMA_VERSION + 1])
def test_a_record_of_another_format_is_refused(tmp_path: Path, version: int) -> None:
    content = json.loads(a_record().model_dump_json()) | {"schema_version": version}
    (tmp_path / MITIGATION_FILE).write_text(json.dumps(content), encoding="utf-8")
    with pytest.raises(
        RunError,
        match=rf"version {version} of the format.*reads {MITIGATION_SCHEMA_VERSION}\. Mitigate again",
    ):
        find_mitigation_record(tmp_path)


def test_figures_that_were_measured_only_once_are_refused(tmp_path: Path) -> None:
    content = json.loads(a_record().model_dump_json())
    content["after"].pop(HE_SHE)
    (tmp_path / MITIGATION_FILE).write_text(json.dumps(content), encoding="utf-8")
    with pytest.raises(RunError, match=rf"damaged \(.*{HE_SHE} is not given both before and after"):
        read_mitigation_record(tmp_path)
