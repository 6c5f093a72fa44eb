"""The data check finds in the published files what is known about them."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import pytest

from evenhand.core.items import BLANK, Task
from evenhand.data.inspection import CheckReport, check, describe
from evenhand.data.stereoset import read_stereoset

INTRA, INTER = Task.INTRASENTENCE, Task.INTERSENTENCE


@cache
def report_of(folder: Path, name: str) -> CheckReport:
    language = name.partition(".")[0]
    return check(read_stereoset(folder / "stereoset" / f"{name}.json", language=language))


@pytest.mark.parametrize(
    ("file", "defect", "task", "count"),
    [
        ("en", "blank-count", INTRA, 2),
        ("en", "case-differs", INTRA, 2_373),
        ("en", "text-differs", INTRA, 12),
        ("en", "no-final-punctuation", INTRA, 339),
        ("en", "blank-first", INTRA, 19),
        ("tr", "blank-attached", INTRA, 146),
        ("tr", "multi-word-fill", INTRA, 463),
        ("fr", "multi-word-fill", INTRA, 291),
        ("es", "multi-word-fill", INTRA, 174),
        ("de", "multi-word-fill", INTRA, 39),
        ("de.untouched", "target-not-in-context", INTRA, 562),
        ("de.untouched", "target-not-in-context", INTER, 535),
    ],
)
def test_a_known_number_of_defects(shared_data: Path, file: str, defect: str, task: Task, count: int) -> None:
    assert report_of(shared_data, file).count(defect, task) == count


@pytest.mark.parametrize(("file", "count"), [("tr", 12), ("es", 4), ("fr", 2), ("de", 0), ("en", 0)])
def test_a_known_number_of_items_with_equal_candidates(shared_data: Path, file: str, count: int) -> None:
    report = report_of(shared_data, file)

    assert sum(report.count("equal-candidates", task) for task in Task) == count


@pytest.mark.parametrize(
    ("file", "tasks"), [("en", (2_106, 2_123)), ("de", (2_103, 2_123)), ("tr", (2_106, 2_123))]
)
def test_the_number_of_items(shared_data: Path, file: str, tasks: tuple[int, int]) -> None:
    benchmark = report_of(shared_data, file).benchmark

    assert tuple(len(benchmark.of_task(task)) for task in Task) == tasks


def test_the_items_by_bias_type_and_the_target_terms(shared_data: Path) -> None:
    description = describe(report_of(shared_data, "en").benchmark)
    counts = {
        (bias_type, task): items
        for bias_type, task, items, _ in description.counts("bias_type", "task").iter_rows()
    }

    assert counts == {
        ("race", "intrasentence"): 962,
        ("race", "intersentence"): 976,
        ("profession", "intrasentence"): 810,
        ("profession", "intersentence"): 827,
        ("gender", "intrasentence"): 255,
        ("gender", "intersentence"): 242,
        ("religion", "intrasentence"): 79,
        ("religion", "intersentence"): 78,
    }
    assert description.targets().height == 79


@pytest.mark.parametrize("file", ["en", "de", "es", "fr", "tr"])
def test_defects_are_counted_by_the_79_target_terms_in_every_language(shared_data: Path, file: str) -> None:
    terms = report_of(shared_data, file).by_term()
    assert len(terms) == 79
    assert {term.term for term in terms} == {term.term for term in report_of(shared_data, "en").by_term()}


@pytest.mark.parametrize("language", ["de", "es", "fr", "tr"])
def test_translations_share_the_target_terms_of_the_original(shared_data: Path, language: str) -> None:
    original, translation = (
        {item.id: item.cluster for item in report_of(shared_data, name).benchmark}
        for name in ("en", language)
    )

    assert set(translation) <= set(original)
    assert {item: original[item] for item in translation} == translation


def test_the_fill_is_found_wherever_english_has_a_blank(shared_data: Path) -> None:
    report = report_of(shared_data, "en")

    assert all(BLANK in item.context for item in report.benchmark.of_task(INTRA))
    assert report.count("fill-not-found", INTRA) == 0
