"""How far a model is from what is wanted of it, a chunk of places at a time."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn import functional

from evenhand.mitigation.equalising.divergence import divergence
from evenhand.mitigation.equalising.replay import ReplayTokens
from evenhand.models.engine.positions import PositionStates, in_chunks, within
from evenhand.models.engine.transfer import on_device

ALIKE = 8.0
"""How much it counts that a token is as likely after a man as after a woman, beside what it is to be after both."""

RARE = 2 / 3
"""Power of a token's probability by which it counts there."""


@dataclass(frozen=True, slots=True)
class WantedDistributions:
    """What is wanted at places: the original's distribution times a factor, with other probabilities of some tokens."""

    weights: Tensor
    factors: Tensor
    places: Tensor
    """Of those tokens, in rising order, in main memory."""
    tokens: Tensor
    probabilities: Tensor


def loss_at_places(
    states: PositionStates, original: PositionStates, wanted: WantedDistributions
) -> tuple[Tensor, Tensor]:
    """KL(target || model), weighted and summed over places, and what the model expects of the targets' tokens."""

    def compare(chunk: slice) -> tuple[Tensor, Tensor]:
        reads = within(wanted.places, chunk)
        tokens = wanted.tokens[reads]
        here = on_device(wanted.places[reads] - chunk.start, tokens.device)
        with torch.no_grad():
            target = original.logits(chunk).softmax(dim=-1) * wanted.factors[chunk, None]
            target[here, tokens] = wanted.probabilities[reads]
        lost, logs = divergence(states.logits(chunk), target, here * target.shape[-1] + tokens)
        return (lost * wanted.weights[chunk]).sum(), logs

    chunks = in_chunks(compare, len(states), states.at_once)
    logs = [states.vectors[:0].float().flatten(), *(part for _, part in chunks)]
    return states.total([lost for lost, _ in chunks]), torch.cat(logs)


def loss_behind_gaps(
    states: Sequence[PositionStates], original: Sequence[PositionStates], weights: Tensor, telling: Tensor
) -> Tensor:
    """After a man and after a woman the model is to expect what the original expects on average.

    Words that tell a gender are left to the original: after a woman *her* is right, and *his* is not. Together they get
    the same share after both, so that all other words have the same probability.

    A rare token hardly counts in the divergence, yet MALoR reads a sentence's every word. So the probabilities of each
    token after the one and after the other are compared once more, and rare ones count for more than their share.

    Args:
        states: After a man, and after a woman.
        original: The same of the original.
        weights: How much each place counts.
        telling: Tokens that tell a gender.
    """

    def compare(chunk: slice) -> Tensor:
        with torch.no_grad():
            expected = [own.logits(chunk).softmax(dim=-1) for own in original]
            middle = (expected[0] + expected[1]) / 2
            counts = middle.pow(RARE)
            counts.index_fill_(1, telling, 0.0)
            counts /= counts.sum(dim=-1, keepdim=True)
            share = middle[:, telling].sum(dim=-1, keepdim=True)
            wanted = [_with_own_words(middle, own[:, telling], share, telling) for own in expected]
        male, female = (functional.log_softmax(own.logits(chunk), dim=-1) for own in states)
        lost = (_divergence(wanted[0], male) + _divergence(wanted[1], female)) / 2
        alike: Tensor = torch.linalg.vecdot(counts, _unevenness(male - female))
        return ((lost + ALIKE * alike) * weights[chunk]).sum()

    return states[0].total(in_chunks(compare, len(weights), max(1, states[0].at_once // 3)))


def _with_own_words(middle: Tensor, own: Tensor, share: Tensor, telling: Tensor) -> Tensor:
    """The mean of two distributions in which some tokens keep the shape of one, with a given sum."""
    tiny = torch.finfo(own.dtype).tiny
    return middle.index_copy(1, telling, own * (share / own.sum(dim=-1, keepdim=True).clamp_min(tiny)))


def _unevenness(ratio: Tensor) -> Tensor:
    """KL(half and half || shares) of two probabilities, from the logarithm of their ratio alone."""
    apart = ratio.abs()
    return apart / 2 + torch.log1p((-apart).exp()) - math.log(2)


@dataclass(frozen=True, slots=True)
class ReplayedPlaces:
    """Places of ordinary sentences that the model is asked at."""

    weights: Tensor
    """How much each counts."""
    is_open: Tensor
    """Whether nobody's gender has been told there."""
    settled: Tensor
    """How much it counts there that a gender which was told is as likely as it was; 0 at most places."""


def loss_elsewhere(
    states: PositionStates,
    original: PositionStates,
    places: ReplayedPlaces,
    tokens: ReplayTokens,
    balance: float,
) -> Tensor:
    """How far the model is from what the original expects, evened out where nobody's gender has been told.

    Where a gender has been told, the divergence hardly sees whether the wrong one has a chance of one in ten or one in
    a hundred, and evening out makes the wrong one likelier everywhere. So the odds of the two are compared there by
    themselves, as shares are where they are to be even.
    """

    def compare(chunk: slice) -> Tensor:
        with torch.no_grad():
            target = original.logits(chunk).softmax(dim=-1)
            odds = tokens.telling.odds(target)
            flags = tokens.open_places.even_out(target, places.is_open[chunk])
            rows = torch.arange(len(target), device=target.device)[:, None]
        lost, read = divergence(
            states.logits(chunk), target, (rows * target.shape[-1] + tokens.all).flatten()
        )
        logs, few = read.reshape(len(target), -1), tokens.among_all
        lost = lost + balance * few.open_places.unevenness(logs, flags)
        moved = _unevenness(few.telling.odds_from_logs(logs) - odds) * places.settled[chunk]
        return (lost * places.weights[chunk] + balance * moved).sum()

    return states.total(in_chunks(compare, len(states), states.at_once))


def _divergence(target: Tensor, logs: Tensor) -> Tensor:
    """KL(target || model) of each distribution in the last dimension."""
    with torch.no_grad():
        entropy = torch.xlogy(target, target).sum(dim=-1)
    expected: Tensor = torch.linalg.vecdot(target, logs)
    return entropy - expected
