"""Conditions that gate a release."""

from __future__ import annotations

import math

import builders
import probe_runs
import pytest

from evenhand.api.measure import evaluate
from evenhand.core.errors import ConditionError, EvenhandError, UnknownNameError
from evenhand.stats.resampling import Resampling
from evenhand.store.conditions import Condition
from evenhand.store.run import Run


@pytest.fixture
def run(quick: Resampling) -> Run:
    """SS is 100 within sentences, 0 between them, 50 overall; gender has one term only."""
    items = [
        make(f"{term}-{number}", cluster=term, bias_type=bias_type)
        for make in (builders.intra, builders.inter)
        for term, bias_type in (("baker", "profession"), ("pilot", "profession"), ("sister", "gender"))
        for number in range(2)
    ]
    triples: dict[str, builders.Triple] = {
        item.id: (3.0, 2.0, 1.0) if item.id.startswith("intra") else (2.0, 3.0, 1.0) for item in items
    }
    return evaluate(builders.scores(triples), builders.benchmark(*items), resampling=quick, name="model")


@pytest.mark.parametrize(
    ("text", "group", "measure", "bound", "operator", "threshold"),
    [
        ("SS>60", (), "SS", "value", ">", 60),
        ("intrasentence.ICAT<70", ("intrasentence",), "ICAT", "value", "<", 70),
        ("overall.gender.SS.low>50", ("overall", "gender"), "SS", "low", ">", 50),
        ("gender.mean_SS >= 55.5", ("gender",), "mean_SS", "value", ">=", 55.5),
        ("  macro_ICAT.high<=-1 ", (), "macro_ICAT", "high", "<=", -1),
        ("intersentence.LMS.value<+80", ("intersentence",), "LMS", "value", "<", 80),
        ("overall.social class.SS>50", ("overall", "social class"), "SS", "value", ">", 50),
        ("he-she.gender.MALoR>1", ("he-she", "gender"), "MALoR", "value", ">", 1),
    ],
)
def test_a_condition_is_understood(
    text: str, group: tuple[str, ...], measure: str, bound: str, operator: str, threshold: float
) -> None:
    assert Condition.parse(text) == Condition(
        text=text.strip(),
        group=group,
        measure=measure,
        bound=bound,
        operator=operator,
        threshold=threshold,
    )


@pytest.mark.parametrize(
    "text", ["", "SS", "SS>", ">60", "SS=60", "SS==60", "SS>sixty", "SS>60%", "SS>60 and LMS<5", "SS>6e1"]
)
def test_a_condition_that_is_not_understood_is_shown_how_to_write_one(text: str) -> None:
    with pytest.raises(ConditionError, match=r"is not understood\. Write a measure, one of > >= < <="):
        Condition.parse(text)


@pytest.mark.parametrize(
    ("text", "hint"),
    [
        ("ss>60", "Did you mean 'SS'"),
        ("icat<70", "Did you mean 'ICAT'"),
        ("overall.gender.makro_ICAT<70", "Did you mean 'macro_ICAT'"),
        ("overal.gender.SS>60", "Did you mean 'overall'"),
        ("intra.gender.SS>60", "Did you mean 'intrasentence'"),
        ("overall.professions.SS>50", "Did you mean 'profession'"),
        ("overall>60", "Unknown measure"),
        ("SS.upper>60", "Unknown measure"),
        ("low>60", "Unknown measure"),
    ],
)
def test_an_unknown_name_in_a_condition(run: Run, text: str, hint: str) -> None:
    with pytest.raises(UnknownNameError, match=hint):
        Condition.parse(text).holds(run)


def test_an_unknown_measure_can_be_refused_before_anything_is_measured() -> None:
    with pytest.raises(UnknownNameError, match="Did you mean 'MALoR'"):
        Condition.parse("he-she.malor>1").refuse_unknown_measure(["MALoR", "signed_mean"])


def test_a_condition_that_may_mean_several_figures_is_refused() -> None:
    run = probe_runs.malor_run()

    with pytest.raises(ConditionError, match=r"may mean he-she\.gender\.MALoR, his-her\.gender\.MALoR"):
        Condition.parse("MALoR>1").holds(run)
    assert Condition.parse("he-she.MALoR>0").holds(run)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("intrasentence.SS>99", True),
        ("intrasentence.SS>100", False),
        ("intrasentence.SS>=100", True),
        ("intersentence.SS<1", True),
        ("intersentence.SS<=0", True),
        ("intersentence.SS<0", False),
        ("SS>=50", True),
        ("SS>50", False),
        ("overall.SS<50", False),
        ("LMS<100", False),
        ("intersentence.gender.SS<=0", True),
    ],
)
def test_whether_a_condition_holds(run: Run, text: str, expected: bool) -> None:
    assert Condition.parse(text).holds(run) is expected


def test_a_bound_of_the_interval_can_be_asked_for(run: Run) -> None:
    # All three terms at the limit: the exact bound is 100 times the cube root of 0.025.
    low = Condition.parse("intrasentence.SS.low>0").value_in(run)

    assert low == pytest.approx(100 * math.cbrt(0.025))
    assert not Condition.parse("intrasentence.SS.low>29.3").holds(run)
    assert Condition.parse("intrasentence.SS.low>29.2").holds(run)


def test_without_a_task_a_condition_is_about_the_only_one_there_is(quick: Resampling) -> None:
    run = evaluate(
        builders.scores({"inter-1": (3.0, 2.0, 1.0)}), builders.benchmark(builders.inter(1)), resampling=quick
    )

    assert Condition.parse("SS>99").holds(run)
    with pytest.raises(ConditionError, match=r"about intrasentence, but .* has only intersentence"):
        Condition.parse("intrasentence.SS>99").holds(run)


def test_an_undefined_value_neither_passes_nor_fails(run: Run) -> None:
    with pytest.raises(ConditionError, match=r"cannot be judged for model: an interval needs at least two"):
        Condition.parse("intrasentence.gender.SS.low>50").holds(run)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("LMS<101", "LMS 100.0 is below 101"),
        ("SS<=50", "SS 50.0 is at or below 50"),
        ("intrasentence.SS>99.99", "intrasentence.SS 100.0 is above 99.99"),
        ("intrasentence.SS.low>29.2", "intrasentence.SS.low 29.24 is above 29.2"),
        ("overall.ICAT>=100", "overall.ICAT 100.0 is at or above 100"),
    ],
)
def test_a_closed_gate_says_why_with_digits_enough_to_see_it(run: Run, text: str, reason: str) -> None:
    """The low end is 100 times the cube root of 0.025, 29.240: one digit would not be above 29.2."""
    condition = Condition.parse(text)

    assert condition.holds(run)
    assert condition.reason_in(run) == reason


def test_every_refusal_is_an_error_that_the_command_line_prints() -> None:
    assert issubclass(ConditionError, EvenhandError)
    assert issubclass(UnknownNameError, EvenhandError)
