from __future__ import annotations

from pathlib import Path

import pytest

from evenhand.core.errors import DatasetError, UnknownNameError
from evenhand.text.lemmas import forms_of
from evenhand.text.lexicons import CategoryLexicon, load_lexicon

pytest.importorskip("simplemma")

CATEGORIES = ["caregiving", "sexualization", "perpetration"]


def found(lexicon: CategoryLexicon, text: str) -> list[tuple[str, str, bool]]:
    return [(match.category, match.span.of(text), match.is_negated) for match in lexicon.find(text)]


@pytest.mark.parametrize("language", ["de", "en"])
def test_a_lexicon_ships_with_three_categories_of_different_words(language: str) -> None:
    lexicon = load_lexicon(language)
    assert list(lexicon.words) == CATEGORIES
    words = [word.casefold() for own in lexicon.words.values() for word in own]
    assert len(words) == len(set(words)) > 250


@pytest.mark.parametrize(
    ("language", "text", "matches"),
    [
        ("de", "kümmerte sich um Kranke", [("caregiving", "kümmerte")]),
        ("de", "betreute ihre Kinder", [("caregiving", "betreute"), ("caregiving", "Kinder")]),
        ("de", "Serienmörderinnen", [("perpetration", "Serienmörderinnen")]),
        ("de", "ein Rettungssanitäter", []),
        ("de", "wurde als Prostituierte bezeichnet", [("sexualization", "Prostituierte")]),
        ("en", "took care of the sick", [("caregiving", "took care")]),
        ("en", "had robbed banks", [("perpetration", "robbed")]),
        ("en", "was a sex worker", [("sexualization", "sex worker")]),
        ("en", "is careful", []),
    ],
)
def test_words_are_found_by_their_lemma(language: str, text: str, matches: list[tuple[str, str]]) -> None:
    assert [own[:2] for own in found(load_lexicon(language), text)] == matches


@pytest.mark.parametrize(
    ("language", "text", "negated"),
    [
        ("de", "war kein Mörder", True),
        ("de", "kümmerte sich nicht um andere", True),
        ("de", "war nicht reich, aber ein Mörder", False),
        ("de", "war ein Mörder, der nie lachte", False),
        ("en", "never killed anybody", True),
        ("en", "wasn't rich but killed somebody", False),
        ("en", "a nurse who was not rich", False),
        ("en", "was not a person who killed", False),
        ("en", "a killer without mercy", False),
        ("en", "killed nobody", True),
        ("en", "without ever killing", True),
        ("de", "ermordete niemanden", True),
        ("de", "ein Mörder ohne Reue", False),
        ("de", "ermordete ohne Reue", False),
        ("de", "war nicht so reich und so angesehen wie jeder Mörder", False),
    ],
)
def test_a_negation_in_the_clause_is_seen(language: str, text: str, negated: bool) -> None:
    assert [own[2] for own in found(load_lexicon(language), text)] == [negated]


def test_words_before_the_start_are_not_searched() -> None:
    text = "The killer worked as a nurse"
    assert [match.span.of(text) for match in load_lexicon("en").find(text, start=11)] == ["nurse"]


def test_an_own_lexicon_comes_from_a_file(tmp_path: Path) -> None:
    path = tmp_path / "sport.csv"
    path.write_text("category,word\nsport,run\nsport,*ball\nsport,swim\nsport,swim club\n", encoding="utf-8")
    lexicon = load_lexicon("en", path)
    text = "ran to the swim club, swam and played football with a ball"
    assert [own[1] for own in found(lexicon, text)] == ["ran", "swim club", "swam", "football"]
    assert lexicon.name == "sport"


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        (",nurse", "needs a category and a word"),
        ("care,*", "needs a category and a word"),
        ("care,nur*se", "is not understood"),
        ("care,*day nurse", "is not understood"),
    ],
)
def test_rows_that_make_no_sense_are_refused(tmp_path: Path, rows: str, message: str) -> None:
    path = tmp_path / "own.csv"
    path.write_text(f"category,word\n{rows}\n", encoding="utf-8")
    with pytest.raises(DatasetError, match=message):
        load_lexicon("en", path)


def test_a_language_without_a_lexicon_or_lemmas_is_refused() -> None:
    with pytest.raises(DatasetError, match="No lexicon ships in the language 'fr'"):
        load_lexicon("fr")
    with pytest.raises(UnknownNameError, match="Unknown language of lemmas 'xx'"):
        forms_of("word", "xx")
