"""How often a certificate says what is not so: simulated where the truth is known, at the edge of each claim."""

from __future__ import annotations

from dataclasses import replace

import builders
import numpy as np
import polars as pl
import probe_runs
import pytest
from scipy import stats

from evenhand.api.measure import evaluate
from evenhand.certificate.bias import KeyedRow, split_by_training
from evenhand.certificate.quality_figures import accuracy_of_answers, perplexity_row
from evenhand.certificate.seeds import ModelRows, compare_seeds
from evenhand.core.estimates import Estimate
from evenhand.instruments.association.comparison import lms_of_runs
from evenhand.instruments.malor.comparison import MALOR_MEASURE, compare_malor, malor_bias_rows
from evenhand.instruments.malor.estimates import LogRatios, malor_estimate, spread_estimate
from evenhand.stats.intervals import Interval
from evenhand.stats.resampling import Resampling
from evenhand.stats.score_intervals import effective_items, score_interval
from evenhand.stats.significance import distance_interval
from evenhand.store.certificate_bias import BiasRow, BiasVerdict, Bounds, bias_verdict
from evenhand.store.certificate_quality import QualityVerdict, quality_verdict
from evenhand.store.comparison import ComparisonOptions, compare, difference_row
from evenhand.store.figures import Figure
from evenhand.store.held_out_losses import HeldOutLoss
from evenhand.store.run import Run

FEW = Resampling(resamples=400)
SCORE = Figure("SS", ("all",), Estimate.undefined("not asked"), "A score", 50.0, is_headline=True)


def row_of(before: np.ndarray, after: np.ndarray) -> BiasRow:
    """A score as the mean over units, in both models."""
    made = difference_row(SCORE, before, after, resampling=FEW)
    return BiasRow(
        measure="SS", title="A score", before=made.first, after=made.second, difference=made.difference,
        before_interval=bounds_of(before), after_interval=bounds_of(after), neutral=50.0, unit="points",
        distance=made.distance,
    )  # fmt: skip


def bounds_of(units: np.ndarray) -> Bounds:
    reach = 1.96 * units.std(ddof=1) / np.sqrt(len(units))
    return Bounds(low=units.mean() - reach, high=units.mean() + reach)


@pytest.mark.parametrize(("before", "after"), [(47.0, 53.0), (40.0, 60.0), (60.0, 60.0), (50.0, 50.0)])
@pytest.mark.parametrize("share", [0.0, 0.8], ids=["unpaired", "paired"])
def test_the_same_distance_is_rarely_called_closer_or_farther(
    before: float, after: float, share: float
) -> None:
    generator = np.random.default_rng(11)
    called = 0
    for _ in range(600):
        common, own, other = generator.normal(0, 20, (3, 80))
        first, second = (
            mean + np.sqrt(share) * common + np.sqrt(1 - share) * noise
            for mean, noise in ((before, own), (after, other))
        )
        called += row_of(first, second).movement != 0
    assert called / 600 <= 0.065


@pytest.mark.parametrize(
    ("before", "after", "movement"), [(42.0, 52.0, 1), (52.0, 42.0, -1), (38.0, 62.0, 0)]
)
def test_another_distance_is_found_on_either_side(before: float, after: float, movement: int) -> None:
    generator = np.random.default_rng(12)
    rows = [row_of(*generator.normal([[before], [after]], 20, (2, 200))) for _ in range(20)]
    assert all(row.difference.low > 0 or row.difference.high < 0 for row in rows)
    assert sum(row.movement == movement for row in rows) >= 17


def test_the_interval_of_the_distance_covers_it() -> None:
    generator = np.random.default_rng(13)
    for before, after in ((60.0, 50.0), (60.0, 45.0), (52.0, 52.0)):
        truth = abs(after - 50) - abs(before - 50)
        covered = 0
        for _ in range(400):
            found = row_of(*generator.normal([[before], [after]], 15, (2, 60))).distance
            assert found is not None
            covered += found.low <= truth <= found.high
        assert covered / 400 >= 0.92


def test_the_change_of_a_distance_by_hand() -> None:
    difference, total = Interval(5.0, 7.0, "a"), Interval(96.0, 104.0, "b")
    found = distance_interval(difference, total, neutral=50.0)
    # The total less twice the neutral value is between -4 and 4, so the distance changed by at most 4.
    assert (found.low, found.high) == (-4.0, 4.0)
    above = distance_interval(difference, Interval(110.0, 120.0, "b"), neutral=50.0)
    assert (above.low, above.high) == (5.0, 7.0)
    below = distance_interval(difference, Interval(80.0, 90.0, "b"), neutral=50.0)
    assert (below.low, below.high) == (-7.0, -5.0)
    missing = distance_interval(difference, Interval.missing("too few"), neutral=50.0)
    assert np.isnan(missing.low)
    assert missing.reason == "too few"


def malor_row(before: LogRatios, after: LogRatios) -> BiasRow:
    own = [malor_estimate(ratios, resampling=FEW) for ratios in (before, after)]
    difference = MALOR_MEASURE.difference(before, after, resampling=FEW)
    return BiasRow(
        measure="MALoR", title="Lean", before=own[0].value, after=own[1].value, difference=difference,
        before_interval=Bounds.of(own[0]), after_interval=Bounds.of(own[1]), neutral=0.0, unit="bits",
        distance=difference,
    )  # fmt: skip


@pytest.mark.parametrize("structure_effect", [0.0, 0.3])
def test_noise_that_shrinks_where_nothing_leans_is_rarely_called_lowered(structure_effect: float) -> None:
    generator = np.random.default_rng(14)
    sure = called = raised = 0
    for _ in range(300):
        common = generator.normal(0, structure_effect, (1, 20))
        before, after = (
            LogRatios(scale * (common + generator.normal(0, 0.8, (30, 20)))) for scale in (1.0, 0.1)
        )
        row = malor_row(before, after)
        sure += row.difference.high < 0
        called += bias_verdict([row], changed=True) is BiasVerdict.LOWERED
        raised += malor_row(after, before).movement != 0
    # The difference alone would say so in a third of the cases or more.
    assert sure / 300 > 0.3
    assert called / 300 <= 0.04
    assert raised / 300 <= 0.04


def test_a_lean_that_stays_is_not_called_lowered_because_noise_shrinks() -> None:
    generator = np.random.default_rng(15)
    called = 0
    for _ in range(200):
        leans = generator.normal(0, 0.3, (30, 1))
        called += malor_row(
            *(LogRatios(leans + generator.normal(0, noise, (30, 20))) for noise in (0.8, 0.1))
        ).movement
    assert called / 200 <= 0.04


def test_a_lean_that_goes_is_called_lowered() -> None:
    generator = np.random.default_rng(16)
    leans = generator.normal(0, 1, (30, 1))
    row = malor_row(*(LogRatios(share * leans + generator.normal(0, 0.5, (30, 20))) for share in (1.0, 0.2)))
    assert bias_verdict([row], changed=True) is BiasVerdict.LOWERED


def probe(ratios: np.ndarray) -> Run:
    return probe_runs.asked_run(
        {(f"occupation {row}", column): float(ratio) for (row, column), ratio in np.ndenumerate(ratios)}
    )


def test_shifting_a_base_rate_lowers_malor_and_is_not_called_lowered() -> None:
    """What two output biases can do: every answer moves by the same constant."""
    generator = np.random.default_rng(22)
    ratios = generator.normal(0.8, 0.3, (30, 1)) + generator.normal(0, 0.3, (30, 20))
    rows = malor_bias_rows(probe(ratios), probe(ratios - 0.8), resampling=FEW)
    whole, base_rate, spread = rows.values()
    assert list(rows) == ["he-she.gender.MALoR", "he-she.gender.signed_mean", "he-she.gender.spread"]
    assert [row.movement for row in (whole, base_rate, spread)] == [1, 1, 0]
    assert spread.leaned
    assert bias_verdict([whole], changed=True) is BiasVerdict.LOWERED
    assert bias_verdict(list(rows.values()), changed=True) is BiasVerdict.BASE_RATE
    evened = malor_bias_rows(probe(ratios), probe(0.1 * ratios), resampling=FEW)
    assert bias_verdict(list(evened.values()), changed=True) is BiasVerdict.LOWERED


def test_p_values_and_intervals_of_a_comparison_agree() -> None:
    """A structure that leans moves all occupations at once, which a test over occupations alone would not see."""
    generator = np.random.default_rng(26)
    options = ComparisonOptions(measures=("MALoR", "signed_mean", "spread"), resampling=FEW)
    alarms = 0
    for _ in range(60):
        leans = generator.normal(1.0, 0.2, (30, 1))
        tables = [
            leans + generator.normal(0, 0.6, (1, 8)) + generator.normal(0, 0.3, (30, 8)) for _ in range(2)
        ]
        first, second = map(probe, tables)
        rows = compare_malor(first, second, options).differences
        for row in rows:
            excludes = row.difference.low > 0 or row.difference.high < 0
            assert excludes == (row.p_value < 0.05)
        alarms += rows[0].p_value < 0.05
    assert alarms <= 9


def test_the_other_direction_is_reported_and_not_judged() -> None:
    generator = np.random.default_rng(25)
    runs = []
    for scale, other_scale in ((1.0, 1.0), (0.1, 0.9)):
        asked = probe(scale * generator.normal(0, 1, (12, 8)))
        other = probe(other_scale * generator.normal(0, 1, (12, 8))).scores.with_columns(
            direction=pl.lit("occupation")
        )
        runs.append(Run(record=asked.record, results=asked.results, scores=pl.concat([asked.scores, other])))
    keyed = [KeyedRow(key, row) for key, row in malor_bias_rows(*runs, resampling=FEW).items()]
    for names in (None, ("he-she",)):
        trained, untrained = split_by_training(keyed, names)
        assert [row.measure for row in trained] == ["MALoR he-she", "base rate he-she", "spread he-she"]
        assert [row.measure for row in untrained] == [
            "MALoR he-she reversed", "base rate he-she reversed", "spread he-she reversed",
        ]  # fmt: skip
        assert {row.direction for row in untrained} == {"occupation"}
        assert [row.part_of for row in untrained] == [None, "MALoR he-she reversed", "MALoR he-she reversed"]
    # Whoever says so trains it.
    trained, _ = split_by_training(keyed, ("he-she.occupation",))
    assert {row.direction for row in trained} == {"occupation"}


def test_chance_is_rarely_called_a_spread() -> None:
    generator = np.random.default_rng(23)
    few = Resampling(resamples=200)
    called = sum(
        spread_estimate(
            LogRatios(0.8 + generator.normal(0, 0.3, (1, 20)) + generator.normal(0, 0.5, (30, 20))),
            resampling=few,
        ).low
        > 0
        for _ in range(1500)
    )
    assert called / 1500 <= 0.035


def test_base_rate_and_spread_are_those_of_the_slow_computation() -> None:
    generator = np.random.default_rng(24)
    tables = [generator.normal(0.4, 1, (6, 5)) for _ in range(2)]
    runs = []
    for table in tables:
        answers_of = {(f"job {row}", column): float(ratio) for (row, column), ratio in np.ndenumerate(table)}
        answers_of["job 2", 3] = None  # type: ignore[assignment]
        runs.append(probe_runs.asked_run(answers_of))
    rows = malor_bias_rows(*runs, resampling=FEW)
    for side, table in zip(("before", "after"), tables, strict=True):
        leans = []
        for row in range(6):
            cells = [table[row][column] for column in range(5) if (row, column) != (2, 3)]
            leans.append(sum(cells) / len(cells))
        shared = sum(leans) / 6
        expected = {
            "MALoR": sum(abs(lean) for lean in leans) / 6,
            "signed_mean": shared,
            "spread": sum(abs(lean - shared) for lean in leans) / 6,
        }
        found = {name: getattr(rows[f"he-she.gender.{name}"], side) for name in expected}
        assert found == pytest.approx(expected)
    for made in rows.values():
        assert made.difference.value == pytest.approx(made.after - made.before)
        assert made.difference.low <= made.difference.value <= made.difference.high
        assert made.distance is not None
        assert made.distance.value == pytest.approx(abs(made.after) - abs(made.before))


def changed_items(
    generator: np.random.Generator,
    *,
    terms: int,
    items: int,
    loss: float,
    gain: float,
    step: float,
    correlation: float,
) -> np.ndarray:
    """Items that lose or gain so much with these probabilities, correlated within target terms: (terms, items)."""
    shared = generator.random((terms, items)) < np.sqrt(correlation)
    drawn = np.where(shared, generator.random((terms, 1)), generator.random((terms, items)))
    return np.where(drawn < loss, -step, np.where(drawn > 1 - gain, step, 0.0))


@pytest.mark.parametrize(
    ("terms", "items", "step", "gain", "correlation"),
    [(400, 1, 0.5, 0.0, 0.0), (400, 1, 1.0, 0.0, 0.0), (600, 1, 0.5, 0.05, 0.0), (60, 20, 0.5, 0.0, 0.02)],
)
def test_lms_at_its_margin_is_rarely_called_kept(
    terms: int, items: int, step: float, gain: float, correlation: float
) -> None:
    """A fall of two points exactly, by losses that are rarer or more frequent."""
    generator = np.random.default_rng(17)
    clusters = np.repeat(np.arange(terms), items)
    effective = effective_items(clusters)
    kept = 0
    for _ in range(3000):
        drawn = changed_items(
            generator,
            terms=terms,
            items=items,
            loss=0.02 / step + gain,
            gain=gain,
            step=step,
            correlation=correlation,
        )
        kept += score_interval(drawn.ravel(), confidence=0.95, effective=effective).low >= -0.02
    assert 0.005 <= kept / 3000 <= 0.03


@pytest.mark.parametrize(("count", "reach"), [(48, 7.41), (400, 0.951), (4229, 0.0907)])
def test_where_no_item_changed_the_bound_knows_how_many_there_are(count: int, reach: float) -> None:
    found = score_interval(np.zeros(count), confidence=0.95)
    assert (100 * found.low, 100 * found.high) == pytest.approx((-reach, reach), rel=1e-3)


def lms_run(
    count: int, *, worse: int = 0, scale: float = 1.0, dataset: str = "tiny", scored: int | None = None
) -> Run:
    """Items about terms of their own, of which some take nonsense for the likeliest."""
    items = [builders.intra(number, cluster=f"term {number}") for number in range(count)]
    triples = {
        item.id: (0.2 * scale, 0.3 * scale, 0.9 if number < worse else 0.1 * scale)
        for number, item in enumerate(items[:scored])
    }
    benchmark = replace(builders.benchmark(*items), name=dataset)
    return evaluate(builders.scores(triples), benchmark, resampling=FEW)


@pytest.mark.parametrize(
    ("count", "worse", "verdict"),
    [(48, 0, QualityVerdict.UNDECIDED), (300, 0, QualityVerdict.KEPT), (300, 30, QualityVerdict.LOST)],
)
def test_lms_is_kept_where_enough_items_say_so(count: int, worse: int, verdict: QualityVerdict) -> None:
    before, after = lms_run(count), lms_run(count, worse=worse, scale=0.9)
    row = lms_of_runs(before, after, margin=-2.0, resampling=FEW)
    assert row.verdict is verdict
    assert row.difference.low < 0
    # One and the same model has lost nothing, however few items there are.
    same = lms_of_runs(before, lms_run(count), margin=-2.0, resampling=FEW)
    assert (same.verdict, same.difference.low, same.difference.high) == (QualityVerdict.KEPT, 0.0, 0.0)


@pytest.mark.parametrize(
    ("dataset", "margin", "worse", "verdict"),
    [
        pytest.param("starter", -2.0, 0, "not measured", id="cannot show what it keeps"),
        pytest.param("starter", -2.0, 1, "not measured", id="a fall within the margin"),
        pytest.param("starter", -2.0, 2, "undecided", id="a fall beyond the margin"),
        pytest.param("starter", -2.0, 48, "lost", id="a loss"),
        pytest.param("starter", -4.0, 0, "kept", id="a margin that it can show"),
        pytest.param("starter", -4.0, 1, "undecided", id="which it could have shown"),
        pytest.param("own items", -2.0, 0, "undecided", id="chosen by somebody"),
    ],
)
def test_the_starter_set_counts_only_for_what_it_can_show(
    dataset: str, margin: float, worse: int, verdict: str
) -> None:
    """96 items without a change exclude 3.8 points, and each of them is worth 1.04."""
    before = lms_run(96, dataset=dataset)
    after = lms_run(96, worse=worse, scale=0.9, dataset=dataset)
    row = lms_of_runs(before, after, margin=margin, resampling=FEW)
    assert row.verdict == verdict
    assert row.difference.value == pytest.approx(-100 * worse / 96)
    assert not row.is_incomplete


@pytest.mark.parametrize(("scored", "verdict"), [(290, "kept"), (250, "undecided")])
def test_items_that_only_the_model_before_can_be_asked_leave_quality_undecided(
    scored: int, verdict: str
) -> None:
    before, after = lms_run(300), lms_run(300, scale=0.9, scored=scored)
    row = lms_of_runs(before, after, margin=-2.0, resampling=FEW)
    assert (row.verdict, row.left_out) == ("kept", 300 - scored)
    assert row.reason == f"{300 - scored} items could be asked of the model before only"
    assert quality_verdict((row,)) == verdict


def test_a_loss_of_some_models_over_the_starter_set_is_one_over_models() -> None:
    before = lms_run(96, dataset="starter")
    rows = [
        lms_of_runs(
            before, lms_run(96, worse=worse, scale=0.9, dataset="starter"), margin=-2.0, resampling=FEW
        )
        for worse in (1, 90, 92, 94, 96, 96, 96)
    ]
    assert rows[0].verdict is QualityVerdict.NOT_MEASURED
    models = [ModelRows(name=str(number), bias=(), quality=(row,)) for number, row in enumerate(rows)]
    assert compare_seeds("original", models, confidence=0.95).is_quality_lost


def test_a_comparison_of_two_models_that_are_always_right_has_the_same_bound() -> None:
    before, after = lms_run(48), lms_run(48, scale=0.9)
    (row,) = compare(before, after, measures=["LMS"], resampling=FEW).differences
    found, certified = row.difference, lms_of_runs(before, after, margin=-2.0, resampling=FEW).difference
    assert (row.first, row.second, found.value) == (100.0, 100.0, 0.0)
    assert (found.low, found.high) == pytest.approx((-7.41, 7.41), rel=1e-3)
    assert found == certified
    assert found.reason is None


def test_items_that_are_alike_count_less() -> None:
    clusters = np.repeat(np.arange(10), 20)
    assert effective_items(clusters, correlation=0.0) == pytest.approx(200)
    assert effective_items(clusters, correlation=1.0) == pytest.approx(10)
    assert effective_items(clusters, correlation=0.1) == pytest.approx(200 / (1 + 19 * 0.1))
    # Items of one term that count five times as much leave fewer to speak of.
    weights = np.where(clusters == 0, 5.0, 1.0)
    assert effective_items(clusters, weights=weights, correlation=0.0) == pytest.approx(280**2 / (500 + 180))


def test_the_score_interval_agrees_with_the_plain_one_where_many_items_changed() -> None:
    generator = np.random.default_rng(18)
    drawn = changed_items(
        generator, terms=20_000, items=1, loss=0.2, gain=0.1, step=1.0, correlation=0.0
    ).ravel()
    found = score_interval(drawn, confidence=0.95)
    reach = 1.96 * drawn.std() / np.sqrt(len(drawn))
    assert (found.low, found.high) == pytest.approx((drawn.mean() - reach, drawn.mean() + reach), abs=2e-4)


def answers(
    generator: np.random.Generator,
    *,
    seeds: int,
    examples: int,
    by_seed: float,
    by_example: float,
    rest: float,
) -> tuple[np.ndarray, np.ndarray]:
    """Where classifiers of two models are right, the second of which is right one point less often.

    An example is answered rightly where its ease, what the model makes of it, what the seed gave and the rest are above
    0 in total. The models differ in the last three.
    """
    ease = generator.normal(1.5, 1, examples)
    scale = np.sqrt(1 + by_seed**2 + by_example**2 + rest**2)
    lowered = scale * stats.norm.ppf(stats.norm.cdf(1.5 / scale) - 0.01) - 1.5
    first, second = (
        ease + shift
        + generator.normal(0, by_seed, (seeds, 1))
        + generator.normal(0, by_example, examples)
        + generator.normal(0, rest, (seeds, examples))
        for shift in (0.0, lowered)
    )  # fmt: skip
    return (first > 0).astype(np.float64), (second > 0).astype(np.float64)


@pytest.mark.parametrize(
    ("by_seed", "by_example", "rest"),
    [(0.0, 0.05, 0.02), (0.05, 0.1, 0.1), (0.1, 0.1, 0.3), (0.05, 0.3, 0.3)],
)
def test_accuracy_at_its_margin_is_rarely_called_kept(by_seed: float, by_example: float, rest: float) -> None:
    generator = np.random.default_rng(19)
    kept = 0
    for _ in range(1500):
        drawn = answers(generator, seeds=5, examples=872, by_seed=by_seed, by_example=by_example, rest=rest)
        row = accuracy_of_answers(*drawn, margin=-1.0, confidence=0.95)
        kept += row.verdict is QualityVerdict.KEPT
    assert 0.005 <= kept / 1500 <= 0.03


def test_accuracy_that_stays_is_called_kept_where_the_test_set_is_large() -> None:
    generator = np.random.default_rng(20)
    before, _ = answers(generator, seeds=5, examples=6000, by_seed=0.0, by_example=0.05, rest=0.05)
    row = accuracy_of_answers(before, before, margin=-1.0, confidence=0.95)
    assert row.verdict is QualityVerdict.KEPT


@pytest.mark.parametrize(("count", "size", "unequal"), [(5, 60, 0.0), (12, 40, 0.0), (12, 40, 0.7)])
def test_perplexity_at_its_margin_is_rarely_called_kept(count: int, size: int, unequal: float) -> None:
    """A rise by one percent exactly, more in some documents than in others."""
    generator = np.random.default_rng(21)
    kept = by_sentence = 0
    for _ in range(1500):
        sizes = np.maximum(2, size * generator.lognormal(0, unequal, count)).astype(int)
        documents = np.repeat(np.arange(count), sizes)
        tokens = generator.integers(3, 12, len(documents))
        rise = np.log(1.01) + generator.normal(0, 0.01, count)[documents]
        changes = tokens * rise + np.sqrt(tokens) * generator.normal(0, 0.1, len(tokens))
        before = HeldOutLoss(np.zeros(len(tokens)), tokens)
        after = HeldOutLoss(changes, tokens)
        row = perplexity_row(before, after, margin=1.0, resampling=FEW, documents=documents)
        kept += row.verdict is QualityVerdict.KEPT
        reach = 1.96 * np.sqrt(((changes - tokens * changes.sum() / tokens.sum()) ** 2).sum()) / tokens.sum()
        by_sentence += changes.sum() / tokens.sum() + reach <= np.log(1.01)
    assert 0.005 <= kept / 1500 <= 0.03
    # Sentences alone would say so three times as often.
    assert by_sentence / 1500 > 0.08


def document_losses(
    generator: np.random.Generator, effects: str, count: int, *, loss: float = 1.0
) -> tuple[HeldOutLoss, HeldOutLoss, np.ndarray]:
    """Text whose perplexity rises by a loss on average: in all documents alike, more in some, or in one of ten."""
    rise = {
        "normal": generator.normal(0, 1, count),
        "exponential": generator.exponential(1, count) - 1,
        "one in ten": np.where(generator.random(count) < 0.1, 9.0, -1.0),
    }[effects]
    documents = np.repeat(np.arange(count), 40)
    tokens = generator.integers(3, 12, len(documents))
    mean = np.log1p(loss / 100) * (1 + rise)[documents]
    changes = tokens * mean + np.sqrt(tokens) * generator.normal(0, 0.1, len(tokens))
    return HeldOutLoss(np.zeros(len(tokens)), tokens), HeldOutLoss(changes, tokens), documents


def share_kept(effects: str, count: int, *, loss: float = 1.0, draws: int = 1500) -> float:
    """How often perplexity is called kept, against a margin of one percent."""
    generator, kept = np.random.default_rng(22), 0
    for _ in range(draws):
        before, after, documents = document_losses(generator, effects, count, loss=loss)
        row = perplexity_row(before, after, margin=1.0, resampling=FEW, documents=documents)
        kept += row.verdict is QualityVerdict.KEPT
    return kept / draws


@pytest.mark.parametrize("effects", ["normal", "exponential", "one in ten"])
@pytest.mark.parametrize("count", [12, 60])
def test_a_loss_that_few_documents_bear_is_rarely_called_kept(effects: str, count: int) -> None:
    """A t interval says so in 5% to 7% where losses of documents are exponential, in 6% of sixty of which a tenth lose.

    Of twelve documents 28% have none of a tenth, which no interval knows and the verdict says.
    """
    if (effects, count) == ("one in ten", 12):
        assert share_kept(effects, count) == pytest.approx(0.9**12, abs=0.03)
    else:
        assert share_kept(effects, count) <= 0.04 + 0.005


@pytest.mark.parametrize(("count", "least"), [(12, 0.9), (60, 0.99)])
def test_perplexity_that_stays_is_called_kept(count: int, least: float) -> None:
    assert share_kept("normal", count, loss=0.0, draws=500) >= least
