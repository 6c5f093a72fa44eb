"""Pairs are read in the English and in the French layout; what breaks the layout is refused with its row."""

from __future__ import annotations

import gzip
from dataclasses import replace
from pathlib import Path

import pytest
from pair_builders import HEADER, ORIGINAL_HEADER, pair, row_of, write_table

from evenhand.core.errors import DatasetError, DatasetUnavailableError, UnknownNameError
from evenhand.core.files import sha256_of
from evenhand.data import DATASET_LAYOUTS, crows_pairs, load_dataset, load_pairs
from evenhand.data.crows_pairs import CROWS_PAIRS, CROWS_PAIRS_LAYOUT
from evenhand.data.datasets import git_blob_sha1

PAIRS = (
    pair(0),
    pair(1, more="He, the nurse, waits.", less="She waits.", direction="antistereo", bias_type="gender"),
)
ROWS = [row_of(each) for each in PAIRS]
ORIGINAL_ROWS = [(*row, "[['age']]", "a0", "['a1']") for row in ROWS]


@pytest.fixture
def written(tmp_path: Path) -> Path:
    return tmp_path / "pairs.csv"


def test_the_english_layout_has_ids_in_a_column_without_a_name_and_is_english(written: Path) -> None:
    write_table(written, ORIGINAL_ROWS, header=ORIGINAL_HEADER)

    found = load_pairs(written)

    assert found.pairs == PAIRS
    assert (found.name, found.language, found.source, found.licence) == ("pairs", "en", "pairs.csv", None)
    assert found.sha256 == sha256_of(written.read_bytes())


def test_the_french_layout_names_its_column_of_ids(written: Path) -> None:
    write_table(written, ROWS)

    assert load_pairs(written, language="fr").pairs == tuple(replace(each, language="fr") for each in PAIRS)


@pytest.mark.parametrize("name", ["pairs.tsv", "PAIRS.TSV"])
def test_a_file_named_tsv_has_tabs(tmp_path: Path, name: str) -> None:
    lines = ["\t".join(HEADER), *("\t".join(row) for row in ROWS)]
    (tmp_path / name).write_text("\n".join(lines), encoding="utf-8")

    assert load_pairs(tmp_path / name, language="en").pairs == PAIRS


def test_a_byte_order_mark_does_not_hide_the_first_column(written: Path) -> None:
    write_table(written, ROWS, encoding="utf-8-sig")
    assert load_pairs(written, language="en").pairs == PAIRS

    write_table(written, ORIGINAL_ROWS, header=ORIGINAL_HEADER, encoding="utf-8-sig")
    assert load_pairs(written).pairs == PAIRS


def test_compressed_files_are_read(tmp_path: Path) -> None:
    plain = write_table(tmp_path / "plain.tsv", ROWS)
    packed = tmp_path / "packed.tsv.gz"
    packed.write_bytes(gzip.compress(plain.read_bytes()))

    assert load_pairs(packed, language="en").pairs == PAIRS


@pytest.mark.parametrize(
    ("file", "language", "name"),
    [
        ("french.csv", "fr", "mine"),
        ("fr.csv", "fr", "mine"),
        ("german.tsv", "de", "mine"),
        ("crows_pairs_FR.csv", "fr", "crows_pairs_FR"),
        ("french_france_crowspairs.csv", "fr", "french_france_crowspairs"),
    ],
)
def test_a_files_name_can_tell_its_language(tmp_path: Path, file: str, language: str, name: str) -> None:
    folder = tmp_path / "mine"
    folder.mkdir()
    found = load_pairs(write_table(folder / file, ROWS))

    assert (found.language, found.name) == (language, name)
    assert {each.language for each in found} == {language}


@pytest.mark.parametrize("file", ["pairs.csv", "my.csv", "pares_de_frases.csv", "english_french.csv"])
def test_a_language_that_is_not_obvious_must_be_named(tmp_path: Path, file: str) -> None:
    with pytest.raises(DatasetError, match=r"does not say its language\. Name it with --language"):
        load_pairs(write_table(tmp_path / file, ROWS))


def test_the_language_that_is_given_goes_before_the_one_that_is_guessed(tmp_path: Path) -> None:
    assert load_pairs(write_table(tmp_path / "french.csv", ROWS), language="fr-CA").language == "fr-CA"


def test_a_pair_without_one_of_its_sentences_is_kept_to_be_counted(written: Path) -> None:
    """The published French file has one."""
    write_table(written, [*ROWS, ("2", "Alone.", "", "stereo", "age")])

    found = load_pairs(written, language="fr")

    assert [each.complete for each in found] == [True, True, False]


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ([(*ROWS[0][:2], " ", *ROWS[0][3:])], "row 2: sent_less is empty, and no pair of the file has both"),
        ([("5", "", "A.", "stereo", "age")], "row 2: sent_more is empty, and no pair of the file has both"),
        ([ROWS[0], ("5", " ", "", "stereo", "age")], r"row 3 \(id 5\): sent_more and sent_less are empty"),
        ([ROWS[0], ("5", "A.", "B.", "stereo", "")], r"row 3 \(id 5\): bias_type is empty"),
        (
            [ROWS[0], ("5", "A.", "B.", "anti", "age")],
            r"row 3 \(id 5\): stereo_antistereo is 'anti'; stereo or antistereo is needed",
        ),
        ([ROWS[0], ("5", "A.", "B.", "", "age")], "stereo_antistereo is ''"),
        ([ROWS[0], ("", "A.", "B.", "stereo", "age")], "row 3: the pair has no id"),
        ([*ROWS, ROWS[0]], "row 4: the id '0' occurs a second time"),
        ([], "has a header and no rows"),
        ([(*ROWS[0], "more")], "row 2: 6 cells, but the header has 5"),
    ],
)
def test_rows_that_break_the_layout_are_refused(
    written: Path, rows: list[tuple[str, ...]], message: str
) -> None:
    write_table(written, rows)

    with pytest.raises(DatasetError, match=message) as caught:
        load_pairs(written, language="en")
    assert str(written) in str(caught.value)


@pytest.mark.parametrize("missing", HEADER[1:])
def test_a_missing_column_is_named(written: Path, missing: str) -> None:
    place = HEADER.index(missing)
    header = [name for name in HEADER if name != missing]
    write_table(written, [[*row[:place], *row[place + 1 :]] for row in ROWS], header=header)

    with pytest.raises(DatasetError, match=f"; {missing} is missing"):
        load_pairs(written, language="en")


def test_pairs_without_ids_are_known_by_their_numbers(written: Path) -> None:
    write_table(written, [row[1:] for row in ROWS], header=HEADER[1:])

    assert [pair.id for pair in load_pairs(written, language="en")] == [str(n) for n in range(len(ROWS))]


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.csv", b"", "is empty"),
        ("a.csv", "id,sent_more\n1,é".encode("latin-1"), "is not UTF-8 text"),
        ("a.csv", "\t".join(HEADER).encode(), "a header and no rows"),
        (
            "a.csv",
            "|".join(HEADER).encode(),
            "sent_more, sent_less, stereo_antistereo and bias_type are missing",
        ),
        ("a.csv", ",".join(HEADER).encode() + b'\n1,"open', "ends in the middle of a cell"),
    ],
)
def test_files_that_are_no_tables_are_refused(
    tmp_path: Path, name: str, content: bytes, message: str
) -> None:
    path = tmp_path / name
    path.write_bytes(content)

    with pytest.raises(DatasetError, match=message):
        load_pairs(path, language="en")


def test_a_folder_and_a_missing_file_are_refused(tmp_path: Path) -> None:
    with pytest.raises(DatasetError, match="has no files named after a language"):
        load_pairs(tmp_path, language="en")
    with pytest.raises(DatasetError, match="There is no file"):
        load_pairs(tmp_path / "missing.csv", language="en")


def test_a_language_that_is_no_tag_is_refused(written: Path) -> None:
    with pytest.raises(DatasetError, match="'French' is not a tag"):
        load_pairs(write_table(written, ROWS), language="French")


def test_an_unknown_name_is_answered_with_the_closest_one() -> None:
    with pytest.raises(UnknownNameError, match="Did you mean 'crows-pairs'"):
        load_pairs("crowspairs")


def test_the_named_pairs_are_the_pinned_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EVENHAND_HOME", str(tmp_path))
    monkeypatch.setenv("EVENHAND_OFFLINE", "1")
    with pytest.raises(
        DatasetUnavailableError, match=r"data/crows_pairs_anonymized\.csv of github\.com/nyu-mll"
    ):
        load_pairs("crows-pairs")
    place = CROWS_PAIRS.local_path
    assert place == tmp_path / "datasets" / "crows-pairs" / "8aaac11c4854.csv"
    place.parent.mkdir(parents=True)
    write_table(place, ORIGINAL_ROWS, header=ORIGINAL_HEADER)
    with pytest.raises(DatasetUnavailableError, match="is not the pinned file"):
        load_pairs("crows-pairs")

    pinned = replace(CROWS_PAIRS, git_blob_sha1=git_blob_sha1(place.read_bytes()))
    monkeypatch.setattr(crows_pairs, "CROWS_PAIRS_LAYOUT", replace(CROWS_PAIRS_LAYOUT, datasets=(pinned,)))
    monkeypatch.setattr(DATASET_LAYOUTS, "_loaded", {})
    found = load_pairs("crows-pairs")

    assert found.pairs == PAIRS
    assert (found.name, found.language, found.licence) == ("crows-pairs", "en", "CC BY-SA 4.0")
    with pytest.raises(DatasetUnavailableError, match=r"is in 'en' only.*--data PATH/fr\.csv"):
        load_pairs("crows-pairs", language="fr")


def test_pairs_are_no_dataset_of_items() -> None:
    with pytest.raises(DatasetError, match=r"has pairs of sentences, not contexts.*evenhand probe"):
        load_dataset("crows-pairs")


def test_a_sample_of_a_set(written: Path) -> None:
    found = load_pairs(write_table(written, ROWS), language="en")

    (one,) = found.sampled(1)
    assert one in PAIRS
    assert found.sampled(None) == found.sampled(2) == found
    assert len(found) == 2
