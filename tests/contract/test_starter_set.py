"""The bundled starter set: sound in every language, and the same items in all of them."""

from __future__ import annotations

from functools import cache

import pytest

from evenhand.core.items import Benchmark, Task
from evenhand.data.defects import fill_of
from evenhand.data.inspection import check
from evenhand.data.layouts import load_dataset
from evenhand.data.stereoset import STARTER
from evenhand.testing import check_dataset

LANGUAGES = ("de", "en", "es", "fr", "tr")


@cache
def starter(language: str) -> Benchmark:
    return load_dataset("starter", language=language)


def test_there_are_five_languages() -> None:
    assert STARTER.languages == LANGUAGES


@pytest.mark.parametrize("language", LANGUAGES)
def test_the_set_conforms(language: str) -> None:
    check_dataset(starter(language))
    assert starter(language).language == language


@pytest.mark.parametrize("language", LANGUAGES)
def test_the_set_has_48_items_a_task_over_24_target_terms_and_four_bias_types(language: str) -> None:
    benchmark = starter(language)

    assert [len(benchmark.of_task(task)) for task in Task] == [48, 48]
    assert len({item.cluster for item in benchmark}) == 24
    assert {item.bias_type for item in benchmark} == {"gender", "profession", "race", "religion"}


@pytest.mark.parametrize("language", LANGUAGES)
def test_every_target_term_has_as_many_items_as_every_other(language: str) -> None:
    for task in Task:
        terms = [item.cluster for item in starter(language).of_task(task)]
        assert {terms.count(term) for term in terms} == {2}


@pytest.mark.parametrize("language", LANGUAGES)
def test_no_item_has_a_defect_that_can_move_a_score(language: str) -> None:
    report = check(starter(language))

    assert report.unchecked == ()
    assert {
        finding.defect.name: finding.ids
        for finding in report.findings
        if finding.defect.flagged and finding.count
    } == {}


@pytest.mark.parametrize("language", LANGUAGES)
def test_every_blank_is_filled_with_one_word(language: str) -> None:
    fills = {
        candidate.id: fill_of(item, candidate)
        for item in starter(language).of_task(Task.INTRASENTENCE)
        for candidate in item.candidates
    }

    assert {candidate: fill for candidate, fill in fills.items() if len(fill.split()) != 1} == {}


@pytest.mark.parametrize("language", LANGUAGES)
def test_items_terms_and_labels_are_those_of_english(language: str) -> None:
    def key(benchmark: Benchmark) -> dict[str, tuple[object, ...]]:
        return {
            item.id: (
                item.task,
                item.bias_type,
                item.cluster,
                tuple((candidate.id, candidate.label) for candidate in item.candidates),
            )
            for item in benchmark
        }

    assert key(starter(language)) == key(starter("en"))


@pytest.mark.parametrize("language", [tag for tag in LANGUAGES if tag != "en"])
def test_a_translation_is_translated(language: str) -> None:
    english = {item.id: item.context for item in starter("en")}

    assert [item.id for item in starter(language) if item.context == english[item.id]] == []


def test_the_set_says_its_licence() -> None:
    for language in LANGUAGES:
        assert starter(language).licence == STARTER.licence
