"""Training in bf16: gradients are those of the model in bf16, the weights and the model itself stay in 32 bits."""

from __future__ import annotations

import copy
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import zoo_tokenizers
from torch import Tensor, nn
from torch.nn import functional
from zoo_fixtures import Zoo

from evenhand.core.recipes import LoraRecipe
from evenhand.models.language_model import load_language_model
from evenhand.models.references import ModelError
from evenhand.training.adapters import Adapters
from evenhand.training.half_precision import HalfPrecision
from evenhand.training.pretraining import pretraining_objective

SENTENCES = tuple(dict.fromkeys(zoo_tokenizers.sentences()))[:8]
ROUNDING = 2**-5
"""Of gradients in bf16, which are rounded once more at every layer on their way back."""
FAMILIES = ["bert", "distilbert", "roberta", "albert", "xlm-roberta", "gpt2", "llama", "t5", "mt5"]


def backward(half: HalfPrecision, loss: Callable[[nn.Module], Tensor]) -> Tensor:
    """The gradients of a batch of one loss."""
    half.start()
    return half.add(nn.Identity(), loss)


def gradients_of(model: nn.Module) -> dict[str, Tensor]:
    return {
        name: weight.grad.float().clone()
        for name, weight in model.named_parameters()
        if weight.grad is not None
    }


def flat(gradients: dict[str, Tensor]) -> Tensor:
    return torch.cat([gradients[name].flatten() for name in sorted(gradients)])


def loaded_in_bf16(folder: Path, weights: nn.Module) -> nn.Module:
    """A model of the zoo as Transformers loads it in bf16, with weights of now, whose last layer multiplies in fp32."""
    loaded: nn.Module = load_language_model(str(folder), device="cpu", precision="bf16").loaded.model
    with torch.no_grad():
        for own, current in zip(loaded.parameters(), weights.parameters(), strict=True):
            own.copy_(current)
    last: Any = loaded.get_output_embeddings()  # type: ignore[operator]
    last.forward = lambda states: functional.linear(
        states.float(), last.weight.float(), None if last.bias is None else last.bias.float()
    )
    return loaded.train()


def relative_distance(made: Tensor, wanted: Tensor) -> float:
    return float((made - wanted).norm() / wanted.norm())


@pytest.mark.parametrize("name", FAMILIES)
def test_gradients_are_those_of_the_model_in_bf16_again_and_again(menagerie: Zoo, name: str) -> None:
    model = load_language_model(str(menagerie.folder(name)), device="cpu")
    objective = pretraining_objective(SENTENCES, model)
    network = model.loaded.model.train()
    half = HalfPrecision(network)
    optimizer = torch.optim.SGD(network.parameters(), lr=0.1)
    for step in range(2):
        batch = objective.lay_out(objective.examples, np.random.default_rng(step))
        plain = loaded_in_bf16(menagerie.folder(name), network)
        torch.manual_seed(step)
        expected = objective.loss(plain, batch)
        torch.autograd.backward(expected)
        torch.manual_seed(step)
        found = backward(half, lambda double, batch=batch: objective.loss(double, batch))  # type: ignore[misc]
        made, wanted = gradients_of(network), gradients_of(plain)
        assert found.item() == pytest.approx(expected.item(), rel=1e-6)
        assert made.keys() == wanted.keys()
        assert relative_distance(flat(made), flat(wanted)) < ROUNDING
        optimizer.step()  # so that copies from before it would show
        network.zero_grad()


@pytest.mark.parametrize("name", ["lab:masked", "lab:decoder", "lab:encoder-decoder"])
def test_a_trained_model_is_pulled_in_the_direction_of_full_precision(name: str) -> None:
    model = load_language_model(name, device="cpu")
    network = model.loaded.model
    objective = pretraining_objective(SENTENCES, model)
    batch = objective.lay_out(objective.examples, np.random.default_rng(0))
    exact = objective.loss(network.eval(), batch)
    torch.autograd.backward(exact)
    wanted = gradients_of(network)
    network.zero_grad()
    half = HalfPrecision(network)
    found = backward(half, lambda double: objective.loss(double.eval(), batch))
    assert found.item() == pytest.approx(exact.item(), rel=0.005)
    assert torch.cosine_similarity(flat(gradients_of(network)), flat(wanted), dim=0) > 0.999


def test_steps_that_bf16_would_round_away_add_up(menagerie: Zoo) -> None:
    model = load_language_model(str(menagerie.folder("bert")), device="cpu")
    network = model.loaded.model
    weight = next(network.parameters())
    before = weight.detach().clone()
    half = HalfPrecision(network)
    for _ in range(50):
        backward(half, lambda double: next(double.parameters()).sum().float())
        assert weight.grad is not None
        with torch.no_grad():
            weight.sub_(1e-4 * before.abs().mean() * weight.grad)
        network.zero_grad()
    moved = (before - weight).detach()
    assert moved.mean().item() == pytest.approx(50e-4 * before.abs().mean().item(), rel=1e-2)


@pytest.mark.parametrize("most", [1e-3, 1.0, 1e6])
def test_gradients_are_clipped_as_torch_clips_them(menagerie: Zoo, most: float) -> None:
    model = load_language_model(str(menagerie.folder("gpt2")), device="cpu")
    objective = pretraining_objective(SENTENCES, model)
    network = model.loaded.model
    half = HalfPrecision(network)
    batch = objective.lay_out(objective.examples, np.random.default_rng(0))
    backward(half, lambda double: objective.loss(double.eval(), batch))
    twin = copy.deepcopy(network)
    for weight, own in zip(twin.parameters(), network.parameters(), strict=True):
        weight.grad = None if own.grad is None else own.grad.clone()
    wanted = torch.nn.utils.clip_grad_norm_(twin.parameters(), most)
    torch.testing.assert_close(half.clip(most), wanted)
    torch.testing.assert_close(flat(gradients_of(network)), flat(gradients_of(twin)))


def test_a_weight_that_sits_out_a_step_does_not_count_in_it(menagerie: Zoo) -> None:
    network = load_language_model(str(menagerie.folder("bert")), device="cpu").loaded.model
    half = HalfPrecision(network)
    backward(half, lambda double: sum(weight.float().sum() for weight in double.parameters()))  # type: ignore[arg-type,return-value]
    assert all(weight.grad is not None for weight in network.parameters())
    network.zero_grad()
    backward(half, lambda double: next(double.parameters()).float().sum())
    having = [weight for weight in network.parameters() if weight.grad is not None]
    assert len(having) == 1
    assert half.clip(1e6).item() == pytest.approx(having[0].numel() ** 0.5, rel=1e-4)


def test_the_model_itself_stays_in_full_precision(menagerie: Zoo) -> None:
    model = load_language_model(str(menagerie.folder("bert")), device="cpu")
    network = model.loaded.model
    rows = torch.tensor([[2, 5, 6, 3]])
    before, names = network(rows).logits, list(network.state_dict())
    half = HalfPrecision(network)
    backward(half, lambda double: double(rows).logits.float().sum())
    assert torch.equal(network(rows).logits, before)
    assert list(network.state_dict()) == names
    assert {weight.dtype for weight in network.parameters()} == {torch.float32}


def test_of_adapters_only_their_own_weights_get_gradients(menagerie: Zoo) -> None:
    model = load_language_model(str(menagerie.folder("bert")), device="cpu")
    network = model.loaded.model
    Adapters(network, LoraRecipe())
    objective = pretraining_objective(SENTENCES, model)
    batch = objective.lay_out(objective.examples, np.random.default_rng(0))
    backward(HalfPrecision(network), lambda double: objective.loss(double, batch))
    made = gradients_of(network)
    assert made
    assert all("lora_" in name for name in made)


def test_a_model_that_mixes_number_formats_is_refused(menagerie: Zoo) -> None:
    half = HalfPrecision(load_language_model(str(menagerie.folder("bert")), device="cpu").loaded.model)

    def mixing(double: nn.Module) -> Tensor:
        return (torch.ones(1, 1) @ next(double.parameters())[:1, :1]).sum()

    with pytest.raises(ModelError, match=r"BertFor\w+ does not compute in bf16.*--precision fp32"):
        backward(half, mixing)
