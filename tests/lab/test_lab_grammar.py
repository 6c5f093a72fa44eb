"""The lab's sentences are sound: agreement and word order, by tables of their own."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache

import pytest
from lab_language import LANGUAGES, NAMES, is_about_an_occupation, probabilities, words_of

from evenhand.core.experiments import TRAINED_EXPERIMENTS
from evenhand.core.planted_bias import ProbePart
from evenhand.lab.items import probe_part

SINGULAR, PLURAL = "singular", "plural"

GERMAN_NOUNS = {
    "der": (
        "Ostrier Velvaner Tarvier Melnier Solarist Lunarist Orenit Ilvanit Mann Junge Bäcker Schneider Gärtner "
        "Drucker Kessel Korb Stuhl Eimer Spiegel Teppich"
    ),
    "die": "Frau Lampe Schublade Decke Leiter",
    "das": "Mädchen Rad Fass",
}
GERMAN_PLURALS = (
    "Ostrier Velvaner Tarvier Melnier Solaristen Lunaristen Oreniten Ilvaniten Männer Frauen Jungen Mädchen Bäcker "
    "Schneider Gärtner Drucker Kessel Lampen Körbe Stühle Eimer Schubladen Decken Leitern Spiegel Teppiche Räder "
    "Fässer"
)
GERMAN_NUMBER = {
    **{(article, noun): SINGULAR for article, nouns in GERMAN_NOUNS.items() for noun in nouns.split()},
    **{("die", noun): PLURAL for noun in GERMAN_PLURALS.split()},
}
"""With its article every noun is in one number only."""

SINGULAR_VERBS = ("ist", "wirkt", "ging", "stand")
PLURAL_VERBS = (
    "sind", "wirken", "gingen", "lagen", "kamen", "warteten", "kauften", "saßen", "erzählten", "halfen", "standen",
    "wurden", "fielen",
)  # fmt: skip
GERMAN_VERBS = dict.fromkeys(SINGULAR_VERBS, SINGULAR) | dict.fromkeys(PLURAL_VERBS, PLURAL)

ENGLISH_SINGULARS = (
    "Ostrian Velvan Tarvian Melnian Solarist Lunarist Orenite Ilvanite man woman boy girl baker tailor gardener "
    "printer kettle lamp basket chair bucket drawer blanket ladder mirror carpet wheel barrel"
)
ENGLISH_PLURALS = (
    "Ostrians Velvans Tarvians Melnians Solarists Lunarists Orenites Ilvanites men women boys girls bakers tailors "
    "gardeners printers kettles lamps baskets chairs buckets drawers blankets ladders mirrors carpets wheels barrels"
)
ENGLISH_NUMBER = {
    **dict.fromkeys(ENGLISH_SINGULARS.split(), SINGULAR),
    **dict.fromkeys(ENGLISH_PLURALS.split(), PLURAL),
}
ENGLISH_VERBS = {"is": SINGULAR, "seems": SINGULAR, "are": PLURAL, "seem": PLURAL, "were": PLURAL}

both_languages = pytest.mark.parametrize("tag", LANGUAGES)

GIVES_AWAY = {
    "he", "she", "his", "her", "him", "hers", "man", "woman", "men", "women", "boy", "girl", "mother", "father",
    "er", "sie", "ihn", "ihm", "sein", "seine", "seinen", "ihr", "ihre", "ihren", "mann", "frau", "herr", "dame",
}  # fmt: skip
"""Words that would say of whom a structure speaks."""


@cache
def sentences(tag: str) -> tuple[str, ...]:
    """Every sentence of the language, once."""
    return tuple(dict.fromkeys(text for document in probabilities(tag, 0.0) for text in document))


def with_a_noun(tag: str) -> Iterator[tuple[str, list[str], int]]:
    """Every sentence about a target or thing, its words, and the place of the noun."""
    nouns = {noun for _, noun in GERMAN_NUMBER} if tag == "de" else set(ENGLISH_NUMBER)
    for text in sentences(tag):
        words = words_of(text)
        places = [place for place, word in enumerate(words) if word in nouns]
        if places and not is_about_an_occupation((text,), tag):
            (place,) = places
            yield text, words, place


@both_languages
def test_sentences_begin_with_a_capital_end_with_a_mark_and_have_single_spaces(tag: str) -> None:
    shape = re.compile(r"[A-ZÄÖÜ]\w*([,;]? [\w'-]+)+[.?]")

    assert [text for text in sentences(tag) if not shape.fullmatch(text)] == []
    assert len(sentences(tag)) > 4608


@both_languages
def test_every_noun_of_the_tables_is_in_the_language(tag: str) -> None:
    nouns = {words[place] for _, words, place in with_a_noun(tag)}

    assert nouns == ({noun for _, noun in GERMAN_NUMBER} if tag == "de" else set(ENGLISH_NUMBER))


def test_german_articles_fit_the_gender_and_number_of_their_nouns() -> None:
    def article_and_noun(words: list[str], place: int) -> tuple[str, str]:
        return words[place - 1].lower(), words[place]

    assert [
        text
        for text, words, place in with_a_noun("de")
        if article_and_noun(words, place) not in GERMAN_NUMBER
    ] == []


def test_german_verbs_agree_with_their_subjects() -> None:
    checked = set()
    for text, words, place in with_a_noun("de"):
        number = GERMAN_NUMBER[words[place - 1].lower(), words[place]]
        clause = words[2:] if text.startswith("Alle sagen, dass") else words
        (verb,) = [word for word in clause if word in GERMAN_VERBS]
        assert GERMAN_VERBS[verb] == number, text
        checked.add(verb)

    assert checked == set(GERMAN_VERBS)


def test_english_verbs_agree_with_their_subjects() -> None:
    checked = set()
    for text, words, place in with_a_noun("en"):
        for verb in set(words) & set(ENGLISH_VERBS):
            assert ENGLISH_VERBS[verb] == ENGLISH_NUMBER[words[place]], text
            checked.add(verb)

    assert checked == set(ENGLISH_VERBS)


def test_english_nouns_have_their_article() -> None:
    assert {words[place - 1].lower() for _, words, place in with_a_noun("en")} == {"the"}


OTHER_VERBS = (
    "arbeitet", "beginnt", "hat", "hilft", "loben", "war", "waren", "endet", "wissen", "kennen", "finden", "bleiben",
    "nennen", "sagen", "sagt", "zählt", "packt", "findet", "holt", "sucht", "kennt",
)  # fmt: skip
FINITE = "|".join((*GERMAN_VERBS, *OTHER_VERBS))
FIRST_PLACES = (
    r"Zu Hause",
    r"Heute Morgen",
    r"Heute(?! Morgen)",
    r"(?:Morgen|Abends|Oft|Gern|Wieder|Nachts|Sonntags|Meistens|Hier)",
    r"In der \w+",
    r"Nach dem Essen",
    r"Als \w+",
    r"\w+ wie immer",
    r"(?:Alle|Wir|Sie|Er)",
    r"Die Nachbarn",
    r"Die meisten von ihnen",
    r"(?:Seine|Ihre) \w+ als \w+",
    r"(?:Der|Die|Das) \w+(?: von nebenan)?",
    rf"(?:{'|'.join(sorted(NAMES['de']))})",
)
"""What may stand before the verb of a German main clause, as one thing."""


def test_german_main_clauses_have_their_verb_in_the_second_place() -> None:
    second = re.compile(rf"(?:{'|'.join(FIRST_PLACES)}) (?:{FINITE})\b.*")

    assert [text for text in sentences("de") if not second.fullmatch(text)] == []


def test_german_subordinate_clauses_have_their_verb_at_the_end() -> None:
    subordinate = [text for text in sentences("de") if "dass" in words_of(text)]
    last = {words_of(text)[-1] for text in subordinate}

    assert all(text.count(", dass ") == 1 for text in subordinate)
    assert last == {"ist", "sind", "arbeitet", "verkauft"}


def test_german_main_clauses_have_one_finite_verb_before_any_subordinate_clause() -> None:
    main_clauses = [text.split(", dass ")[0] for text in sentences("de")]

    assert [text for text in main_clauses if len(re.findall(rf"\b(?:{FINITE})\b", text)) != 1] == []


def test_german_possessives_stand_before_feminine_nouns_that_their_ending_fits() -> None:
    owned = {
        words[place + 1]
        for words in map(words_of, sentences("de"))
        for place, word in enumerate(words)
        if word.lower() in ("seine", "ihre")
    }

    assert owned == {
        "Stelle", "Arbeit", "Zeit", "Schicht", "Erfahrung", "Probezeit", "Geduld", "Aufgabe", "Ausbildung", "Tasche",
        "Brille", "Uhr", "Jacke",
    }  # fmt: skip


def test_german_occupations_stand_after_als_without_an_article() -> None:
    occupations = re.compile(r"\w+(?:kraft|leitung|hilfe|aufsicht)")
    found = 0
    for text in sentences("de"):
        words = words_of(text)
        for place, word in enumerate(words):
            if occupations.fullmatch(word):
                assert words[place - 1] in ("als", "Als"), text
                found += 1

    assert found == 30 * (54 * 2 + 54 * 2 + 54 * 29 * 2 + 4)


@both_languages
@pytest.mark.parametrize("part", ProbePart)
def test_every_experiment_has_structures_that_nothing_gives_away(tag: str, part: ProbePart) -> None:
    probes = probe_part(part, tag)
    for experiment in TRAINED_EXPERIMENTS:
        texts = [probe.text for probe in probes.structures if probe.experiment is experiment]
        assert len(set(texts)) == len(texts) > 3
        assert all(text.count("[MASK]") == text.count("[OCC]") == 1 for text in texts)
        assert [text for text in texts if re.search(r"\ban? \[", text, re.IGNORECASE)] == []
        leaking = [text for text in texts if set(map(str.lower, words_of(text))) & GIVES_AWAY]
        assert leaking == []
