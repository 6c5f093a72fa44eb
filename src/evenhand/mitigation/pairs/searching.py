"""Search the sources of a corpus, one after another or several at once; what is found is the same."""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import FIRST_EXCEPTION, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass
from itertools import islice
from multiprocessing.connection import wait as wait_for
from typing import Any

from evenhand.core.errors import EvenhandError
from evenhand.core.progress import Progress
from evenhand.data.corpora import EmptyCorpusError
from evenhand.data.corpus_sources import CorpusSource, SentenceStream
from evenhand.mitigation.pairs.matching import Matcher, Search, Tally
from evenhand.mitigation.pairs.pairing import Pair
from evenhand.mitigation.pairs.parts import PartStore, SourceTally, lines_of_pairs, tally_of

SECONDS_BETWEEN_REPORTS = 0.2


@dataclass(frozen=True, slots=True)
class Work:
    """What is left to search, and where to put what is found. It can be sent to other processes."""

    search: Search
    store: PartStore
    sources: tuple[tuple[int, CorpusSource], ...]
    """With their numbers in the corpus."""
    limit: int | None
    """Sentences that are read of each source."""


Spread = Callable[[Work, Progress], None]
"""A way to do the work: in this process, in several, or on a cluster. Told bytes are those of the work alone."""


class SourceSearch:
    """The pairs of one source, and when they are read, what became of all its sentences."""

    def __init__(
        self, source: CorpusSource, matcher: Matcher, *, limit: int | None, report: Progress | None
    ) -> None:
        self.identity = source.identity()
        self._source = source
        self._matcher = matcher
        self._limit = limit
        self._sentences: SentenceStream = source.open(report)
        self._tally = Tally()

    def pairs(self) -> Iterator[Pair]:
        """What is found; a source without sentences gives nothing, because others may have some."""
        return self._matcher.pairs(self._read(), self._tally)

    @property
    def tally(self) -> SourceTally:
        """What became of the sentences, when all pairs are read."""
        counts = self._sentences.counts
        return tally_of(
            self._source,
            self._tally,
            sha256=self._sentences.sha256,
            cuts=counts.cuts,
            records_skipped=counts.records_skipped,
        )

    def _read(self) -> Iterator[str]:
        try:
            yield from islice(self._sentences, self._limit)
        except EmptyCorpusError:
            return


def in_this_process(work: Work, report: Progress) -> None:
    """One source after another."""
    matcher = Matcher(work.search)
    total = sum(source.size for _, source in work.sources)
    before = 0

    def report_within(done: int, _: int) -> None:
        report(before + done, total)

    for number, source in work.sources:
        _search(work, number, source, matcher=matcher, report=report_within)
        before += source.size


def in_processes(workers: int) -> Spread:
    """Several sources at once, each in one of so many processes."""

    def spread(work: Work, report: Progress) -> None:
        context = multiprocessing.get_context("spawn")
        done = context.Array("q", len(work.sources), lock=False)
        stop = context.Value("b", 0, lock=False)
        total = sum(source.size for _, source in work.sources)
        pool = ProcessPoolExecutor(
            max_workers=max(1, min(workers, len(work.sources))),
            mp_context=context,
            initializer=_begin,
            initargs=(work, done, stop),
        )
        try:
            waiting = {pool.submit(_search_nth, place) for place in range(len(work.sources))}
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

    return spread


def _search(work: Work, number: int, source: CorpusSource, *, matcher: Matcher, report: Progress) -> None:
    searched = SourceSearch(source, matcher, limit=work.limit, report=report)
    work.store.write(number, lines_of_pairs(searched.pairs()))
    work.store.finish(number, searched.identity, tally=searched.tally)


class _Worker:
    """What a process of the pool keeps between sources."""

    work: Work
    matcher: Matcher
    done: Any
    """Bytes of each source, shared with the process that asked."""
    stop: Any
    """Not 0 when that process wants no more."""


class _StoppedError(Exception):
    """Nobody waits for the result any more."""


def _begin(work: Work, done: Any, stop: Any) -> None:
    _Worker.work, _Worker.matcher, _Worker.done, _Worker.stop = work, Matcher(work.search), done, stop
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C reaches all; the parent says when to stop
    threading.Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:
    """A killed parent cannot stop its workers, and they would wait for work for ever."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        wait_for([parent.sentinel])
        os._exit(1)


def _search_nth(place: int) -> None:
    number, source = _Worker.work.sources[place]

    def report(done: int, _: int) -> None:
        _Worker.done[place] = done
        if _Worker.stop.value:
            raise _StoppedError

    _search(_Worker.work, number, source, matcher=_Worker.matcher, report=report)
