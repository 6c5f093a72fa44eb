"""Build next-sentence pairs: a corpus to a folder of pairs, split into sentences here or on Ray."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path

from evenhand.api.executors import HERE, Assignment, Executor, executor_at
from evenhand.core.errors import EvenhandError
from evenhand.core.progress import SILENT, Monitor, Progress
from evenhand.data.corpus_sources import corpus_sources
from evenhand.heads import pair_building
from evenhand.heads.article_splitting import SplitSource, split_here
from evenhand.heads.pairs import NextSentenceOptions, NextSentencePairs


def build_next_sentence_pairs(
    corpus: str | Path | Sequence[str | Path],
    out: str | Path,
    *,
    options: NextSentenceOptions,
    split: str = "train",
    column: str = "text",
    on: str | Executor = HERE,
    replace: bool = False,
    monitor: Monitor = SILENT,
) -> NextSentencePairs:
    """Take sentences and their successors from articles, and pair each with a stranger too.

    Killed at any moment and called again, it goes on with the sources that were not finished and ends with the same
    bytes.

    Args:
        corpus: Text, JSON Lines, MediaWiki dumps, folders of text, or ``hub:NAME[:CONFIG][@REVISION]``.
        out: The folder of pairs.
        options: Language, seed, and how many articles are kept for testing.
        split: Of a dataset of the hub.
        column: Of a dataset of the hub, the one with the text.
        on: ``here``, ``ray`` or ``ray:ADDRESS``, for splitting sources into sentences. The bytes are the same.
        replace: Whether another folder of pairs at ``out`` may be replaced.
        monitor: Told how it goes.
    """
    places = [corpus] if isinstance(corpus, str | Path) else list(corpus)
    if not places:
        raise EvenhandError("No corpus was given. Write --corpus PATH: text files, folders, or hub:NAME.")
    listing = corpus_sources(places, split=split, column=column)
    if listing.files_left_out:
        monitor.note(f"{len(listing.files_left_out):,} files are not named like text and are left alone.")
    target = Path(out)
    pairs = pair_building.build_next_sentence_pairs(
        listing.sources,
        target,
        options=options,
        splitter=split_here if on == HERE else partial(_split_with, executor_at(on)),
        replace=replace,
        monitor=monitor,
    )
    record = pairs.record
    monitor.note(
        f"{target} holds {record.train_pairs:,} pairs for training and {record.test_pairs:,} for testing."
    )
    return pairs


def _split_with(executor: Executor, sources: Sequence[SplitSource], report: Progress) -> None:
    """Split each source as a job of its own, which writes into the folder of the job here."""
    total = sum(own.source.size for own in sources)
    done = 0

    def finished(number: int, _: None) -> None:
        nonlocal done
        done += sources[number].source.size
        report(done, total)

    executor.execute(
        [
            Assignment(title=own.source.name, work=partial(_split_one, own), folder=own.articles)
            for own in sources
        ],
        finished=finished,
    )


def _split_one(source: SplitSource, _: Monitor) -> None:
    source.split()
