"""Scores over the vocabulary that are computed from 16-bit weights and not rounded to 16 bits."""

from __future__ import annotations

import copy
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from zoo_fixtures import Zoo

from evenhand.models.language_model import load_language_model
from evenhand.training.half_precision import in_half
from evenhand.training.wide_scores import WideLinear, widen_scores

FAMILIES = ["bert", "distilbert", "roberta", "albert", "xlm-roberta", "gpt2", "llama", "t5", "mt5"]


@pytest.fixture
def layer() -> nn.Linear:
    torch.manual_seed(0)
    return nn.Linear(32, 50).to(torch.bfloat16)


@pytest.fixture
def states() -> Tensor:
    return torch.randn(3, 4, 32, generator=torch.Generator().manual_seed(1)).to(torch.bfloat16)


def in_double_precision(states: Tensor, layer: nn.Linear) -> Tensor:
    """Scores one by one, each a sum of products of the numbers as they are."""
    rows = states.double().reshape(-1, states.shape[-1])
    weights, biases = layer.weight.detach().double(), layer.bias.detach().double()
    scores = [
        [float((row * weight).sum() + bias) for weight, bias in zip(weights, biases, strict=True)]
        for row in rows
    ]
    return torch.tensor(scores, dtype=torch.float64).reshape(*states.shape[:-1], -1)


def test_scores_are_those_of_exact_sums(layer: nn.Linear, states: Tensor) -> None:
    wanted = in_double_precision(states, layer)
    wide = WideLinear.of(layer)(states)
    assert wide.dtype is torch.float32
    torch.testing.assert_close(wide.double(), wanted, rtol=1e-5, atol=1e-6)
    assert (layer(states).double() - wanted).abs().max() > 1e-3  # so the plain layer does round


def test_words_that_are_nearly_even_are_told_apart() -> None:
    layer = nn.Linear(2, 2, bias=False).to(torch.bfloat16)
    with torch.no_grad():
        layer.weight.copy_(torch.tensor([[5.0, 0.0], [5.0, 0.015625]]))
    state = torch.tensor([[4.0, 1.0]], dtype=torch.bfloat16)
    assert layer(state).tolist() == [[20.0, 20.0]]
    assert WideLinear.of(layer)(state).tolist() == [[20.0, 20.015625]]


def test_gradients_are_those_of_the_exact_product_up_to_their_own_rounding(
    layer: nn.Linear, states: Tensor
) -> None:
    weights = torch.randn(3, 4, 50, generator=torch.Generator().manual_seed(2))
    wide, exact = WideLinear.of(copy.deepcopy(layer)), copy.deepcopy(layer).double()
    seen, read = states.clone().requires_grad_(), states.double().requires_grad_()
    torch.autograd.backward((wide(seen).softmax(dim=-1) * weights).sum())
    torch.autograd.backward((exact(read).softmax(dim=-1) * weights.double()).sum())
    for made, wanted in (
        (seen.grad, read.grad),
        (wide.weight.grad, exact.weight.grad),
        (wide.bias.grad, exact.bias.grad),
    ):
        assert made is not None
        assert wanted is not None
        assert (made.double() - wanted).norm() < 2**-7 * wanted.norm()


@pytest.mark.parametrize("name", FAMILIES)
def test_every_family_keeps_its_weights_and_what_ties_them(menagerie: Zoo, name: str) -> None:
    network: Any = load_language_model(str(menagerie.folder(name)), device="cpu").loaded.model
    double: Any = in_half(network, torch.bfloat16)
    assert type(double.get_output_embeddings()) is WideLinear
    assert [own for own, _ in double.named_parameters()] == [own for own, _ in network.named_parameters()]
    tied = network.get_output_embeddings().weight is network.get_input_embeddings().weight
    assert (double.get_output_embeddings().weight is double.get_input_embeddings().weight) is tied


def test_another_kind_of_last_layer_is_left_as_it_is() -> None:
    class Own(nn.Linear):
        """A layer of a model's own."""

    class Network(nn.Module):
        def __init__(self, last: nn.Module | None) -> None:
            super().__init__()
            self.last = last

        def get_output_embeddings(self) -> nn.Module | None:
            return self.last

    for last in (Own(2, 2), None):
        network = Network(last)
        widen_scores(network)
        assert network.last is last
    widen_scores(nn.Linear(2, 2))  # a model without a vocabulary
