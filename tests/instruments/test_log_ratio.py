"""The mean log-ratio: from probabilities and never from scores, undefined where they are missing."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path

import builders
import pytest

from evenhand.api.measure import evaluate
from evenhand.core.errors import ConditionError
from evenhand.core.estimates import Estimate
from evenhand.core.items import Association
from evenhand.instruments.association.results import TaskResult
from evenhand.reporting import format_table, model_card_snippet, render_page
from evenhand.stats.intervals import JACKKNIFE
from evenhand.stats.resampling import Resampling
from evenhand.store.conditions import Condition
from evenhand.store.run import Run

MISSING = "the scores come without the probabilities of their candidates"
SCORES: builders.Triple = (3.0, 2.0, 1.0)

# Bits by target term: baker 3 and 1, pilot -2, tailor 4 and 0 and 5.
BITS = {"baker": (3, 1), "pilot": (-2,), "tailor": (4, 0, 5)}


def items() -> list[Association]:
    return [
        builders.intra(
            f"{term}-{number}", cluster=term, bias_type="gender" if term == "pilot" else "profession"
        )
        for term, bits in BITS.items()
        for number in range(len(bits))
    ]


def probabilities() -> dict[str, builders.Triple]:
    """The anti-stereotype has probability 1/64, the stereotype as many bits more as it should."""
    return {
        f"intra-{term}-{number}": (2.0 ** (bits - 6), 2.0**-6, 0.5)
        for term, several in BITS.items()
        for number, bits in enumerate(several)
    }


def run_with(known: dict[str, builders.Triple], *, name: str = "model") -> Run:
    given = builders.predictions({item.id: SCORES for item in items()}, known)
    return evaluate(given, builders.benchmark(*items()), name=name, resampling=Resampling(resamples=100))


def log_ratio(run: Run) -> Estimate:
    result: Estimate = run.result.tasks["intrasentence"].log_ratio
    return result


@pytest.fixture
def run() -> Run:
    return run_with(probabilities())


def test_the_interval_of_three_terms_is_the_jackknifes_on_paper(run: Run) -> None:
    # Sums of bits 4, -2 and 9 over 2, 1 and 3 items; 4.302653 is the 97.5% quantile of t with 2 degrees
    # of freedom.
    value = 11 / 6
    left_out = ((-2 + 9) / 4, (4 + 9) / 5, (4 - 2) / 3)
    error = math.sqrt(2 / 3 * sum((other - value) ** 2 for other in left_out))

    estimate = log_ratio(run)

    assert estimate.value == pytest.approx(value)
    assert estimate.low == pytest.approx(value - 4.302653 * error, rel=1e-6)
    assert estimate.high == pytest.approx(value + 4.302653 * error, rel=1e-6)
    assert (estimate.n, estimate.clusters, estimate.method) == (6, 3, JACKKNIFE)
    assert estimate.low < 0


def test_each_bias_type_has_its_own(run: Run) -> None:
    groups = run.result.tasks["intrasentence"].by_bias_type

    assert groups["profession"].log_ratio.value == pytest.approx(13 / 5)
    assert groups["gender"].log_ratio.value == pytest.approx(-2)
    assert groups["gender"].log_ratio.reason == "an interval needs at least two target terms"


def test_terms_that_are_all_the_same_have_a_value_and_no_interval() -> None:
    same = dict.fromkeys(probabilities(), (0.5, 0.125, 0.5))

    estimate = log_ratio(run_with(same))

    assert estimate.value == pytest.approx(2)
    assert math.isnan(estimate.low)
    assert estimate.reason == "all target terms have the same value, so its spread is unknown"


def test_items_say_it_one_by_one(run: Run) -> None:
    frame = run.items()

    assert dict(zip(frame["item"], frame["log_ratio"], strict=True)) == pytest.approx(
        {f"intra-{term}-{number}": bits for term, all_ in BITS.items() for number, bits in enumerate(all_)}
    )


@pytest.mark.parametrize("suffix", ["stereotype", "anti-stereotype"])
def test_one_item_without_a_probability_leaves_its_groups_undefined(suffix: str) -> None:
    known = builders.predictions({item.id: SCORES for item in items()}, probabilities())
    candidate = f"intra-baker-0-{suffix[0]}"
    lacking = replace(
        known,
        scores={**known.scores, candidate: replace(known.scores[candidate], log2_probability=None)},
    )

    result = evaluate(lacking, builders.benchmark(*items()), resampling=Resampling(resamples=100)).result

    task = result.tasks["intrasentence"]
    for group in (task, task.by_bias_type["profession"]):
        assert math.isnan(group.log_ratio.value)
        assert group.log_ratio.reason == MISSING
        assert group.SS.value == 100
    assert task.by_bias_type["gender"].log_ratio.value == pytest.approx(-2)


def test_the_unrelated_candidate_needs_no_probability() -> None:
    known = builders.predictions({item.id: SCORES for item in items()}, probabilities())
    scores = {
        candidate: replace(score, log2_probability=None) if candidate.endswith("-u") else score
        for candidate, score in known.scores.items()
    }

    run = evaluate(replace(known, scores=scores), builders.benchmark(*items()))

    assert log_ratio(run).value == pytest.approx(11 / 6)


def test_skipped_items_do_not_count() -> None:
    triples = {item.id: SCORES for item in items()} | {"intra-baker-0": (3.0, 2.0, math.nan)}
    known = {item: triple for item, triple in probabilities().items() if item != "intra-baker-1"}
    triples["intra-baker-1"] = (math.nan, 2.0, 1.0)

    run = evaluate(builders.predictions(triples, known), builders.benchmark(*items()))

    assert log_ratio(run).value == pytest.approx((-2 + 9) / 4)
    assert log_ratio(run).n == 4


def test_scores_from_a_file_leave_it_undefined_and_not_zero(tmp_path: Path) -> None:
    """Even if they look like probabilities."""
    values = builders.scores({item.id: (0.5, 0.25, 0.125) for item in items()})
    path = builders.write_json(
        tmp_path / "model.json", [{"id": key, "score": value} for key, value in values.items()]
    )

    for given in (path, values):
        estimate = log_ratio(evaluate(given, builders.benchmark(*items())))
        assert math.isnan(estimate.value)
        assert (estimate.reason, estimate.n, estimate.clusters) == (MISSING, 6, 3)
        assert str(estimate) == f"undefined ({MISSING})"


def test_a_group_without_a_scored_item_says_so_first() -> None:
    nothing = {item.id: (math.nan, 2.0, 1.0) for item in items()}

    run = evaluate(builders.predictions(nothing, {}), builders.benchmark(*items()))

    assert log_ratio(run).reason == "no item could be scored"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("log_ratio>1.8", True),
        ("log_ratio>1.9", False),
        ("log_ratio.low>1", False),
        ("log_ratio.low<=-1", True),
    ],
)
def test_a_condition_can_be_about_it(run: Run, text: str, expected: bool) -> None:
    assert Condition.parse(text).holds(run) is expected


def test_a_condition_about_an_undefined_one_neither_passes_nor_fails() -> None:
    with pytest.raises(ConditionError, match=f"cannot be judged for model: {MISSING}"):
        Condition.parse("log_ratio.low>1").holds(run_with({}))


def test_tables_and_the_model_card_have_it_where_there_is_one(run: Run) -> None:
    header, figures = (line.split(",") for line in format_table(run, "csv").splitlines()[:2])

    assert float(figures[header.index("log_ratio")]) == pytest.approx(11 / 6)
    assert "log-ratio.v1" in model_card_snippet(run)
    assert "log-ratio.v1" not in model_card_snippet(run_with({}))
    assert "log" not in format_table(run, "markdown")


def test_the_page_shows_bits_and_draws_no_bar_from_0_to_100_for_them(run: Run) -> None:
    defined, undefined = (render_page([each]) for each in (run, run_with({})))
    shown = log_ratio(run)

    assert ">log ratio, bits</th>" in defined
    assert f"<td>{shown.value:.2f} [{shown.low:.2f}, {shown.high:.2f}]</td>" in defined
    assert "<td>undefined</td>" in undefined
    assert "<td>undefined</td>" not in defined
    assert defined.count('<svg class="bar"') == undefined.count('<svg class="bar"') == 6


def test_a_result_survives_its_json(run: Run) -> None:
    result = run.result.tasks["intrasentence"]

    assert TaskResult.model_validate_json(result.model_dump_json()).log_ratio == result.log_ratio
