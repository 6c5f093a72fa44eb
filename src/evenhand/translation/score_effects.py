"""What translation does to scores: how much of a difference between languages rests on items with a problem.

Problems are those that the two runs know of their items, those that show when the texts of both runs are held against
each other, and repairs. The share of a difference is told for three kinds of them, and for all three together.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from pathlib import Path

import polars as pl

from evenhand.core.errors import TranslationError
from evenhand.core.items import OVERALL, Association, Benchmark, Candidate, Label, Task
from evenhand.data.defects import TARGET_MISSING
from evenhand.data.inspection import check_translation
from evenhand.data.language_names import language_named_by
from evenhand.instruments.association.comparison import compare_associations, contributions, shared_items
from evenhand.stats.resampling import Resampling
from evenhand.store.comparison import (
    ComparisonOptions,
    Difference,
    ProblemShare,
    TermProblems,
    TranslationEffect,
)
from evenhand.store.run import Run
from evenhand.translation.changes import read_changes, repaired_items
from evenhand.translation.folder import CHANGES, read_record

FLAGGED = "flagged"
REPAIRED = "repaired"
ANY = "any of these"

MEASURES = ("SS", "LMS")
"""Means over items, so that contributions of disjoint items add up."""


@dataclass(frozen=True, slots=True)
class _Problems:
    """The names of the problems of each item, and the items of each kind whose share is told."""

    names: Mapping[str, frozenset[str]]
    kinds: Mapping[str, frozenset[str]]


def translation_effect(
    first: Run,
    second: Run,
    *,
    repaired: Mapping[str, Collection[str]] | None = None,
    resampling: Resampling | None = None,
) -> TranslationEffect | None:
    """What items with a problem have to do with the difference between two runs in different languages.

    Args:
        first: The baseline.
        second: The run that is compared with it.
        repaired: By language the items whose texts were repaired.
        resampling: Number of resamples, seed and confidence level.

    Returns:
        None if both runs are in one language, or are no association tests.
    """
    if first.record.instrument != "association" or first.record.language == second.record.language:
        return None
    chosen = resampling or Resampling()
    items = shared_items(first, second)[0]
    problems = _problems(first, second, repaired or {}, shared=frozenset(items["item"].to_list()))
    options = ComparisonOptions(measures=MEASURES, resampling=chosen)
    differences = {row.key: row for row in compare_associations(first, second, options).differences}
    totals = Counter(items["task"].to_list())
    totals[OVERALL] = len(items)
    shares = []
    for kind, ids in problems.kinds.items():
        own = Counter(items.filter(pl.col("item").is_in(sorted(ids)))["task"].to_list())
        own[OVERALL] = len(ids)
        for row in contributions(first, second, ids, measures=MEASURES, resampling=chosen):
            share = _share(differences[row.key], row)
            shares.append(
                ProblemShare(
                    task=row.task,
                    measure=row.measure,
                    problem=kind,
                    items=own[row.task],
                    of_items=totals[row.task],
                    difference=differences[row.key].difference.value,
                    contribution=row.difference,
                    share=share,
                )
            )
    return TranslationEffect(
        first=first.name,
        second=second.name,
        first_language=first.record.language,
        second_language=second.record.language,
        shares=tuple(shares),
        terms=_terms(items, problems),
    )


def read_repaired_items(place: Path) -> tuple[str, frozenset[str]]:
    """The language of a translation, and its items whose texts were repaired.

    Args:
        place: The folder of the translation, or the table of changes that was published with it, ``de.changes.csv``.

    Raises:
        TranslationError: If the language cannot be told.
        DatasetError: If the table cannot be read.
    """
    if place.is_dir():
        return read_record(place).language, repaired_items(read_changes(place / CHANGES))
    language = language_named_by(place)
    if language is None:
        raise TranslationError(
            f"{place} does not say of which language the changes are. Give the folder of the translation, or name the "
            "table after its language: de.changes.csv."
        )
    return language, repaired_items(read_changes(place))


def _share(difference: Difference, contribution: Difference) -> float:
    estimate = difference.difference
    if not (estimate.low > 0 or estimate.high < 0):
        return math.nan
    return contribution.difference.value / estimate.value


def _problems(
    first: Run, second: Run, repaired: Mapping[str, Collection[str]], *, shared: frozenset[str]
) -> _Problems:
    benchmarks = {run.record.language: _benchmark(run) for run in (first, second)}
    names: dict[str, set[str]] = {}
    flagged: set[str] = set()
    for run, other in ((first, second), (second, first)):
        own, source = benchmarks[run.record.language], benchmarks[other.record.language]
        report = check_translation(own, source)
        flagged |= report.flagged_items()
        # A run that knows what it was translated from flags missing targets; here they are a kind of their own.
        counted = {defect.name for defect in run.record.defects if defect.flagged} - {TARGET_MISSING}
        shown = {*counted, TARGET_MISSING} | {
            finding.defect.name for finding in report.findings if finding.defect.flagged
        }
        for found in (_known_defects(run), report.defects_by_item()):
            for item, defects in found.items():
                names.setdefault(item, set()).update(shown.intersection(defects))
                if counted.intersection(defects):
                    flagged.add(item)
        for item in repaired.get(run.record.language, ()):
            names.setdefault(item, set()).add(REPAIRED)
    kept = {item: frozenset(own) for item, own in names.items() if item in shared}
    kinds = {
        FLAGGED: frozenset(flagged) & shared,
        TARGET_MISSING: frozenset(item for item, own in kept.items() if TARGET_MISSING in own),
        REPAIRED: frozenset(item for item, own in kept.items() if REPAIRED in own),
    }
    every = frozenset().union(*kinds.values())
    return _Problems(kept, {**{kind: ids for kind, ids in kinds.items() if ids}, ANY: every})


def _known_defects(run: Run) -> dict[str, list[str]]:
    return dict(run.scores.select("item", "defects").unique("item").iter_rows())


def _benchmark(run: Run) -> Benchmark:
    """The items of a run, as far as its scores have them."""
    rows: dict[str, list[dict[str, str]]] = {}
    for row in run.scores.iter_rows(named=True):
        rows.setdefault(row["item"], []).append(row)
    return Benchmark(
        name=run.name,
        language=run.record.language,
        items=tuple(_item(identity, own) for identity, own in rows.items()),
        source=run.record.dataset.source,
        sha256=run.record.dataset.sha256,
    )


def _item(identity: str, rows: list[dict[str, str]]) -> Association:
    first, second, third = (Candidate(row["candidate"], row["text"], Label(row["label"])) for row in rows)
    own = rows[0]
    return Association(
        id=identity,
        language=own["language"],
        bias_type=own["bias_type"],
        target=own["target"],
        cluster=own["cluster"],
        task=Task(own["task"]),
        context=own["context"],
        candidates=(first, second, third),
    )


def _terms(items: pl.DataFrame, problems: _Problems) -> tuple[TermProblems, ...]:
    rows = []
    for (term, bias_type), own in items.group_by("cluster", "bias_type", maintain_order=True):
        ids = own["item"].to_list()
        rows.append(
            TermProblems(
                term=str(term),
                bias_type=str(bias_type),
                items=len(ids),
                with_problem=sum(item in problems.kinds[ANY] for item in ids),
                counts=dict(
                    Counter(
                        name for item in ids for name in sorted(problems.names.get(item, ()))
                    ).most_common()
                ),
            )
        )
    return tuple(sorted(rows, key=lambda row: (-row.with_problem, -sum(row.counts.values()), row.term)))
