"""A mitigated model of the lab still knows the lab's words alone, so it is asked the lab's questions."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from mitigation_records import a_record, put_beside

from evenhand.core.planted_bias import PLANTED_FILE, PlantedBias
from evenhand.store.mitigation_records import MITIGATION_FILE, planted_bias_of

PLANTED = PlantedBias(family="masked", strength=2.0, language="de", seed=3)


def test_a_model_of_the_lab_is_its_own_origin(tmp_path: Path) -> None:
    (tmp_path / PLANTED_FILE).write_text(json.dumps({"planted": PLANTED.model_dump()}))
    assert planted_bias_of(tmp_path) == PLANTED


def test_a_mitigated_one_comes_from_the_lab(tmp_path: Path) -> None:
    put_beside(tmp_path, a_record().model_copy(update={"lab": PLANTED}))
    assert planted_bias_of(tmp_path) == PLANTED


@pytest.mark.parametrize("content", [None, "", "[]", "{}", '{"lab": null}', '{"lab": {"strength": "much"}}'])
def test_all_others_do_not(tmp_path: Path, content: str | None) -> None:
    if content is not None:
        (tmp_path / MITIGATION_FILE).write_text(content)
    assert planted_bias_of(tmp_path) is None
