"""Pairs from a corpus as one call, here and on Ray."""

from __future__ import annotations

from pathlib import Path

import pytest
from recording_monitor import RecordingMonitor
from small_corpus import options, write_corpus

import evenhand as eh
from evenhand.core.errors import DatasetError, EvenhandError
from evenhand.data.corpus_sources import corpus_sources
from evenhand.mitigation.pairs.building import counts_path


@pytest.mark.ray
@pytest.mark.usefixtures("ray_cluster")
def test_ray_writes_the_same_bytes(tmp_path: Path) -> None:
    corpus = write_corpus(tmp_path / "corpus")
    sources = corpus_sources(corpus).sources
    here, on_ray = tmp_path / "one.jsonl", tmp_path / "ray.jsonl"
    monitor = RecordingMonitor()

    eh.build_pairs(corpus, here, options=options())
    eh.build_pairs(corpus, on_ray, options=options(), on="ray", monitor=monitor)

    assert here.read_bytes() == on_ray.read_bytes()
    assert counts_path(here).read_bytes() == counts_path(on_ray).read_bytes()
    assert len(monitor.progress) == len(sources) + 1
    assert monitor.progress[-1] == (sum(source.size for source in sources),) * 2


@pytest.mark.ray
@pytest.mark.usefixtures("ray_cluster")
def test_a_file_that_cannot_be_read_on_ray_is_the_same_error(tmp_path: Path) -> None:
    (tmp_path / "latin.txt").write_bytes("Er hieß James.".encode("latin-1"))

    with pytest.raises(DatasetError, match=r"latin\.txt is not UTF-8 text .*iconv"):
        eh.build_pairs(tmp_path / "latin.txt", tmp_path / "pairs.jsonl", options=options(), on="ray")


def test_processes_and_ray_exclude_each_other(tmp_path: Path) -> None:
    corpus = write_corpus(tmp_path / "corpus")

    with pytest.raises(EvenhandError, match="--workers is for processes on this machine"):
        eh.build_pairs(corpus, tmp_path / "pairs.jsonl", options=options(), on="ray", workers=2)


def test_a_call_without_a_corpus_says_what_is_missing(tmp_path: Path) -> None:
    with pytest.raises(EvenhandError, match="No corpus was given"):
        eh.build_pairs([], tmp_path / "pairs.jsonl")
