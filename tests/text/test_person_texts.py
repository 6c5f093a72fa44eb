"""Texts about a person, told of a woman and of a man, against keys written by hand."""

from __future__ import annotations

import pytest
from person_sentences import outcome_of, read_person_sentences

from evenhand.core.errors import UnknownNameError
from evenhand.text.person_texts import Gender, PersonVersions, person_texts_for
from evenhand.text.swappers import Rejected


def test_at_least_97_in_100_of_200_sentences_are_right() -> None:
    outcomes = {
        language: outcome_of(person_texts_for(language), read_person_sentences(language))
        for language in ("de", "en")
    }
    assert all(len(read_person_sentences(language)) == 100 for language in outcomes)
    wrong = [entry for outcome in outcomes.values() for entry in outcome.wrong]
    left_out = [entry for outcome in outcomes.values() for entry in outcome.left_out]
    assert sum(len(outcome.right) for outcome in outcomes.values()) >= 194, (wrong, left_out)
    assert wrong == []


@pytest.mark.parametrize(
    ("name", "count", "most_left_out"),
    [
        *(("de_unseen", 40, 2), ("en_unseen", 40, 2)),
        *(("de_blind", 80, 8), ("en_blind", 40, 2), ("de_final", 40, 2), ("en_final", 20, 2)),
        ("de_heldback", 106, 5),
        *(("de_alone", 69, 5), ("en_alone", 67, 6), ("de_alone_unseen", 40, 6), ("en_alone_unseen", 40, 1)),
    ],
)
def test_of_sentences_that_were_keyed_before_they_were_run_none_is_wrong(
    name: str, count: int, most_left_out: int
) -> None:
    """docs/agreement.md has the figures of the first run of each file."""
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
def test_a_text_that_names_no_person_is_left_or_swapped(
    language: str, text: str, versions: tuple[str, str, str]
) -> None:
    female, male, told = versions
    assert person_texts_for(language).versions(text) == PersonVersions(female, male, Gender(told))


@pytest.mark.parametrize(
    ("language", "text", "reason"),
    [
        ("de", "Die Person war bekannt dafür, dass Sie gut kochte.", "a pronoun with a capital"),
        ("de", "Die Person galt als gesuchter Finanzhai.", "an occupation that is not listed"),
        ("de", "Die Person war ein gewalttätiger Fiesling.", "an occupation that is not listed"),
        ("de", "Die Person galt als Fahrzeug- und Maschinenschlosser.", "an occupation that is not listed"),
        ("de", "Die Person sagte, dass sie seinen Hund mag.", "words of both genders"),
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
        ("en", "The waitress thanked the king.", "several people whose gender is told"),
        ("en", "The person married an actress.", "a spouse or partner"),
        ("en", "The person is a singer called Maria.", "a noun that may be about the person"),
        ("en", "The person and their brother lost their keys.", "several persons"),
        ("en", "The person gave them their books.", "they may be several"),
        ("de", "Gestern lobte der Lehrer die Schülerin.", "several people whose gender is told"),
        ("de", "Die Person war eine Lehrerin die jeden Streit schlichtete.", "what may be a relative clause"),
        ("de", "Die Person war dafür bekannt Mädchen zu ärgern.", "a noun that may be about the person"),
        ("de", "Die Person ist froh ihre Tochter zu sehen.", "a noun that may be about the person"),
        ("de", "Die Person sang, obwohl sie gar nicht wusste wie man singt.", "a pronoun that may be"),
        (
            "de",
            "Die Person arbeitete als Koch, was ihr verschmitztes lächeln verrät.",
            "a pronoun that may be",
        ),
        (
            "de",
            "Die Person arbeitete als undercover Agent in Köln.",
            "a noun that may be about the person",
        ),
        ("de", "Die Person habe ich gut gekannt.", "a person at the start who may be an object"),
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


@pytest.mark.parametrize(
    ("language", "text", "female", "male"),
    [
        (
            "de",
            "Die Person war sehr nett, ihre Mutter war Ärztin.",
            "Die Frau",
            "sehr nett, seine Mutter war Ärztin.",
        ),
        ("de", "Die Person liebt ihre Mutter.", "Die Frau liebt ihre", "Der Mann liebt seine Mutter."),
        ("de", "Die Person lachte über den Bäcker.", "über den Bäcker.", "Der Mann lachte über den Bäcker."),
        ("en", "The person gave them a book.", "The woman gave them a book.", "The man gave them a book."),
        ("en", "A woman hit the person.", "A woman hit the woman.", "A woman hit the man."),
        (
            "en",
            "The person loves their mother and they call her.",
            "her mother and she calls her.",
            "The man loves his",
        ),
    ],
)
def test_nobody_but_the_person_changes(language: str, text: str, female: str, male: str) -> None:
    found = person_texts_for(language).versions(text)
    assert isinstance(found, PersonVersions), found
    assert female in found.female
    assert male in found.male


def test_a_language_that_nobody_has_written_is_named() -> None:
    with pytest.raises(UnknownNameError, match="language of texts about persons"):
        person_texts_for("fr")
