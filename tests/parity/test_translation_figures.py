"""The figures of docs/translation.md, computed again: from scores and items, candidate by candidate."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pytest
from translation_figures import (
    COMPARED,
    FIGURES,
    NEVER_REPAIRED,
    SCORES,
    SOURCE,
    TRANSLATIONS,
    PublishedTranslations,
    concord,
)

from evenhand.core.items import Association, Label, Task
from evenhand.data import read_predictions
from evenhand.data.inspection import check
from evenhand.stats.resampling import Resampling
from evenhand.translation.score_effects import ANY, translation_effect

Preferences = dict[str, tuple[float, float]]
"""By item whether the stereotype is preferred, and how often sense is preferred to nonsense; a tie is a half."""


@pytest.fixture(scope="module")
def figures() -> Any:
    return json.loads(FIGURES.read_text(encoding="utf-8"))


@pytest.fixture(scope="module")
def published(shared_data: Path) -> PublishedTranslations:
    return PublishedTranslations(shared_data, Resampling(resamples=400))


@pytest.fixture(scope="module")
def preferences(published: PublishedTranslations) -> Callable[[str, str], Preferences]:
    kept: dict[tuple[str, str], Preferences] = {}

    def of(model: str, language: str) -> Preferences:
        if (model, language) not in kept:
            scores = read_predictions(published.scores_of(model, language)).scores
            kept[model, language] = {
                item.id: preference(*(scores[item.candidate(label).id].value for label in Label))
                for item in published.benchmarks[language]
            }
        return kept[model, language]

    return of


def preference(stereotype: float, anti: float, unrelated: float) -> tuple[float, float]:
    senses = [(1 if sense > unrelated else 0.5 if sense == unrelated else 0) for sense in (stereotype, anti)]
    return (1 if stereotype > anti else 0.5 if stereotype == anti else 0), sum(senses) / 2


def means(own: Preferences, items: Iterable[str]) -> dict[str, float]:
    chosen = [own[item] for item in items]
    return {
        name: 100 * sum(row[place] for row in chosen) / len(chosen)
        for place, name in enumerate(("SS", "LMS"))
    }


def shown(scores: dict[str, float]) -> dict[str, Any]:
    """A mean as the page rounds it."""
    return {name: pytest.approx(value, abs=0.0501) for name, value in scores.items()}


def ids(items: Iterable[Association]) -> list[str]:
    return [item.id for item in items]


def test_the_german_repair(published: PublishedTranslations, figures: Any) -> None:
    assert published.german() == figures["german"]


def test_scores_of_repaired_items_beside_the_others(
    published: PublishedTranslations, preferences: Callable[[str, str], Preferences], figures: Any
) -> None:
    rows = figures["repaired_beside_others"]

    assert [(row["model"], row["task"]) for row in rows] == [
        (model, task) for model in SCORES for task in Task
    ]
    for row in rows:
        items = ids(published.benchmarks["de"].of_task(Task(row["task"])))
        own = preferences(row["model"], "de")
        for part, is_repaired in (("repaired", True), ("others", False)):
            chosen = [item for item in items if (item in published.repaired) is is_repaired]
            assert row[part] == shown(means(own, chosen))


def test_guesses_of_the_closest_word(published: PublishedTranslations, figures: Any) -> None:
    assert published.guesses() == figures["guesses"]


def test_what_the_checks_find_in_languages_that_were_never_repaired(
    published: PublishedTranslations, figures: Any
) -> None:
    assert published.never_repaired() == figures["never_repaired"]
    assert [language for language, own in figures["never_repaired"].items() if "concord" in own] == [
        "es",
        "fr",
    ]


def test_how_often_concord_is_right(figures: Any) -> None:
    assert concord() == figures["concord"]


@pytest.mark.parametrize("language", TRANSLATIONS)
def test_scores_with_and_without_flagged_items(
    published: PublishedTranslations,
    preferences: Callable[[str, str], Preferences],
    figures: Any,
    language: str,
) -> None:
    benchmark, own = published.benchmarks[language], preferences(COMPARED, language)
    row = figures["sensitivity"][language]

    assert row["all"] == {"items": len(benchmark), **shown(means(own, ids(benchmark)))}
    for name, source in (("without_source", None), ("with_source", published.benchmarks[SOURCE])):
        flagged = check(benchmark, source=source).flagged_items()
        rest = [item for item in ids(benchmark) if item not in flagged]
        assert row[name] == {"left_out": len(flagged), **shown(means(own, rest))}


@pytest.mark.parametrize("language", TRANSLATIONS)
def test_differences_between_languages_and_what_rests_on_items_with_a_problem(
    published: PublishedTranslations,
    preferences: Callable[[str, str], Preferences],
    figures: Any,
    language: str,
) -> None:
    benchmarks = published.benchmarks
    first, second = preferences(COMPARED, SOURCE), preferences(COMPARED, language)
    shared = first.keys() & second.keys()
    problems = set(published.repaired) if language not in NEVER_REPAIRED else set()
    for own, other in ((SOURCE, language), (language, SOURCE)):
        problems |= check(benchmarks[own], source=benchmarks[other]).flagged_items()
    problems &= shared
    row = figures["differences"][language]

    assert (row["items"], row["with_problem"]) == (len(shared), len(problems))
    for place, measure in enumerate(("SS", "LMS")):
        gaps = {item: 100 * (second[item][place] - first[item][place]) / len(shared) for item in shared}
        part = sum(gaps[item] for item in problems)
        assert row[measure]["difference"] == pytest.approx(sum(gaps.values()), abs=0.0501)
        assert row[measure]["contribution"][0] == pytest.approx(part, abs=0.0501)
        if row[measure]["share"] is not None:
            assert row[measure]["share"] == pytest.approx(part / sum(gaps.values()), abs=0.00501)


def test_intervals_are_those_of_the_command(published: PublishedTranslations, figures: Any) -> None:
    runs = [published.evaluated(language) for language in (SOURCE, "tr")]

    effect = translation_effect(*runs, resampling=published.resampling)

    assert effect is not None
    rows = [row for row in effect.shares if (row.task, row.problem) == ("overall", ANY)]
    for row in rows:
        kept = figures["differences"]["tr"][row.measure]["contribution"]
        # Fewer resamples than on the page: ends of an interval scatter by a quarter of a point.
        assert (row.contribution.low, row.contribution.high) == pytest.approx(tuple(kept[1:]), abs=0.4)
