"""Two runs over the same items."""

from __future__ import annotations

import math
from dataclasses import replace
from itertools import product

import builders
import definitions
import numpy as np
import pytest

from evenhand.api.measure import evaluate
from evenhand.core.errors import ComparisonError
from evenhand.core.items import Association
from evenhand.instruments.association.measures import MEASURES
from evenhand.stats.resampling import Resampling
from evenhand.store.comparison import compare, compare_pairs, pairs_to_compare
from evenhand.store.run import Run

TERMS = {"baker": "profession", "pilot": "profession", "sister": "gender", "tailor": "profession"}
Triples = dict[str, builders.Triple]


def items_in(language: str = "en", per_term: int = 3) -> list[Association]:
    return [
        make(
            f"{term}-{number}",
            cluster=term,
            bias_type=bias_type,
            language=language,
            target=f"{language} {term}",
        )
        for make in (builders.intra, builders.inter)
        for term, bias_type in TERMS.items()
        for number in range(per_term)
    ]


def random_triples(seed: int, items: list[Association]) -> Triples:
    generator = np.random.default_rng(seed)
    return {item.id: (s, a, u) for item in items for s, a, u in [generator.uniform(size=3).tolist()]}


def run_of(
    triples: Triples,
    *,
    name: str = "model",
    language: str = "en",
    protocol: str = "evenhand.v2",
    items: list[Association] | None = None,
    probabilities: Triples | None = None,
) -> Run:
    benchmark = builders.benchmark(*(items or items_in(language)), language=language)
    return evaluate(
        builders.predictions(triples, probabilities) if probabilities else builders.scores(triples),
        benchmark,
        protocol=protocol,
        name=name,
        resampling=Resampling(resamples=100),
    )


@pytest.fixture
def triples() -> tuple[Triples, Triples]:
    return random_triples(1, items_in()), random_triples(2, items_in())


def values(triples: Triples, task: str, probabilities: Triples | None = None) -> dict[str, float]:
    terms = {item.id: item.cluster for item in items_in()}
    chosen = {"intrasentence": "intra", "intersentence": "inter", "overall": "int"}[task]
    return definitions.all_measures(
        [
            definitions.Item(terms[item], *triple, *(probabilities[item][:2] if probabilities else ()))
            for item, triple in triples.items()
            if item.startswith(chosen)
        ],
        0.5,
    )


def test_differences_are_second_minus_first_for_every_task_and_measure(
    triples: tuple[Triples, Triples], quick: Resampling
) -> None:
    first, second = triples
    known = random_triples(3, items_in()), random_triples(4, items_in())

    comparison = compare(
        run_of(first, name="a", probabilities=known[0]),
        run_of(second, name="b", probabilities=known[1]),
        measures=tuple(values(first, "overall")),
        resampling=quick,
    )

    assert (comparison.first, comparison.second, comparison.n, comparison.left_out) == ("a", "b", 24, 0)
    assert len(comparison.differences) == 3 * 8
    assert len(compare(run_of(first), run_of(second), resampling=quick).differences) == 3 * 3
    for row in comparison.differences:
        before, after = (
            values(side, row.task, probabilities)[row.measure]
            for side, probabilities in zip(triples, known, strict=True)
        )
        assert row.group == "all"
        assert (row.first, row.second) == pytest.approx((before, after))
        assert row.difference.value == pytest.approx(after - before)
        assert not math.isnan(row.p_value)


@pytest.mark.parametrize("known", [(False, False), (True, False), (False, True)])
def test_a_measure_that_one_run_lacks_is_undefined_and_leaves_the_other_rows_alone(
    triples: tuple[Triples, Triples], quick: Resampling, known: tuple[bool, bool]
) -> None:
    probabilities = random_triples(3, items_in())
    first, second = (
        run_of(side, probabilities=probabilities if has else None)
        for side, has in zip(triples, known, strict=True)
    )

    comparison = compare(first, second, measures=("SS", "log_ratio"), by_group=True, resampling=quick)

    rows = [row for row in comparison.differences if row.measure == "log_ratio"]
    assert len(rows) == 3 * 3
    for row in rows:
        assert (math.isnan(row.first), math.isnan(row.second)) == (not known[0], not known[1])
        assert not row.difference.defined
        assert row.difference.reason == "the scores come without the probabilities of their candidates"
        assert math.isnan(row.p_value)
        assert math.isnan(row.p_holm)
    alone = compare(first, second, measures=("SS",), by_group=True, resampling=quick)
    assert tuple(row for row in comparison.differences if row.measure == "SS") == alone.differences


def test_p_values_come_from_every_way_to_swap_the_terms(
    triples: tuple[Triples, Triples], quick: Resampling
) -> None:
    first, second = triples
    clusters = {item.id: item.cluster for item in items_in()}

    def difference(swapped: set[str]) -> float:
        ours = {i: second[i] if clusters[i] in swapped else first[i] for i in first}
        theirs = {i: first[i] if clusters[i] in swapped else second[i] for i in first}
        return values(theirs, "overall")["ICAT"] - values(ours, "overall")["ICAT"]

    patterns = [
        {term for term, swap in zip(TERMS, pattern, strict=True) if swap}
        for pattern in product((False, True), repeat=len(TERMS))
    ]
    observed = abs(difference(set()))
    expected = sum(abs(difference(p)) >= observed - 1e-9 for p in patterns) / len(patterns)

    comparison = compare(run_of(first), run_of(second), resampling=quick)

    (row,) = (r for r in comparison.differences if (r.task, r.measure) == ("overall", "ICAT"))
    assert row.p_value == pytest.approx(expected)


def holm_by_hand(p_values: list[float]) -> list[float]:
    order = sorted(range(len(p_values)), key=lambda index: p_values[index])
    adjusted = [0.0] * len(p_values)
    largest = 0.0
    for rank, index in enumerate(order):
        largest = max(largest, (len(p_values) - rank) * p_values[index])
        adjusted[index] = min(1.0, largest)
    return adjusted


def test_holms_adjustment_covers_the_rows_of_all_pairs(
    triples: tuple[Triples, Triples], quick: Resampling
) -> None:
    first, second = (run_of(side) for side in triples)
    third = run_of(random_triples(3, items_in()))

    comparisons = compare_pairs([(first, second), (first, third)], by_group=True, resampling=quick)

    rows = [row for comparison in comparisons for row in comparison.differences]
    assert [row.p_holm for row in rows] == pytest.approx(holm_by_hand([row.p_value for row in rows]))


def test_mcnemar_counts_the_items_on_which_the_runs_disagree(
    triples: tuple[Triples, Triples], quick: Resampling
) -> None:
    first, second = triples
    first["intra-baker-0"] = (1.0, 1.0, 0.0)  # a tie says nothing either way
    second["intra-baker-0"] = (2.0, 1.0, 0.0)
    prefers = [{i: s > a for i, (s, a, _) in side.items() if i != "intra-baker-0"} for side in triples]
    only_first = sum(prefers[0][i] and not prefers[1][i] for i in prefers[0])
    only_second = sum(prefers[1][i] and not prefers[0][i] for i in prefers[0])
    tail = sum(math.comb(only_first + only_second, k) for k in range(min(only_first, only_second) + 1))

    comparison = compare(run_of(first), run_of(second), resampling=quick)

    overall = comparison.mcnemar[-1]
    assert overall.task == "overall"
    assert (overall.only_first, overall.only_second) == (only_first, only_second)
    assert overall.p_value == pytest.approx(min(1, 2 * tail / math.pow(2, only_first + only_second)))


def test_only_items_that_both_runs_scored_are_compared(
    triples: tuple[Triples, Triples], quick: Resampling
) -> None:
    first, second = triples
    first["intra-baker-0"] = (math.nan, 1.0, 2.0)
    second["intra-pilot-1"] = (math.nan, 1.0, 2.0)
    second["inter-pilot-1"] = (math.nan, 1.0, 2.0)
    kept = {item for item in first if item not in ("intra-baker-0", "intra-pilot-1", "inter-pilot-1")}

    comparison = compare(run_of(first), run_of(second), resampling=quick)

    assert (comparison.n, comparison.left_out) == (21, 3)
    (row,) = (r for r in comparison.differences if (r.task, r.measure) == ("overall", "SS"))
    expected = [values({i: side[i] for i in side if i in kept}, "overall")["SS"] for side in triples]
    assert [row.first, row.second] == pytest.approx(expected)


def test_translations_are_compared_through_the_ids_they_share(
    triples: tuple[Triples, Triples], quick: Resampling
) -> None:
    english = run_of(triples[0], language="en")
    german = run_of(triples[1], language="de", items=items_in("de")[::-1][:-1])

    comparison = compare(english, german, by_group=True, resampling=quick)

    assert (comparison.first_language, comparison.second_language) == ("en", "de")
    assert (comparison.n, comparison.left_out) == (23, 1)
    assert {row.group for row in comparison.differences} == {"all", "gender", "profession"}


def test_bias_types_that_a_translation_names_in_its_own_language_still_compare(
    triples: tuple[Triples, Triples], quick: Resampling
) -> None:
    renamed = [replace(item, bias_type=f"{item.bias_type} (de)") for item in items_in("de")]
    english, german = run_of(triples[0]), run_of(triples[1], language="de", items=renamed)
    same_names = run_of(triples[1], language="de")

    comparison = compare(english, german, by_group=True, resampling=quick)

    assert comparison == compare(english, same_names, by_group=True, resampling=quick)


def test_identical_runs_differ_by_nothing(triples: tuple[Triples, Triples], quick: Resampling) -> None:
    comparison = compare(run_of(triples[0]), run_of(triples[0]), resampling=quick)

    for row in comparison.differences:
        assert row.difference.value == 0
        assert row.p_value == 1
        assert row.difference.reason is not None
    assert all(tested.p_value == 1 for tested in comparison.mcnemar)


def test_stereoset_2021_compares_means_over_terms(
    triples: tuple[Triples, Triples], quick: Resampling
) -> None:
    first, second = (run_of(side, protocol="stereoset-2021") for side in triples)

    rows = {
        (r.task, r.measure): r
        for r in compare(first, second, measures=tuple(MEASURES), resampling=quick).differences
    }

    for shown, meant in (("LMS", "mean_LMS"), ("SS", "mean_SS"), ("ICAT", "micro_ICAT")):
        assert rows["overall", shown].difference.value == rows["overall", meant].difference.value


def test_runs_of_different_protocols_do_not_compare(triples: tuple[Triples, Triples]) -> None:
    with pytest.raises(
        ComparisonError, match=r"protocol evenhand\.v2, .* uses stereoset-2021.*evaluate both"
    ):
        compare(run_of(triples[0]), run_of(triples[1], protocol="stereoset-2021"))


def test_runs_without_a_shared_item_do_not_compare(triples: tuple[Triples, Triples]) -> None:
    other = builders.intra("elsewhere")
    alone = run_of({other.id: (3.0, 2.0, 1.0)}, items=[other])

    with pytest.raises(ComparisonError, match="no item in common"):
        compare(run_of(triples[0]), alone)


def test_runs_that_share_ids_but_not_target_terms_do_not_compare(triples: tuple[Triples, Triples]) -> None:
    moved = [replace(item, cluster="someone else") for item in items_in()]

    with pytest.raises(ComparisonError, match="share item ids but not target terms"):
        compare(run_of(triples[0]), run_of(triples[1], items=moved))


def test_which_pairs_of_several_runs_are_compared(triples: tuple[Triples, Triples]) -> None:
    a, b, c = (run_of(triples[0], name=name) for name in "abc")

    def names(pairs: list[tuple[Run, Run]]) -> list[str]:
        return [first.name + second.name for first, second in pairs]

    assert names(pairs_to_compare([a, b, c], all_pairs=False)) == ["ab", "ac"]
    assert names(pairs_to_compare([a, b, c], all_pairs=True)) == ["ab", "ac", "bc"]
    with pytest.raises(ComparisonError, match="At least two runs"):
        pairs_to_compare([a], all_pairs=True)
