"""What holds of all English twins."""

from __future__ import annotations

import pickle
import sys
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evenhand.core.errors import MissingExtraError
from evenhand.core.experiments import Experiment
from evenhand.data.probes import load_probes
from evenhand.text.swappers import Rejected, Twin
from evenhand.twins.en import word_classes
from evenhand.twins.en.gendered_words import WITHOUT_CLEAR_TWIN, noun_pairs
from evenhand.twins.en.names import name_twins, names_without_twin
from evenhand.twins.en.swapper import EnglishSwapper

SWAPPER = EnglishSwapper()
PROBES = load_probes("en")
OCCUPATIONS = st.sampled_from([occupation.name for occupation in PROBES.occupations])
NAMES = st.sampled_from(
    list(zip(PROBES.terms[Experiment.NAMES].male, PROBES.terms[Experiment.NAMES].female, strict=True))
)
NOUNS = st.sampled_from(
    [
        ("man", "woman"),
        ("boy", "girl"),
        ("king", "queen"),
        ("waiter", "waitress"),
        ("uncle", "aunt"),
        ("monk", "nun"),
    ]
)
TEMPLATES = st.sampled_from(
    [
        "{name} told the {occupation} that {he} had lost {his} umbrella.",
        "The {noun} thanked the {occupation} and gave {him} a coin.",
        "The {occupation} is a friend of {hers}, and {name} knows it.",
        '"{He} saw {himself} in the mirror," the {occupation} said to the {noun}.',
        "The {noun}'s {occupation} lives with {his} parents in Leeds.",
        "Nobody but {name} saw {him}, although {he}'s the {occupation}.",
        "{His} old {occupation} wrote to {him} about the {noun}.",
    ]
)
MALE = {"he": "he", "He": "He", "him": "him", "his": "his", "His": "His", "hers": "his", "himself": "himself"}
FEMALE = {
    "he": "she",
    "He": "She",
    "him": "her",
    "his": "her",
    "His": "Her",
    "hers": "hers",
    "himself": "herself",
}


@given(TEMPLATES, NAMES, NOUNS, OCCUPATIONS)
def test_twins_of_templates_are_the_other_side_both_ways(
    template: str, name: tuple[str, str], noun: tuple[str, str], occupation: str
) -> None:
    male = template.format(**MALE, name=name[0], noun=noun[0], occupation=occupation)
    female = template.format(**FEMALE, name=name[1], noun=noun[1], occupation=occupation)
    for sentence, other in ((male, female), (female, male)):
        twin = SWAPPER.twin(sentence)
        assert isinstance(twin, Twin), twin
        assert twin.text == other


WORDS = st.sampled_from(
    [
        "he",
        "she",
        "him",
        "her",
        "his",
        "hers",
        "himself",
        "Mr.",
        "Miss",
        "lady",
        "Lord",
        "man",
        "king",
        "James",
        "Mary",
        "'s",
        "'",
        '"',
        "“",
        "(",
        "-",
        "--",
        ",",
        ".",
        "!",
        "saw",
        "made",
        "the",
        "old",
        "HER",
    ]
)


@given(st.lists(WORDS, max_size=12), st.sampled_from(["", " "]))
def test_any_heap_of_words_has_a_twin_or_a_reason(words: list[str], between: str) -> None:
    sentence = between.join(words)
    result = SWAPPER.twin(sentence)
    if isinstance(result, Rejected):
        assert result.reason
    else:
        assert result.swaps
        assert all(swap.span.of(sentence) == swap.old != swap.new for swap in result.swaps)


@given(st.text(max_size=60))
def test_any_text_has_a_twin_or_a_reason(text: str) -> None:
    assert isinstance(SWAPPER.twin(text), Twin | Rejected)


def test_names_stand_in_one_pair_each_and_those_of_the_probes_come_first() -> None:
    males, females = name_twins()
    probes = PROBES.terms[Experiment.NAMES]
    assert [males[name] for name in probes.male] == list(probes.female)
    assert {female: male for male, female in males.items()} == dict(females)
    assert not set(males) & set(females)
    assert not names_without_twin() & {*males, *females}


def test_no_noun_is_male_and_female_or_both_paired_and_without_a_twin() -> None:
    to_female, to_male = noun_pairs()
    assert not set(to_female) & set(to_male)
    assert not WITHOUT_CLEAR_TWIN & {*to_female, *to_male}
    assert all(to_male[female] == male for male, female in to_female.items() if male not in ("granddad",))


def test_nothing_pickled_is_loaded(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: Any, **__: Any) -> None:
        raise AssertionError("a pickle was loaded")

    monkeypatch.setattr(pickle, "load", refuse)
    word_classes.classes_of.cache_clear()
    assert word_classes.classes_of("glorfindelish") == word_classes.WordClass.UNKNOWN
    assert isinstance(SWAPPER.twin("She polished her glorfindel."), Twin)


def test_without_lemminflect_the_error_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "lemminflect", None)
    lookup = word_classes._lemmas_of.__wrapped__
    with pytest.raises(MissingExtraError, match=r"pip install '\.\[train\]'"):
        lookup()
