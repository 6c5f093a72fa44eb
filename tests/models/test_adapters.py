"""Adapters on top of a model: merged when it is loaded, and part of what identifies it."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from peft import LoraConfig, get_peft_model
from zoo_fixtures import Zoo

from evenhand.models.language_model import LanguageModel, load_language_model
from evenhand.models.references import ModelError, ModelRef

TEXT = ["The baker likes fresh bread."]


def saved_adapter(model: LanguageModel, folder: Path, *, strength: float) -> str:
    """An adapter with weights that change the model."""
    config = LoraConfig(r=2, target_modules=["query"])
    wrapped = get_peft_model(model.loaded.model, config)
    with torch.no_grad():
        for name, weight in wrapped.named_parameters():
            if "lora_" in name:
                weight.fill_(strength)
    wrapped.save_pretrained(str(folder))
    return str(folder)


def test_adapters_are_merged_one_after_the_other(menagerie: Zoo, tmp_path: Path) -> None:
    folder = str(menagerie.folder("bert"))
    adapters = [
        saved_adapter(load_language_model(folder, device="cpu"), tmp_path / name, strength=strength)
        for name, strength in (("first", 0.3), ("second", 0.5))
    ]
    loaded = [
        load_language_model(ModelRef(id=folder, device="cpu", adapters=chosen))
        for chosen in ((), (adapters[0],), tuple(adapters), (adapters[1], adapters[0]))
    ]
    totals = [model.score_texts(TEXT)[0].total for model in loaded]

    assert len({round(total, 4) for total in totals[:3]}) == 3
    assert totals[3] == pytest.approx(totals[2], abs=1e-3)
    assert len({model.record.weights for model in loaded}) == 4
    assert loaded[2].record.adapters == ("first", "second")
    assert loaded[0].record.adapters == ()


def test_a_folder_that_is_no_adapter_is_refused_before_anything_is_loaded(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match=r"is no adapter: it has no adapter_config.json"):
        load_language_model(ModelRef(id="no-such-model", adapters=(str(tmp_path),)))
