"""What a model is and can be measured with, whatever its backend."""

from __future__ import annotations

from pathlib import Path

import pytest
from zoo_fixtures import Zoo

from evenhand.api.models import describe_model
from evenhand.models.description import weights_digest
from evenhand.models.references import ModelRef
from evenhand.models.requests import Fill
from evenhand.testing import FakeModel


def test_a_model_in_this_process_tells_about_its_weights(menagerie: Zoo) -> None:
    facts = describe_model(menagerie.model("bert"))

    assert facts["family"] == "masked"
    assert facts["capabilities"] == "Fill, Recover, Follow, Embed, Train"
    assert facts["class"] == "BertForMaskedLM"
    assert facts["intrasentence"].startswith("yes, by stepwise-blank")
    assert facts["intersentence"].startswith("yes, by next-sentence")


def test_a_model_elsewhere_tells_its_capabilities_and_tasks() -> None:
    facts = describe_model(FakeModel({}, capabilities=[Fill]))

    assert facts == {
        "family": "fake",
        "capabilities": "Fill",
        "intrasentence": facts["intrasentence"],
        "intersentence": facts["intersentence"],
    }
    assert facts["intrasentence"].startswith("yes, by blank in text")
    assert facts["intersentence"].startswith("no: fake:model (fake) cannot do the inter-sentence task")


def test_every_byte_of_the_weights_counts_for_their_digest(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("EVENHAND_HOME", str(tmp_path / "home"))
    folder = tmp_path / "model"
    folder.mkdir()
    weights = bytearray(3 * 2**20)
    digests = set()
    for place in (0, 5_000, len(weights) - 1):
        weights[place] += 1
        (folder / "model.safetensors").write_bytes(weights)
        digests.add(weights_digest(ModelRef(id=str(folder)), None))
    assert len(digests) == 3
