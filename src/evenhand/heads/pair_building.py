"""Make next-sentence pairs from the articles of a corpus, in memory that does not grow with it.

That takes two walks over the articles on disk:

1. Articles go to *buckets* by a digest of their text and the seed. A bucket fits into memory. Its articles are put in
   the order of their digests, which is a random one, and a sentence from another article of the bucket is drawn for
   every sentence and its successor: buckets are random, so it is a random one of the corpus.
2. What was drawn goes to *shards* by a digest of its first sentence. So whatever has the same first sentence is in one
   shard, in which pairs that occur twice, or that follow in one article and do not in another, are seen and left out.
"""

from __future__ import annotations

import gzip
import json
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from importlib.metadata import version
from pathlib import Path

import numpy as np
import numpy.typing as npt
import polars as pl

from evenhand.core.errors import DatasetError, shortlist
from evenhand.core.files import cannot_write, sha256_of, sha256_of_file, write_text
from evenhand.core.progress import SILENT, Monitor
from evenhand.data.corpus_sources import CorpusSource
from evenhand.heads.article_splitting import (
    ArticleLine,
    SplitSource,
    Splitter,
    is_test,
    sentence_key,
    split_here,
)
from evenhand.heads.pairs import (
    PAIR_COLUMNS,
    RECORD_FILE,
    TEST,
    TRAIN,
    NextSentenceOptions,
    NextSentencePairs,
    NextSentenceRecord,
    PairSource,
    fingerprint_of_pairs,
    open_next_sentence_pairs,
)
from evenhand.store.jobs import Job, open_job

BUCKET_BYTES = 2**23
"""Text in a bucket, so that one fits into memory several times over."""

MOST_BUCKETS = 2_048
BUFFERED_BYTES = 2**25
"""What waits to be written to the files of all buckets together."""

_SPOOL_COMPRESSION = 1
"""Of what is sorted on disk, which is four times the corpus: the fastest level halves that."""

_TOLD_EVERY = 1_000
"""Articles after which progress is told."""

_DRAWS = 8
"""Sentences that are drawn in the place of one that is no stranger, before its pair is given up."""


def build_next_sentence_pairs(
    sources: Sequence[CorpusSource],
    out: Path,
    *,
    options: NextSentenceOptions,
    splitter: Splitter = split_here,
    replace: bool = False,
    monitor: Monitor = SILENT,
) -> NextSentencePairs:
    """Make the pairs of a corpus.

    Killed at any moment and called again, it goes on with the sources that were not split into sentences and ends with
    the same bytes. Called again when it is done, it opens the result.

    Raises:
        DatasetError: If a source cannot be read, or the corpus gives no pairs for training and testing.
        OutputError: If ``out`` holds something else, or cannot be written.
    """
    identity = [version("evenhand"), options.language, options.seed, options.test_share]
    determining = [*identity, [source.identity() for source in sources]]
    fingerprint = sha256_of(json.dumps(determining, sort_keys=True).encode())
    with open_job(out, fingerprint, fingerprint_at=fingerprint_of_pairs, replace=replace) as job:
        if not job.is_done:
            _build(sources, job, options=options, splitter=splitter, monitor=monitor)
    return open_next_sentence_pairs(out)


def _build(
    sources: Sequence[CorpusSource],
    job: Job,
    *,
    options: NextSentenceOptions,
    splitter: Splitter,
    monitor: Monitor,
) -> None:
    split = [
        SplitSource(number, source, options, job.subfolder("articles"), job.parts("tallies"))
        for number, source in enumerate(sources)
    ]
    left = [own for own in split if own.finished is None]
    if left:
        with monitor.stage("splitting into sentences", "bytes") as progress:
            splitter(left, progress)
    tallies = [own.finished for own in split]
    changed = [own.source.name for own, tally in zip(split, tallies, strict=True) if tally is None]
    if changed:
        raise DatasetError(
            f"{shortlist(changed, 3)} changed while being read. Give the same command again to read it once more."
        )
    size = sum(own.path.stat().st_size for own in split)
    with job.result_folder() as folder:
        maker = _PairMaker(options, folder, size=size, scratch=job.subfolder("spool"))
        maker.make(split, monitor)
        whole = [tally for tally in tallies if tally is not None]
        _refuse_too_few(maker, whole)
        for tally in whole:
            maker.left_out.update(tally.left_out)
        record = NextSentenceRecord(
            version=version("evenhand"),
            language=options.language,
            seed=options.seed,
            test_share=options.test_share,
            fingerprint=job.fingerprint,
            train_pairs=maker.pairs[TRAIN],
            test_pairs=maker.pairs[TEST],
            train_articles=maker.articles[TRAIN],
            test_articles=maker.articles[TEST],
            left_out={reason: number for reason, number in sorted(maker.left_out.items()) if number},
            sources=tuple(whole),
            shards=maker.shards,
        )
        write_text(folder / RECORD_FILE, record.model_dump_json(indent=1) + "\n")


def _refuse_too_few(maker: _PairMaker, tallies: Sequence[PairSource]) -> None:
    read = sum(tally.articles for tally in tallies)
    sentences = sum(tally.sentences for tally in tallies)
    usable = maker.articles.total()
    if read < 2:
        found = f"one article of {sentences:,} sentences" if read else "no articles"
        raise DatasetError(
            f"The corpus has {found}; the sentence that does not follow comes from another one. Give several articles: "
            "blank lines part those of plain text, every line of JSON Lines is one."
        )
    if not usable:
        raise DatasetError(
            f"None of the {read:,} articles has two sentences, so none has a sentence that follows another. Blank "
            "lines part the articles of plain text: are they between sentences?"
        )
    for part in (TRAIN, TEST):
        if not maker.pairs[part]:
            drawn = maker.articles[part]
            raise DatasetError(
                f"The corpus gives no pairs for {part}ing: {drawn:,} of its {usable:,} articles with two or more "
                f"sentences {'was' if drawn == 1 else 'were'} drawn for it, and at least two are needed. Give more "
                "text, or another --test-share or --seed."
            )


class SpoolFiles:
    """Lines that are sorted into many compressed files, of which few bytes are in memory."""

    def __init__(self, folder: Path, count: int) -> None:
        self.count = count
        self._folder = folder
        self._waiting: list[bytearray] = [bytearray() for _ in range(count)]
        self._most = BUFFERED_BYTES // count
        try:
            folder.mkdir(parents=True, exist_ok=True)
            for path in folder.iterdir():  # of a killed process
                path.unlink()
        except OSError as problem:
            raise cannot_write(folder, problem) from None

    def put(self, number: int, line: bytes) -> None:
        """Add a line to a file."""
        waiting = self._waiting[number]
        waiting += line
        waiting += b"\n"
        if len(waiting) > self._most:
            self._write(number)

    def take(self, number: int) -> list[bytes]:
        """The lines of a file, which is removed."""
        self._write(number)
        path = self._path(number)
        lines = gzip.decompress(path.read_bytes()).split(b"\n")[:-1]
        path.unlink()
        return lines

    def _write(self, number: int) -> None:
        try:
            with self._path(number).open("ab") as stream:
                stream.write(gzip.compress(self._waiting[number], _SPOOL_COMPRESSION))
        except OSError as problem:
            raise cannot_write(self._path(number), problem) from None
        self._waiting[number] = bytearray()

    def _path(self, number: int) -> Path:
        return self._folder / f"{number:05d}"


@dataclass(slots=True)
class _PairMaker:
    """Sorts articles into buckets, draws strangers, and sorts what was drawn into shards."""

    options: NextSentenceOptions
    folder: Path
    size: int
    scratch: Path
    pairs: Counter[str] = field(default_factory=Counter)
    articles: Counter[str] = field(default_factory=Counter)
    left_out: Counter[str] = field(default_factory=Counter)
    shards: dict[str, str] = field(default_factory=dict)

    def make(self, sources: Sequence[SplitSource], monitor: Monitor) -> None:
        """Write the shards."""
        shares = {TRAIN: 1 - self.options.test_share, TEST: self.options.test_share}
        counts = {
            part: min(MOST_BUCKETS, max(1, round(share * self.size / BUCKET_BYTES)))
            for part, share in shares.items()
        }
        buckets = {part: SpoolFiles(self.scratch / f"{part}-articles", counts[part]) for part in shares}
        with monitor.stage("sorting articles", "bytes") as progress:
            done = 0
            for own in sources:
                with own.path.open("rb") as lines:
                    for number, line in enumerate(lines):
                        key = int(line[: line.index(b"\t")])
                        part = TEST if is_test(key, self.options.test_share) else TRAIN
                        buckets[part].put(key % counts[part], line.rstrip(b"\n"))
                        done += len(line)
                        if not number % _TOLD_EVERY:
                            progress(done, self.size)
            progress(done, self.size)
        tested = np.unique(np.concatenate([np.load(own.test_path, allow_pickle=False) for own in sources]))
        hidden = {TRAIN: tested, TEST: np.empty(0, dtype=np.uint64)}
        for part in (TRAIN, TEST):
            shards, count = SpoolFiles(self.scratch / f"{part}-drawn", counts[part]), counts[part]
            with monitor.stage(f"drawing pairs for {part}ing", "parts") as progress:
                for number in range(count):
                    self._draw(part, buckets[part].take(number), shards, hidden=hidden[part], number=number)
                    progress(number + 1, count)
            with monitor.stage(f"writing pairs for {part}ing", "shards") as progress:
                for number in range(count):
                    self._write_shard(part, number, shards.take(number))
                    progress(number + 1, count)

    def _draw(
        self,
        part: str,
        lines: Iterable[bytes],
        shards: SpoolFiles,
        *,
        hidden: npt.NDArray[np.uint64],
        number: int,
    ) -> None:
        """For every sentence of a bucket and the one that follows it, a stranger from another article."""
        articles = dict(map(ArticleLine.decode, lines))
        self.articles[part] += len(articles)
        flat: list[bytes] = []
        numbers: list[int] = []
        for place, key in enumerate(sorted(articles)):
            flat += articles[key]
            numbers += [place] * len(articles[key])
        keys = sorted(articles)
        owners = np.array(numbers)
        sentence_keys = list(map(sentence_key, flat))
        shown = ~_found_in(np.array(sentence_keys, dtype=np.uint64), hidden)
        self.left_out["sentence also in a test article"] += int((~shown).sum())
        places = np.flatnonzero(shown)
        firsts = places[:-1][(np.diff(places) == 1) & (owners[places[:-1]] == owners[places[1:]])]
        generator = np.random.default_rng([self.options.seed, part == TEST, number])
        strangers = _drawn_strangers(firsts, places, owners, generator)
        for first, stranger in zip(firsts.tolist(), strangers, strict=True):
            follower = flat[first + 1]
            for _ in range(_DRAWS):
                if stranger is None or flat[stranger] not in (flat[first], follower):
                    break
                (stranger,) = _drawn_strangers(np.array([first]), places, owners, generator)  # noqa: PLW2901
            if stranger is None or flat[stranger] in (flat[first], follower):
                self.left_out["no stranger in another article"] += 1
                continue
            line = b"%b\t%b\t%b\t%d" % (flat[first], follower, flat[stranger], keys[numbers[first]])
            shards.put(sentence_keys[first] % shards.count, line)

    def _write_shard(self, part: str, number: int, lines: Iterable[bytes]) -> None:
        drawn = [line.split(b"\t") for line in lines]
        following = {(first, follower) for first, follower, _, _ in drawn}
        seen: set[tuple[bytes, bytes]] = set()
        kept: list[list[bytes]] = []
        for row in drawn:
            first, follower, stranger, _ = row
            if (first, stranger) in following:
                self.left_out["follows in another article"] += 1
            elif (first, follower) in seen or (first, stranger) in seen:
                self.left_out["repeated"] += 1
            else:
                seen |= {(first, follower), (first, stranger)}
                kept.append(row)
        if not kept:
            return
        firsts, followers, strangers, articles = map(list, zip(*kept, strict=True))
        frame = pl.DataFrame(
            {
                "first": firsts * 2,
                "second": followers + strangers,
                "follows": [True] * len(kept) + [False] * len(kept),
                "article": list(map(int, articles)) * 2,
            },
            schema={**PAIR_COLUMNS, "first": pl.Binary, "second": pl.Binary},
        ).cast({"first": pl.String, "second": pl.String})
        generator = np.random.default_rng([self.options.seed, part == TEST, number])
        name = f"{part}-{number:05d}.parquet"
        frame[generator.permutation(frame.height)].write_parquet(self.folder / name)
        self.shards[name] = sha256_of_file(self.folder / name)
        self.pairs[part] += frame.height


def _found_in(keys: npt.NDArray[np.uint64], ordered: npt.NDArray[np.uint64]) -> npt.NDArray[np.bool_]:
    """Whether each key is among many in order, which are not gone through for that."""
    places = np.searchsorted(ordered, keys)
    inside = places < len(ordered)
    found = np.zeros(len(keys), dtype=np.bool_)
    found[inside] = ordered[places[inside]] == keys[inside]
    return found


def _drawn_strangers(
    firsts: npt.NDArray[np.int64],
    places: npt.NDArray[np.int64],
    owners: npt.NDArray[np.int64],
    generator: np.random.Generator,
) -> list[int | None]:
    """For each sentence the place of a random one of another article; None if there is no other article."""
    by_place = owners[places]
    begins = np.searchsorted(by_place, owners[firsts])
    own = np.searchsorted(by_place, owners[firsts] + 1) - begins
    others = len(places) - own
    drawn = generator.integers(np.maximum(others, 1))
    chosen = places[np.where(drawn < begins, drawn, np.minimum(drawn + own, len(places) - 1))]
    return [place if left else None for place, left in zip(chosen.tolist(), others.tolist(), strict=True)]
