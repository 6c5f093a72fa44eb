"""Structures become sentences: the right article, ending and capital at each place."""

from __future__ import annotations

import pytest

from evenhand.core.errors import DatasetError
from evenhand.core.experiments import Experiment
from evenhand.core.probes import (
    Occupation,
    OccupationForm,
    OpenSentence,
    Structure,
    TermPairs,
    fill,
    find_gaps,
    open_occupation,
    open_term,
)
from evenhand.data.probes import load_probes

NURSE, ENGINEER = OccupationForm("nurse"), OccupationForm("engineer")


def german(name: str) -> tuple[OccupationForm, OccupationForm]:
    occupations: dict[str, Occupation] = {each.name: each for each in load_probes("de").occupations}
    masculine, feminine = occupations[name].forms
    return masculine, feminine


def structure(text: str, experiment: Experiment = Experiment.HE_SHE) -> Structure:
    return Structure(experiment=experiment, number=1, text=text)


@pytest.mark.parametrize(
    ("text", "male", "female"),
    [
        ("[MASK] is the [OCC].", "He is the nurse.", "She is the nurse."),
        ("The [OCC] said [MASK] was late.", "The nurse said he was late.", "The nurse said she was late."),
        ('"[MASK] is our [OCC]," I said.', '"He is our nurse," I said.', '"She is our nurse," I said.'),
        (
            "[OCC] is what [MASK] wants to be.",
            "Nurse is what he wants to be.",
            "Nurse is what she wants to be.",
        ),
    ],
)
def test_only_the_first_letter_of_a_sentence_is_a_capital(text: str, male: str, female: str) -> None:
    assert fill(structure(text), NURSE, term="he") == male
    assert fill(structure(text), NURSE, term="she") == female


def test_a_name_keeps_its_capital_inside_a_sentence() -> None:
    assert fill(structure("This is [MASK], our [OCC]."), NURSE, term="Mary") == "This is Mary, our nurse."


@pytest.mark.parametrize(
    ("case", "masculine", "feminine"),
    [
        ("nom", "Heute kommt der Psychologe, sagt er.", "Heute kommt die Psychologin, sagt er."),
        ("acc", "Heute kommt den Psychologen, sagt er.", "Heute kommt die Psychologin, sagt er."),
        ("dat", "Heute kommt dem Psychologen, sagt er.", "Heute kommt der Psychologin, sagt er."),
        ("gen", "Heute kommt des Psychologen, sagt er.", "Heute kommt der Psychologin, sagt er."),
    ],
)
def test_a_german_article_and_noun_in_each_case_for_a_weak_noun(
    case: str, masculine: str, feminine: str
) -> None:
    asked = structure(f"Heute kommt [OCC:{case}], sagt [MASK].")

    assert [fill(asked, form, term="er") for form in german("psychologist")] == [masculine, feminine]


@pytest.mark.parametrize(
    ("case", "masculine", "feminine"),
    [
        ("nom", "Der Arzt ist es.", "Die Ärztin ist es."),
        ("acc", "Den Arzt ist es.", "Die Ärztin ist es."),
        ("dat", "Dem Arzt ist es.", "Der Ärztin ist es."),
        ("gen", "Des Arztes ist es.", "Der Ärztin ist es."),
    ],
)
def test_a_german_article_in_each_case_at_the_start_of_a_sentence(
    case: str, masculine: str, feminine: str
) -> None:
    asked = structure(f"[OCC:{case}] ist [MASK].")

    assert [fill(asked, form, term="es") for form in german("doctor")] == [masculine, feminine]


def test_a_german_occupation_without_a_case_has_no_article() -> None:
    asked = structure("[MASK] arbeitet als [OCC].")
    masculine, feminine = german("teacher")

    assert fill(asked, masculine, term="er") == "Er arbeitet als Lehrer."
    assert fill(asked, feminine, term="sie") == "Sie arbeitet als Lehrerin."


@pytest.mark.parametrize(
    ("ending", "male", "female"),
    [
        ("[MASK:-]", "sein", "ihr"),
        ("[MASK]", "sein", "ihr"),
        ("[MASK:e]", "seine", "ihre"),
        ("[MASK:en]", "seinen", "ihren"),
        ("[MASK:em]", "seinem", "ihrem"),
        ("[MASK:er]", "seiner", "ihrer"),
        ("[MASK:es]", "seines", "ihres"),
    ],
)
def test_a_german_possessive_takes_its_ending(ending: str, male: str, female: str) -> None:
    inside = structure(f"Ja, {ending} Wort als [OCC].", Experiment.HIS_HER)
    at_start = structure(f"{ending} Wort als [OCC].", Experiment.HIS_HER)
    teacher, _ = german("teacher")

    assert fill(inside, teacher, term="sein") == f"Ja, {male} Wort als Lehrer."
    assert fill(at_start, teacher, term="ihr") == f"{female.capitalize()} Wort als Lehrer."


def test_the_gap_for_the_term_is_left_open_with_the_terms_as_they_would_be_written() -> None:
    at_start = open_term(structure("[MASK] met the [OCC]."), NURSE, terms=("he", "she"))
    inside = open_term(structure("The [OCC] says [MASK] is late."), ENGINEER, terms=("he", "she"))

    assert at_start == OpenSentence("BLANK met the nurse.", ("He", "She"))
    assert inside == OpenSentence("The engineer says BLANK is late.", ("he", "she"))


def test_the_gap_for_a_german_possessive_is_the_whole_word() -> None:
    asked = structure("[OCC:nom] sucht [MASK:en] Schirm.", Experiment.HIS_HER)
    masculine, feminine = german("architect")

    opened = [open_term(asked, form, terms=("sein", "ihr")) for form in (masculine, feminine)]

    assert opened == [
        OpenSentence("Der Architekt sucht BLANK Schirm.", ("seinen", "ihren")),
        OpenSentence("Die Architektin sucht BLANK Schirm.", ("seinen", "ihren")),
    ]


def test_the_gap_for_the_occupation_is_left_open_with_the_term_in_place() -> None:
    opened = open_occupation(structure("[MASK] is the [OCC]."), "she", forms=(NURSE, ENGINEER))

    assert opened == OpenSentence("She is the BLANK.", ("nurse", "engineer"))


def test_an_open_occupation_at_the_start_of_a_sentence_gets_capitals() -> None:
    opened = open_occupation(structure("[OCC] is what [MASK] is."), "he", forms=(NURSE, ENGINEER))

    assert opened == OpenSentence("BLANK is what he is.", ("Nurse", "Engineer"))


def test_the_article_of_an_open_german_occupation_stays_in_the_text() -> None:
    asked = structure("Wir dankten [OCC:dat], obwohl [MASK] es nicht wollte.")
    masculine, feminine = zip(german("psychologist"), german("doctor"), strict=True)

    assert open_occupation(asked, "er", forms=masculine) == OpenSentence(
        "Wir dankten dem BLANK, obwohl er es nicht wollte.", ("Psychologen", "Arzt")
    )
    assert open_occupation(asked, "sie", forms=feminine) == OpenSentence(
        "Wir dankten der BLANK, obwohl sie es nicht wollte.", ("Psychologin", "Ärztin")
    )


def test_masculine_and_feminine_forms_share_a_sentence_only_where_there_is_no_article() -> None:
    bare, with_article = structure("[MASK] ist [OCC]."), structure("[MASK] ist [OCC:nom].")

    assert open_occupation(bare, "sie", forms=german("baker")) == OpenSentence(
        "Sie ist BLANK.", ("Bäcker", "Bäckerin")
    )
    with pytest.raises(ValueError, match=r"one article, not \['der ', 'die '\]"):
        open_occupation(with_article, "sie", forms=german("baker"))


def test_a_form_without_cases_cannot_stand_where_one_is_demanded() -> None:
    with pytest.raises(DatasetError, match=r"'nurse' has no form for \[OCC:dat\] \(it has none\)"):
        fill(structure("[MASK] met [OCC:dat]."), NURSE, term="he")


@pytest.mark.parametrize("text", ["The [OCC] is late.", "[MASK] [MASK] is the [OCC]."])
def test_a_structure_that_no_reader_would_let_through_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"gaps \[MASK\]; one is needed"):
        fill(structure(text), NURSE, term="he")


def test_brackets_that_are_no_gap_stay() -> None:
    assert find_gaps("[NAME] and [mask] and [OCCUPATION]") == ()


def test_terms_that_are_no_pairs_are_refused() -> None:
    with pytest.raises(ValueError, match="2 male and 1 female terms are not pairs"):
        TermPairs(male=("he", "him"), female=("she",))
