"""Counterfactual data from a corpus: search its sources for pairs, join them, write and count them."""

from __future__ import annotations

import dataclasses
import hashlib
import json
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path

from pydantic import ValidationError

from evenhand.core.errors import DatasetError, OutputError, shortlist
from evenhand.core.experiments import TRAINED_EXPERIMENTS, Experiment
from evenhand.core.files import file_written_whole, sha256_of, sha256_of_file, write_text
from evenhand.core.probes import ProbeSet
from evenhand.core.progress import Progress
from evenhand.data.corpus_sources import CorpusSource
from evenhand.mitigation.pairs.counts import COUNTS_ENDING, PairCensus, PairCounts, SourceCount
from evenhand.mitigation.pairs.joining import NAMES_SAMPLE, NameTable, PairJoiner, PairSample
from evenhand.mitigation.pairs.matching import EVALUATION, NO_OCCUPATION, REPEATED, PairSearch
from evenhand.mitigation.pairs.searching import (
    SearchJob,
    SourceParts,
    SourceSearcher,
    SourceTally,
    in_this_process,
)
from evenhand.mitigation.pairs.twin_pairs import pair_line
from evenhand.store.jobs import open_job
from evenhand.text.swappers import Swapper


class NothingFoundError(DatasetError):
    """A corpus without a single pair."""


@dataclass(frozen=True, slots=True)
class PairOptions:
    """Which pairs are made.

    Attributes:
        probes: Their occupations and names are looked for, their sentences are kept out.
        experiments: Whose terms a sentence must have, one of them at least.
        seed: Of the sample of names.
        names_sample: The most pairs that are kept for names alone.
        limit: Sentences that are read of each source; all if None.
        make_swapper: Makes what writes the twins; that of the probes' language if not given. It is sent to other
            processes.
    """

    probes: ProbeSet
    experiments: tuple[Experiment, ...] = TRAINED_EXPERIMENTS
    seed: int = 0
    names_sample: int = NAMES_SAMPLE
    limit: int | None = None
    make_swapper: Callable[[], Swapper] | None = None

    def search(self) -> PairSearch:
        """What is looked for."""
        return PairSearch.of(self.probes, experiments=self.experiments, make_swapper=self.make_swapper)

    def search_digest(self, search: PairSearch) -> str:
        """A digest of everything that decides which pairs a source gives."""
        swapper = type(search.make_swapper())
        return _digest(
            version("evenhand"), f"{swapper.__module__}.{swapper.__qualname__}", self.probes.language,
            self.probes.sha256, [occupation.name for occupation in self.probes.occupations], self.experiments,
            self.limit,
        )  # fmt: skip


def build_pairs(
    sources: Sequence[CorpusSource],
    out: Path,
    *,
    options: PairOptions,
    searcher: SourceSearcher = in_this_process,
    replace: bool = False,
    report: Progress = lambda _done, _total: None,
) -> PairCounts:
    """Write the pairs of a corpus, and their counts beside them.

    Killed at any moment and started again, it goes on with the sources that were not finished and ends with the same
    bytes. If ``out`` holds the pairs of this very corpus and these options already, nothing is done.

    Args:
        sources: Files of text and shards of datasets, from ``evenhand.data.corpus_sources``.
        out: The file of pairs.
        options: What is looked for.
        searcher: How the sources are searched: in this process, in several, or on a cluster.
        replace: Whether another file at ``out`` may be replaced.
        report: Called with the bytes of the corpus that are searched, and their total.

    Raises:
        DatasetError: If a source cannot be read.
        NothingFoundError: If the corpus gives no pair.
        OutputError: If ``out`` holds something else, or cannot be written.
    """
    search = options.search()
    search_digest = options.search_digest(search)
    fingerprint = _digest(
        search_digest, options.seed, options.names_sample, [source.identity() for source in sources]
    )

    def finished_search(place: Path) -> str | None:
        """The digest of this search if its pairs are in place."""
        if not place.exists():
            return None
        if _counts_of(place, fingerprint) is not None:
            return search_digest
        if replace:
            return None
        raise OutputError(
            f"{place} is there already and holds something else: other options, another corpus, or no pairs. Choose "
            "another --out, or replace it with --replace."
        )

    # Parts belong to the search alone: a source that was mended or a new seed does not cost the other sources.
    with open_job(out, search_digest, fingerprint_at=finished_search) as job:
        if job.is_done and (counts := _counts_of(out, fingerprint)) is not None:
            return counts
        parts = SourceParts(job.subfolder("pairs"), job.parts("tallies"))
        try:
            tallies = _search_all(
                sources, SearchJob(search, parts, (), options.limit), searcher=searcher, report=report
            )
            counts = _join(
                parts, tallies, out,
                options=options, search=search, fingerprint=fingerprint, scratch=job.subfolder("result"),
            )  # fmt: skip
        except NothingFoundError:
            job.discard()
            raise
        except BaseException:
            if not any(parts.tallies):
                job.discard()
            raise
        job.discard()
        return counts


def counts_path(out: Path) -> Path:
    """The file of counts beside a file of pairs: ``pairs.counts.json`` beside ``pairs.jsonl``."""
    return out.with_name(out.name.removesuffix(".jsonl") + COUNTS_ENDING)


def _counts_of(out: Path, fingerprint: str) -> PairCounts | None:
    """The counts beside a file of pairs, if both belong to this fingerprint and neither is damaged."""
    try:
        counts = PairCounts.model_validate_json(counts_path(out).read_bytes())
        intact = counts.fingerprint == fingerprint and counts.sha256 == sha256_of_file(out)
    except (OSError, ValidationError):
        return None
    return counts if intact else None


def _search_all(
    sources: Sequence[CorpusSource], job: SearchJob, *, searcher: SourceSearcher, report: Progress
) -> list[SourceTally]:
    """The tally of each source; those that are finished are not read again."""
    numbered = tuple(enumerate(sources))
    left = tuple(
        (number, source) for number, source in numbered if job.parts.finished(number, source) is None
    )
    total = sum(source.size for source in sources)
    before = total - sum(source.size for _, source in left)
    if left:
        searcher(dataclasses.replace(job, sources=left), lambda done, _: report(before + done, total))
    report(total, total)
    tallies = [job.parts.finished(number, source) for number, source in numbered]
    changed = [source.name for source, tally in zip(sources, tallies, strict=True) if tally is None]
    if changed:
        raise DatasetError(
            f"{shortlist(changed, 3)} changed while being read. Give the same command again to read it once more."
        )
    return [tally for tally in tallies if tally is not None]


def _join(
    parts: SourceParts,
    tallies: list[SourceTally],
    out: Path,
    *,
    options: PairOptions,
    search: PairSearch,
    fingerprint: str,
    scratch: Path,
) -> PairCounts:
    names = options.probes.terms.get(Experiment.NAMES) if Experiment.NAMES in options.experiments else None
    joiner = PairJoiner(
        read=lambda: parts.read_pairs(range(len(tallies))),
        names=NameTable(names, language=search.language) if names else None,
        sample=PairSample(options.names_sample, options.seed),
        evaluation=search.evaluation,
        census=PairCensus(options.experiments),
    )
    digest = hashlib.sha256()
    with file_written_whole(out, scratch=scratch) as stream:
        for pair in joiner.pairs():
            line = pair_line(pair)
            digest.update(line)
            stream.write(line)
        counts = _counts(joiner, tallies, options, fingerprint=fingerprint, sha256=digest.hexdigest())
        groups = {experiment.value: own for experiment, own in search.groups.items()}
        counts = counts.model_copy(update={"groups": groups})
        if not counts.pairs:
            raise NothingFoundError(_nothing_found(counts, search))
        stream.flush()
        write_text(counts_path(out), counts.to_json())
    return counts


def _counts(
    joiner: PairJoiner, tallies: list[SourceTally], options: PairOptions, *, fingerprint: str, sha256: str
) -> PairCounts:
    left_out = sum((tally.left_out for tally in tallies), Counter({REPEATED: joiner.repeated}))
    census = joiner.census
    return PairCounts(
        version=version("evenhand"),
        language=options.probes.language,
        experiments=tuple(experiment.value for experiment in options.experiments),
        seed=options.seed,
        names_sample=options.names_sample,
        limit=options.limit,
        fingerprint=fingerprint,
        sha256=sha256,
        sentences=sum(tally.sentences for tally in tallies),
        found=census.found,
        pairs=census.pairs,
        originals=census.originals,
        overlap=left_out[EVALUATION],
        left_out=dict(
            sorted(((reason, n) for reason, n in left_out.items() if n), key=lambda each: (-each[1], each))
        ),
        cuts=sum(tally.cuts for tally in tallies),
        records_skipped=sum(tally.records_skipped for tally in tallies),
        names=joiner.name_count,
        by_experiment=census.by_experiment,
        terms=census.terms,
        occupations=census.occupations,
        occupation_terms=census.occupation_terms,
        sources=tuple(
            SourceCount(name=tally.name, sha256=tally.sha256, sentences=tally.sentences, found=tally.found)
            for tally in tallies
        ),
    )


def _nothing_found(counts: PairCounts, search: PairSearch) -> str:
    if not counts.sentences:
        return f"There is no sentence in {shortlist((source.name for source in counts.sources), 3)}."
    with_occupation = counts.sentences - counts.left_out.get(NO_OCCUPATION, 0)
    names = shortlist((occupation.name for occupation in search.occupations), 3)
    reasons = "; ".join(
        f"{reason}: {number:,}" for reason, number in counts.left_out.items() if reason != NO_OCCUPATION
    )
    return (
        f"No sentence of the corpus gives a pair. Looked for: one of {len(search.occupations)} occupations in "
        f"{search.language!r} ({names}) beside a {'term' if search.groups else 'gendered word'} of "
        f"{', '.join(counts.experiments)}. Found: "
        f"{counts.sentences:,} sentences, {with_occupation:,} with an occupation"
        f"{f' ({reasons})' if reasons else ''}. Give more text, --experiment all, other --occupations, or the right "
        "--language."
    )


def _digest(*values: object) -> str:
    return sha256_of(json.dumps(values, ensure_ascii=False, sort_keys=True).encode())
