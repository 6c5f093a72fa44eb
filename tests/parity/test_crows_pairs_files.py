"""The published files of CrowS-Pairs, English and French: every row is read, and the counts are the files' own."""

from __future__ import annotations

import csv
from collections import Counter
from pathlib import Path

import pytest

from evenhand.data.crows_pairs import CROWS_PAIRS, load_pairs
from evenhand.data.datasets import git_blob_sha1

ORIGINAL = "crows_pairs_anonymized.csv"


def rows_of(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8-sig", newline="") as stream:
        return list(csv.DictReader(stream))


@pytest.mark.parametrize(
    ("file", "language", "pairs", "directions"),
    [
        (ORIGINAL, "en", 1508, {"stereo": 1290, "antistereo": 218}),
        ("french.csv", "fr", 1463, {"stereo": 1254, "antistereo": 209}),
    ],
)
def test_every_row_is_read_as_it_stands(
    shared_data: Path, file: str, language: str, pairs: int, directions: dict[str, int]
) -> None:
    path = shared_data / "crows_pairs" / file
    rows = rows_of(path)
    found = load_pairs(path)

    assert (len(found), found.language) == (pairs, language)
    assert Counter(pair.direction.value for pair in found) == directions
    assert directions == Counter(row["stereo_antistereo"] for row in rows)
    assert Counter(pair.bias_type for pair in found) == Counter(row["bias_type"] for row in rows)
    texts = [(row["sent_more"].strip(), row["sent_less"].strip()) for row in rows]
    assert [(pair.more, pair.less) for pair in found] == texts


def test_one_french_pair_lacks_a_sentence_and_one_has_the_same_twice(shared_data: Path) -> None:
    french = load_pairs(shared_data / "crows_pairs" / "french.csv")

    assert [pair.id for pair in french if not pair.complete] == ["129"]
    assert [pair.id for pair in french if pair.more == pair.less] == ["379"]


def test_the_name_stands_for_this_file(
    shared_data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    content = (shared_data / "crows_pairs" / ORIGINAL).read_bytes()
    assert git_blob_sha1(content) == CROWS_PAIRS.git_blob_sha1
    monkeypatch.setenv("EVENHAND_HOME", str(tmp_path))
    monkeypatch.setenv("EVENHAND_OFFLINE", "1")
    CROWS_PAIRS.local_path.parent.mkdir(parents=True)
    CROWS_PAIRS.local_path.write_bytes(content)

    assert len(load_pairs("crows-pairs")) == 1508


@pytest.mark.parametrize("encoding", ["mac-roman", "windows-1252", "utf-16"])
def test_the_french_file_is_the_same_with_semicolons_in_another_encoding(
    shared_data: Path, tmp_path: Path, encoding: str
) -> None:
    path = shared_data / "crows_pairs" / "french.csv"
    rows = rows_of(path)
    copy = tmp_path / "french.csv"
    with copy.open("w", encoding=encoding, errors="replace", newline="") as stream:
        writer = csv.DictWriter(stream, rows[0], delimiter=";")
        writer.writeheader()
        writer.writerows(rows)

    found = load_pairs(copy, encoding=encoding).pairs

    original = load_pairs(path).pairs
    assert len(found) == len(original)
    lost = [one.id for one, other in zip(found, original, strict=True) if one != other]
    assert all("?" in f"{pair.more}{pair.less}" for pair in found if pair.id in lost)
    assert len(lost) < 10
