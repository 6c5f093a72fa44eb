"""Winogender: pairs of sentences and shares of women, and what is refused."""

from __future__ import annotations

import hashlib
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evenhand.core.errors import DatasetError, DatasetUnavailableError, UnknownNameError
from evenhand.core.items import Span
from evenhand.data import DATASET_LAYOUTS, winogender
from evenhand.data.winogender import (
    EMPLOYED,
    WINOGENDER,
    WINOGENDER_LAYOUT,
    WINOGENDER_OCCUPATIONS,
    WRITTEN,
    load_pronoun_pairs,
    occupation_shares,
)

HEADER = "sentid\tsentence\n"
ROWS = {
    "nurse.patient.0.male.txt": "The nurse told the patient that he was late.",
    "nurse.patient.0.female.txt": "The nurse told the patient that she was late.",
    "nurse.patient.0.neutral.txt": "The nurse told the patient that they were late.",
    "nurse.someone.1.female.txt": "Because of her hat, someone saw the Nurse.",
    "nurse.someone.1.male.txt": "Because of his hat, someone saw the Nurse.",
}


def written(folder: Path, rows: dict[str, str], header: str = HEADER) -> Path:
    path = folder / "pairs.tsv"
    path.write_text(header + "".join(f"{key}\t{text}\n" for key, text in rows.items()), encoding="utf-8")
    return path


def test_pairs_are_found_with_the_place_of_the_occupation(tmp_path: Path) -> None:
    read = load_pronoun_pairs(written(tmp_path, ROWS))

    first, second = read.pairs
    assert (first.occupation, first.participant, first.answer, first.id) == (
        "nurse",
        "patient",
        "0",
        "nurse.patient.0",
    )
    assert (first.male, first.female) == (
        ROWS["nurse.patient.0.male.txt"],
        ROWS["nurse.patient.0.female.txt"],
    )
    assert first.male_span == first.female_span == Span(4, 9)
    assert second.male_span.of(second.male) == second.female_span.of(second.female) == "Nurse"
    assert read.occupations == ("nurse",)
    assert read.name == "pairs.tsv"
    assert read.sha256 == hashlib.sha256((tmp_path / "pairs.tsv").read_bytes()).hexdigest()


def test_whether_the_pronoun_comes_before_the_occupation_is_known(tmp_path: Path) -> None:
    first, second = load_pronoun_pairs(written(tmp_path, ROWS)).pairs

    assert not first.pronoun_comes_first
    assert second.pronoun_comes_first


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (
            {"nurse.patient.male": "x"},
            r"pairs\.tsv, row 7: the sentid 'nurse.patient.male' is not of the form",
        ),
        (
            {"a.b.c.1.male.txt": "x"},
            r"row 7: .* is not of the form occupation\.participant\.answer\.gender\.txt",
        ),
        ({".b.1.male.txt": "x"}, r"row 7: .* is not of the form"),
        ({"nurse.b.2.male.txt": "x"}, r"row 7: '2' is no answer\. It is 0 where"),
        (
            {"nurse.b.1.man.txt": "x"},
            r"row 7: 'man' is no gender of a sentid\. It is male, female or neutral",
        ),
        (
            {"nurse.patient.0.male": "x"},
            r"row 7: the sentid 'nurse.patient.0.male' occurs a second time",
        ),
        (
            {"cook.b.1.male.txt": "The cook saw him."},
            r"row 7: .* has no female counterpart\. Give cook\.b\.1\.female",
        ),
        (
            {"nurse.patient.0.female.txt": "The doctor saw her."},
            r"row 3: the occupation 'nurse' does not occur",
        ),
        (
            {"nurse.patient.0.male.txt": "A nurse saw his nurse."},
            r"row 2: the occupation 'nurse' occurs 2 times",
        ),
        (
            {"nurse.patient.0.female.txt": "The nurse told the visitor that she was late."},
            r"row 3: the sentence differs from that of 'nurse.patient.0.male.txt' in patient/visitor, he/she",
        ),
        (
            {"nurse.patient.0.female.txt": ROWS["nurse.patient.0.male.txt"]},
            r"row 3: .* in nothing\. A pair differs",
        ),
        ({"nurse.patient.0.female.txt": "The nurse told her"}, r"row 3: the sentence differs"),
    ],
)
def test_rows_that_break_the_layout_are_refused(
    tmp_path: Path, changes: dict[str, str], message: str
) -> None:
    with pytest.raises(DatasetError, match=message):
        load_pronoun_pairs(written(tmp_path, {**ROWS, **changes}))


def test_neutral_sentences_need_no_counterpart_but_are_not_enough(tmp_path: Path) -> None:
    neutral = {"cook.b.1.neutral.txt": "The cook saw them."}

    assert len(load_pronoun_pairs(written(tmp_path, {**ROWS, **neutral})).pairs) == 2
    with pytest.raises(DatasetError, match="has no sentence with a male or a female pronoun"):
        load_pronoun_pairs(written(tmp_path, neutral))


def test_other_columns_and_names_are_refused(tmp_path: Path) -> None:
    with pytest.raises(DatasetError, match="sentid is missing"):
        load_pronoun_pairs(written(tmp_path, ROWS, header="id\tsentence\n"))
    with pytest.raises(UnknownNameError, match="Did you mean 'winogender'"):
        load_pronoun_pairs("winogendr")
    with pytest.raises(DatasetError, match="There is no file"):
        load_pronoun_pairs(tmp_path / "missing.tsv")


@given(content=st.binary())
def test_any_bytes_are_read_or_refused(tmp_path_factory: pytest.TempPathFactory, content: bytes) -> None:
    path = tmp_path_factory.getbasetemp() / "any.tsv"
    path.write_bytes(HEADER.encode() + content)

    with pytest.raises(DatasetError, match=r"any\.tsv"):
        load_pronoun_pairs(path)


def test_the_named_file_is_checked_against_its_hash(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    content = written(tmp_path, ROWS).read_bytes()
    blob = hashlib.sha1(b"blob %d\0" % len(content) + content).hexdigest()  # noqa: S324
    monkeypatch.setenv("EVENHAND_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("EVENHAND_OFFLINE", "1")
    with pytest.raises(DatasetUnavailableError, match=r"put data/all_sentences\.tsv of github.com/rudinger"):
        load_pronoun_pairs()
    assert WINOGENDER.local_path == tmp_path / "home" / "datasets" / "winogender" / "1c7f8b481ad8.tsv"
    WINOGENDER.local_path.parent.mkdir(parents=True)
    WINOGENDER.local_path.write_bytes(content)
    with pytest.raises(DatasetUnavailableError, match="is not the pinned file"):
        load_pronoun_pairs("winogender")

    pinned = replace(WINOGENDER, git_blob_sha1=blob)
    monkeypatch.setattr(winogender, "WINOGENDER_LAYOUT", replace(WINOGENDER_LAYOUT, datasets=(pinned,)))
    monkeypatch.setattr(DATASET_LAYOUTS, "_loaded", {})

    assert load_pronoun_pairs("winogender").name == "winogender"


SHARES = (
    "occupation\tbergsma_pct_female\tbls_pct_female\tbls_year\nnurse\t88.4\t90\t2015\nbaker\t0\t62.5\t2016\n"
)


def test_shares_of_women_are_read_by_source(tmp_path: Path) -> None:
    path = tmp_path / "shares.tsv"
    path.write_text(SHARES)

    assert (
        occupation_shares(path) == occupation_shares(path, column=EMPLOYED) == {"nurse": 90.0, "baker": 62.5}
    )
    assert occupation_shares(str(path), column=WRITTEN) == {"nurse": 88.4, "baker": 0.0}


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("62.5", "many", r"shares\.tsv, row 3: 'many' is no share of women"),
        ("62.5", "", r"row 3: '' is no share of women"),
        ("62.5", "nan", r"row 3: 'nan' is no share of women\. It is in percent"),
        ("62.5", "100.1", r"row 3: '100\.1' is no share of women"),
        ("62.5", "-1", r"row 3: '-1' is no share of women"),
        ("baker", "nurse", r"row 3: 'nurse' occurs a second time"),
        ("baker", "", r"row 3: no occupation in this row"),
        ("bls_pct_female", "bls", r"bls_pct_female is missing"),
    ],
)
def test_shares_that_are_none_are_refused(tmp_path: Path, old: str, new: str, message: str) -> None:
    path = tmp_path / "shares.tsv"
    path.write_text(SHARES.replace(old, new))

    with pytest.raises(DatasetError, match=message):
        occupation_shares(path)


def test_the_named_shares_are_a_file_of_their_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EVENHAND_HOME", str(tmp_path))
    monkeypatch.setenv("EVENHAND_OFFLINE", "1")

    with pytest.raises(DatasetUnavailableError, match=r"put data/occupations-stats\.tsv") as caught:
        occupation_shares()
    assert str(WINOGENDER_OCCUPATIONS.local_path) in str(caught.value)
    with pytest.raises(DatasetError, match="has sentences that differ in the pronoun, not shares of women"):
        occupation_shares("winogender")
    with pytest.raises(UnknownNameError, match="winogender-occupations"):
        occupation_shares("winogender-occupation")
