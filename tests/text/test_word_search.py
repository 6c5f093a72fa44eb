"""Listed words in sentences: whole words, at their places, names left alone."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evenhand.text.word_search import WordFinder, gendered_words_in, words_of

NOUNS = WordFinder.of_nouns(["baker", "nurse", "police officer", "officer", "Ärztin", "Lehrer"])


def found(sentence: str) -> list[str]:
    return [each.span.of(sentence) for each in NOUNS.find(sentence)]


@pytest.mark.parametrize(
    ("sentence", "expected"),
    [
        ("The baker saw the nurse.", ["baker", "nurse"]),
        ("Baker and nurse met.", ["Baker", "nurse"]),
        ('"Nurse!" cried Mr. Baker.', ["Nurse"]),
        ("We met Baker, a nurse's friend.", ["nurse"]),
        ("The bakers and the bakery", []),
        ("a nurse-led team, a vice-baker", []),
        ("The police officer met an officer.", ["police officer", "officer"]),
        ("Die Ärztin und der Lehrer", ["Ärztin", "Lehrer"]),
        ("Lehrer:innen, Lehrer*innen, Lehrer/in, Lehrer_innen, LehrerInnen", []),
        ("Der Lehrer: er kam.", ["Lehrer"]),
        ("die ärztin", []),
        ("", []),
    ],
)
def test_nouns_are_found_as_listed_or_first_in_the_sentence(sentence: str, expected: list[str]) -> None:
    assert found(sentence) == expected


def test_a_spelling_stands_for_its_word() -> None:
    finder = WordFinder({"he": "he", "He": "he", "she": "she"})

    assert [each.word for each in finder.find("He saw that he was she, SHE, the")] == ["he", "he", "she"]


def test_a_sentence_without_the_words_is_passed_over_quickly() -> None:
    assert NOUNS.may_be_among(words_of("An officer came."))
    assert NOUNS.may_be_among(words_of("The police came."))
    assert not NOUNS.may_be_among(words_of("Nobody came."))


@pytest.mark.parametrize(
    ("sentence", "expected"),
    [
        ("HE saw Junge and junge Leute.", ["HE", "Junge"]),
        ("her mother-in-law's ex-wife", ["her", "mother", "wife"]),
        ("mary was merry", []),
        ("They were theirs", []),
    ],
)
def test_gendered_words_are_found_in_any_case_and_names_as_written(
    sentence: str, expected: list[str]
) -> None:
    vocabulary = frozenset({"he", "her", "Junge", "mother", "wife", "Mary"})

    assert sorted(gendered_words_in(words_of(sentence), vocabulary)) == sorted(expected)


@given(before=st.text('aé -."1'), after=st.text('aé -."1:'))
def test_what_is_found_is_a_listed_word_and_never_missed_by_the_quick_look(before: str, after: str) -> None:
    sentence = f"{before}nurse{after}"

    for each in NOUNS.find(sentence):
        assert each.word == "nurse"
        assert each.span.of(sentence) == "nurse"
        assert NOUNS.may_be_among(words_of(sentence))
    if before.endswith((" ", ".")) and after.startswith((" ", ".", "")) and after[:1] in ("", " ", "."):
        assert found(sentence) == ["nurse"]
