"""Fitting with low-rank adapters: they are trained, kept beside the weights, folded in, and resumed exactly."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest
import torch
from fitting_runs import RECIPE, SENTENCES, ScriptedEvaluator, same, small_fit, stop_after, weights_of
from zoo_fixtures import Zoo

from evenhand.core.errors import MissingExtraError
from evenhand.core.recipes import LoraRecipe, Precision
from evenhand.models.language_model import load_language_model
from evenhand.models.references import ModelError, ModelRef
from evenhand.training.adapters import Adapters, adapters_disabled
from evenhand.training.fitting import fit
from evenhand.training.half_precision import HalfPrecision
from evenhand.training.pretraining import pretraining_objective


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


def test_a_model_in_bf16_is_trained_with_adapters_alone(menagerie: Zoo, tmp_path: Path) -> None:
    ref = ModelRef(id=str(menagerie.folder("llama")), device="cpu", precision=Precision.BF16)
    model, original = load_language_model(ref), load_language_model(ref)
    recipe = RECIPE.model_copy(
        update={"lora": LoraRecipe(rank=2), "epochs": 2, "precision": Precision.BF16, "learning_rate": 0.02}
    )
    objective = pretraining_objective(SENTENCES, model)
    fitted = fit(model, objective, recipe, evaluator=ScriptedEvaluator(model), folder=tmp_path)
    assert fitted.adapter is not None
    assert {weight.dtype for weight in weights_of(model).values()} == {torch.bfloat16}
    assert not same(weights_of(model), weights_of(original))
    pieces = objective.lay_out(objective.examples, np.random.default_rng(0))
    after, before = (objective.loss(known.loaded.model, pieces).item() for known in (model, original))
    assert after < before


def test_weights_that_are_not_trained_are_shared_with_the_double_and_the_original(menagerie: Zoo) -> None:
    ref = ModelRef(id=str(menagerie.folder("llama")), device="cpu", precision=Precision.BF16)
    network = load_language_model(ref).loaded.model
    Adapters(network, LoraRecipe(rank=2))
    double = HalfPrecision(network).network(network)
    own = {name: weight.data_ptr() for name, weight in network.named_parameters()}
    copied = {name for name, weight in double.named_parameters() if weight.data_ptr() != own[name]}
    assert copied
    assert all("lora_" in name for name in copied)
    rows = torch.tensor([[2, 5, 6, 3]])
    before = load_language_model(ref).loaded.model(rows).logits
    for computing in (network, double):
        for name, weight in computing.named_parameters():
            if "lora_B" in name:
                torch.nn.init.normal_(weight)
        assert not torch.equal(computing(rows).logits.bfloat16(), before)
        with adapters_disabled(computing):
            assert torch.equal(computing(rows).logits.bfloat16(), before)
        assert not torch.equal(computing(rows).logits.bfloat16(), before)
        assert all(weight.requires_grad == ("lora_" in name) for name, weight in computing.named_parameters())
