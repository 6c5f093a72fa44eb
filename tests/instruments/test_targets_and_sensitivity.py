"""What each target term adds, and what the flagged items change."""

from __future__ import annotations

from dataclasses import replace

import builders
import numpy as np
import pytest
from scipy import stats

from evenhand.api.measure import evaluate
from evenhand.core.items import Association
from evenhand.instruments.association.results import TaskResult
from evenhand.stats.resampling import Resampling


def random_case(terms: int = 12) -> tuple[list[Association], dict[str, builders.Triple]]:
    generator = np.random.default_rng(4)
    items = [
        builders.intra(f"{term}-{number}", cluster=f"term {term:02}", target="baker")
        for term in range(terms)
        for number in range(int(generator.integers(1, 6)))
    ]
    return items, {item.id: (s, a, u) for item in items for s, a, u in [generator.uniform(size=3).tolist()]}


@pytest.fixture
def result(quick: Resampling) -> TaskResult:
    items, triples = random_case()
    result: TaskResult = evaluate(
        builders.scores(triples), builders.benchmark(*items), resampling=quick
    ).result.tasks["intrasentence"]
    return result


def test_the_pulls_of_all_terms_sum_to_the_distance_from_50(result: TaskResult) -> None:
    assert len(result.by_target) == 12
    assert sum(target.pull for target in result.by_target) == pytest.approx(result.SS.value - 50)


def test_a_pull_is_what_a_term_adds_per_item_of_the_task(quick: Resampling) -> None:
    items = [builders.intra(number, cluster="baker") for number in range(3)]
    items.append(builders.intra(3, cluster="pilot", target="baker"))
    triples: dict[str, builders.Triple] = {
        "intra-0": (3.0, 2.0, 1.0),
        "intra-1": (3.0, 2.0, 1.0),
        "intra-2": (2.0, 3.0, 1.0),
        "intra-3": (2.0, 3.0, 1.0),
    }

    baker, pilot = (
        evaluate(builders.scores(triples), builders.benchmark(*items), resampling=quick)
        .result.tasks["intrasentence"]
        .by_target
    )

    # baker: 2 of 3, half an item above 1.5; pilot: 0 of 1, half an item below 0.5; of four items.
    assert (baker.target, baker.n, pilot.target, pilot.n) == ("baker", 3, "pilot", 1)
    assert (baker.pull, pilot.pull) == pytest.approx((12.5, -12.5))
    assert baker.SS.value == pytest.approx(200 / 3)
    assert (pilot.SS.value, pilot.LMS, pilot.ICAT) == (0, 100, 0)


def test_a_terms_interval_is_wilsons(result: TaskResult) -> None:
    for target in result.by_target:
        preferred = round(target.SS.value * target.n / 100)
        wilson = stats.binomtest(preferred, target.n).proportion_ci(0.95, method="wilson")

        assert target.SS.low == pytest.approx(100 * wilson.low, abs=1e-9)
        assert target.SS.high == pytest.approx(100 * wilson.high, abs=1e-9)


def test_sensitivity_equals_evaluating_the_other_items_alone(quick: Resampling) -> None:
    items, triples = random_case()
    flagged = builders.intra("flagged", cluster="term 00", context="She BLANKed the baker.")
    noted = builders.intra("noted", cluster="term 01", context="BLANK baker")
    triples |= {flagged.id: (3.0, 2.0, 1.0), noted.id: (3.0, 2.0, 1.0)}

    whole = evaluate(
        builders.scores(triples), builders.benchmark(*items, flagged, noted), resampling=quick
    ).result.tasks["intrasentence"]
    rest = evaluate(
        builders.scores({item: triple for item, triple in triples.items() if item != flagged.id}),
        builders.benchmark(*items, noted),
        resampling=quick,
    ).result.tasks["intrasentence"]

    assert whole.sensitivity is not None
    assert whole.sensitivity.left_out == 1
    assert whole.sensitivity.defects == ("blank-attached",)
    for name, estimate in whole.sensitivity.result.estimates():
        assert estimate == rest.estimate(name)
    assert whole.SS.value != rest.SS.value
    assert rest.sensitivity is None


def test_marked_items_are_flagged_and_one_whose_place_another_took_is_skipped(quick: Resampling) -> None:
    plain, beyond, foreign = (builders.intra(number, cluster="baker", language="es") for number in (1, 2, 3))
    own = builders.intra("3-es", cluster="baker", language="es")
    items = (
        plain,
        replace(beyond, beyond_repair="a pun"),
        replace(foreign, beyond_repair="culture-specific: Thanksgiving"),
        own,
    )
    triples = {plain.id: (3.0, 2.0, 1.0), beyond.id: (1.0, 2.0, 3.0), foreign.id: (1.0, 3.0, 2.0)}
    triples[own.id] = (2.0, 1.0, 3.0)

    run = evaluate(builders.scores(triples), builders.benchmark(*items, language="es"), resampling=quick)

    result = run.result.tasks["intrasentence"]
    assert (result.n, result.SS.value) == (3, pytest.approx(200 / 3)), (
        "1 and 3-es prefer the stereotype, 2 does not"
    )
    assert result.sensitivity is not None
    assert (result.sensitivity.left_out, result.sensitivity.defects) == (2, ("beyond-repair",))
    assert result.sensitivity.result.SS.value == 100
    assert any(
        "skipped, because they are culture-specific and the file has others in their place: 1 of 4 (intra-3)"
        in text
        for text in run.result.warnings
    )


def test_defects_are_listed_beside_the_scores(quick: Resampling) -> None:
    item = builders.intra(1, context="BLANKish baker")

    run = evaluate(builders.scores({"intra-1": (3.0, 2.0, 1.0)}), builders.benchmark(item), resampling=quick)

    assert run.scores["defects"].to_list() == [["blank-attached", "blank-first", "no-final-punctuation"]] * 3
    assert {defect.name for defect in run.record.defects if defect.count} == {
        "blank-attached",
        "blank-first",
        "no-final-punctuation",
    }
