"""What is wanted behind a gap: every word as likely after a man as after a woman, but for those that agree with one."""

from __future__ import annotations

import pytest
import torch

from evenhand.mitigation.equalising.losses import loss_behind_gaps
from evenhand.models.engine.positions import PositionStates

HIS, HER, HAT, DOOR = range(4)
TELLING = torch.tensor([HIS, HER])
AFTER_HE = [0.50, 0.02, 0.28, 0.20]
AFTER_SHE = [0.04, 0.40, 0.16, 0.40]
OTHERS = [0.22, 0.30]
"""The mean of what the original expects of *hat* and *door*."""
AGREES, ODD = 0.48 - 1e-6, 1e-6


def states(*probabilities: float) -> PositionStates:
    """A place where a model expects words with these probabilities."""
    return PositionStates(torch.tensor([probabilities], dtype=torch.float64).log(), lambda scores: scores, 10)


def lost(after_he: list[float], after_she: list[float]) -> float:
    original = states(*AFTER_HE), states(*AFTER_SHE)
    found = loss_behind_gaps(
        (states(*after_he), states(*after_she)), original, torch.ones(1, dtype=torch.float64), TELLING
    )
    return float(found)


def wanted(own: list[float]) -> list[float]:
    """The words that agree keep their shape, with the same share after both."""
    share = 1 - sum(OTHERS)
    return [own[word] * share / (own[HIS] + own[HER]) for word in (HIS, HER)] + OTHERS


def test_nothing_is_lost_where_all_other_words_are_even() -> None:
    assert sum(wanted(AFTER_HE)) == pytest.approx(1)
    assert lost(wanted(AFTER_HE), wanted(AFTER_SHE)) == pytest.approx(0, abs=1e-6)


def test_the_original_is_not_even() -> None:
    assert lost(AFTER_HE, AFTER_SHE) > 0.1


def test_a_model_that_no_longer_knows_whose_it_is_loses() -> None:
    """To expect *his* and *her* alike after *he* would be even, and wrong."""
    forgot = [0.24, 0.24, *OTHERS]
    assert lost(forgot, forgot) > 0.1


def test_a_rare_word_counts_although_the_divergence_hardly_sees_it() -> None:
    """Of a word with a probability of a thousandth, once ten times as likely after a man: 3.3 bits of MALoR."""
    usual, rare = 0.519, 0.001
    original = states(AGREES, ODD, usual, rare), states(ODD, AGREES, usual, rare)
    apart = (
        states(AGREES, ODD, usual + rare - 0.002, 0.002),
        states(ODD, AGREES, usual + rare - 0.0002, 0.0002),
    )
    found = float(loss_behind_gaps(apart, original, torch.ones(1, dtype=torch.float64), TELLING))
    divergence = sum(
        own * torch.tensor(own / seen).log().item() / 2
        for model in apart
        for own, seen in zip((usual, rare), model.vectors[0, HAT:].exp().tolist(), strict=True)
    )
    assert divergence < 0.001
    assert found > 0.03
