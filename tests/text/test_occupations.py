from __future__ import annotations

from pathlib import Path

import pytest

from evenhand.core.errors import DatasetError
from evenhand.text.occupations import load_occupations

pytest.importorskip("simplemma")


@pytest.mark.parametrize(
    ("language", "text", "names"),
    [
        ("de", "arbeitete als Verkäuferin", ["Verkäufer"]),
        ("de", "Verkäufer und Verkäuferinnen", ["Verkäufer"]),
        ("de", "als Krankenschwester und als Ärztin", ["Krankenpfleger", "Arzt"]),
        ("de", "als Grundschullehrerin", ["Lehrer"]),
        ("de", "als Oberarzt oder Oberärztin", ["Arzt"]),
        ("de", "mit ihren Köchen", ["Koch"]),
        ("de", "ohne Beruf", []),
        ("en", "a waitress and two waiters", ["waiter"]),
        ("en", "a police officer", ["police officer"]),
        ("en", "officers of the police", ["officer"]),
        ("en", "worked as salesmen", ["salesperson"]),
        ("en", "a homeworker", []),
    ],
)
def test_gendered_forms_are_one_occupation(language: str, text: str, names: list[str]) -> None:
    assert load_occupations(language).find(text) == names


def test_words_before_the_start_do_not_count() -> None:
    assert load_occupations("en").find("The nurse worked as a cook", start=10) == ["cook"]


def test_own_occupations_come_from_a_file(tmp_path: Path) -> None:
    path = tmp_path / "own.csv"
    path.write_text("occupation,forms\nwizard,witch|sorcerer\n", encoding="utf-8")
    assert load_occupations("en", path).find("two witches met a sorcerer") == ["wizard"]


def test_a_form_has_one_occupation(tmp_path: Path) -> None:
    path = tmp_path / "own.csv"
    path.write_text("occupation,forms\nnurse,carer\nhelper,Carer\n", encoding="utf-8")
    with pytest.raises(DatasetError, match="'Carer' belongs to nurse already"):
        load_occupations("en", path)


def test_a_language_without_occupations_is_refused() -> None:
    with pytest.raises(DatasetError, match="No occupations ship in the language 'fr'"):
        load_occupations("fr")
