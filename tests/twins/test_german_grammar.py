"""German declension against paradigms that are written out, and the word lists against each other."""

from __future__ import annotations

import csv

import pytest

from evenhand.core.probes import Case, GrammaticalGender
from evenhand.data.probes import load_probes
from evenhand.twins.de.declension import (
    DETERMINERS,
    Declension,
    adjective_slots,
    adjective_stem,
)
from evenhand.twins.de.persons import german_lexicon
from evenhand.twins.de.words import (
    PLURAL,
    SINGULAR,
    german_resource,
    verb_number,
    word_classes,
    words_in,
)

PARADIGMS = """
Nm der alte | ein alter | dieser alte | mein alter | alter
Am den alten | einen alten | diesen alten | meinen alten | alten
Dm dem alten | einem alten | diesem alten | meinem alten | altem
Gm des alten | eines alten | dieses alten | meines alten | alten
Nf die alte | eine alte | diese alte | meine alte | alte
Af die alte | eine alte | diese alte | meine alte | alte
Df der alten | einer alten | dieser alten | meiner alten | alter
Gf der alten | einer alten | dieser alten | meiner alten | alter
Nn das alte | ein altes | dieses alte | mein altes | altes
An das alte | ein altes | dieses alte | mein altes | altes
Dn dem alten | einem alten | diesem alten | meinem alten | altem
Gn des alten | eines alten | dieses alten | meines alten | alten
Np die alten | - | diese alten | meine alten | alte
Ap die alten | - | diese alten | meine alten | alte
Dp den alten | - | diesen alten | meinen alten | alten
Gp der alten | - | dieser alten | meiner alten | alter
"""


def _cells() -> list[tuple[str, str, str]]:
    cells = []
    for line in PARADIGMS.strip().splitlines():
        slot, _, rest = line.partition(" ")
        for cell in rest.split(" | "):
            *article, adjective = cell.split()
            if adjective != "-":
                cells.append((slot, article[0] if article else "", adjective))
    return cells


@pytest.mark.parametrize(("slot", "article", "adjective"), _cells())
def test_articles_and_adjectives_are_declined_as_the_grammar_says(
    slot: str, article: str, adjective: str
) -> None:
    determiner = DETERMINERS[article] if article else None
    declension = determiner.declension if determiner else Declension.NONE
    if determiner:
        assert slot in determiner.slots
        assert determiner.form(slot) == article
    assert slot in adjective_slots(adjective, declension)
    assert adjective_stem(adjective) == "alt"


def test_no_article_has_a_slot_beyond_the_paradigm() -> None:
    found = {(slot, article) for slot, article, _ in _cells() if article}
    for article in {article for _, article in found}:
        assert DETERMINERS[article].slots == {slot for slot, form in found if form == article}


@pytest.mark.parametrize(
    ("word", "number"),
    [
        ("ging", SINGULAR),
        ("verstand", SINGULAR),
        ("arbeitet", SINGULAR),
        ("lobte", SINGULAR),
        ("gehört", SINGULAR),
        ("sind", PLURAL),
        ("gingen", PLURAL),
        ("nicht", ""),
        ("gesagt", ""),
        ("gegen", ""),
        ("dort", ""),
    ],
)
def test_verbs_are_told_by_their_form(word: str, number: str) -> None:
    assert verb_number(word) == number


def test_the_lexicon_has_the_forms_of_every_probe_occupation() -> None:
    lexicon = german_lexicon()
    for occupation in load_probes("de").occupations:
        for form in occupation.forms:
            male = form.gender is GrammaticalGender.MASCULINE
            for case, letter in zip(Case, "NADG", strict=True):
                noun = form.in_case(case).noun
                slot = letter + ("m" if male else "f")
                readings = lexicon.readings(noun, Declension.DEFINITE)
                assert any(reading.male is male and slot in reading.slots for reading in readings), (
                    noun,
                    slot,
                )


def test_every_person_and_every_name_is_listed_once() -> None:
    for name, columns in (("persons", ("masculine", "feminine")), ("names", ("male", "female"))):
        with german_resource(name).open(encoding="utf-8", newline="") as lines:
            rows = list(csv.DictReader(lines))
        words = [row[column] for row in rows for column in columns]
        assert len(words) == len(set(words))
        assert all(value and value == value.strip() for row in rows for value in row.values())


def test_listed_names_do_not_repeat_those_of_the_probes() -> None:
    with german_resource("names").open(encoding="utf-8", newline="") as lines:
        listed = {name for row in csv.DictReader(lines) for name in row.values()}
    probes = {name for pairs in load_probes("de").terms.values() for name in pairs.all if name[0].isupper()}
    assert not listed & probes


def test_words_without_a_counterpart_are_not_in_the_lexicon() -> None:
    assert not word_classes()["unpaired"] & set(german_lexicon().forms)


def test_compounds_are_what_their_last_part_is() -> None:
    (reading,) = german_lexicon().readings("Kinderärztinnen", Declension.DEFINITE)
    assert reading.person.male["Np"] == "Kinderärzte"
    (reading,) = german_lexicon().readings("Kfz-Mechanikers", Declension.DEFINITE)
    assert reading.person.female["Gf"] == "Kfz-Mechanikerin"
    assert german_lexicon().readings("Tisch", Declension.DEFINITE) == ()


def test_a_capital_says_nothing_at_the_start_of_a_sentence_or_quotation() -> None:
    words = words_in("Sie sagte: „Sie kommt.“ Dann ging Sie.")
    assert [(word.text, word.starts) for word in words if word.lower == "sie"] == [
        ("Sie", True),
        ("Sie", True),
        ("Sie", False),
    ]
