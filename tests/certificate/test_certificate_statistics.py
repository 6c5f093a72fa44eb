"""The statistics of a certificate where the truth is known, and the rules of its verdicts."""

from __future__ import annotations

import math

import builders
import certificates
import numpy as np
import probe_runs
import pytest
from scipy import stats

from evenhand.api.defaults.mitigating import default_margins
from evenhand.api.measure import evaluate
from evenhand.certificate.bias import (
    KeyedRow,
    flip_p_values,
    flipped_occupations,
    split_by_training,
)
from evenhand.certificate.margins import Margins
from evenhand.certificate.plan import HeldOutText
from evenhand.certificate.quality_figures import (
    accuracy_of_answers,
    bits_per_character_row,
    perplexity_row,
)
from evenhand.core.errors import ComparisonError, DatasetError, EvenhandError, UnknownNameError
from evenhand.instruments.association.instrument import ASSOCIATION
from evenhand.instruments.crows_pairs import CROWS_PAIRS
from evenhand.instruments.malor.comparison import MALOR_MEASURE, shared_ratios
from evenhand.instruments.malor.estimates import LogRatios
from evenhand.models.references import ModelRef
from evenhand.stats.resampling import Resampling
from evenhand.store.certificate_bias import BiasRow, BiasVerdict, bias_verdict
from evenhand.store.certificate_quality import QualityVerdict, quality_verdict
from evenhand.store.held_out_losses import HeldOutLoss
from evenhand.store.run import Run

FEW = Resampling(resamples=200)
KEPT, LOST, UNDECIDED = QualityVerdict.KEPT, QualityVerdict.LOST, QualityVerdict.UNDECIDED
NAN = math.nan


def noisy(leans: np.ndarray, generator: np.random.Generator, *, noise: float = 0.8) -> LogRatios:
    """Answers of a model that leans so, over 20 structures with effects of their own."""
    structures = generator.normal(0, 0.3, 20)
    return LogRatios(leans[:, None] + structures + generator.normal(0, noise, (len(leans), 20)))


@pytest.mark.parametrize("spread", [1.0, 0.0], ids=["leaning", "neutral"])
def test_two_readings_of_the_same_leans_differ_from_nothing_as_rarely_as_they_should(spread: float) -> None:
    generator = np.random.default_rng(1)
    covered = 0
    for _ in range(400):
        leans = generator.normal(0, spread, 25)
        found = MALOR_MEASURE.difference(noisy(leans, generator), noisy(leans, generator), resampling=FEW)
        covered += found.low <= 0 <= found.high
    # Noise of single answers counts with both factors that are resampled, so the interval is on the safe side of 95%.
    assert covered / 400 >= 0.94


def test_the_interval_of_a_true_difference_covers_it() -> None:
    """Occupations are drawn from many, of which the mean absolute lean is known."""
    generator = np.random.default_rng(2)
    truth = (0.5 - 1.0) * 1.5 * math.sqrt(2 / math.pi)
    covered = 0
    for _ in range(400):
        leans = generator.normal(0, 1.5, 30)
        before, after = (noisy(share * leans, generator, noise=0.3) for share in (1.0, 0.5))
        found = MALOR_MEASURE.difference(before, after, resampling=FEW)
        covered += found.low <= truth <= found.high
    assert 0.91 <= covered / 400 <= 0.99


def test_a_true_difference_is_found() -> None:
    generator = np.random.default_rng(9)
    leans = generator.normal(0, 1.0, 30)
    found = MALOR_MEASURE.difference(noisy(leans, generator), noisy(0.3 * leans, generator), resampling=FEW)
    assert found.high < 0


def test_the_difference_is_that_of_two_plain_means_over_what_both_answered() -> None:
    before = LogRatios(np.array([[1.0, 3.0, NAN], [-2.0, -4.0, NAN], [NAN, NAN, NAN]]))
    after = LogRatios(np.array([[0.5, 0.5, NAN], [1.0, 3.0, NAN], [NAN, NAN, NAN]]))
    found = MALOR_MEASURE.difference(before, after, resampling=FEW)
    assert found.value == pytest.approx((0.5 + 2.0) / 2 - (2.0 + 3.0) / 2)
    assert (found.n, found.clusters) == (4, 2)


def test_pairing_takes_out_what_both_models_share() -> None:
    generator = np.random.default_rng(3)
    before = noisy(generator.normal(0, 2, 30), generator)
    after = LogRatios(before.values * 0.9)
    other = LogRatios(generator.permutation(after.values))
    paired, unpaired = (MALOR_MEASURE.difference(before, own, resampling=FEW) for own in (after, other))
    assert paired.value == pytest.approx(unpaired.value)
    assert paired.high < 0 < unpaired.high


def test_the_same_answers_are_surely_no_difference() -> None:
    ratios = noisy(np.ones(5), np.random.default_rng(4))
    found = MALOR_MEASURE.difference(ratios, ratios, resampling=FEW)
    assert (found.value, found.low, found.high) == (0, 0, 0)


def test_answers_are_matched_by_occupation_and_structure() -> None:
    before = probe_runs.asked_run(
        {("nurse", 1): 1.0, ("nurse", 2): 2.0, ("judge", 1): 3.0, ("judge", 2): None}
    )
    after = probe_runs.asked_run(
        {("judge", 2): 9.0, ("judge", 1): 0.3, ("nurse", 2): 0.2, ("nurse", 1): None}
    )
    first, second = shared_ratios(before, after, "he-she")
    np.testing.assert_array_equal(first.values, [[NAN, 2.0], [3.0, NAN]])
    np.testing.assert_array_equal(second.values, [[NAN, 0.2], [0.3, NAN]])
    with pytest.raises(ComparisonError, match="not asked the same questions"):
        shared_ratios(before, after, "names")


def test_flips_where_nothing_leans_any_more_are_as_rare_as_they_should_be() -> None:
    generator = np.random.default_rng(5)
    wrong = 0
    for _ in range(400):
        before = LogRatios(np.repeat(generator.choice([-1.0, 1.0], 40)[:, None], 20, axis=1))
        after = LogRatios(generator.normal(0, 1, (40, 20)))
        wrong += min(flip_p_values(before, after)) <= 0.05
    # One side of two counts, so half of 5% for the whole family.
    assert wrong / 400 == pytest.approx(0.025, abs=0.02)


def test_flip_p_values_by_hand() -> None:
    generator = np.random.default_rng(6)
    before = LogRatios(np.array([[1.0] * 8, [1.0] * 8, [-1.0] * 8]))
    after = LogRatios(generator.normal([[-1.0], [1.0], [0.4]], 0.5, (3, 8)))
    own = sorted(stats.ttest_1samp(row, 0).pvalue for row in after.values)
    found = flip_p_values(before, after)
    assert found[1] == 1.0
    rank = own.index(stats.ttest_1samp(after.values[0], 0).pvalue)
    expected = max((3 - place) * own[place] for place in range(rank + 1))
    assert found[0] == pytest.approx(min(1.0, expected))


def test_occupations_that_were_pushed_too_far_are_named_with_how_far() -> None:
    generator = np.random.default_rng(7)

    def run(nurse: float, judge: float) -> Run:
        return probe_runs.asked_run(
            {
                (name, structure): float(lean + generator.normal(0, 0.2))
                for name, lean in (("nurse", nurse), ("judge", judge))
                for structure in range(12)
            }
        )

    found = flipped_occupations(run(-2.0, 2.0), run(0.8, 0.5), confidence=0.95)
    assert [row.occupation for row in found] == ["nurse"]
    assert found[0].before.value == pytest.approx(-2.0, abs=0.2)
    assert found[0].after.value == pytest.approx(0.8, abs=0.2)
    assert found[0].p_value < 0.001


def turned(leans: dict[str, tuple[float, float]], *, structures: int) -> tuple[Run, Run]:
    """Runs before and after in which occupations lean so, by a little more in each structure."""
    first, second = (
        probe_runs.asked_run(
            {
                (name, structure): own[side] * (1 + 0.001 * structure)
                for name, own in leans.items()
                for structure in range(structures)
            }
        )
        for side in (0, 1)
    )
    return first, second


def test_occupations_that_flipped_come_the_farthest_first() -> None:
    leans = {"nurse": (-1.0, 0.5), "judge": (2.0, -3.0), "clerk": (-1.0, 1.5), "cook": (1.0, 0.9)}
    found = flipped_occupations(*turned(leans, structures=8), confidence=0.95)
    assert [row.occupation for row in found] == ["judge", "clerk", "nurse"]


@pytest.mark.parametrize(("structures", "flipped"), [(2, []), (3, ["nurse"])])
def test_two_structures_tell_nothing_about_an_occupation(structures: int, flipped: list[str]) -> None:
    runs = turned({"nurse": (-1.0, 1.0)}, structures=structures)
    # Even two structures would convince a t-test.
    assert stats.ttest_1samp([1.0, 1.001], 0).pvalue < 0.01
    assert [row.occupation for row in flipped_occupations(*runs, confidence=0.95)] == flipped


def test_perplexity_changes_by_a_share_of_what_it_was() -> None:
    tokens = np.array([2, 4, 0, 3] * 10)
    generator = np.random.default_rng(8)
    nats = generator.uniform(1, 2, 40) * tokens
    before, after = HeldOutLoss(nats, tokens), HeldOutLoss(nats + 0.01 * tokens, tokens)
    row = perplexity_row(before, after, margin=1.0, resampling=FEW)
    assert (row.before, row.after) == pytest.approx((before.perplexity, after.perplexity))
    assert row.difference.value == pytest.approx(100 * (math.exp(0.01) - 1))
    assert row.difference.n == 30
    # 1.005% is beyond 1%, and every sentence says so.
    assert row.verdict is LOST
    assert perplexity_row(before, after, margin=1.1, resampling=FEW).verdict is KEPT
    assert perplexity_row(before, before, margin=0.1, resampling=FEW).verdict is KEPT


def test_bits_per_character_by_hand() -> None:
    before, after = np.array([2.0, 3.0] * 10), np.array([2.2, 3.3] * 10)
    characters = np.array([10.0, 15.0] * 10)
    row = bits_per_character_row(before, after, characters, margin=20.0, resampling=FEW)
    assert row.before == pytest.approx(50 / math.log(2) / 250)
    assert row.difference.value == pytest.approx(10.0)
    assert row.verdict is KEPT
    same = bits_per_character_row(before, before, characters, margin=1.0, resampling=FEW)
    assert (same.difference.low, same.difference.high, same.verdict) == (0, 0, KEPT)
    # Of five sentences the spread could not be told either, and need not be.
    few = bits_per_character_row(before[:5], before[:5], characters[:5], margin=1.0, resampling=FEW)
    assert (few.difference.low, few.difference.high, few.verdict) == (0, 0, KEPT)


def test_accuracy_over_seeds_and_examples() -> None:
    generator = np.random.default_rng(10)
    before = (generator.random((3, 500)) < 0.95).astype(float)
    after = before * (generator.random((3, 500)) < 0.9)
    row = accuracy_of_answers(before, after, margin=-1.0, confidence=0.95)
    sides = [100 * side.mean(axis=1) for side in (before, after)]
    assert (row.before, row.after) == pytest.approx((sides[0].mean(), sides[1].mean()))
    assert row.difference.value == pytest.approx(row.after - row.before)
    assert row.difference.low < row.difference.value < row.difference.high < -1
    assert row.verdict is LOST
    assert row.p_value == pytest.approx(stats.ttest_rel(sides[1], sides[0]).pvalue)
    assert [(seed.seed, seed.before) for seed in row.seeds] == [
        (0, sides[0][0]),
        (1, sides[0][1]),
        (2, sides[0][2]),
    ]


def test_two_seeds_are_too_few() -> None:
    answers = np.ones((2, 400))
    row = accuracy_of_answers(answers, answers, margin=-1.0, confidence=0.95)
    assert row.verdict is UNDECIDED
    assert row.difference.reason == "an interval over seeds and items needs at least 3 seeds"


def test_pairs_are_compared_where_both_scored_them() -> None:
    before = probe_runs.pairs_run({"1": 1.0, "2": 1.0, "3": 0.0, "4": None, "5": 0.5})
    after = probe_runs.pairs_run({"1": 0.0, "2": 1.0, "3": 0.0, "4": 1.0, "5": 0.5})
    (row,) = CROWS_PAIRS.bias_rows(before, after, resampling=FEW).values()
    assert (row.before, row.after) == pytest.approx((62.5, 37.5))
    assert row.difference.value == pytest.approx(-25.0)
    assert row.difference.n == 4
    with pytest.raises(ComparisonError, match="none of the pairs in common"):
        CROWS_PAIRS.bias_rows(before, probe_runs.pairs_run({"6": 1.0}), resampling=FEW)


def test_bias_is_lowered_only_if_every_trained_measure_fell() -> None:
    clear, unclear = (
        certificates.malor_row("names", 1, 0.2),
        certificates.malor_row("names", 1, 0.9, half=0.3),
    )
    assert bias_verdict([clear, clear], changed=True) is BiasVerdict.LOWERED
    assert bias_verdict([clear, unclear], changed=True) is BiasVerdict.NOT_LOWERED
    assert bias_verdict([certificates.malor_row("names", 1, 2)], changed=True) is BiasVerdict.NOT_LOWERED
    assert bias_verdict([], changed=True) is BiasVerdict.NOT_LOWERED
    assert bias_verdict([clear], changed=False) is BiasVerdict.NOTHING_CHANGED


def test_a_score_is_lowered_when_it_comes_closer_to_its_neutral_value_from_either_side() -> None:
    rows = [certificates.score_row("SS", before, 50.0) for before in (60.0, 40.0)]
    assert bias_verdict(rows, changed=True) is BiasVerdict.LOWERED
    past = certificates.score_row("SS", 55.0, 40.0)
    assert bias_verdict([past], changed=True) is BiasVerdict.NOT_LOWERED


MALOR_ROW, SS_ROW = certificates.malor_row("he-she", 1, 0.2), certificates.score_row("SS", 60, 55)
ROWS = [KeyedRow("he-she.gender.MALoR", MALOR_ROW), KeyedRow("overall.SS", SS_ROW)]


@pytest.mark.parametrize(
    ("names", "trained"),
    [
        (("he-she",), [MALOR_ROW]),
        (("he-she.gender.MALoR", "overall.SS"), [MALOR_ROW, SS_ROW]),
        (("overall.SS",), [SS_ROW]),
        (("he",), []),
        (None, [MALOR_ROW]),
    ],
)
def test_what_was_trained_on_is_found_by_figure_key(
    names: tuple[str, ...] | None, trained: list[BiasRow]
) -> None:
    rest = [keyed.row for keyed in ROWS if keyed.row not in trained]
    assert split_by_training(ROWS, names) == (trained, rest)


def test_without_experiments_everything_is_judged_where_nothing_is_known_of_the_training() -> None:
    assert split_by_training(ROWS[1:], None) == ([SS_ROW], [])


@pytest.mark.parametrize(
    ("parts", "verdict"),
    [
        ([KEPT, KEPT], KEPT),
        ([KEPT, UNDECIDED], UNDECIDED),
        ([KEPT, UNDECIDED, LOST], LOST),
        ([KEPT, QualityVerdict.NOT_MEASURED], KEPT),
        ([QualityVerdict.NOT_MEASURED], QualityVerdict.NOT_MEASURED),
        ([], QualityVerdict.NOT_MEASURED),
    ],
)
def test_quality_is_as_good_as_its_worst_part(parts: list[QualityVerdict], verdict: QualityVerdict) -> None:
    assert quality_verdict([certificates.quality_row("LMS", 0, part) for part in parts]) is verdict


def test_margins_as_people_write_them() -> None:
    assert Margins.parse([]) == Margins(perplexity=1.0, lms=2.0, accuracy=1.0)
    found = Margins.parse(["perplexity=0.5%", "LMS = 1", "Accuracy=3"])
    assert found == Margins(perplexity=0.5, lms=1.0, accuracy=3.0)
    assert Margins.parse(["LMS=1"], perplexity=1e-5) == Margins(perplexity=1e-5, lms=1.0)
    assert Margins.parse(["perplexity=2%"], perplexity=0.0) == Margins(perplexity=2.0)


@pytest.mark.parametrize(
    ("before", "texts", "perplexity"),
    [
        ("bert-base-uncased", [], 1.0),
        ("lab:masked", [], 5.0),
        ("lab:masked", ["LMS=1"], 5.0),
        ("lab:masked", ["perplexity=2%"], 2.0),
    ],
)
def test_the_lab_has_a_margin_of_its_own(before: str, texts: list[str], perplexity: float) -> None:
    assert default_margins(ModelRef(id=before), texts).perplexity == perplexity


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("perplexity", "is no margin"),
        ("perplexity=-1", "is no margin"),
        ("LMS=0", "must be above 0"),
        ("LMS=1.2.3", "is no number"),
    ],
)
def test_other_margins_are_refused(text: str, told: str) -> None:
    with pytest.raises(EvenhandError, match=told):
        Margins.parse([text])


def test_unknown_margins_get_a_hint() -> None:
    with pytest.raises(UnknownNameError, match="Did you mean 'perplexity'"):
        Margins.parse(["perplexitiy=1"])


def test_held_out_sentences_are_drawn_evenly_and_stay_in_order() -> None:
    often = np.zeros(60)
    for seed in range(200):
        found = HeldOutText.sample((str(number) for number in range(60)), most=20, seed=seed).sentences
        numbers = [int(sentence) for sentence in found]
        assert numbers == sorted(set(numbers))
        assert len(numbers) == 20
        often[numbers] += 1
    assert often.min() > 35
    assert often.max() < 100
    with pytest.raises(DatasetError, match="has 3 sentences"):
        HeldOutText.sample(["a", "b", "c"])


def test_held_out_sentences_keep_their_documents() -> None:
    numbered = [(f"Sentence {number}.", number // 10) for number in range(60)]
    found = HeldOutText.sample_documents(numbered, most=30)
    assert found.documents == tuple(dict(numbered)[sentence] for sentence in found.sentences)
    assert found.sentences == HeldOutText.sample((sentence for sentence, _ in numbered), most=30).sentences
    # What is all of one document has none to tell apart.
    assert HeldOutText.sample_documents(((text, 7) for text, _ in numbered)).documents == ()
    with pytest.raises(DatasetError, match="has 2 sentences and names the documents of 1"):
        HeldOutText(("One.", "Two."), documents=(0,))


def test_sentences_of_one_document_count_together() -> None:
    tokens = np.full(40, 5)
    documents = np.repeat([0, 1, 2, 3], 10)
    before = HeldOutLoss(np.full(40, 10.0), tokens)
    after = HeldOutLoss(before.nats + 0.05 * documents, tokens)
    row = perplexity_row(before, after, margin=5.0, resampling=FEW, documents=documents)
    reach = stats.t.ppf(0.975, 3) * np.std([0.0, 0.01, 0.02, 0.03], ddof=1) / 2
    assert row.difference.low == pytest.approx(100 * (math.exp(0.015 - reach) - 1))
    assert row.difference.high == pytest.approx(100 * (math.exp(0.015 + reach) - 1))
    assert (row.difference.n, row.difference.clusters) == (40, 4)
    plain = perplexity_row(before, after, margin=5.0, resampling=FEW)
    assert plain.difference.high < row.difference.high


def test_a_figure_without_an_interval_keeps_its_reason() -> None:
    """Two terms about gender, of which one item each leans: both have the same score, so nothing tells its spread."""
    items = [
        builders.intra(
            number, cluster=f"term {number % 4}", bias_type="gender" if number % 4 < 2 else "religion"
        )
        for number in range(16)
    ]
    runs = [
        evaluate(
            builders.scores(
                {
                    item.id: (2.0, 1.0, 0.5) if (place // 4 + shift * (place % 4)) % 2 else (1.0, 2.0, 0.5)
                    for place, item in enumerate(items)
                }
            ),
            builders.benchmark(*items),
            resampling=FEW,
        )
        for shift in (0, 1)
    ]
    rows = {row.measure: row for row in ASSOCIATION.bias_rows(*runs, resampling=FEW).values()}
    own = runs[1].result.tasks["intrasentence"].by_bias_type["gender"].SS
    assert math.isnan(own.low)
    assert rows["SS gender"].after_interval.reason == own.reason
    assert rows["SS gender"].after_interval.reason
    shown = rows["SS gender"].model_dump(mode="json")["after_interval"]
    assert shown == {"low": None, "high": None, "reason": own.reason}
