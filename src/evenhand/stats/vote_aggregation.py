"""One label per text from the votes of several annotators.

The *mode* is the label with the most votes, where all who were asked gave one: a text that one of them was unsure about
has none. Where labels tie, the rule says which one is taken. *Consensus* is a label that all gave, and needs at least
two of them. *Vote shares* are the votes themselves, as shares. Dawid-Skene and MACE weigh annotators by how reliable
their votes show them to be.

References:
    Dawid and Skene (1979), "Maximum likelihood estimation of observer error-rates using the EM algorithm";
    Hovy et al. (2013), "Learning whom to trust with MACE".
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from evenhand.core.errors import EvenhandError, require_extra
from evenhand.core.labels import NOT_ASKED, UNSURE
from evenhand.stats.resampling import Floats

Votes: TypeAlias = npt.NDArray[np.int64]
"""Indices of labels, or ``UNSURE``, ``NO_ANSWER``, ``NOT_ASKED``; one row per text, one column per annotator."""

NO_LABEL = UNSURE
"""Stands for a text that gets no label."""


class TieRule(StrEnum):
    """What becomes of a text whose most frequent labels have the same number of votes."""

    LOWEST = "lowest"
    """The label with the lowest value on the scale; of labels beside it, the first of the scheme."""
    DROP = "drop"
    """No label."""


class CrowdModel(StrEnum):
    """A model of annotators who differ in reliability."""

    DAWID_SKENE = "dawid-skene"
    MACE = "mace"


@dataclass(frozen=True, slots=True)
class AggregatedVotes:
    """What the votes of each text come to, one entry per text.

    Attributes:
        counts: Votes per label, of shape (texts, labels).
        mode: The label with the most votes, or ``NO_LABEL``.
        consensus: The label that all gave, if they are at least two, or ``NO_LABEL``.
        ambiguous: Whether two labels or more have the most votes.
        unsure: Whether somebody who was asked gave no label.
    """

    counts: npt.NDArray[np.int64]
    mode: Votes
    consensus: Votes
    ambiguous: npt.NDArray[np.bool_]
    unsure: npt.NDArray[np.bool_]

    @property
    def single(self) -> npt.NDArray[np.bool_]:
        """Whether a text has one vote only, with which nobody can agree."""
        alone: npt.NDArray[np.bool_] = (self.counts.sum(axis=1) == 1) & ~self.unsure
        return alone

    @property
    def shares(self) -> Floats:
        """Votes per label as shares of the votes of a text; NaN for a text without any."""
        totals = self.counts.sum(axis=1, keepdims=True)
        shares = np.full(self.counts.shape, np.nan)
        np.divide(self.counts, totals, out=shares, where=totals > 0)
        return shares


def vote_counts(votes: Votes, labels: int) -> npt.NDArray[np.int64]:
    """How many annotators gave each label to each text, of shape (texts, labels)."""
    return np.stack([np.count_nonzero(votes == label, axis=1) for label in range(labels)], axis=1)


def aggregate_votes(
    votes: Votes, values: Sequence[float], *, ties: TieRule = TieRule.LOWEST
) -> AggregatedVotes:
    """Mode, consensus and vote shares of each text.

    Args:
        votes: One row per text and one column per annotator.
        values: The place of each label on the scale, NaN for labels that are not on it.
        ties: What to do where labels have the same number of votes.
    """
    counts = vote_counts(votes, len(values))
    asked = votes != NOT_ASKED
    unsure = np.any(asked & (votes < 0), axis=1)
    labelled = ~unsure & (counts.sum(axis=1) > 0)
    most = counts.max(axis=1)
    ambiguous = labelled & (np.count_nonzero(counts == most[:, None], axis=1) > 1)
    order = np.argsort(np.where(np.isnan(values), np.inf, values), kind="stable")
    mode = np.where(labelled, order[np.argmax(counts[:, order], axis=1)], NO_LABEL)
    if ties is TieRule.DROP:
        mode = np.where(ambiguous, NO_LABEL, mode)
    unanimous = labelled & (most == counts.sum(axis=1)) & (most > 1)
    return AggregatedVotes(
        counts=counts,
        mode=mode,
        consensus=np.where(unanimous, np.argmax(counts, axis=1), NO_LABEL),
        ambiguous=ambiguous,
        unsure=unsure,
    )


def most_likely(shares: Floats) -> Votes:
    """The label with the largest share of each text, or ``NO_LABEL`` for a text without votes."""
    known = ~np.isnan(shares[:, 0])
    return np.where(known, np.argmax(np.nan_to_num(shares), axis=1), NO_LABEL)


def estimated_shares(
    votes: Votes, labels: int, *, model: CrowdModel, seed: int = 0, restarts: int = 10
) -> Floats:
    """The probability of each label for each text under a model of annotators; NaN for a text without votes.

    Args:
        votes: One row per text and one column per annotator; answers that are no labels are left out.
        labels: How many labels the scheme has.
        model: Which model.
        seed: Where MACE starts.
        restarts: How often it starts; the best fit is kept.

    Raises:
        MissingExtraError: If crowd-kit is not installed.
    """
    require_extra("crowd", "crowdkit", "pandas", purpose=f"The model {model}")
    import pandas as pd
    from crowdkit.aggregation import MACE, DawidSkene

    texts, annotators = np.nonzero(votes >= 0)
    if not len(texts):
        raise EvenhandError("No annotator gave a label, so there is nothing to estimate labels from.")
    table = pd.DataFrame({"task": texts, "worker": annotators, "label": votes[texts, annotators]})
    fitted = (
        MACE(n_restarts=restarts, random_state=seed) if model is CrowdModel.MACE else DawidSkene(n_iter=100)
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # crowd-kit calls pandas in ways that are to go
        probabilities = fitted.fit_predict_proba(table)
    shares = np.full((len(votes), labels), np.nan)
    shares[probabilities.index.to_numpy()] = 0.0
    shares[np.ix_(probabilities.index.to_numpy(), probabilities.columns.to_numpy())] = (
        probabilities.to_numpy()
    )
    return shares
