"""Fitting with low-rank adapters: they are trained, kept beside the weights, folded in, and resumed exactly."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
import torch
from fitting_runs import RECIPE, same, small_fit, stop_after, weights_of
from zoo_fixtures import Zoo

from evenhand.core.errors import MissingExtraError
from evenhand.core.recipes import LoraRecipe
from evenhand.models.language_model import load_language_model
from evenhand.models.references import ModelError


@pytest.fixture(scope="module")
def bert(menagerie: Zoo) -> Path:
    return menagerie.folder("bert")


def test_adapters_train_beside_the_weights_and_are_folded_in(bert: Path, tmp_path: Path) -> None:
    recipe = RECIPE.model_copy(update={"lora": LoraRecipe(rank=2), "epochs": 2})
    model, fitted = small_fit(bert, tmp_path, recipe=recipe)
    original, trained = weights_of(load_language_model(str(bert), device="cpu")), weights_of(model)
    assert set(trained) == set(original)
    changed = {name for name, weight in trained.items() if not torch.equal(weight, original[name])}
    assert changed
    assert all(name.endswith("weight") and trained[name].dim() == 2 for name in changed)
    assert all(
        torch.linalg.matrix_rank((trained[name] - original[name]).double(), atol=1e-5) <= 2
        for name in changed
    )
    assert fitted.adapter is not None
    assert (fitted.adapter / "adapter_model.safetensors").is_file()


def test_a_training_of_adapters_resumes_exactly(bert: Path, tmp_path: Path) -> None:
    recipe = RECIPE.model_copy(update={"lora": LoraRecipe(rank=2, dropout=0.1), "epochs": 2})
    whole, _ = small_fit(bert, tmp_path / "whole", recipe=recipe)
    stop_after(1, bert, tmp_path / "parts", recipe=recipe)
    parts, _ = small_fit(bert, tmp_path / "parts", recipe=recipe)
    assert same(weights_of(parts), weights_of(whole))


def test_without_peft_the_package_to_install_is_named(
    bert: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "peft", None)
    with pytest.raises(MissingExtraError, match=r"pip install '\.\[train\]'"):
        small_fit(bert, tmp_path, recipe=RECIPE.model_copy(update={"lora": LoraRecipe()}))


def test_modules_that_do_not_exist_get_no_adapter(bert: Path, tmp_path: Path) -> None:
    recipe = RECIPE.model_copy(update={"lora": LoraRecipe(targets=("no_such_module",))})
    with pytest.raises(ModelError, match=r"No adapter can be put into .*no_such_module"):
        small_fit(bert, tmp_path, recipe=recipe)
