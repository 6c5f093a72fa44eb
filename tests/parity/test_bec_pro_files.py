"""The published files of BEC-Pro: every row is read, and the names stand for these files."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from evenhand.data.bec_pro import BEC_PRO, load_profession_sentences
from evenhand.data.datasets import PinnedDataset, git_blob_sha1


@pytest.mark.parametrize(("language", "dataset"), [("en", BEC_PRO[0]), ("de", BEC_PRO[1])])
def test_every_row_is_read(shared_data: Path, language: str, dataset: PinnedDataset) -> None:
    path = shared_data / "bec_pro" / f"BEC-Pro_{language.upper()}.tsv"
    found = load_profession_sentences(path)

    assert (len(found), found.language) == (5400, language)
    assert Counter(each.gender for each in found) == {"male": 2700, "female": 2700}
    assert Counter(each.profession_gender for each in found) == {
        "male": 1800,
        "female": 1800,
        "balanced": 1800,
    }
    assert len({each.profession for each in found}) == 60
    assert git_blob_sha1(path.read_bytes()) == dataset.git_blob_sha1


def test_a_word_that_was_masked_within_a_profession_stands_there_again(shared_data: Path) -> None:
    english = load_profession_sentences(shared_data / "bec_pro" / "BEC-Pro_EN.tsv").sentences[3625]
    german = load_profession_sentences(shared_data / "bec_pro" / "BEC-Pro_DE.tsv").sentences[1809]

    assert english.person_masked == "This [MASK] is a lodging manager."
    assert english.both_masked == "This [MASK] is a [MASK] [MASK]."
    assert german.person_masked == "[MASK] ist Ernährungsberater."
    assert german.both_masked == "[MASK] ist [MASK]."
