"""The bundled settled sentences keep the rules that they are written by, checked on the files themselves."""

from __future__ import annotations

import csv
import re
from collections import Counter
from functools import cache
from importlib import resources
from pathlib import Path

import pytest

from evenhand.data.probe_files import read_terms
from evenhand.data.probes import bundled_probe_path, gendered_people
from evenhand.data.settled import load_settled

FOLDER = Path(str(resources.files("evenhand.data") / "resources" / "probes"))

PRONOUNS = {
    "en": {
        "subject": {("he", "she")},
        "object": {("him", "her")},
        "possessive": {("his", "her")},
        "reflexive": {("himself", "herself")},
    },
    "de": {
        "subject": {("er", "sie")},
        "object": {("ihn", "sie"), ("ihm", "ihr")},
        "possessive": {(f"sein{ending}", f"ihr{ending}") for ending in ("", "e", "en", "em", "er", "es")},
    },
}
KINDS = {"kinship", "title", "royal", "religious", "name", "pronoun", "noun"}
GAP = re.compile(r"\[([^|\]]+)\|([^|\]]+)\]")
SETTLING = re.compile(r"\{([^|}]+)\|([^|}]+)\}")

both_languages = pytest.mark.parametrize("language", ["en", "de"])


@cache
def rows(language: str) -> tuple[dict[str, str], ...]:
    with (FOLDER / language / "settled.csv").open(encoding="utf-8", newline="") as stream:
        return tuple(csv.DictReader(stream, strict=True))


def plain(text: str, side: int) -> str:
    return SETTLING.sub(rf"\{side}", GAP.sub(rf"\{side}", text))


@both_languages
def test_there_are_at_least_300_sentences_numbered_from_one(language: str) -> None:
    assert [int(row["number"]) for row in rows(language)] == list(range(1, len(rows(language)) + 1))
    assert 2 * len(rows(language)) >= 300


@both_languages
def test_every_kind_of_word_settles_and_every_kind_of_pronoun_is_asked_often(language: str) -> None:
    settling = Counter(row["settled_by"] for row in rows(language))
    roles = Counter(row["pronoun"] for row in rows(language))
    assert set(settling) == KINDS
    assert min(settling.values()) >= 10
    assert set(roles) == set(PRONOUNS[language])
    assert min(roles.values()) >= 20


@both_languages
def test_each_row_has_one_pronoun_of_its_kind_and_a_word_that_settles_it(language: str) -> None:
    for row in rows(language):
        (forms,) = GAP.findall(row["sentence"])
        assert forms in PRONOUNS[language][row["pronoun"]], row
        assert SETTLING.search(row["sentence"]), row


@both_languages
def test_the_word_comes_first_but_for_some_that_masked_models_are_asked(language: str) -> None:
    later = [
        row
        for row in rows(language)
        if row["sentence"].index("[") < min(match.start() for match in SETTLING.finditer(row["sentence"]))
    ]
    assert 20 <= len(later) <= len(rows(language)) / 5
    assert 2 * (len(rows(language)) - len(later)) >= 300


@both_languages
@pytest.mark.parametrize("side", [1, 2])
def test_each_sentence_is_one_with_final_punctuation_and_tidy_spaces(language: str, side: int) -> None:
    texts = [plain(row["sentence"], side) for row in rows(language)]
    wrong = [
        text
        for text in texts
        if not re.fullmatch(r"[A-ZÄÖÜ][^.?!{}\[\]|]*[.?]", text)
        or "  " in text
        or re.search(r" [,;.?]|[,;](?! )", text)
    ]
    assert wrong == []
    assert [text for text, count in Counter(texts).items() if count > 1] == []


@both_languages
def test_no_sentence_is_another_with_one_word_swapped(language: str) -> None:
    """Without the words that settle and the pronoun, what is left of each sentence is its own."""
    frames = [SETTLING.sub("", GAP.sub("", row["sentence"])) for row in rows(language)]
    assert [frame for frame, count in Counter(frames).items() if count > 1] == []


@both_languages
def test_nonsense_words_are_many_and_in_no_sentence_of_theirs(language: str) -> None:
    nonsense = Counter(row["nonsense"] for row in rows(language))
    assert len(nonsense) >= 20
    assert max(nonsense.values()) <= 20
    for row in rows(language):
        assert row["nonsense"] not in re.findall(r"\w+", row["sentence"].lower()), row


@both_languages
def test_no_settling_word_is_the_same_for_both_genders(language: str) -> None:
    pairs = [match.groups() for row in rows(language) for match in SETTLING.finditer(row["sentence"])]
    assert [pair for pair in pairs if pair[0] == pair[1]] == []


@both_languages
def test_what_settles_a_gender_is_no_word_that_mitigations_are_trained_with(language: str) -> None:
    """Equalising tells sentences of the names of the probes and of the listed relatives; a test must ask others."""
    people, names = gendered_people(language), read_terms(bundled_probe_path(language, "names")).terms
    trained = {
        word.casefold()
        for words in (*people.all, *(name for pairs in names.values() for name in pairs.all))
        for word in re.findall(r"\w+", words)
    } - {"the", "my"}
    assert len(trained) >= 58
    settling = {
        word.casefold()
        for row in rows(language)
        for match in SETTLING.finditer(row["sentence"])
        for words in match.groups()
        for word in re.findall(r"\w+", words)
    }
    assert settling & trained == set()
    assert len(load_settled(language).sentences) >= 300
