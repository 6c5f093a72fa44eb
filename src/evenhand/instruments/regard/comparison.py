"""Two runs of regard beside each other: did a gap change by more than contexts vary?"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
import polars as pl

from evenhand.core.errors import ComparisonError, shortlist
from evenhand.instruments.regard.analysis import TextLabelTable, texts_of_frame
from evenhand.instruments.regard.content_comparison import (
    divergence_differences,
    flag_differences,
    lexicon_differences,
    regard_difference,
    same_lists,
)
from evenhand.instruments.regard.estimation import NET_REGARD, SHARES
from evenhand.instruments.regard.results import ErrorTreatment, RegardMeasure, RegardResult
from evenhand.stats.group_shares import CombinedShares, CountedShares, GroupShares
from evenhand.stats.resampling import Floats, Resampling
from evenhand.store.comparison import Comparison, ComparisonOptions, Difference, comparison_of
from evenhand.store.run import Run

DECODING = "decoding"
"""The option of a record that says how texts were decoded."""

CLASSIFIER = "classifier"
"""The option of a record that says which classifier labelled the texts."""

COMPARED = (
    RegardMeasure.SIGNED_GAP,
    RegardMeasure.LEXICON_GAP,
    RegardMeasure.FLAG_GAP,
    RegardMeasure.OCCUPATION_DIVERGENCE,
)
"""What is compared where nothing else was asked for: gaps of every kind."""

_FEWEST_CONTEXTS = 2


def compare_regard(first: Run, second: Run, options: ComparisonOptions) -> Comparison:
    """Changes of gaps over the contexts that both runs have, contexts resampled and exchanged together.

    Args:
        first: The baseline.
        second: The run that is compared with it.
        options: What is compared, and how.
    """
    shared = _shared_contexts(first, second)
    measures = options.measures or COMPARED
    rows: list[Difference] = []
    parts: dict[tuple[str, ...], list[str]] = {(): shared}
    if options.by_group:
        kinds = first.result.kind_of_context
        parts |= {(kind,): [own for own in shared if kinds.get(own) == kind] for kind in first.result.by_kind}
    for place, contexts in parts.items():
        if len(contexts) < _FEWEST_CONTEXTS:
            continue
        shares = _shares_of_both((first, second), contexts)
        n = sum(len(_in_contexts(run, contexts)) for run in (first, second))
        for own in _compared(first.result.groups):
            if own.measure in measures:
                rows.append(_difference(own, shares, place, n=n, resampling=options.resampling))
    rows += [
        row
        for row in _content(first, second, shared, resampling=options.resampling)
        if row.measure in measures
    ]
    texts = [len(_in_contexts(run, shared)) for run in (first, second)]
    comparison = comparison_of(
        first, second, rows, n=sum(texts), left_out=len(first.scores) + len(second.scores) - sum(texts)
    )
    words = f"{len(shared)} shared contexts, {texts[0]:,} and {texts[1]:,} texts."
    return comparison.model_copy(update={"shared": words})


def _content(
    first: Run, second: Run, contexts: Sequence[str], *, resampling: Resampling
) -> Iterator[Difference]:
    """Changes of lexicons, flags and occupations, where both runs have the same ones."""
    runs = (first, second)
    if same_lists(runs, "lexicons"):
        yield from lexicon_differences(runs, contexts, resampling=resampling)
    yield from flag_differences(runs, contexts, resampling=resampling)
    if same_lists(runs, "occupations"):
        yield from divergence_differences(runs, contexts, resampling=resampling)


def refuse_incomparable_texts(first: Run, second: Run) -> None:
    """Refuse runs about other groups or contexts, and runs that were decoded or labelled in another way.

    Raises:
        ComparisonError: With what differs.
    """
    for run in (first, second):
        strangers = set(run.scores["group"].to_list()) - set(run.result.groups)
        if strangers:
            raise ComparisonError(
                f"{run.name} has texts about {shortlist(sorted(strangers))}, of whom it has no figures. Make the run "
                "again with --fresh."
            )
    groups = [own.result.groups for own in (first, second)]
    if set(groups[0]) != set(groups[1]):
        raise ComparisonError(
            f"{first.name} is about {shortlist(groups[0])}, {second.name} about {shortlist(groups[1])}. Only runs "
            "about the same groups can be compared."
        )
    if len(_shared_contexts(first, second)) < _FEWEST_CONTEXTS:
        raise ComparisonError(
            f"{first.name} and {second.name} have fewer than two contexts in common, and contexts are what changes are "
            "held against."
        )
    for option, verb in ((DECODING, "decoded"), (CLASSIFIER, "labelled")):
        ways = [own.record.options.get(option) for own in (first, second)]
        if None not in ways and ways[0] != ways[1]:
            raise ComparisonError(
                f"The texts of {first.name} and of {second.name} were {verb} in different ways: {ways[0]} and "
                f"{ways[1]}. What differs would be that as well as the model."
            )


@dataclass(frozen=True, slots=True)
class _Compared:
    """Something that is compared: its measure, what it is about, and its contrast."""

    measure: RegardMeasure
    about: str
    title: str
    contrast: Floats


def _shared_contexts(first: Run, second: Run) -> list[str]:
    theirs = set(second.scores["context"].to_list())
    return [own for own in dict.fromkeys(first.scores["context"].to_list()) if own in theirs]


def _in_contexts(run: Run, contexts: Sequence[str]) -> pl.DataFrame:
    return run.scores.filter(pl.col("context").is_in(contexts))


def _shares_of_both(runs: tuple[Run, Run], contexts: Sequence[str]) -> tuple[GroupShares, GroupShares]:
    """Prediction-powered where both runs are, else as labelled; contexts are numbered alike in both."""
    tables = [
        TextLabelTable.of(
            texts_of_frame(_in_contexts(run, contexts)), runs[0].result.groups, contexts=contexts
        )
        for run in runs
    ]
    powered = [
        table.prediction_powered() if _is_powered(run.result) else None
        for run, table in zip(runs, tables, strict=True)
    ]
    if powered[0] is not None and powered[1] is not None:
        return powered[0], powered[1]
    first, second = (CountedShares(table.counts(table.label)) for table in tables)
    return first, second


def _is_powered(result: RegardResult) -> bool:
    return result.all.figures.treatment is ErrorTreatment.PREDICTION_POWERED


def _difference(
    own: _Compared,
    shares: tuple[GroupShares, GroupShares],
    place: tuple[str, ...],
    *,
    n: int,
    resampling: Resampling,
) -> Difference:
    change, total = (CombinedShares(shares, factors) for factors in ((-1.0, 1.0), (1.0, 1.0)))
    return regard_difference(
        own.measure,
        ".".join((*place, own.about)),
        (shares[0].value(own.contrast), shares[1].value(own.contrast)),
        change.interval_on_scale(own.contrast, resampling=resampling),
        total.interval(own.contrast, resampling=resampling),
        p_value=change.p_value(own.contrast, resampling=resampling),
        n=n,
        contexts=change.contexts,
        title=own.title,
    )


def _compared(groups: tuple[str, ...]) -> Iterator[_Compared]:
    """Every gap between two groups, and every figure of a group."""
    for first, second in combinations(range(len(groups)), 2):
        contrast = np.zeros((len(groups), len(NET_REGARD)))
        contrast[first], contrast[second] = NET_REGARD, -NET_REGARD
        names = groups[first], groups[second]
        yield _Compared(RegardMeasure.SIGNED_GAP, "-".join(names), "Gap in net regard", contrast)
    for number, group in enumerate(groups):
        for measure, weights in {RegardMeasure.NET_REGARD.value: NET_REGARD, **SHARES}.items():
            contrast = np.zeros((len(groups), len(NET_REGARD)))
            contrast[number] = weights
            title = f"{measure.replace('_', ' ').capitalize()} of {group}"
            yield _Compared(RegardMeasure(measure), group, title, contrast)
