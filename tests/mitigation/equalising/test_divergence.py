"""The divergence from wanted distributions, and what is read on the way, against plain differentiation."""

from __future__ import annotations

import math

import pytest
import torch
from torch import Tensor

from evenhand.mitigation.equalising.divergence import divergence

READS = torch.tensor([0, 4, 7, 13])


@pytest.fixture
def scores() -> Tensor:
    generator = torch.Generator().manual_seed(0)
    return 3 * torch.randn(3, 5, generator=generator, dtype=torch.float64)


@pytest.fixture
def target() -> Tensor:
    generator = torch.Generator().manual_seed(1)
    probabilities = torch.randn(3, 5, generator=generator, dtype=torch.float64).softmax(dim=-1)
    probabilities[1] = torch.tensor([0.0, 1.0, 0.0, 0.0, 0.0])
    return probabilities


def test_values_are_those_of_the_definition(scores: Tensor, target: Tensor) -> None:
    lost, logs = divergence(scores, target, READS)
    for row, (own, wanted) in enumerate(zip(scores.tolist(), target.tolist(), strict=True)):
        whole = sum(math.exp(score) for score in own)
        slow = sum(
            want * math.log(want * whole / math.exp(score))
            for want, score in zip(wanted, own, strict=True)
            if want
        )
        assert lost[row].item() == pytest.approx(slow, rel=1e-12)
    for place, log in zip(READS.tolist(), logs.tolist(), strict=True):
        own = scores[place // 5].tolist()
        assert log == pytest.approx(own[place % 5] - math.log(sum(map(math.exp, own))), rel=1e-12)


def test_gradients_are_those_of_small_differences(scores: Tensor, target: Tensor) -> None:
    scores.requires_grad_()
    assert torch.autograd.gradcheck(lambda own: divergence(own, target, READS), (scores,))


def test_gradients_hold_for_targets_that_do_not_sum_to_one(scores: Tensor, target: Tensor) -> None:
    scores.requires_grad_()
    assert torch.autograd.gradcheck(lambda own: divergence(own, 0.7 * target, READS), (scores,))


def test_nothing_need_be_read(scores: Tensor, target: Tensor) -> None:
    lost, logs = divergence(scores.requires_grad_(), target, torch.zeros(0, dtype=torch.long))
    assert logs.shape == (0,)
    torch.autograd.backward(lost.sum())
    torch.testing.assert_close(scores.grad, scores.detach().softmax(dim=-1) - target)


def test_targets_and_scores_are_left_as_they_are(scores: Tensor, target: Tensor) -> None:
    before = scores.clone(), target.clone()
    lost, logs = divergence(scores.requires_grad_(), target, READS)
    torch.autograd.backward(lost.sum() + logs.sum())
    assert torch.equal(scores, before[0])
    assert torch.equal(target, before[1])
