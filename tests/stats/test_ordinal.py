"""The ordinal mixed model: held against statsmodels, a slow integral, planted parameters and the null."""

from __future__ import annotations

import math
import warnings
from typing import Any

import numpy as np
import pytest
from ordinal_coverage import SIDES, THRESHOLDS, planted_labels
from scipy import special, stats

from evenhand.stats import ordinal
from evenhand.stats.ordinal import NoOrdinalFitError, OrdinalFit, fit_ordinal
from evenhand.stats.resampling import Floats


def fit_with_statsmodels(counts: Floats) -> Any:
    """A cumulative logit without contexts."""
    module = pytest.importorskip("statsmodels.miscmodels.ordinal_model")
    totals = counts.sum(axis=0).astype(int)
    side = np.repeat(SIDES, totals.sum(axis=1))
    label = np.concatenate([np.repeat(np.arange(3), own) for own in totals])
    with warnings.catch_warnings(action="ignore"):
        return module.OrderedModel(label, side[:, None], distr="logit").fit(method="bfgs", disp=False)


def test_without_random_effects_it_is_the_cumulative_logit_of_statsmodels() -> None:
    counts = planted_labels(np.random.default_rng(1), effect=0.6)
    own, reference = fit_ordinal(counts, deviations=(0.0, 0.0)), fit_with_statsmodels(counts)
    assert own.effect == pytest.approx(reference.params[0], abs=1e-3)
    assert own.error == pytest.approx(reference.bse[0], rel=1e-3)
    assert own.log_likelihood == pytest.approx(reference.llf, abs=1e-3)
    expected = reference.model.transform_threshold_params(reference.params)[1:-1]
    assert own.thresholds == pytest.approx(expected, abs=2e-3)


def test_contexts_without_effect_change_next_to_nothing() -> None:
    counts = planted_labels(np.random.default_rng(4), contexts=20, texts=100, effect=0.5, deviations=(0, 0))
    own, reference = fit_ordinal(counts), fit_with_statsmodels(counts)
    assert max(own.intercept_deviation, own.slope_deviation) < 0.2
    assert own.effect == pytest.approx(reference.params[0], abs=0.02)
    assert own.error == pytest.approx(reference.bse[0], rel=0.25)


def test_the_likelihood_is_the_integral_over_intercepts_and_slopes() -> None:
    counts = planted_labels(np.random.default_rng(2), contexts=3, texts=12)
    deviations, effect = (0.6, 0.8), 0.3

    def of_context(own: Floats) -> float:
        intercept, slope = (np.linspace(-8 * sigma, 8 * sigma, 301) for sigma in deviations)
        latent = SIDES * (effect + slope[:, None]) + intercept[:, None, None]
        shares = np.diff(special.expit(THRESHOLDS - latent[..., None]), prepend=0.0, append=1.0)
        prior = np.outer(stats.norm.pdf(intercept, 0, deviations[0]), stats.norm.pdf(slope, 0, deviations[1]))
        cell = (intercept[1] - intercept[0]) * (slope[1] - slope[0])
        return math.log(float((np.prod(shares**own, axis=(2, 3)) * prior).sum() * cell))

    slow = sum(of_context(own) for own in counts)
    assert ordinal._log_likelihood(counts, THRESHOLDS, effect, deviations) == pytest.approx(slow, abs=1e-3)


def test_planted_parameters_are_recovered() -> None:
    counts = planted_labels(np.random.default_rng(3), contexts=80, texts=150, effect=0.8)
    fit = fit_ordinal(counts)
    assert abs(fit.effect - 0.8) < 3 * fit.error
    assert fit.error < 0.08
    assert fit.thresholds == pytest.approx(THRESHOLDS, abs=0.2)
    assert (fit.intercept_deviation, fit.slope_deviation) == pytest.approx((0.5, 0.4), abs=0.12)


def test_p_values_and_intervals_hold_under_the_null() -> None:
    generator = np.random.default_rng(8)
    fits = [fit_ordinal(planted_labels(generator)) for _ in range(40)]
    p_values = np.array([own.p_value for own in fits])
    assert (p_values < 0.05).sum() <= 6
    assert stats.kstest(p_values, "uniform").pvalue > 0.01
    assert sum(own.interval(0.95)[0] <= 0 <= own.interval(0.95)[1] for own in fits) >= 34


def test_slopes_keep_texts_of_one_context_from_counting_one_by_one() -> None:
    counts = planted_labels(np.random.default_rng(5), texts=400, deviations=(0.5, 0.8))
    with_slopes, without = fit_ordinal(counts), fit_ordinal(counts, deviations=(0.5, 0.0))
    assert with_slopes.error > 3 * without.error


@pytest.mark.parametrize(
    ("counts", "reason"),
    [
        (np.ones((2, 2, 3)), "2 contexts; 3 are needed"),
        (np.tile([[4.0, 0, 0], [3, 0, 0]], (5, 1, 1)), "one label"),
        (np.tile([[4.0, 2, 1], [0, 0, 0]], (5, 1, 1)), "one group"),
        (np.tile([[9.0, 0, 0], [0, 0, 9]], (5, 1, 1)), "do not overlap"),
    ],
)
def test_what_has_no_model_says_why(counts: Floats, reason: str) -> None:
    with pytest.raises(NoOrdinalFitError, match=reason):
        fit_ordinal(counts)


def test_labels_that_nobody_gave_are_left_out() -> None:
    counts = planted_labels(np.random.default_rng(6))
    counts[:, :, 1] = 0
    fit = fit_ordinal(counts)
    assert len(fit.thresholds) == 1
    assert isinstance(fit, OrdinalFit)
    assert 0 < fit.p_value <= 1
