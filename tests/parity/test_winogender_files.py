"""The published files of Winogender: read whole, and the very files that the names promise."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from evenhand.data.datasets import PinnedDataset, git_blob_sha1
from evenhand.data.probes import load_probes
from evenhand.data.winogender import (
    EMPLOYED,
    WINOGENDER,
    WINOGENDER_OCCUPATIONS,
    WRITTEN,
    load_pronoun_pairs,
    occupation_shares,
)


@pytest.fixture
def folder(shared_data: Path) -> Path:
    return shared_data / "winogender"


@pytest.mark.parametrize("dataset", [WINOGENDER, WINOGENDER_OCCUPATIONS], ids=lambda dataset: dataset.name)
def test_the_files_have_the_pinned_hashes(folder: Path, dataset: PinnedDataset) -> None:
    assert git_blob_sha1((folder / Path(dataset.path).name).read_bytes()) == dataset.git_blob_sha1


def test_720_sentences_are_four_pairs_for_each_of_60_occupations(folder: Path) -> None:
    path = folder / "all_sentences.tsv"
    read = load_pronoun_pairs(path)

    assert len(path.read_text(encoding="utf-8").splitlines()) == 1 + 720
    assert len(read.occupations) == 60
    assert set(Counter(pair.occupation for pair in read.pairs).values()) == {4}
    assert Counter(pair.answer for pair in read.pairs) == {"0": 120, "1": 120}
    assert sum(pair.participant == "someone" for pair in read.pairs) == 120


def test_the_pronoun_always_comes_after_the_occupation(folder: Path) -> None:
    assert not any(
        pair.pronoun_comes_first for pair in load_pronoun_pairs(folder / "all_sentences.tsv").pairs
    )


def test_the_occupations_are_those_of_the_bundled_probes(folder: Path) -> None:
    bundled = {occupation.name for occupation in load_probes().occupations}

    assert set(load_pronoun_pairs(folder / "all_sentences.tsv").occupations) == bundled
    for column in (EMPLOYED, WRITTEN):
        assert set(occupation_shares(folder / "occupations-stats.tsv", column=column)) == bundled


def test_shares_are_those_of_the_file(folder: Path) -> None:
    path = folder / "occupations-stats.tsv"

    assert occupation_shares(path)["technician"] == 40.34
    assert occupation_shares(path, column=WRITTEN)["technician"] == 9.42
