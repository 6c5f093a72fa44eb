"""Pairs from real novels: every sentence accounted for, both sides equal word by word."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

import pytest

from evenhand.core.experiments import Experiment
from evenhand.data.corpora import sentences
from evenhand.data.corpus_sources import corpus_sources
from evenhand.data.probes import load_probes
from evenhand.mitigation.pairs.building import PairOptions, build_pairs
from evenhand.mitigation.pairs.twin_pairs import read_twin_pairs


@pytest.mark.parametrize(("language", "least"), [("en", 200), ("de", 10)])
def test_pairs_of_the_novels(shared_data: Path, tmp_path: Path, language: str, least: int) -> None:
    folder = shared_data / "corpora" / f"novels_{language}"
    read = {" ".join(sentence.split()).casefold() for sentence in sentences(folder)}

    counts = build_pairs(
        corpus_sources([folder]).sources,
        tmp_path / "pairs.jsonl",
        options=PairOptions(load_probes(language), names_sample=100),
    )
    pairs = list(read_twin_pairs(tmp_path / "pairs.jsonl"))
    texts = [" ".join(text.split()).casefold() for pair in pairs for text in pair.sentences]

    assert counts.found >= least
    assert counts.found + sum(counts.left_out.values()) == counts.sentences
    assert len(texts) == len(set(texts)) == 2 * counts.pairs
    assert all(pair.corpus_sentence.casefold() in read for pair in pairs if pair.original != "neither")
    assert sum(pair.experiments == (Experiment.NAMES,) for pair in pairs) == min(100, counts.names.pool)
    assert counts.overlap == 0


def test_he_stands_as_often_as_she_in_pairs_of_english_novels(shared_data: Path, tmp_path: Path) -> None:
    build_pairs(
        corpus_sources([shared_data / "corpora" / "novels_en"]).sources,
        tmp_path / "pairs.jsonl",
        options=PairOptions(load_probes("en"), experiments=(Experiment.HE_SHE, Experiment.HIS_HER)),
    )
    words = Counter(
        word
        for pair in read_twin_pairs(tmp_path / "pairs.jsonl")
        for text in pair.sentences
        for word in re.findall(r"[a-z]+", text.lower())
    )

    assert words["he"] == words["she"] > 100
    assert words["himself"] == words["herself"] > 0
    assert words["him"] + words["his"] == words["her"] + words["hers"] > 100
