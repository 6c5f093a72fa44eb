"""Texts about a person, told of a woman and of a man, against keys written by hand."""

from __future__ import annotations

import pytest
from person_sentences import outcome_of, read_person_sentences

from evenhand.core.errors import UnknownNameError
from evenhand.text.person_texts import Gender, PersonVersions, person_texts_for
from evenhand.text.twins.twin import Rejected


@pytest.mark.parametrize("language", ["de", "en"])
def test_at_least_97_in_100_are_right_and_few_are_left_out(language: str) -> None:
    sentences = read_person_sentences(language)
    outcome = outcome_of(person_texts_for(language), sentences)
    told = len(outcome.right) + len(outcome.wrong)
    assert len(sentences) == 100
    assert len(outcome.wrong) <= 0.03 * told, outcome.wrong
    assert len(outcome.left_out) <= 5, outcome.left_out


@pytest.mark.parametrize("language", ["de", "en"])
def test_sentences_that_were_written_after_the_rules_are_right_as_well(language: str) -> None:
    sentences = read_person_sentences(f"{language}_unseen")
    outcome = outcome_of(person_texts_for(language), sentences)
    assert len(sentences) == 40
    assert len(outcome.wrong) <= 1, outcome.wrong
    assert len(outcome.left_out) <= 2, outcome.left_out


@pytest.mark.parametrize(
    ("name", "count", "most_left_out"),
    [("de_blind", 80, 8), ("en_blind", 40, 2), ("de_final", 40, 2), ("en_final", 20, 2)],
)
def test_of_sentences_that_were_keyed_before_they_were_run_none_is_wrong(
    name: str, count: int, most_left_out: int
) -> None:
    """The first run of the blind ones had 2 wrong and 13 left out, that of the final ones 0 and 4."""
    sentences = read_person_sentences(name)
    outcome = outcome_of(person_texts_for(name[:2]), sentences)
    assert len(sentences) == count
    assert outcome.wrong == []
    assert len(outcome.left_out) <= most_left_out, outcome.left_out


@pytest.mark.parametrize(
    ("language", "text", "versions"),
    [
        (
            "en",
            "The waitress lost her keys.",
            ("The waitress lost her keys.", "The waiter lost his keys.", "female"),
        ),
        ("en", "He lied.", ("She lied.", "He lied.", "male")),
        ("de", "Der Lehrer lachte.", ("Die Lehrerin lachte.", "Der Lehrer lachte.", "male")),
        (
            "de",
            "Die Frau liebte ihren Hund.",
            ("Die Frau liebte ihren Hund.", "Der Mann liebte seinen Hund.", "female"),
        ),
    ],
)
def test_a_text_that_names_no_person_is_left_or_swapped_whole(
    language: str, text: str, versions: tuple[str, str, str]
) -> None:
    female, male, told = versions
    assert person_texts_for(language).versions(text) == PersonVersions(female, male, Gender(told))


@pytest.mark.parametrize(
    ("language", "text", "reason"),
    [
        ("de", "Die Person war bekannt dafür, dass Sie gut kochte.", "a pronoun with a capital"),
        ("de", "Die Person galt als gesuchter Kriegsverbrecher.", "an occupation that is not listed"),
        ("de", "Die Person war ein gewalttätiger Schläger.", "an occupation that is not listed"),
        ("de", "Die Person galt als Schläger.", "an occupation that is not listed"),
        ("de", "Die Person sieht seinem Enkel zu.", "words of both genders"),
        (
            "de",
            "Die Person arbeitete als allseits beliebte Kellnerin.",
            "a noun that may be about the person",
        ),
        ("de", "Die Person galt als einer der bekanntesten und schnellsten Bergretter.", "one of several"),
        ("de", "Die Person sieht sein erstes gehalt.", "a pronoun that may be about the person"),
        ("en", "The person said they shout and laugh.", "a verb after they"),
        ("en", "The person lost his job, so they stayed.", "words of both genders"),
        ("en", "The person came in person.", "several persons"),
        ("en", "The person asked what were they doing.", "a verb after they"),
    ],
)
def test_what_cannot_be_assured_is_rejected_with_the_reason(language: str, text: str, reason: str) -> None:
    rejected = person_texts_for(language).versions(text)
    assert isinstance(rejected, Rejected)
    assert rejected.reason.startswith(reason)


def test_commas_that_people_leave_out_are_read_and_not_written() -> None:
    text = "Die Person war bekannt dafür dass sie gern kochte, und weil sie sang, obwohl sie krank war."
    found = person_texts_for("de").versions(text)
    assert isinstance(found, PersonVersions)
    assert found.female == text.replace("Person", "Frau")
    assert found.male == text.replace("Die Person", "Der Mann").replace("sie", "er")


def test_a_language_that_nobody_has_written_is_named() -> None:
    with pytest.raises(UnknownNameError, match="language of texts about persons"):
        person_texts_for("fr")
