"""English twins against sentences whose twins were written by hand."""

from __future__ import annotations

import pytest
from twin_sentences import TwinSentence, outcome, read_twin_sentences

from evenhand.text.swappers import Rejected, Role, Swapper, Twin
from evenhand.twins.en.swapper import EnglishSwapper

SWAPPER: Swapper = EnglishSwapper()
FILES = ("english_twins.txt", "english_twins_held_out.txt", "english_twins_unseen.txt")
EVERY = [sentence for name in FILES for sentence in read_twin_sentences(name)]
WITH_TWIN = [sentence for sentence in EVERY if sentence.twin is not None]
WITHOUT = [sentence for sentence in EVERY if sentence.twin is None]
MANY_TO_ONE = ("Mrs.", "Ms.", "Miss", "Mrs", "ma'am", "murderess", "lady", "Ladies", "gentleman")


def twin_of(sentence: str) -> Twin:
    result = SWAPPER.twin(sentence)
    assert isinstance(result, Twin), result
    return result


def reason_for(sentence: str) -> str:
    result = SWAPPER.twin(sentence)
    assert isinstance(result, Rejected), result
    return result.reason


def test_the_files_hold_enough_sentences_and_no_sentence_twice() -> None:
    assert len(EVERY) >= 240
    assert len(read_twin_sentences("english_twins_held_out.txt")) >= 60
    assert len({each.sentence for each in EVERY}) == len(EVERY)


@pytest.mark.parametrize("name", FILES)
def test_of_the_twins_given_nearly_all_are_right_and_few_are_missing(name: str) -> None:
    result = outcome(read_twin_sentences(name), SWAPPER.twin)
    assert result.accuracy >= 0.98, result.wrong
    assert len(result.left_out) <= 0.15 * result.swappable, result.left_out


@pytest.mark.parametrize("wanted", WITHOUT, ids=lambda wanted: wanted.sentence)
def test_a_sentence_whose_twin_is_not_certain_is_left_out_with_a_reason(wanted: TwinSentence) -> None:
    assert reason_for(wanted.sentence)


def test_the_twin_of_a_twin_is_the_sentence_again() -> None:
    for wanted in WITH_TWIN:
        assert wanted.twin is not None
        back = SWAPPER.twin(wanted.twin)
        one_to_one = not any(word in f"{wanted.sentence} {wanted.twin}" for word in MANY_TO_ONE)
        if isinstance(back, Twin) and one_to_one:
            assert back.text == wanted.sentence


def test_swaps_say_what_stands_where_and_what_takes_its_place() -> None:
    for wanted in WITH_TWIN:
        result = SWAPPER.twin(wanted.sentence)
        if isinstance(result, Rejected):
            continue
        rebuilt, end = "", 0
        for swap in result.swaps:
            assert swap.span.start >= end
            assert swap.span.of(wanted.sentence) == swap.old
            rebuilt += wanted.sentence[end : swap.span.start] + swap.new
            end = swap.span.end
        assert rebuilt + wanted.sentence[end:] == result.text


def test_swaps_have_their_roles_and_sides() -> None:
    swaps = twin_of(
        "Mrs. Bell told James that her mother had seen him herself, and that he could have hers."
    ).swaps
    assert [(swap.old, swap.new, swap.role, swap.male) for swap in swaps] == [
        ("Mrs", "Mr", Role.TITLE, False),
        ("James", "Mary", Role.NAME, True),
        ("her", "his", Role.POSSESSIVE, False),
        ("mother", "father", Role.NOUN, False),
        ("him", "her", Role.OBJECT, True),
        ("herself", "himself", Role.REFLEXIVE, False),
        ("he", "she", Role.SUBJECT, True),
        ("hers", "his", Role.STANDALONE_POSSESSIVE, False),
    ]


@pytest.mark.parametrize(
    ("sentence", "reason"),
    [
        ("", "no gendered word"),
        ("   ", "no gendered word"),
        ("The baker sells bread.", "no gendered word"),
        ("Human beings sleep.", "no gendered word"),
        ("The doctor saw her duck.", "'her' may be 'his' or 'him'"),
        ("His maid sang.", "'maid' has no clear twin"),
        ("Sir Hugh wept.", "the twin of the title 'Sir' is not clear"),
        ("Victoria laughed.", "the name Victoria has no twin"),
        ("She was pregnant.", "'pregnant' fits only one gender"),
        ("The frigate lost her mast.", "a pronoun may stand for 'frigate'"),
        ("He was the best man.", "the phrase 'best man'"),
        ("The she-wolf slept.", "'she' in a compound"),
    ],
)
def test_reasons_name_the_word(sentence: str, reason: str) -> None:
    assert reason_for(sentence) == reason


@pytest.mark.parametrize(
    ("sentence", "twin"),
    [
        ("He nodded.", "She nodded."),
        ("HE NODDED.", "SHE NODDED."),
        ("Then he nodded.", "Then she nodded."),
        ("“He’s here,” said his aunt.", "“She’s here,” said her uncle."),
        (
            "she 's a nurse , and the shop @-@ girl is her sister .",
            "he 's a nurse , and the shop @-@ boy is his brother .",
        ),
        ("The man--a baker--loved her.", "The woman--a baker--loved him."),
    ],
)
def test_case_quotation_marks_and_spacing_stay(sentence: str, twin: str) -> None:
    assert twin_of(sentence).text == twin


@pytest.mark.parametrize(
    ("sentence", "twin"),
    [
        ("Henry James wrote to her.", "Alice James wrote to him."),
        ("Mr. James wrote to her.", "Mrs. James wrote to him."),
        ("Mr. James Hill wrote to her.", "Mrs. Mary Hill wrote to him."),
        ("Miss Mary wrote to him.", "Mr. James wrote to her."),
        ("She prayed in St. Thomas Church.", "He prayed in St. Thomas Church."),
        ("She crossed the Charles River.", "He crossed the Charles River."),
        ("His friend was a Frenchman.", "Her friend was a Frenchwoman."),
        ("She met Kunigunde.", "He met Kunigunde."),
    ],
)
def test_first_names_change_and_surnames_and_places_stay(sentence: str, twin: str) -> None:
    assert twin_of(sentence).text == twin


@pytest.mark.parametrize(
    ("sentence", "twin"),
    [
        ("He loves her cooking.", "She loves his cooking."),
        ("We all enjoyed her singing.", "We all enjoyed his singing."),
        ("He will man the desk.", "She will man the desk."),
    ],
)
def test_what_somebody_likes_is_of_the_person(sentence: str, twin: str) -> None:
    assert twin_of(sentence).text == twin


@pytest.mark.parametrize("sentence", ["They named her Grace.", "They called her Grace."])
def test_a_name_that_somebody_is_given_is_no_honour(sentence: str) -> None:
    assert isinstance(SWAPPER.twin(sentence), Rejected)


def test_a_name_is_no_verb_of_the_same_spelling() -> None:
    twin = twin_of("He asked Mark to mark his paper.")
    assert twin.text.startswith("She asked ")
    assert twin.text.endswith(" to mark her paper.")
    assert "Mark" not in twin.text
