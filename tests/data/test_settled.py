"""Settled sentences are read from files and found in text."""

from __future__ import annotations

from pathlib import Path

import pytest

from evenhand.core.errors import DatasetError, UnknownNameError
from evenhand.core.items import BLANK
from evenhand.core.settled import PronounRole, SettledBy
from evenhand.data.settled import load_settled, read_settled, settled_in_text, settled_languages

HEADER = "number,settled_by,pronoun,nonsense,sentence\n"


def written(folder: Path, *rows: str) -> Path:
    path = folder / "settled.csv"
    path.write_text(HEADER + "\n".join(rows) + "\n", encoding="utf-8")
    return path


def test_a_row_is_two_sentences_that_are_twins(tmp_path: Path) -> None:
    path = written(tmp_path, "7,royal,possessive,went,The {king|queen} lost [his|her] crown.")
    male, female = read_settled(path, language="en").sentences
    assert (male.text, male.right, male.wrong) == (f"The king lost {BLANK} crown.", "his", "her")
    assert (female.text, female.right, female.wrong) == (f"The queen lost {BLANK} crown.", "her", "his")
    assert (male.id, female.id) == ("7-male", "7-female")
    assert male.pair == female.pair == "7"
    assert male.opening == "The king lost"
    assert (male.settled_by, male.role) == (SettledBy.ROYAL, PronounRole.POSSESSIVE)
    assert not male.is_settled_later


def test_what_settles_behind_the_pronoun_is_left_out_for_those_who_read_from_the_left(tmp_path: Path) -> None:
    path = written(
        tmp_path,
        '1,royal,subject,went,"When [he|she] came, the {king|queen} sat down."',
        "2,royal,subject,went,The {king|queen} sat down when [he|she] came.",
    )
    settled = read_settled(path, language="en")
    assert [sentence.is_settled_later for sentence in settled.sentences] == [True, True, False, False]
    assert {sentence.pair for sentence in settled.read_from_the_left().sentences} == {"2"}


def test_a_sample_is_of_men_and_women_in_turn() -> None:
    sample = load_settled("en").sample(2)
    assert [sentence.is_male for sentence in sample[:4]] == [True, False, True, False]
    assert [sentence.pair for sentence in sample[:4]] == ["1", "3", "5", "7"]


@pytest.mark.parametrize(
    ("row", "says"),
    [
        ("1,royal,subject,went,The {king|queen} sat down.", "0 pronouns in brackets"),
        ("1,royal,subject,went,The {king|queen} said [he|she] saw [him|her].", "2 pronouns in brackets"),
        ("1,royal,subject,went,The baker said [he|she] was late.", "no word in braces"),
        ("1,royal,object,went,The {king|queen} saw [you|you].", "same pronoun for both"),
        ("1,royal,subject,went,The {king|queen} said {that [he|she] was late.", "belongs to no pair"),
        ("1,royal,subject,,The {king|queen} said [he|she] was late.", "nonsense must not be empty"),
    ],
)
def test_a_row_that_is_no_pair_of_twins_is_refused_with_its_place(
    tmp_path: Path, row: str, says: str
) -> None:
    with pytest.raises(DatasetError, match=rf"row 2: .*{says}"):
        read_settled(written(tmp_path, row), language="en")


def test_a_number_twice_is_refused(tmp_path: Path) -> None:
    row = "1,royal,subject,went,The {king|queen} said [he|she] was late."
    with pytest.raises(DatasetError, match="row 3: the number 1 is there a second time"):
        read_settled(written(tmp_path, row, row.replace("late", "ill")), language="en")


def test_unknown_names_are_told(tmp_path: Path) -> None:
    path = written(tmp_path, "1,roial,subject,went,The {king|queen} said [he|she] was late.")
    with pytest.raises(UnknownNameError, match="roial"):
        read_settled(path, language="en")
    with pytest.raises(UnknownNameError, match="settled sentences"):
        load_settled("tlh")


def test_bundled_languages_are_those_that_have_a_file() -> None:
    assert settled_languages() == ("de", "en")
    assert {language: load_settled(language).language for language in settled_languages()} == {
        "de": "de",
        "en": "en",
    }


def test_text_has_settled_sentences_where_one_gender_is_settled_before_a_pronoun() -> None:
    found = settled_in_text(
        [
            "Mary lost her keys.",
            "He ran home.",
            "Mary told him that she left.",
            "The king said that he took off his crown.",
        ],
        language="en",
    )
    assert [(one.text, one.right, one.wrong, one.is_male) for one in found.sentences] == [
        (f"James lost {BLANK} keys.", "his", "her", True),
        (f"Mary lost {BLANK} keys.", "her", "his", False),
        (f"The king said that he took off {BLANK} crown.", "his", "her", True),
        (f"The queen said that she took off {BLANK} crown.", "her", "his", False),
    ]
    assert [one.pair for one in found.sentences] == ["text 1", "text 1", "text 2", "text 2"]
    assert [one.settled_by for one in found.sentences[::2]] == [SettledBy.NAME, SettledBy.NOUN]


def test_german_text_too() -> None:
    found = settled_in_text(["Die Königin sagte, dass sie müde sei."], language="de")
    assert [(one.text, one.right) for one in found.sentences] == [
        (f"Der König sagte, dass {BLANK} müde sei.", "er"),
        (f"Die Königin sagte, dass {BLANK} müde sei.", "sie"),
    ]
