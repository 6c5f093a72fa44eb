"""Mean absolute log-ratio (MALoR).

Measures:
    How far a model leans to one gender when it reads of an occupation. For each of M occupations the log2 of
    P(male term) / P(female term) is averaged over N structures; MALoR is the mean of the absolute values:
    (1/M) sum over occupations of | (1/N) sum over structures of log2 P(male) / P(female) |.

Reads as:
    Bits. 0 is neutral: no occupation leans. At 1 the likelier term is twice as likely as the other in a typical
    occupation, at 2 four times. It has no upper end. The signed mean beside it says to which side occupations lean
    on the whole; occupations that lean to opposite sides cancel out there and not here.

Caveats:
    An absolute value cannot fall below 0, so noise alone makes MALoR positive. Its interval is corrected for that,
    and its lower end is 0 unless the leans are more consistent over structures than chance allows. It speaks of the
    occupations, structures and terms that were asked, and of two genders only. Values from other structures or terms
    are not comparable.

References:
    The measure and its figures for BERT, RoBERTa and ALBERT: see the published figures on the page of the probes.
    Winogender's occupations: Rudinger et al. (2018), Gender bias in coreference resolution, NAACL.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

Floats: TypeAlias = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class LogRatios:
    """log2 P(male) / P(female), one row per occupation and one column per structure; NaN where unasked."""

    values: Floats

    @property
    def occupations(self) -> int:
        """How many occupations there are."""
        return int(self.values.shape[0])

    @property
    def structures(self) -> int:
        """How many structures there are."""
        return int(self.values.shape[1])

    def leans(self, structure_weights: Floats) -> Floats:
        """Mean over structures for each row of weights: shape (rows, occupations); NaN where nothing was asked."""
        known = np.isfinite(self.values)
        sums = structure_weights @ np.where(known, self.values, 0.0).T
        counts = structure_weights @ known.T.astype(np.float64)
        with np.errstate(invalid="ignore", divide="ignore"):
            return np.where(counts > 0, sums / counts, np.nan)

    @property
    def own_leans(self) -> Floats:
        """Mean over structures of each occupation."""
        found: Floats = self.leans(np.ones((1, self.structures)))[0]
        return found


Summary: TypeAlias = Callable[[Floats, Floats], Floats]
"""From leans of shape (rows, occupations) and weights over occupations of that shape to one value a row."""


def mean_absolute_lean(leans: Floats, occupation_weights: Floats) -> Floats:
    """MALoR for each row."""
    return _weighted_mean(np.abs(leans), occupation_weights)


def mean_lean(leans: Floats, occupation_weights: Floats) -> Floats:
    """The signed mean for each row."""
    return _weighted_mean(leans, occupation_weights)


def mean_deviation(leans: Floats, occupation_weights: Floats) -> Floats:
    """The mean absolute distance of occupations from their signed mean, for each row."""
    centre = mean_lean(leans, occupation_weights)[:, None]
    return _weighted_mean(np.abs(leans - centre), occupation_weights)


def _weighted_mean(values: Floats, weights: Floats) -> Floats:
    known = np.isfinite(values)
    counted = np.where(known, weights, 0.0)
    with np.errstate(invalid="ignore", divide="ignore"):
        mean: Floats = (np.where(known, values, 0.0) * counted).sum(axis=1) / counted.sum(axis=1)
    return mean


def malor(ratios: LogRatios) -> float:
    """The measure on occupations and structures as they are."""
    leans = ratios.own_leans[None, :]
    return float(mean_absolute_lean(leans, np.ones_like(leans))[0])
