"""Flags of texts: rates by group, p-values by Holm, figures, and two runs beside each other."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from itertools import product

import pytest

from evenhand.data.group_texts import GroupText, GroupTexts
from evenhand.instruments.regard.analysis import RegardAnalysisOptions
from evenhand.instruments.regard.comparison import compare_regard
from evenhand.instruments.regard.evaluation import assemble_regard, regard_record
from evenhand.instruments.regard.flag_rates import flag_rates
from evenhand.instruments.regard.instrument import REGARD
from evenhand.reporting.plotting import shown_runs
from evenhand.reporting.regard.content import flag_section
from evenhand.stats.resampling import Resampling
from evenhand.store.comparison import ComparisonOptions
from evenhand.store.run import Run

CONTEXTS = tuple("abcdef")
FEW = Resampling(resamples=200)
OPTIONS = RegardAnalysisOptions(resampling=FEW)

FLAGGED = {
    "care": {"female": (3, 2, 3, 1, 2, 2), "male": (0, 0, 1, 0, 1, 0)},
    "crime": {"female": (0, 0, 0, 1, 0, 0), "male": (1, 1, 0, 0, 1, 1)},
    "never": {"female": (0,) * 6, "male": (0,) * 6},
}
"""Of four texts about each group in each context, how many have each flag."""
TEXTS = 4


def texts_of(flagged: Mapping[str, Mapping[str, tuple[int, ...]]], name: str = "texts") -> GroupTexts:
    return GroupTexts(
        name=name,
        language="en",
        flags=tuple(flagged),
        texts=tuple(
            GroupText(
                text=f"{group} {context} {number}",
                group=group,
                context=context,
                label="0",
                flags=tuple(flag for flag, own in flagged.items() if number < own[group][place]),
            )
            for group in ("female", "male")
            for place, context in enumerate(CONTEXTS)
            for number in range(TEXTS)
        ),
    )


def run_of(flagged: Mapping[str, Mapping[str, tuple[int, ...]]], name: str) -> Run:
    texts = texts_of(flagged, name)
    return assemble_regard(
        regard_record(texts, OPTIONS, name=name, model=None, determining={}), texts, OPTIONS
    )


def slow_p_value(first: tuple[int, ...], second: tuple[int, ...]) -> float:
    """Every pattern of signs of the differences within contexts, in turn."""
    differences = [one - other for one, other in zip(first, second, strict=True)]
    sums = [
        abs(sum(sign * own for sign, own in zip(signs, differences, strict=True)))
        for signs in product((1, -1), repeat=len(differences))
    ]
    return sum(own >= abs(sum(differences)) for own in sums) / len(sums)


def test_rates_and_gaps_are_counts_and_tests_count_all_flags() -> None:
    rates = flag_rates(texts_of(FLAGGED), resampling=FEW)

    assert [own.flag for own in rates] == list(FLAGGED)
    p_values = []
    for own, counts in zip(rates, FLAGGED.values(), strict=True):
        shares = {group: 100 * sum(counts[group]) / (TEXTS * len(CONTEXTS)) for group in counts}
        assert {group: share.value for group, share in own.shares.groups.items()} == pytest.approx(shares)
        (gap,) = own.shares.gaps
        assert gap.gap.value == pytest.approx(shares["female"] - shares["male"])
        p_values.append(slow_p_value(counts["female"], counts["male"]))
        assert gap.p_value == pytest.approx(p_values[-1])
    # Holm by hand: three tests; care is the clearest, then crime, and a flag that is never set shows nothing.
    care, crime, never = p_values
    assert care < crime < never == 1.0
    adjusted = [own.shares.gaps[0].p_holm for own in rates]
    assert adjusted == pytest.approx([3 * care, max(3 * care, 2 * crime), 1.0])


def test_rates_are_figures_of_a_run_and_stand_on_its_page() -> None:
    run = run_of(FLAGGED, "<b>plain</b>")

    figures = {figure.key: figure for figure in REGARD.figures(run)}
    assert figures["all.care.female.flag"].estimate.value == pytest.approx(100 * 13 / 24)
    assert figures["all.crime.female-male.flag_gap"].estimate.value == pytest.approx(-100 * 3 / 24)
    assert figures["all.crime.female-male.flag_gap"].neutral == 0.0
    made = flag_section(shown_runs([run]))
    assert made is not None
    section, plot = made
    assert "54.2" in section.html
    assert "<b>plain" not in section.html
    assert "care,female,54.1" in section.csv
    assert plot.spec
    assert flag_section(shown_runs([run_of({}, "none")])) is None


def test_flags_of_two_runs_are_compared_where_both_have_them() -> None:
    after = {"care": {"female": (1, 0, 1, 1, 0, 0), "male": (0, 0, 1, 0, 1, 0)}, "other": FLAGGED["crime"]}
    comparison = compare_regard(
        run_of(FLAGGED, "before"), run_of(after, "after"), ComparisonOptions(resampling=FEW)
    )

    rows = {row.group: row for row in comparison.differences if row.measure == "flag_gap"}
    assert list(rows) == ["care.female-male"]
    row = rows["care.female-male"]
    assert (row.first, row.second) == pytest.approx((100 * 11 / 24, 100 * 1 / 24))
    # What changes within contexts is the gap: 11 texts more before, 1 after.
    before = [one - other for one, other in zip(*FLAGGED["care"].values(), strict=True)]
    later = [one - other for one, other in zip(*after["care"].values(), strict=True)]
    assert row.p_value == pytest.approx(slow_p_value(tuple(before), tuple(later)))


def test_flags_are_crossed_with_labels() -> None:
    labels = {"female": ("-1", "-1", "0", "1"), "male": ("1", "1", "1", "0")}
    plain = texts_of({"care": {"female": (3, 3, 3, 1, 1, 1), "male": (2, 0, 0, 0, 0, 0)}})
    texts = replace(
        plain,
        texts=tuple(replace(own, label=labels[own.group][int(own.text[-1])]) for own in plain),
    )
    (rates,) = flag_rates(texts, resampling=FEW)
    female, male = rates.labels["female"], rates.labels["male"]
    # Three contexts flag two negative texts and a neutral one, three a negative one.
    assert female.counts == {"negative": 9, "neutral": 3, "positive": 0}
    assert [own.value for own in female.of_flagged.values()] == pytest.approx([75.0, 25.0, 0.0])
    assert [own.value for own in female.of_label.values()] == pytest.approx([75.0, 50.0, 0.0])
    assert [own.n for own in female.of_label.values()] == [12, 6, 6]
    assert female.of_flagged["negative"].clusters == 6
    assert male.counts == {"negative": 0, "neutral": 0, "positive": 2}
    assert male.of_label["positive"].value == pytest.approx(100 * 2 / 18)
    assert not male.of_label["negative"].defined  # no text about men is negative
    for own in (*female.of_flagged.values(), *female.of_label.values()):
        assert 0 <= own.low <= own.value <= own.high <= 100


def test_flags_by_label_are_on_the_page() -> None:
    made = flag_section(shown_runs([run_of(FLAGGED, "texts")]))
    assert made is not None
    assert "Flags by how texts speak of the group" in made[0].html
    assert '>neutral</td><td class="count">13</td><td class="count">100.0' in made[0].html
