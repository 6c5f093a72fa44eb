"""Ray Data finds the same as one process. Ray starts once for all of these tests."""

from __future__ import annotations

import logging
import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from small_corpus import options, write_corpus

from evenhand.core.errors import DatasetError, EvenhandError
from evenhand.data.corpus_sources import corpus_sources
from evenhand.mitigation.pairs.building import build_pairs, counts_path
from evenhand.mitigation.pairs.ray_search import on_ray

pytestmark = pytest.mark.filterwarnings("ignore:`use_.*` is deprecated:DeprecationWarning:ray.data.context")


@pytest.fixture(scope="module")
def cluster() -> Iterator[None]:
    """A local cluster of one core."""
    ray = pytest.importorskip("ray")

    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONPATH", os.pathsep.join(filter(None, sys.path)))
        ray.init(num_cpus=1, include_dashboard=False, log_to_driver=False, logging_level=logging.ERROR)
        yield
        ray.shutdown()


@pytest.mark.usefixtures("cluster")
def test_ray_writes_the_same_bytes(tmp_path: Path) -> None:
    sources = corpus_sources(write_corpus(tmp_path / "corpus")).sources
    told: list[tuple[int, int]] = []

    build_pairs(sources, tmp_path / "one.jsonl", options=options())
    build_pairs(
        sources,
        tmp_path / "ray.jsonl",
        options=options(),
        searcher=on_ray,
        report=lambda *done: told.append(done),
    )

    assert (tmp_path / "one.jsonl").read_bytes() == (tmp_path / "ray.jsonl").read_bytes()
    assert (
        counts_path(tmp_path / "one.jsonl").read_bytes() == counts_path(tmp_path / "ray.jsonl").read_bytes()
    )
    assert len(told) == len(sources) + 1
    assert told[-1] == (sum(source.size for source in sources),) * 2


@pytest.mark.usefixtures("cluster")
def test_a_file_that_cannot_be_read_on_ray_is_the_same_error(tmp_path: Path) -> None:
    (tmp_path / "latin.txt").write_bytes("Er hieß James.".encode("latin-1"))
    sources = corpus_sources([tmp_path / "latin.txt"]).sources

    with pytest.raises(DatasetError, match=r"latin\.txt is not UTF-8 text .*iconv"):
        build_pairs(sources, tmp_path / "pairs.jsonl", options=options(), searcher=on_ray)


def test_without_ray_the_message_says_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)
    sources = corpus_sources(write_corpus(tmp_path / "corpus")).sources

    with pytest.raises(EvenhandError, match=r"pip install '\.\[ray\]'"):
        build_pairs(sources, tmp_path / "pairs.jsonl", options=options(), searcher=on_ray)
