"""Search the sources of a corpus for pairs, one after another or several at once; the result is the same.

The pairs of a source are written as they come, and its tally when it is read to its end. A killed run goes on with the
sources that have no tally yet.
"""

from __future__ import annotations

import hashlib
import json
import multiprocessing
import os
import signal
import threading
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import FIRST_EXCEPTION, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from dataclasses import asdict, dataclass
from itertools import islice
from multiprocessing.connection import wait as wait_for
from pathlib import Path
from typing import Any

from evenhand.core.errors import EvenhandError
from evenhand.core.files import file_written_whole, sha256_of_file
from evenhand.core.progress import Progress
from evenhand.data.corpora import EmptyCorpusError
from evenhand.data.corpus_sources import CorpusSource, SentenceStream
from evenhand.mitigation.pairs.matching import Matcher, PairSearch, SentenceTally
from evenhand.mitigation.pairs.twin_pairs import TwinPair, pair_line, parse_pair
from evenhand.store.jobs import Parts

SECONDS_BETWEEN_REPORTS = 0.2


@dataclass(frozen=True, slots=True)
class SourceTally:
    """What became of the sentences of a source that was read to its end."""

    name: str
    sha256: str
    sentences: int
    found: int
    """Sentences that gave a pair."""
    left_out: Counter[str]
    """The other sentences by reason."""
    cuts: int
    records_skipped: int

    def to_json(self) -> dict[str, Any]:
        """As a part of the store has it."""
        return {**asdict(self), "left_out": dict(sorted(self.left_out.items()))}

    @classmethod
    def from_json(cls, row: dict[str, Any]) -> SourceTally:
        """From a part of the store."""
        return cls(**{**row, "left_out": Counter(row["left_out"])})


@dataclass(frozen=True, slots=True)
class SourceParts:
    """A file of pairs and a tally for each finished source. It can be sent to other processes.

    Attributes:
        folder: Where the files of pairs are; they are too large for ``Parts``, which holds a piece in memory.
        tallies: The tallies, each with the digest of its pairs and what identifies its source.
    """

    folder: Path
    tallies: Parts

    def write_pairs(self, number: int, lines: Iterable[bytes]) -> str:
        """Keep the pairs of a source, which does not count as finished yet; returns their digest."""
        digest = hashlib.sha256()
        with file_written_whole(self._path(number)) as stream:
            for line in lines:
                digest.update(line)
                stream.write(line)
        return digest.hexdigest()

    def finish(self, number: int, identity: dict[str, Any], *, tally: SourceTally, digest: str) -> None:
        """Mark a source as finished; ``identity`` is what identified it when its reading began."""
        document = {"source": identity, "pairs": digest, "tally": tally.to_json()}
        self.tallies.put(_key(number), json.dumps(document, ensure_ascii=False).encode())

    def finished(self, number: int, source: CorpusSource) -> SourceTally | None:
        """The tally of a source; None if it is not finished, has changed since, or its pairs are damaged."""
        piece = self.tallies.get(_key(number))
        if piece is None:
            return None
        document = json.loads(piece)
        path = self._path(number)
        if document["source"] != source.identity() or not path.is_file():
            return None
        return SourceTally.from_json(document["tally"]) if sha256_of_file(path) == document["pairs"] else None

    def read_pairs(self, numbers: Iterable[int]) -> Iterator[TwinPair]:
        """The pairs of several sources, in this order."""
        for number in numbers:
            path = self._path(number)
            with path.open(encoding="utf-8", newline="\n") as lines:
                for row, line in enumerate(lines, start=1):
                    yield parse_pair(line, place=f"{path}, line {row}")

    def _path(self, number: int) -> Path:
        return self.folder / f"{_key(number)}.jsonl"


def _key(number: int) -> str:
    return f"{number:05d}"


@dataclass(frozen=True, slots=True)
class SearchJob:
    """The sources that are left to search, and where to put their pairs. It can be sent to other processes."""

    search: PairSearch
    parts: SourceParts
    sources: tuple[tuple[int, CorpusSource], ...]
    """With their numbers in the corpus."""
    limit: int | None
    """Sentences that are read of each source."""


SourceSearcher = Callable[[SearchJob, Progress], None]
"""A way to do a search: in this process, in several, or on a cluster. Progress is in bytes of the job's sources."""


class SourceSearch:
    """The pairs of one source, and when all are read, what became of its sentences."""

    def __init__(
        self, source: CorpusSource, matcher: Matcher, *, limit: int | None, report: Progress | None
    ) -> None:
        self.identity = source.identity()
        self._source = source
        self._matcher = matcher
        self._limit = limit
        self._sentences: SentenceStream = source.open(report)
        self._tally = SentenceTally()

    def lines(self) -> Iterator[bytes]:
        """The pairs as lines. A source without sentences has none, because other sources may have some."""
        return (pair_line(pair) for pair in self._matcher.pairs(self._read(), self._tally))

    @property
    def tally(self) -> SourceTally:
        """What became of the sentences, when all lines are read."""
        counts = self._sentences.counts
        return SourceTally(
            name=self._source.name,
            sha256=self._sentences.sha256,
            sentences=self._tally.sentences,
            found=self._tally.found,
            left_out=self._tally.left_out,
            cuts=counts.cuts,
            records_skipped=counts.records_skipped,
        )

    def _read(self) -> Iterator[str]:
        try:
            yield from islice(self._sentences, self._limit)
        except EmptyCorpusError:
            return


def in_this_process(job: SearchJob, report: Progress) -> None:
    """Search one source after another."""
    matcher = Matcher(job.search)
    total = sum(source.size for _, source in job.sources)
    before = 0

    def report_within(done: int, _: int) -> None:
        report(before + done, total)

    for number, source in job.sources:
        _search(job, number, source, matcher=matcher, report=report_within)
        before += source.size


def in_processes(workers: int) -> SourceSearcher:
    """Search several sources at once, each in one of so many processes."""

    def searcher(job: SearchJob, report: Progress) -> None:
        context = multiprocessing.get_context("spawn")
        done = context.Array("q", len(job.sources), lock=False)
        stop = context.Value("b", 0, lock=False)
        total = sum(source.size for _, source in job.sources)
        pool = ProcessPoolExecutor(
            max_workers=max(1, min(workers, len(job.sources))),
            mp_context=context,
            initializer=_begin,
            initargs=(job, done, stop),
        )
        try:
            waiting = {pool.submit(_search_nth, index) for index in range(len(job.sources))}
            while waiting:
                finished, waiting = wait(waiting, SECONDS_BETWEEN_REPORTS, return_when=FIRST_EXCEPTION)
                for future in finished:
                    future.result()
                report(sum(done), total)
        except BrokenProcessPool:
            raise EvenhandError(
                "One of the processes died, perhaps killed because the memory was full. What the others have finished "
                "is kept: give the same command again, with fewer --workers."
            ) from None
        finally:
            stop.value = 1
            pool.shutdown(wait=True, cancel_futures=True)

    return searcher


def _search(job: SearchJob, number: int, source: CorpusSource, *, matcher: Matcher, report: Progress) -> None:
    search = SourceSearch(source, matcher, limit=job.limit, report=report)
    digest = job.parts.write_pairs(number, search.lines())
    job.parts.finish(number, search.identity, tally=search.tally, digest=digest)


class _Worker:
    """What a process of the pool keeps between sources."""

    job: SearchJob
    matcher: Matcher
    done: Any
    """Bytes read of each source, shared with the parent process."""
    stop: Any
    """Not 0 when the parent process wants no more."""


class _StoppedError(Exception):
    """Nobody waits for the result any more."""


def _begin(job: SearchJob, done: Any, stop: Any) -> None:
    _Worker.job, _Worker.matcher, _Worker.done, _Worker.stop = job, Matcher(job.search), done, stop
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C reaches all; the parent says when to stop
    threading.Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:
    """A killed parent cannot stop its workers, and they would wait for work for ever."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        wait_for([parent.sentinel])
        os._exit(1)


def _search_nth(index: int) -> None:
    number, source = _Worker.job.sources[index]

    def report(done: int, _: int) -> None:
        _Worker.done[index] = done
        if _Worker.stop.value:
            raise _StoppedError

    _search(_Worker.job, number, source, matcher=_Worker.matcher, report=report)
