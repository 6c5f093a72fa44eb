"""Build pairs: a corpus to a file of sentences and their twins, searched here, in several processes, or on Ray."""

from __future__ import annotations

import pickle
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache, partial
from pathlib import Path
from typing import Any

from evenhand.api.executors import HERE, Assignment, Executor, executor_at
from evenhand.core.errors import EvenhandError, OutputError
from evenhand.core.inputs import checked_path
from evenhand.core.progress import SILENT, Monitor, Progress
from evenhand.data.corpus_sources import CorpusSource, corpus_sources
from evenhand.data.probes import load_probes
from evenhand.mitigation.pairs import building
from evenhand.mitigation.pairs.building import PairOptions
from evenhand.mitigation.pairs.counts import PairCounts
from evenhand.mitigation.pairs.matching import Matcher
from evenhand.mitigation.pairs.searching import (
    SearchJob,
    SourceSearch,
    SourceSearcher,
    SourceTally,
    in_processes,
    in_this_process,
)


def build_pairs(
    corpus: str | Path | Sequence[str | Path],
    out: str | Path,
    *,
    options: PairOptions | None = None,
    split: str = "train",
    column: str = "text",
    workers: int = 1,
    on: str | Executor = HERE,
    replace: bool = False,
    monitor: Monitor = SILENT,
) -> PairCounts:
    """Find sentences with an occupation and a gendered word, and write each with its twin.

    Killed at any moment and called again, it goes on with the sources that were not finished and ends with the same
    bytes.

    Args:
        corpus: Text, JSON Lines, either with .gz, folders of them, or ``hub:NAME[:CONFIG][@REVISION]``.
        out: The file of pairs; their counts go beside it.
        options: What is looked for; what the English probes ask if not given.
        split: Of a dataset of the hub.
        column: Of a dataset of the hub, the one with the text.
        workers: Processes on this machine; each reads one source at a time.
        on: ``here``, ``ray`` or ``ray:ADDRESS``. The bytes are the same.
        replace: Whether another file at ``out`` may be replaced.
        monitor: Told how it goes.
    """
    places = [corpus] if isinstance(corpus, str | Path) else list(corpus)
    if not places:
        raise EvenhandError("No corpus was given. Write --corpus PATH: text files, folders, or hub:NAME.")
    searcher = _searcher(on, workers)
    listing = corpus_sources(places, split=split, column=column)
    if listing.files_left_out:
        monitor.note(f"{len(listing.files_left_out):,} files are not named like text and are left alone.")
    target = checked_path(out, error=OutputError)
    with monitor.stage(target.name, "bytes") as progress:
        counts = building.build_pairs(
            listing.sources,
            target,
            options=options or PairOptions(load_probes("en")),
            searcher=searcher,
            replace=replace,
            report=progress,
        )
    monitor.note(f"{target} and {building.counts_path(target)} hold {counts.pairs:,} pairs.")
    return counts


def _searcher(on: str | Executor, workers: int) -> SourceSearcher:
    if on == HERE:
        return in_processes(workers) if workers > 1 else in_this_process
    if workers > 1:
        raise EvenhandError(
            "--workers is for processes on this machine; on Ray the cluster has as many as it has."
        )
    return partial(_search_with, executor_at(on))


@dataclass(frozen=True, slots=True)
class _SearchedSource:
    """The pairs of one source as lines, and what became of its sentences. Only whoever asked writes."""

    lines: bytes
    identity: dict[str, Any]
    tally: SourceTally


def _search_with(executor: Executor, job: SearchJob, report: Progress) -> None:
    """Search each source as a job of its own."""
    total = sum(source.size for _, source in job.sources)
    search = pickle.dumps(job.search)
    done = 0

    def keep(index: int, searched: _SearchedSource) -> None:
        nonlocal done
        number, source = job.sources[index]
        digest = job.parts.write_pairs(number, [searched.lines])
        job.parts.finish(number, searched.identity, tally=searched.tally, digest=digest)
        done += source.size
        report(done, total)

    assignments = [
        Assignment(title=source.name, work=partial(_search_one, search, source, job.limit))
        for _, source in job.sources
    ]
    executor.execute(assignments, finished=keep)


def _search_one(search: bytes, source: CorpusSource, limit: int | None, _: Monitor) -> _SearchedSource:
    searched = SourceSearch(source, _matcher(search), limit=limit, report=None)
    lines = b"".join(searched.lines())
    return _SearchedSource(lines, searched.identity, searched.tally)


@lru_cache(maxsize=1)
def _matcher(search: bytes) -> Matcher:
    """What finds pairs; it takes long to make, so a worker keeps it for its next source."""
    return Matcher(pickle.loads(search))  # noqa: S301 # sent by our own process
