"""Files of pairs: what is written can be read, and what is no pair is refused with its line."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from plain_swapper import PlainSwapper
from small_corpus import PROBES

from evenhand.core.errors import DatasetError
from evenhand.core.experiments import Experiment
from evenhand.mitigation.pairs.matching import Matcher, PairSearch
from evenhand.mitigation.pairs.twin_pairs import (
    TwinPair,
    pair_line,
    parse_pair,
    read_twin_pairs,
    read_twin_sentences,
)

MATCHER = Matcher(PairSearch.of(PROBES, make_swapper=PlainSwapper))


def pairs() -> list[TwinPair]:
    return list(
        MATCHER.pairs(["He met her, a nurse.", "James saw the doctor: »Schön«!", "The nurse lost hers hat."])
    )


def row(**changes: Any) -> bytes:
    document = json.loads(pair_line(pairs()[0])) | changes
    return json.dumps({key: value for key, value in document.items() if value is not ...}).encode()


def test_a_line_says_everything_about_its_pair() -> None:
    assert json.loads(pair_line(pairs()[0])) == {
        "male": "He met her, a nurse.",
        "female": "She met him, a nurse.",
        "original": "male",
        "experiments": ["he-she"],
        "occupations": ["nurse"],
        "swaps": [
            {"role": "subject pronoun", "male": "He", "female": "She", "male_at": [0, 2], "female_at": [0, 3]},
            {"role": "object pronoun", "male": "her", "female": "him", "male_at": [7, 10], "female_at": [8, 11],
             "crossed": True},
        ],
    }  # fmt: skip


@pytest.mark.parametrize("pack", [bytes, gzip.compress])
def test_what_is_written_is_read(tmp_path: Path, pack: Any) -> None:
    path = tmp_path / "pairs.jsonl"
    path.write_bytes(pack(b"\n".join(map(pair_line, pairs()))))

    assert list(read_twin_pairs(path)) == pairs()


@given(st.lists(st.sampled_from(["he", "She", "Mary", "his", "nurse", "dad", "ß«", "😀", "x"]), max_size=12))
def test_every_pair_survives_its_line(words: list[str]) -> None:
    for pair in MATCHER.pairs([" ".join(words)]):
        line = pair_line(pair)
        assert line.count(b"\n") == 1
        assert parse_pair(line.decode(), place="") == pair


def test_training_sees_both_sentences_of_the_pairs_of_its_experiments(tmp_path: Path) -> None:
    path = tmp_path / "pairs.jsonl"
    path.write_bytes(b"".join(map(pair_line, pairs())))

    assert list(read_twin_sentences(path)) == [sentence for pair in pairs() for sentence in pair.sentences]
    assert list(read_twin_sentences(path, experiments=[Experiment.HIS_HER])) == list(pairs()[2].sentences)


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (b"{broken", r"line 2: not valid JSON"),
        (b"[1]", r"line 2: not a pair \(an object is needed, not list\)"),
        (b'"text"', r"an object is needed, not str"),
        (b'{"text": "He came."}', r"line 2: 'male' is missing"),
        (row(swaps=...), r"'swaps' is missing"),
        (row(male=""), r"male is ''; text is needed"),
        (row(female=3), r"female is 3; text is needed"),
        (row(original="both"), r"original is 'both'; male, female, neither are possible"),
        (row(experiments=["he she"]), r"'he she' cannot be the name of an experiment"),
        (row(experiments="he-she"), r"experiments is 'he-she'; a list is needed"),
        (row(occupations=[1]), r"occupations is 1; text is needed"),
        (row(swaps=[1]), r"line 2: not a pair"),
        (row(swaps=[{"role": "verb"}]), r"'verb' is not a valid Role"),
        (row(male="It met her, a nurse."), r"at \[0, 2\] and \[0, 3\] are 'It' and 'She'"),
        (row(swaps=[{"role": "name", "male_at": [2], "female_at": [0, 1]}]), r"not a pair"),
        (row(swaps=[{"role": "name", "male_at": [2, 1], "female_at": [0, 1]}]), r"\[2, 1\] is no span"),
        (row(swaps=[{"role": "name", "male_at": [0, 1.5], "female_at": [0, 1]}]), r"is no span"),
        ("{ä}".encode("latin-1"), r"not UTF-8 text"),
    ],
)
def test_what_is_no_pair_is_refused_with_its_line(tmp_path: Path, line: bytes, message: str) -> None:
    path = tmp_path / "pairs.jsonl"
    path.write_bytes(pair_line(pairs()[0]) + line + b"\n")

    with pytest.raises(DatasetError, match=message):
        list(read_twin_pairs(path))


def test_a_missing_or_empty_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "empty").touch()
    (tmp_path / "blank").write_text("\n \n")

    with pytest.raises(DatasetError, match=r"There is no file .*missing.*evenhand data counterfactual"):
        list(read_twin_pairs(tmp_path / "missing"))
    for name in ("empty", "blank"):
        with pytest.raises(DatasetError, match=f"{name} has no pairs"):
            list(read_twin_pairs(tmp_path / name))
