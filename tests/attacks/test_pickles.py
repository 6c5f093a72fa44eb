"""Pickles, which can run code when they are loaded: none is loaded without the flag, whatever its file is called."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import torch
from peft import LoraConfig, get_peft_model
from zoo_fixtures import Zoo

from evenhand.models.language_model import load_language_model
from evenhand.models.references import ModelError, ModelRef

TEXT = ["The baker likes fresh bread."]


class RunsCode:
    """Makes a folder when it is unpickled."""

    def __init__(self, place: Path) -> None:
        self.place = str(place)

    def __reduce__(self) -> tuple[object, tuple[str]]:
        import os

        return os.mkdir, (self.place,)


def saved(base: str, folder: Path) -> Path:
    """An adapter, as older versions of peft wrote it."""
    model = get_peft_model(
        load_language_model(base, device="cpu").loaded.model, LoraConfig(r=2, target_modules=["query"])
    )
    with torch.no_grad():
        for name, weight in model.named_parameters():
            if "lora_" in name:
                weight.fill_(0.3)
    model.save_pretrained(str(folder))
    from safetensors.torch import load_file

    weights = folder / "adapter_model.safetensors"
    torch.save(load_file(weights), folder / "adapter_model.bin")
    weights.unlink()
    settings = json.loads((folder / "adapter_config.json").read_text())
    (folder / "adapter_config.json").write_text(json.dumps(settings | {"base_model_name_or_path": base}))
    return folder


def references(base: str, adapter: Path, *, allowed: bool) -> list[ModelRef]:
    """An adapter that is named beside its model, and one that is named in its place."""
    return [
        ModelRef(id=base, device="cpu", adapters=(str(adapter),), allow_pickle_weights=allowed),
        ModelRef(id=str(adapter), device="cpu", allow_pickle_weights=allowed),
    ]


def test_a_pickled_adapter_needs_the_flag(menagerie: Zoo, tmp_path: Path) -> None:
    base = str(menagerie.folder("bert"))
    adapter = saved(base, tmp_path / "adapter")
    for ref in references(base, adapter, allowed=False):
        with pytest.raises(
            ModelError, match=r"only in adapter_model\.bin, which can run code .*--allow-pickle-weights"
        ):
            load_language_model(ref)
    plain = load_language_model(base, device="cpu").score_texts(TEXT)[0].total
    totals = [
        load_language_model(ref).score_texts(TEXT)[0].total for ref in references(base, adapter, allowed=True)
    ]
    assert totals[0] == pytest.approx(totals[1])
    assert abs(totals[0] - plain) > 0.01


def test_a_pickle_that_runs_code_runs_none_with_the_flag_either(menagerie: Zoo, tmp_path: Path) -> None:
    base = str(menagerie.folder("bert"))
    adapter = saved(base, tmp_path / "adapter")
    torch.save({"weight": RunsCode(tmp_path / "ran")}, adapter / "adapter_model.bin")
    for allowed in (False, True):
        for ref in references(base, adapter, allowed=allowed):
            with pytest.raises(ModelError):
                load_language_model(ref)
    assert not (tmp_path / "ran").exists()


def test_an_adapter_without_weights_is_not_looked_for_on_the_hub(menagerie: Zoo, tmp_path: Path) -> None:
    base = str(menagerie.folder("bert"))
    adapter = saved(base, tmp_path / "adapter")
    (adapter / "adapter_model.bin").unlink()
    for ref in references(base, adapter, allowed=True):
        with pytest.raises(ModelError, match=r"has no weights \(adapter_model\.safetensors\)"):
            load_language_model(ref)


def test_an_adapter_that_belongs_to_itself_is_refused(tmp_path: Path) -> None:
    for one, other in (("a", "b"), ("b", "a")):
        (tmp_path / one).mkdir()
        (tmp_path / one / "adapter_config.json").write_text(
            json.dumps({"base_model_name_or_path": str(tmp_path / other)})
        )
    with pytest.raises(ModelError, match="belongs to itself"):
        load_language_model(str(tmp_path / "a"), device="cpu")
