"""Training in bf16 makes the loss and the gradients that autocast makes, and leaves the model as it is."""

from __future__ import annotations

import numpy as np
import pytest
import torch
import zoo_tokenizers
from torch import Tensor, nn
from zoo_fixtures import Zoo

from evenhand.core.recipes import LoraRecipe
from evenhand.mitigation.adapters import Adapters
from evenhand.mitigation.half_precision import HalfPrecision
from evenhand.mitigation.pretraining.choice import pretraining_objective
from evenhand.scoring.language_model import load_model

SENTENCES = tuple(dict.fromkeys(zoo_tokenizers.sentences()))[:8]
FAMILIES = ["bert", "roberta", "albert", "gpt2", "llama", "t5", "mt5"]


def gradients_of(model: nn.Module) -> dict[str, Tensor]:
    return {name: weight.grad.clone() for name, weight in model.named_parameters() if weight.grad is not None}


@pytest.mark.parametrize("name", FAMILIES)
def test_gradients_are_those_of_autocast_again_and_again(menagerie: Zoo, name: str) -> None:
    model = load_model(str(menagerie.folder(name)), device="cpu")
    objective = pretraining_objective(SENTENCES, model)
    network = model.loaded.model.train()
    half = HalfPrecision(network)
    optimizer = torch.optim.SGD(network.parameters(), lr=0.1)
    for step in range(2):
        batch = objective.collate(objective.examples, np.random.default_rng(step))
        torch.manual_seed(step)
        with torch.autocast("cpu", torch.bfloat16):
            expected = objective.loss(network, batch)
        torch.autograd.backward(expected)
        wanted = gradients_of(network)
        network.zero_grad()

        torch.manual_seed(step)
        found = half.backward(lambda double, batch=batch: objective.loss(double, batch))  # type: ignore[misc]
        made = gradients_of(network)
        assert found.item() == pytest.approx(expected.item(), rel=1e-6)
        assert made.keys() == wanted.keys()
        for weight, gradient in wanted.items():
            torch.testing.assert_close(made[weight], gradient, rtol=1e-5, atol=1e-7)
        optimizer.step()  # so that copies from before it would show
        network.zero_grad()


def test_the_model_itself_stays_in_full_precision(menagerie: Zoo) -> None:
    model = load_model(str(menagerie.folder("bert")), device="cpu")
    network = model.loaded.model
    rows = torch.tensor([[2, 5, 6, 3]])
    before, names = network(rows).logits, list(network.state_dict())
    half = HalfPrecision(network)
    half.backward(lambda double: double(rows).logits.float().sum())
    assert torch.equal(network(rows).logits, before)
    assert list(network.state_dict()) == names
    assert {weight.dtype for weight in network.parameters()} == {torch.float32}


def test_of_adapters_only_their_own_weights_get_gradients(menagerie: Zoo) -> None:
    model = load_model(str(menagerie.folder("bert")), device="cpu")
    network = model.loaded.model
    Adapters(network, LoraRecipe())
    objective = pretraining_objective(SENTENCES, model)
    batch = objective.collate(objective.examples, np.random.default_rng(0))
    HalfPrecision(network).backward(lambda double: objective.loss(double, batch))
    made = gradients_of(network)
    assert made
    assert all("lora_" in name for name in made)
