"""Next-sentence pairs: what follows, what does not, and what is left out."""

from __future__ import annotations

import json
import tracemalloc
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import polars as pl
import pytest
from recording_monitor import RecordingMonitor

from evenhand.core.errors import DatasetError, EvenhandError, OutputError, RunError
from evenhand.core.files import sha256_of_file
from evenhand.core.progress import Progress
from evenhand.data.corpus_sources import corpus_sources
from evenhand.heads import pair_building
from evenhand.heads.article_splitting import SplitSource
from evenhand.heads.pair_building import build_next_sentence_pairs
from evenhand.heads.pairs import (
    NextSentenceOptions,
    NextSentencePairs,
    open_next_sentence_pairs,
)

HALF = NextSentenceOptions("en", test_share=0.5)


def written(path: Path, articles: Iterable[Sequence[str]]) -> Path:
    path.write_text("".join(json.dumps({"sentences": list(own)}) + "\n" for own in articles))
    return path


def numbered(articles: int, sentences: int = 5) -> list[list[str]]:
    return [[f"Sentence {row} of {number}." for row in range(sentences)] for number in range(articles)]


def build(path: Path, *, options: NextSentenceOptions = HALF, out: str = "pairs") -> NextSentencePairs:
    return build_next_sentence_pairs(corpus_sources([path]).sources, path.with_name(out), options=options)


def rows(pairs: NextSentencePairs, part: str) -> list[tuple[str, str, bool, int]]:
    return [row for frame in pairs.frames(part) for row in frame.iter_rows()]


def owner(sentence: str) -> str:
    return sentence.rpartition(" ")[2]


def place(sentence: str) -> int:
    return int(sentence.split()[1])


def test_a_sentence_goes_with_its_successor_and_with_one_of_another_article(tmp_path: Path) -> None:
    pairs = build(written(tmp_path / "a.jsonl", numbered(40)))

    for part in ("train", "test"):
        found = rows(pairs, part)
        assert found
        for first, second, follows, _ in found:
            assert (owner(first) == owner(second)) is follows
            assert not follows or place(second) == place(first) + 1
        by_first = Counter((first, follows) for first, _, follows, _ in found)
        assert set(by_first.values()) == {1}
        assert sum(follows for _, _, follows, _ in found) == len(found) / 2
    record = pairs.record
    assert record.train_articles + record.test_articles == 40
    assert (record.train_pairs, record.test_pairs) == (8 * record.train_articles, 8 * record.test_articles)


def test_strangers_come_from_all_over_the_other_articles(tmp_path: Path) -> None:
    pairs = build(written(tmp_path / "a.jsonl", numbered(400)))

    strangers = Counter(place(second) for _, second, follows, _ in rows(pairs, "train") if not follows)

    expected = sum(strangers.values()) / 5
    assert all(abs(strangers[row] - expected) < 5 * expected**0.5 for row in range(5))


def test_no_sentence_stands_in_articles_of_both_kinds(tmp_path: Path) -> None:
    articles = numbered(60)
    for number, own in enumerate(articles):
        own[2] = f"They all say thing {number % 3}."
    pairs = build(written(tmp_path / "a.jsonl", articles))

    sentences = {
        part: {text for first, second, _, _ in rows(pairs, part) for text in (first, second)}
        for part in ("train", "test")
    }

    assert not sentences["train"] & sentences["test"]
    assert any("thing" in text for text in sentences["test"])
    assert pairs.record.left_out["sentence also in a test article"] == pairs.record.train_articles
    # What stood on both sides of such a sentence does not follow.
    assert all(place(b) == place(a) + 1 for a, b, follows, _ in rows(pairs, "train") if follows)


def test_articles_and_pairs_that_occur_twice_count_once(tmp_path: Path) -> None:
    articles = numbered(40)
    once = build(written(tmp_path / "once.jsonl", articles), out="once")
    twice = build(written(tmp_path / "twice.jsonl", [*articles, *articles]), out="twice")

    assert sorted(rows(once, "train")) == sorted(rows(twice, "train"))
    assert twice.record.train_pairs == once.record.train_pairs


def test_no_pair_both_follows_and_does_not(tmp_path: Path) -> None:
    articles = [[f"He {a}.", f"She {b}."] for a in range(16) for b in range(16)]
    options = NextSentenceOptions("en", test_share=0.02)
    pairs = build(written(tmp_path / "a.jsonl", articles), options=options)

    for part in ("train", "test"):
        found = rows(pairs, part)
        assert len({(first, second) for first, second, _, _ in found}) == len(found)
    assert pairs.record.left_out["follows in another article"]


def test_the_same_seed_gives_the_same_bytes_and_another_seed_others(tmp_path: Path) -> None:
    path = written(tmp_path / "a.jsonl", numbered(40))
    first, second = build(path, out="first"), build(path, out="second")
    other = build(path, options=NextSentenceOptions("en", seed=1, test_share=0.5), out="other")

    assert first.record == second.record
    assert other.record.shards != first.record.shards
    assert {row[0] for row in rows(other, "test")} != {row[0] for row in rows(first, "test")}


def test_what_was_split_before_a_kill_is_not_split_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    paths = [written(tmp_path / f"{name}.jsonl", numbered(20)[start:]) for start, name in enumerate("abc")]
    sources = corpus_sources(paths).sources
    whole = build_next_sentence_pairs(sources, tmp_path / "whole", options=HALF)
    original = SplitSource.split
    calls: list[str] = []

    def split(self: SplitSource, _report: object = None) -> None:
        if self.number == 2 and len(calls) == 2:
            calls.append("killed")
            raise KeyboardInterrupt
        calls.append(self.source.name)
        original(self)

    monkeypatch.setattr(SplitSource, "split", split)
    with pytest.raises(KeyboardInterrupt):
        build_next_sentence_pairs(sources, tmp_path / "killed", options=HALF)
    killed = build_next_sentence_pairs(sources, tmp_path / "killed", options=HALF)

    assert calls == [str(paths[0]), str(paths[1]), "killed", str(paths[2])]
    assert killed.record == whole.record
    assert [path.name for path in tmp_path.glob(".*")] == []


def test_many_buckets_give_as_many_pairs_as_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = written(tmp_path / "a.jsonl", numbered(400))
    one = build(path, out="one")
    monkeypatch.setattr(pair_building, "BUCKET_BYTES", 4_000)
    many = build(path, out="many")

    def following(pairs: NextSentencePairs) -> set[tuple[str, str]]:
        return {(first, second) for first, second, follows, _ in rows(pairs, "train") if follows}

    assert len(many.shards("train")) > 5
    assert following(one) == following(many)
    assert one.record.train_pairs == many.record.train_pairs


def test_memory_does_not_grow_with_the_corpus(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pair_building, "BUCKET_BYTES", 2**15)
    monkeypatch.setattr(pair_building, "BUFFERED_BYTES", 2**15)
    peaks = []
    for articles in (600, 3_000):
        path = written(tmp_path / f"{articles}.jsonl", numbered(articles))
        sources = corpus_sources([path]).sources
        tracemalloc.start()
        build_next_sentence_pairs(
            sources, tmp_path / str(articles), options=NextSentenceOptions("en", test_share=0.02)
        )
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()

    assert peaks[1] < 1.5 * peaks[0]
    assert peaks[1] < 3 * 2**20


@pytest.mark.parametrize(
    ("articles", "message"),
    [
        ([["One.", "Two.", "Three."]], "one article of 3 sentences; the sentence that does not follow"),
        ([["One."], ["Two."], ["Three."]], "None of the 3 articles has two sentences"),
        (
            numbered(2),
            r"no pairs for (train|test)ing: (0 of its 2 .* were|1 of its 2 .* was) drawn for it, and at least two",
        ),
    ],
    ids=["one article", "one sentence each", "two articles"],
)
def test_a_corpus_that_gives_no_pairs_is_refused(
    tmp_path: Path, articles: list[list[str]], message: str
) -> None:
    with pytest.raises(DatasetError, match=message):
        build(written(tmp_path / "a.jsonl", articles))
    assert not (tmp_path / "pairs").exists()


def test_an_impossible_share_is_refused() -> None:
    with pytest.raises(EvenhandError, match="between 0 and 1"):
        NextSentenceOptions("en", test_share=1.0)


def test_other_pairs_and_other_files_are_not_replaced(tmp_path: Path) -> None:
    path = written(tmp_path / "a.jsonl", numbered(40))
    build(path)
    with pytest.raises(RunError, match="holds another result"):
        build(path, options=NextSentenceOptions("en", seed=3, test_share=0.5))
    (tmp_path / "else").mkdir()
    (tmp_path / "else" / "note.txt").write_text("mine")
    with pytest.raises(OutputError, match="something else than next-sentence pairs"):
        build(path, out="else")


def test_pairs_that_were_changed_are_refused(tmp_path: Path) -> None:
    pairs = build(written(tmp_path / "a.jsonl", numbered(40)))
    path = pairs.shards("train")[0]
    frame = pl.read_parquet(path)
    frame.head(3).write_parquet(path)

    with pytest.raises(DatasetError, match="missing or was changed"):
        list(open_next_sentence_pairs(pairs.folder).frames("train"))
    for column, value in (("first", None), ("second", " "), ("follows", None), ("article", None)):
        kind = frame.schema[column]
        frame.with_columns(pl.lit(value).cast(kind).alias(column)).write_parquet(path)
        record = replace(
            pairs, record=pairs.record.model_copy(update={"shards": {path.name: sha256_of_file(path)}})
        )
        with pytest.raises(DatasetError, match="pairs without a sentence or an answer"):
            list(record.frames("train"))
    recorded = pairs.record.train_pairs
    for changed, count in ((frame.clear(), 0), (frame.head(3), 3), (pl.concat([frame, frame]), 2 * recorded)):
        changed.write_parquet(path)
        shards = pairs.record.shards | {path.name: sha256_of_file(path)}
        sealed = replace(pairs, record=pairs.record.model_copy(update={"shards": shards}))
        with pytest.raises(DatasetError, match=f"{count} pairs for training, and its record says {recorded}"):
            list(sealed.frames("train"))
    with pytest.raises(DatasetError, match="no folder of next-sentence pairs"):
        open_next_sentence_pairs(tmp_path)
    path.unlink()
    path.symlink_to("/dev/zero")
    with pytest.raises(DatasetError, match="missing or was changed"):
        list(pairs.frames("train"))
    place = pairs.folder / "pairs.json"
    document = json.loads(place.read_bytes())
    place.write_text(json.dumps({**document, "shards": {"train-/../../x": "0"}}))
    with pytest.raises(DatasetError, match="is no file of the folder"):
        open_next_sentence_pairs(pairs.folder)
    place.unlink()
    place.symlink_to("/dev/zero")
    with pytest.raises(DatasetError, match="no folder of next-sentence pairs"):
        open_next_sentence_pairs(pairs.folder)


def test_every_stage_tells_how_far_it_is_until_its_end(tmp_path: Path) -> None:
    path = written(tmp_path / "a.jsonl", numbered(40))
    told: dict[str, list[tuple[int, int]]] = {}

    class Listener(RecordingMonitor):
        @contextmanager
        def stage(self, title: str, unit: str = "items") -> Iterator[Progress]:  # noqa: ARG002
            yield lambda done, total: told.setdefault(title, []).append((done, total))

    build_next_sentence_pairs(
        corpus_sources([path]).sources, tmp_path / "pairs", options=HALF, monitor=Listener()
    )
    assert list(told) == [
        "splitting into sentences",
        "sorting articles",
        "drawing pairs for training",
        "writing pairs for training",
        "drawing pairs for testing",
        "writing pairs for testing",
    ]
    for steps in told.values():
        assert [done for done, _ in steps] == sorted(done for done, _ in steps)
        done, total = steps[-1]
        assert done == total > 0
