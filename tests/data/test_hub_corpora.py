"""Datasets through the library of the hub: local folders of data files go the same way as published ones."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from small_corpus import options

from evenhand.core.errors import DatasetError, MissingExtraError
from evenhand.data.corpus_sources import HubCorpus, corpus_sources, hub_corpus, pinned_shards
from evenhand.mitigation.pairs.building import build_pairs
from evenhand.mitigation.pairs.twin_pairs import read_twin_pairs


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A dataset of two files."""
    (tmp_path / "data").mkdir()
    contents: dict[str, list[str | None]] = {
        "a": ["He came. She left.", None],
        "b": ["It rained.\r\nThe end."],
    }
    for name, texts in contents.items():
        lines = "".join(f"{json.dumps({'text': text, 'id': 1})}\n" for text in texts)
        (tmp_path / "data" / f"train-{name}.jsonl").write_text(lines)
    return tmp_path / "data"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("hub:wikitext", HubCorpus("wikitext")),
        ("hub:Salesforce/wikitext:wikitext-2", HubCorpus("Salesforce/wikitext", "wikitext-2")),
        ("hub:wikitext@main", HubCorpus("wikitext", None, "main")),
        ("hub:a/b:c@d", HubCorpus("a/b", "c", "d")),
    ],
)
def test_names_of_datasets(text: str, expected: HubCorpus) -> None:
    assert hub_corpus(text) == expected
    assert expected.name == text


@pytest.mark.parametrize("text", ["wikitext", "hub:", "hub:a:b:c", "hub:a@b@c", "hub:a@b:c", "hub:@x"])
def test_what_is_no_name_is_refused(text: str) -> None:
    with pytest.raises(DatasetError, match=r"does not name a dataset\. Write hub:NAME"):
        hub_corpus(text)


def test_a_dataset_is_read_shard_by_shard(folder: Path) -> None:
    sources = corpus_sources([f"hub:{folder}"]).sources

    assert [list(source.open()) for source in sources] == [
        ["He came.", "She left."],
        ["It rained.", "The end."],
    ]
    assert [source.name for source in sources] == [f"hub:{folder} (shard {n} of 2)" for n in (1, 2)]
    assert sources[0].identity() != sources[1].identity()


def test_the_digest_is_that_of_the_texts(folder: Path) -> None:
    digests = []
    for text in ("He came. She left.", "He came. She left!"):
        (folder / "train-a.jsonl").write_text(json.dumps({"text": text}))
        (source, _) = corpus_sources([f"hub:{folder}"]).sources
        found = source.open()
        list(found)
        digests.append(found.sha256)

    assert digests[0] != digests[1]


def test_a_folder_whose_files_change_is_another_corpus(folder: Path) -> None:
    before = [source.identity() for source in corpus_sources([f"hub:{folder}"]).sources]
    (folder / "train-a.jsonl").write_text('{"text": "Other."}')

    assert before != [source.identity() for source in corpus_sources([f"hub:{folder}"]).sources]


@pytest.mark.parametrize(
    "changed",
    [
        {"dataset": "novels"}, {"config": "large"}, {"revision": "main"}, {"split": "test"}, {"column": "body"},
        {"shard": 1}, {"shards": 3},
    ],
    ids=lambda changed: next(iter(changed)),
)  # fmt: skip
def test_whatever_differs_makes_another_corpus(changed: dict[str, Any]) -> None:
    corpus = HubCorpus("letters", shards=2)
    assert replace(corpus, **changed).identity() != corpus.identity()


def test_tables_are_read_by_split_and_column(tmp_path: Path) -> None:
    for split, text in (("train", "He was a nurse."), ("test", "She was a doctor.")):
        pl.DataFrame({"body": [text], "text": ["Nothing."]}).write_parquet(tmp_path / f"{split}.parquet")

    (source,) = corpus_sources([f"hub:{tmp_path}"], split="test", column="body").sources

    assert list(source.open()) == ["She was a doctor."]


def test_pairs_are_made_of_datasets_and_files_together(folder: Path, tmp_path: Path) -> None:
    (folder / "train-a.jsonl").write_text('{"text": "He was a nurse. It rained.", "id": 1}')
    (tmp_path / "more.txt").write_text("She was a doctor.\n")
    sources = corpus_sources([f"hub:{folder}", tmp_path / "more.txt"]).sources

    build_pairs(sources, tmp_path / "pairs.jsonl", options=options())

    assert [pair.corpus_sentence for pair in read_twin_pairs(tmp_path / "pairs.jsonl")] == [
        "He was a nurse.",
        "She was a doctor.",
    ]


@pytest.mark.parametrize(
    ("corpus", "message"),
    [
        ({"split": "nights"}, r"split 'nights', cannot be opened: .*Available splits: \['train'\]"),
        ({"column": "words"}, r"has no column 'words'; it has (text, id|id, text)"),
        ({"config": "large"}, r"BuilderConfig 'large' not found"),
    ],
)
def test_what_a_dataset_does_not_have_is_said(folder: Path, corpus: dict[str, str], message: str) -> None:
    with pytest.raises(DatasetError, match=message):
        pinned_shards(HubCorpus(str(folder), **corpus))  # type: ignore[arg-type]


def test_a_column_that_is_no_text_is_refused(folder: Path) -> None:
    (source, _) = corpus_sources([f"hub:{folder}"], column="id").sources

    with pytest.raises(
        DatasetError, match=r"row 1: the column 'id' holds int, not text\. Choose another with --column"
    ):
        list(source.open())


def test_files_that_do_not_fit_together_are_refused(folder: Path) -> None:
    (folder / "train-b.jsonl").write_text('{"text": "It rained.", "place": "here"}')
    (_, source) = corpus_sources([f"hub:{folder}"]).sources

    with pytest.raises(
        DatasetError, match=r"(?s)\(shard 2 of 2\) cannot be read: .*column names don't match"
    ):
        list(source.open())


def test_a_folder_without_data_is_refused(tmp_path: Path) -> None:
    with pytest.raises(DatasetError, match="cannot be opened"):
        corpus_sources([f"hub:{tmp_path}"])


@pytest.mark.torch
def test_without_a_network_a_dataset_is_unavailable() -> None:
    script = (
        "from evenhand.core.errors import DatasetUnavailableError\n"
        "from evenhand.data.corpus_sources import corpus_sources\n"
        "try:\n    corpus_sources(['hub:nobody/nothing'])\n"
        "except DatasetUnavailableError as problem:\n    print(problem)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script],
        env={"HF_HUB_OFFLINE": "1", "PYTHONPATH": ":".join(filter(None, sys.path))},
        capture_output=True, text=True, check=True,
    )  # fmt: skip

    assert "hub:nobody/nothing cannot be fetched: the hub cannot be reached" in done.stdout
    assert "unset HF_HUB_OFFLINE" in done.stdout


def test_without_the_library_the_message_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch, folder: Path
) -> None:
    monkeypatch.setitem(sys.modules, "datasets", None)

    with pytest.raises(MissingExtraError, match=r"pip install '\.\[hf\]'"):
        corpus_sources([f"hub:{folder}"])
