"""The lab's items: sound, aligned between languages, as the package ships them, and true to the language."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from functools import cache

import pytest
from lab_language import LANGUAGES, TWINS, Texts, bits, probabilities, target_of, words_of

from evenhand.core.errors import UnknownNameError
from evenhand.core.items import BLANK, Association, Benchmark, Candidate, Label, Task
from evenhand.data.defects import fill_of
from evenhand.data.inspection import check
from evenhand.data.layouts import load_dataset
from evenhand.data.stereoset import LAB
from evenhand.lab.items import lab_benchmark, lab_items, stereoset_layout
from evenhand.lab.world import World
from evenhand.testing import check_dataset

both_languages = pytest.mark.parametrize("tag", LANGUAGES)


@cache
def shipped(tag: str) -> Benchmark:
    return load_dataset("lab", language=tag)


def document_of(item: Association, candidate: Candidate) -> Texts:
    """The document of the language that a candidate is."""
    return (candidate.text,) if item.task is Task.INTRASENTENCE else (item.context, candidate.text)


@both_languages
def test_the_items_conform(tag: str) -> None:
    check_dataset(shipped(tag))
    check_dataset(lab_benchmark(tag, seed=3))
    assert shipped(tag).language == tag


@both_languages
def test_no_item_has_a_defect_that_can_move_a_score(tag: str) -> None:
    report = check(shipped(tag))

    assert report.unchecked == ()
    assert report.flagged_items() == frozenset()


@both_languages
def test_there_is_an_item_for_each_target_and_pair_of_opposites_in_each_task(tag: str) -> None:
    world = World(tag)
    wanted = {
        (task, target.name, frozenset(opposites))
        for task in Task
        for target in world.targets
        for opposites in world.opposites(target.bias_type)
    }
    asked = [(item.task, item.cluster, set_against_each_other(item)) for item in shipped(tag)]

    assert len(asked) == len(wanted) == 2 * 16 * 12
    assert set(asked) == wanted


def set_against_each_other(item: Association) -> frozenset[str]:
    """The words in which stereotype and anti-stereotype differ."""
    texts = [item.candidate(label).text.lower() for label in (Label.STEREOTYPE, Label.ANTI_STEREOTYPE)]
    return frozenset(words_of(texts[0])) ^ frozenset(words_of(texts[1]))


@both_languages
def test_frames_of_a_target_vary(tag: str) -> None:
    contexts = Counter((item.task, item.cluster, item.context) for item in shipped(tag))

    assert max(count for (task, _, _), count in contexts.items() if task is Task.INTRASENTENCE) == 1
    assert max(count for (task, _, _), count in contexts.items() if task is Task.INTERSENTENCE) == 2


@both_languages
def test_every_blank_is_filled_with_one_word_that_the_file_names(tag: str) -> None:
    for item in shipped(tag).of_task(Task.INTRASENTENCE):
        assert item.context.count(BLANK) == 1
        for candidate in item.candidates:
            assert fill_of(item, candidate) == candidate.word
            assert words_of(candidate.word or "") == [candidate.word]


def test_items_of_both_languages_are_the_same_by_id_target_and_labels() -> None:
    def key(tag: str) -> dict[str, tuple[object, ...]]:
        return {
            item.id: (
                item.task,
                item.bias_type,
                item.cluster,
                [(candidate.id, candidate.label) for candidate in item.candidates],
            )
            for item in shipped(tag)
        }

    assert key("de") == key("en")
    assert {item.cluster for item in shipped("de")} == {name for pair in TWINS["en"][::2] for name in pair}


def test_german_items_ask_in_german() -> None:
    english = {item.id: item.context for item in shipped("en")}

    assert [item.id for item in shipped("de") if item.context == english[item.id]] == []


@both_languages
def test_the_bundled_file_is_what_the_grammar_makes(tag: str) -> None:
    text = stereoset_layout(tuple(entry.item for entry in lab_items(tag)), tag)

    assert LAB.file(tag).read_bytes() == text.encode("utf-8")


@both_languages
def test_a_benchmark_made_in_memory_is_the_bundled_one(tag: str) -> None:
    made = lab_benchmark(tag)

    assert made.items == shipped(tag).items
    assert made.sha256 == hashlib.sha256(LAB.file(tag).read_bytes()).hexdigest()
    assert made.sha256 == shipped(tag).sha256
    assert (made.name, made.language, made.licence) == ("lab", tag, shipped(tag).licence)


@both_languages
def test_the_bundled_file_says_its_language_and_licence(tag: str) -> None:
    document = json.loads(LAB.file(tag).read_text(encoding="utf-8"))

    assert (document["language"], document["licence"]) == (tag, "CC BY 4.0")
    assert list(document["data"]) == [task.value for task in Task]


@both_languages
@pytest.mark.parametrize("strength", [-1.5, 0.0, 2.0])
def test_the_planted_preference_of_an_item_is_the_one_in_the_language(tag: str, strength: float) -> None:
    world = World(tag, strength)
    said = probabilities(tag, strength)
    for entry in lab_items(tag):
        stereotype, anti_stereotype = (
            said[document_of(entry.item, entry.item.candidate(label))]
            for label in (Label.STEREOTYPE, Label.ANTI_STEREOTYPE)
        )
        assert entry.planted(world) == pytest.approx(bits(stereotype, anti_stereotype), abs=1e-9)


@both_languages
def test_unrelated_words_are_said_of_things_and_never_of_people(tag: str) -> None:
    said = probabilities(tag, 2.0)
    of_things = {
        word
        for document in said
        if target_of(document, tag) is None
        for word in words_of(document[-1].lower())
    }
    for item in shipped(tag):
        unrelated = item.candidate(Label.UNRELATED)
        (word,) = set(words_of(unrelated.text.lower())) - set(
            words_of(item.candidate(Label.STEREOTYPE).text.lower())
        )
        assert document_of(item, unrelated) not in said
        assert word in of_things


def test_the_seed_chooses_frames_and_does_not_change_what_is_asked() -> None:
    first, again, other = (lab_benchmark("en", seed=seed) for seed in (1, 1, 2))

    assert first == again
    assert [item.id for item in other] == [item.id for item in first]
    assert [item.context for item in other] != [item.context for item in first]


def test_items_in_another_language_are_refused_with_the_ones_that_there_are() -> None:
    with pytest.raises(UnknownNameError, match=r"'fr'.*Known: de, en"):
        lab_items("fr")
    with pytest.raises(UnknownNameError, match=r"'fr'.*Known: de, en"):
        load_dataset("lab", language="fr")
