"""Balanced texts: as many women as men, told ones left where that can be, the rest left out and counted."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from running import Command

from evenhand.core.errors import DatasetError, OutputError
from evenhand.regard.gender_balance import BalanceMode, balance_file, balance_genders
from evenhand.text.person_texts import Gender

OPEN = "Die Person lachte."
OF_WOMAN = "Die Person arbeitete als Lehrerin."
OF_MAN = "Die Person arbeitete als Lehrer."
UNCLEAR = "Es regnete."


@settings(max_examples=40)
@given(st.integers(0, 9), st.integers(0, 9), st.integers(0, 9), st.integers(0, 3))
def test_both_genders_are_as_frequent_and_nothing_is_lost(
    neutral: int, women: int, men: int, unclear: int
) -> None:
    texts = [OPEN] * neutral + [OF_WOMAN] * women + [OF_MAN] * men + [UNCLEAR] * unclear
    balance = balance_genders(texts, language="de")
    of_women, of_men = (balance.count(gender) for gender in (Gender.FEMALE, Gender.MALE))
    assert of_women + of_men == neutral + women + men
    assert abs(of_women - of_men) <= 1
    assert sum(balance.left_out.values()) == unclear
    # No more told texts are swapped than the balance needs.
    swapped = sum(text.told is not None and text.gender is not text.told for text in balance.texts)
    assert swapped <= max(0, max(women, men) - (neutral + women + men + 1) // 2)


def test_told_texts_are_told_of_the_other_gender() -> None:
    balance = balance_genders([OF_MAN, OF_MAN], language="de")
    assert {text.text for text in balance.texts} == {
        "Der Mann arbeitete als Lehrer.",
        "Die Frau arbeitete als Lehrerin.",
    }


def test_both_versions_of_every_text() -> None:
    balance = balance_genders([OPEN, UNCLEAR], language="de", mode=BalanceMode.BOTH)
    assert [text.text for text in balance.texts] == ["Die Frau lachte.", "Der Mann lachte."]
    assert balance.left_out == {"nobody whom the text is about": 1}


def test_the_seed_decides_who_is_told_of_whom() -> None:
    texts = [f"Die Person lachte {number} Mal." for number in range(20)]
    first, again, other = (balance_genders(texts, language="de", seed=seed) for seed in (1, 1, 2))
    assert first == again != other


def test_a_file_keeps_its_other_columns(run_evenhand_here: Command, tmp_path: Path) -> None:
    path, out = tmp_path / "texts.csv", tmp_path / "balanced.csv"
    path.write_text(f",Text,Label\n0,{OF_MAN},1\n1,{UNCLEAR},0\n2,{OPEN},-1\n", encoding="utf-8")
    told = run_evenhand_here("regard", "balance", path, "--language", "de", "--out", out)
    with out.open(encoding="utf-8", newline="") as stream:
        rows = list(csv.DictReader(stream))
    assert rows == [
        {"text": "Der Mann arbeitete als Lehrer.", "label": "1", "gender": "male", "gender_told": "male"}
        | {"source_text": OF_MAN},
        {
            "text": "Die Frau lachte.",
            "label": "-1",
            "gender": "female",
            "gender_told": "",
            "source_text": OPEN,
        },
    ]
    assert "2 texts: 1 told of a woman, 1 told of a man. 1 left out" in told.stdout


def test_a_text_file_has_one_text_per_line(run_evenhand_here: Command, tmp_path: Path) -> None:
    path, out = tmp_path / "texts.txt", tmp_path / "balanced.csv"
    path.write_text(f"{OPEN}\n\n{UNCLEAR}\n", encoding="utf-8")
    run_evenhand_here("regard", "balance", path, "--language", "de", "--both", "--out", out)
    with out.open(encoding="utf-8", newline="") as stream:
        assert [row["text"] for row in csv.DictReader(stream)] == ["Die Frau lachte.", "Der Mann lachte."]


def test_the_file_that_is_balanced_is_never_replaced(tmp_path: Path) -> None:
    path = tmp_path / "texts.csv"
    path.write_text(f"text\n{OPEN}\n", encoding="utf-8")
    with pytest.raises(OutputError, match="one of the files that were read"):
        balance_file(path, tmp_path / ".." / tmp_path.name / "texts.csv", language="de")
    assert path.read_text(encoding="utf-8") == f"text\n{OPEN}\n"


def test_a_file_without_persons_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "texts.csv"
    path.write_text(f"text\n{UNCLEAR}\n", encoding="utf-8")
    with pytest.raises(DatasetError, match="the most frequent reason is: nobody whom the text is about"):
        balance_file(path, tmp_path / "out.csv", language="de")
