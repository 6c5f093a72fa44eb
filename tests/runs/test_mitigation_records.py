"""Records of mitigations: with training and without, of this version and of the first."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from mitigation_records import HE_SHE, a_record

from evenhand.core.errors import RunError
from evenhand.runs.mitigation_records import (
    MITIGATION_FILE,
    MITIGATION_SCHEMA_VERSION,
    MitigationRecord,
    find_mitigation_record,
    planted_bias_of,
    read_mitigation_record,
)

FIRST_VERSION = Path(__file__).with_name("mitigation_0_1.json")
"""As version 0.1.0 wrote it, with fewer occupations."""


def test_a_record_of_version_0_1_is_read_as_one_of_today(tmp_path: Path) -> None:
    shutil.copyfile(FIRST_VERSION, tmp_path / MITIGATION_FILE)
    old = json.loads(FIRST_VERSION.read_text())
    record = read_mitigation_record(tmp_path)
    assert record.schema_version == MITIGATION_SCHEMA_VERSION
    assert record.fingerprint == old["fingerprint"]
    assert {key: estimate.value for key, estimate in record.before.items()} == {
        f"{experiment}.MALoR": estimate["value"] for experiment, estimate in old["before"].items()
    }
    assert record.chosen is not None
    assert record.chosen.best.bias[HE_SHE] == old["seeds"][0]["best"]["malor"]["he-she"]
    assert record.chosen.best.quality == {"perplexity": old["seeds"][0]["best"]["perplexity"]}
    assert len(record.chosen.curve.trained) == 5
    planted = planted_bias_of(tmp_path)
    assert planted is not None
    assert planted.strength == 2.0
    assert MitigationRecord.model_validate_json(record.model_dump_json()) == record


def test_a_method_that_trains_nothing_has_a_record_too() -> None:
    trained = a_record()
    record = MitigationRecord(
        method="shrink",
        model=trained.model,
        environment=trained.environment,
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


def test_figures_that_were_measured_only_once_are_refused(tmp_path: Path) -> None:
    content = json.loads(a_record().model_dump_json())
    content["after"].pop(HE_SHE)
    (tmp_path / MITIGATION_FILE).write_text(json.dumps(content), encoding="utf-8")
    with pytest.raises(RunError, match=rf"damaged \(.*{HE_SHE} is not given both before and after"):
        read_mitigation_record(tmp_path)
