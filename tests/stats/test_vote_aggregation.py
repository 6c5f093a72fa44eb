"""Labels from votes: mode with its rule for ties, consensus, shares, and models of annotators."""

from __future__ import annotations

import math

import numpy as np
import pytest

from evenhand.core.errors import EvenhandError
from evenhand.core.labels import NO_ANSWER, NOT_ASKED, UNSURE
from evenhand.stats.vote_aggregation import NO_LABEL, CrowdModel, TieRule, aggregate_votes, estimated_shares

SCALE = (-1.0, 0.0, 1.0)
VOTES = np.array(
    [
        [0, 0, 0, 0, 0],
        [2, 2, 1, 2, 0],
        [0, 0, 1, 1, 2],
        [2, 1, 2, 1, 0],
        [1, 1, 1, 1, UNSURE],
        [1, 1, 1, 1, NO_ANSWER],
        [1, 1, NOT_ASKED, NOT_ASKED, NOT_ASKED],
        [NOT_ASKED] * 5,
    ]
)


def test_mode_consensus_and_who_is_listed() -> None:
    found = aggregate_votes(VOTES, SCALE)
    assert found.mode.tolist() == [0, 2, 0, 1, NO_LABEL, NO_LABEL, 1, NO_LABEL]
    assert found.consensus.tolist() == [0, *[NO_LABEL] * 5, 1, NO_LABEL]
    assert found.ambiguous.nonzero()[0].tolist() == [2, 3]
    assert found.unsure.nonzero()[0].tolist() == [4, 5]


def test_ties_can_be_dropped() -> None:
    assert aggregate_votes(VOTES, SCALE, ties=TieRule.DROP).mode.tolist()[:4] == [0, 2, NO_LABEL, NO_LABEL]


def test_the_lowest_of_a_tie_is_the_lowest_on_the_scale_wherever_it_stands_in_the_scheme() -> None:
    votes = np.array([[0, 1], [1, 2], [3, 0]])
    assert aggregate_votes(votes, (1.0, -1.0, 0.0, math.nan)).mode.tolist() == [1, 1, 0]


def test_shares_are_the_votes() -> None:
    shares = aggregate_votes(VOTES, SCALE).shares
    np.testing.assert_allclose(shares[[1, 4]], np.array([[0.2, 0.2, 0.6], [0.0, 1.0, 0.0]]))
    assert np.isnan(shares[-1]).all()


@pytest.mark.parametrize("model", list(CrowdModel))
def test_models_of_annotators_overrule_those_who_guess(model: CrowdModel) -> None:
    pytest.importorskip("crowdkit")
    generator = np.random.default_rng(3)
    truth = generator.integers(0, 3, 300)
    careful = np.where(generator.random((300, 3)) < 0.9, truth[:, None], generator.integers(0, 3, (300, 3)))
    votes = np.hstack([careful, generator.integers(0, 3, (300, 4))])
    votes[generator.random(votes.shape) < 0.1] = UNSURE
    votes[0] = NOT_ASKED
    shares = estimated_shares(votes, 4, model=model, seed=1, restarts=2)
    counted = np.argmax(aggregate_votes(votes, (*SCALE, math.nan)).counts, axis=1)
    right = (np.argmax(shares[1:], axis=1) == truth[1:]).mean()
    assert right > (counted[1:] == truth[1:]).mean() + 0.05
    np.testing.assert_allclose(shares[1:].sum(axis=1), 1)
    assert np.isnan(shares[0]).all()
    assert shares[1:, 3].max() == 0


def test_nothing_can_be_estimated_from_no_votes() -> None:
    pytest.importorskip("crowdkit")
    with pytest.raises(EvenhandError, match="No annotator gave a label"):
        estimated_shares(np.full((3, 2), UNSURE), 3, model=CrowdModel.DAWID_SKENE)
