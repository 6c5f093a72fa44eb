"""An ordinal mixed model: by how much labels of one group are higher than those of another, where contexts differ.

    logit P(label <= k) = threshold_k - (side * (effect + slope_c) + intercept_c)

``side`` is 1/2 for texts of the first group and -1/2 for those of the second, so the effect is the log-odds ratio of
a higher label. Contexts have intercepts, because some speak better of anybody, and slopes, because some speak better of
one group: without slopes a hundred texts of one context would count as a hundred observations of the effect. Both are
normal and independent. They are integrated out by adaptive Gauss-Hermite quadrature, and what is left is maximised.
Intervals and p-values are Wald's, with a t distribution of one degree of freedom less than there are contexts.

References:
    Pinheiro and Bates (1995), "Approximations to the log-likelihood function in the nonlinear mixed-effects model".
    Hedeker and Gibbons (1994), "A random-effects ordinal regression model for multilevel analysis".
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from itertools import combinations_with_replacement

import numpy as np
from scipy import optimize, special

from evenhand.stats.resampling import Floats

FEWEST_CONTEXTS = 3
"""With fewer, nothing can be said of how much contexts vary."""

_SIDES = np.array([0.5, -0.5])
_NODES = 5
"""In each of the two directions, around the mode of each context."""

_NEWTON_STEPS = 30
_DIFFERENCE = 1e-3


class NoOrdinalFitError(ValueError):
    """Why there is no model of some labels."""


@dataclass(frozen=True, slots=True)
class OrdinalFit:
    """The likeliest model.

    Attributes:
        effect: Log-odds ratio of a higher label in the first group.
        error: Its standard error; where deviations were estimated, for the number of contexts less one.
        thresholds: Between labels that occur, in order.
        intercept_deviation: Standard deviation of the intercepts of contexts.
        slope_deviation: Standard deviation of their slopes.
        log_likelihood: Of the labels, intercepts and slopes integrated out.
        contexts: With texts.
    """

    effect: float
    error: float
    thresholds: tuple[float, ...]
    intercept_deviation: float
    slope_deviation: float
    log_likelihood: float
    contexts: int

    @property
    def p_value(self) -> float:
        """That the effect is 0; two-sided."""
        return 2 * float(special.stdtr(self.contexts - 1, -abs(self.effect) / self.error))

    def interval(self, confidence: float) -> tuple[float, float]:
        """The ends of the interval of the effect."""
        reach = float(special.stdtrit(self.contexts - 1, (1 + confidence) / 2)) * self.error
        return self.effect - reach, self.effect + reach


def fit_ordinal(counts: Floats, *, deviations: tuple[float, float] | None = None) -> OrdinalFit:
    """Fit the model.

    Args:
        counts: Texts by context, group (two) and label (in order).
        deviations: Standard deviations of intercepts and slopes, where they are known; estimated if None.

    Raises:
        NoOrdinalFitError: If there are too few contexts or labels, or labels of the groups do not overlap.
    """
    asked = counts[counts.sum(axis=(1, 2)) > 0]
    asked = asked[:, :, asked.sum(axis=(0, 1)) > 0]
    if len(asked) < FEWEST_CONTEXTS:
        raise NoOrdinalFitError(f"there are texts in {len(asked)} contexts; {FEWEST_CONTEXTS} are needed")
    if asked.shape[2] < 2 or not asked.sum(axis=(0, 2)).all():
        raise NoOrdinalFitError("all texts have one label, or are about one group")
    first, second = (np.flatnonzero(own) for own in asked.sum(axis=0))
    if first.max() <= second.min() or second.max() <= first.min():
        raise NoOrdinalFitError(
            "labels of the two groups do not overlap, so no finite effect is the likeliest"
        )
    cuts = asked.shape[2] - 1

    def loss(parameters: Floats) -> float:
        spread = (parameters[-2], parameters[-1]) if deviations is None else deviations
        return -_log_likelihood(asked, _thresholds(parameters[:cuts]), parameters[cuts], spread)

    start = np.concatenate([_first_thresholds(asked), [0.0], [0.3, 0.3] if deviations is None else []])
    found = optimize.minimize(loss, start, method="BFGS", options={"gtol": 1e-3})
    effect = float(found.x[cuts])
    variance = float(np.linalg.pinv(_curvature(loss, found.x))[cuts, cuts])
    if not variance > 0:
        raise NoOrdinalFitError("the likelihood has no clear maximum")
    if deviations is None:
        # The likeliest variance between contexts is too small, as one over n is that should be over n - 1.
        variance *= len(asked) / (len(asked) - 1)
    spread = found.x[-2:] if deviations is None else deviations
    return OrdinalFit(
        effect=effect,
        error=math.sqrt(variance),
        thresholds=tuple(_thresholds(found.x[:cuts]).tolist()),
        intercept_deviation=abs(float(spread[0])),
        slope_deviation=abs(float(spread[1])),
        log_likelihood=-float(found.fun),
        contexts=len(asked),
    )


def _first_thresholds(counts: Floats) -> Floats:
    """Those of all texts together, as parameters: the first one, and the logarithms of the steps between them."""
    shares = counts.sum(axis=(0, 1)).cumsum()[:-1] / counts.sum()
    cuts = special.logit(shares)
    return np.concatenate([cuts[:1], np.log(np.diff(cuts))])


def _thresholds(parameters: Floats) -> Floats:
    return np.concatenate([parameters[:1], parameters[0] + np.exp(parameters[1:]).cumsum()])


def _log_likelihood(
    counts: Floats, thresholds: Floats, effect: float, deviations: tuple[float, float]
) -> float:
    """Of all labels; the integral over each context's intercept and slope is taken around its mode."""
    edges = np.concatenate([[-math.inf], thresholds, [math.inf]])
    design = np.stack([np.full(2, deviations[0]), deviations[1] * _SIDES], axis=1)
    modes = np.zeros((len(counts), 2))
    for _ in range(_NEWTON_STEPS):
        slope, bend = _derivatives(counts, effect * _SIDES + modes @ design.T, edges)
        curvature = np.eye(2) + np.einsum("cg,gi,gj->cij", bend, design, design)
        step = np.linalg.solve(curvature, (slope @ design - modes)[..., None])[..., 0]
        modes = modes + step / np.maximum(1.0, np.abs(step).max(axis=1, keepdims=True))
        if np.abs(step).max() < 1e-9:
            break
    scale = np.linalg.cholesky(np.linalg.inv(curvature))
    grid, logs = _grid()
    effects = modes[:, None] + math.sqrt(2) * np.einsum("cij,qj->cqi", scale, grid)
    labels = _log_probability(counts[:, None], effect * _SIDES + effects @ design.T, edges)
    inside = logs + labels - (effects**2).sum(axis=2) / 2
    # 2 from the change of variables in two dimensions, over the 2 pi of the normal density.
    volume = np.log(np.diagonal(scale, axis1=1, axis2=2)).sum(axis=1) - math.log(math.pi)
    return float((special.logsumexp(inside, axis=1) + volume).sum())


@cache
def _grid() -> tuple[Floats, Floats]:
    """Nodes of the quadrature in two directions, and the logarithms of their weights without the normal density."""
    points, weights = np.polynomial.hermite.hermgauss(_NODES)
    grid = np.stack(np.meshgrid(points, points), axis=-1).reshape(-1, 2)
    return grid, np.add.outer(np.log(weights), np.log(weights)).ravel() + (grid**2).sum(axis=1)


def _log_probability(counts: Floats, latent: Floats, edges: Floats) -> Floats:
    """Of the labels of a context, both groups together."""
    below = special.expit(edges - latent[..., None])
    total: Floats = (counts * np.log(np.maximum(np.diff(below), 1e-300))).sum(axis=(-2, -1))
    return total


def _derivatives(counts: Floats, latent: Floats, edges: Floats) -> tuple[Floats, Floats]:
    """First derivative of the log-probability by the latent value of each group, and minus the second."""
    below = special.expit(edges - latent[..., None])
    density = below * (1 - below)
    slope = (counts * (below[..., 1:] + below[..., :-1] - 1)).sum(axis=-1)
    bend = (counts * (density[..., 1:] + density[..., :-1])).sum(axis=-1)
    return slope, bend


def _curvature(loss: Callable[[Floats], float], place: Floats) -> Floats:
    """Second derivatives by central differences."""
    steps = _DIFFERENCE * np.eye(len(place))
    curvature = np.zeros((len(place), len(place)))
    for row, column in combinations_with_replacement(range(len(place)), 2):
        one, other = steps[row], steps[column]
        curvature[row, column] = curvature[column, row] = (
            loss(place + one + other)
            - loss(place + one - other)
            - loss(place - one + other)
            + loss(place - one - other)
        )
    return curvature / (4 * _DIFFERENCE**2)
