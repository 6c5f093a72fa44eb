"""A sample is seeded, as likely to have one item as any other, and spread over clusters."""

from __future__ import annotations

import math
from collections import Counter

import pytest
from builders import benchmark, inter, intra
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import chi2

from evenhand.core import sampling
from evenhand.core.items import Task
from evenhand.core.sampling import sample
from evenhand.core.settled import ALL_ROLES
from evenhand.data.bec_pro import ProfessionSentence, ProfessionSentences
from evenhand.data.probes import load_probes
from evenhand.data.settled import load_settled

Member = tuple[str, int]


def members(sizes: dict[str, int]) -> list[Member]:
    return [(name, number) for name, size in sizes.items() for number in range(size)]


SIZES = {"a": 5, "b": 1, "c": 9, "d": 3, "e": 2}


@given(st.lists(st.integers(0, 6), max_size=40), st.integers(1, 45))
def test_a_sample_has_its_size_keeps_the_order_and_takes_from_each_cluster_its_share(
    clusters: list[int], limit: int
) -> None:
    items = list(enumerate(clusters))
    chosen = sample(items, limit, cluster=lambda item: item[1])

    assert len(chosen) == min(limit, len(items)) == len(set(chosen))
    assert list(chosen) == sorted(chosen)
    counts = Counter(cluster for _, cluster in chosen)
    for cluster, size in Counter(clusters).items():
        share = min(1.0, limit / len(items)) * size
        assert math.floor(share - 1e-9) <= counts[cluster] <= math.ceil(share + 1e-9)


def test_every_member_is_as_likely_as_any_other(monkeypatch: pytest.MonkeyPatch) -> None:
    items, limit, draws = members(SIZES), 6, 4_000
    counts: Counter[Member] = Counter()
    for seed in range(draws):
        monkeypatch.setattr(sampling, "SAMPLE_SEED", seed)
        counts.update(sample(items, limit, cluster=lambda item: item[0]))

    share = limit / len(items)
    # Without replacement the counts vary a little less than independent ones: the test is on the safe side.
    statistic = sum((counts[item] - draws * share) ** 2 / (draws * share * (1 - share)) for item in items)
    assert statistic < chi2.ppf(0.9999, len(items))


def test_the_same_call_gives_the_same_sample_and_none_gives_all() -> None:
    items = members(SIZES)
    assert sample(items, 6, cluster=lambda item: item[0]) == sample(items, 6, cluster=lambda item: item[0])
    assert sample(items, None, cluster=lambda item: item[0]) == tuple(items)
    assert sample(items, 20, cluster=lambda item: item[0]) == tuple(items)


def test_thirty_items_of_a_benchmark_are_of_thirty_target_terms() -> None:
    """As in StereoSet, whose items of one term follow each other: its first thirty items are of three terms."""
    items = benchmark(
        *(intra(f"{term}-{number}", cluster=f"term {term}") for term in range(40) for number in range(10)),
        *(inter(f"{term}-{number}", cluster=f"term {term}") for term in range(40) for number in range(10)),
    )
    few = items.sampled(30)

    for task in Task:
        own = few.of_task(task)
        assert len(own) == len({item.cluster for item in own}) == 30
    assert (few.name, few.sha256) == (items.name, items.sha256)


def test_a_sample_of_structures_is_of_every_experiment() -> None:
    probes = load_probes("en")
    few = probes.sampled(2)
    assert few.experiments == probes.experiments
    assert [len(few.of(experiment)) for experiment in few.experiments] == [2] * len(few.experiments)


def test_a_sample_of_settled_sentences_has_whole_pairs_of_every_role() -> None:
    settled = load_settled("en")
    few = settled.sampled(24)

    assert len(few.sentences) == 24
    assert set(Counter(sentence.pair for sentence in few.sentences).values()) == {2}
    assert {own.role for own in few.sentences} == {own.role for own in settled.sentences} - {ALL_ROLES}


def test_a_sample_over_professions_has_as_many_women_as_men_of_each() -> None:
    sentences = tuple(
        ProfessionSentence(
            id=f"{profession}-{template}-{gender}",
            person_masked="",
            both_masked="",
            person="this man" if gender == "male" else "this woman",
            gender=gender,
            profession=f"profession {profession}",
            profession_gender="balanced",
            template=f"template {template}",
        )
        for gender in ("male", "female")
        for profession in range(8)
        for template in range(5)
    )
    few = ProfessionSentences("tiny", "en", sentences, "tiny.csv", "0" * 64).sampled(9)

    by_profession = Counter((own.profession, own.gender) for own in few)
    assert len(few) == 8
    assert len(by_profession) == 8
    assert len({profession for profession, _ in by_profession}) == 4
