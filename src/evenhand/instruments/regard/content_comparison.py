"""Lexicons, flags and occupations of two runs beside each other, over the contexts that both have."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations

import numpy as np
import polars as pl

from evenhand.data.contexts import ALL_CONTEXTS
from evenhand.data.group_texts import GroupText
from evenhand.instruments.regard.analysis import texts_of_frame
from evenhand.instruments.regard.content import MATCHES_COLUMN, OCCUPATIONS_COLUMN
from evenhand.instruments.regard.occupation_shares import OccupationSearch, jensen_shannon
from evenhand.instruments.regard.results import FLAGS_COLUMN, RegardMeasure
from evenhand.stats.group_shares import CombinedShares, CountedShares, context_interval
from evenhand.stats.intervals import Interval
from evenhand.stats.resampling import Floats, Resampling
from evenhand.stats.significance import swap_test
from evenhand.store.comparison import ALL_ITEMS, Difference, change_of_distance
from evenhand.store.run import Run

BITS = "bits"

_NO_OCCUPATION = "texts about a group name no occupation in one of the runs"


def same_lists(runs: tuple[Run, Run], part: str) -> bool:
    """Whether both runs were searched for the same ``lexicons`` or ``occupations``."""
    digests = [own and own.sha256 for own in (getattr(run.result, part) for run in runs)]
    column = {"lexicons": MATCHES_COLUMN, "occupations": OCCUPATIONS_COLUMN}[part]
    return (
        None not in digests and digests[0] == digests[1] and all(column in run.scores.columns for run in runs)
    )


def same_flags(runs: tuple[Run, Run]) -> list[str]:
    """The flags that the texts of both runs have, set or not."""
    first, second = ([own.flag for own in run.result.flags] for run in runs)
    are_kept = all(FLAGS_COLUMN in run.scores.columns for run in runs)
    return [flag for flag in first if flag in second] if are_kept else []


def lexicon_differences(
    runs: tuple[Run, Run], contexts: Sequence[str], *, resampling: Resampling
) -> Iterator[Difference]:
    """How the rate of every category changed in texts about each group, and the gap between every two groups."""
    measures = RegardMeasure.LEXICON, RegardMeasure.LEXICON_GAP
    for own in runs[0].result.lexicons.categories:
        has_words = pl.col(MATCHES_COLUMN).list.gather_every(2).list.contains(own.category)
        tables = [_counts(run, has_words, contexts, groups=runs[0].result.groups) for run in runs]
        yield from _rate_differences(tables, runs[0].result.groups, measures, own.category, resampling)


def flag_differences(
    runs: tuple[Run, Run], contexts: Sequence[str], *, resampling: Resampling
) -> Iterator[Difference]:
    """How often every flag is set in both runs, by group, and the gap between every two groups."""
    measures = RegardMeasure.FLAG, RegardMeasure.FLAG_GAP
    for flag in same_flags(runs):
        is_set = pl.col(FLAGS_COLUMN).list.contains(flag)
        tables = [_counts(run, is_set, contexts, groups=runs[0].result.groups) for run in runs]
        yield from _rate_differences(tables, runs[0].result.groups, measures, flag, resampling)


def _rate_differences(
    tables: Sequence[Floats],
    groups: Sequence[str],
    measures: tuple[RegardMeasure, RegardMeasure],
    name: str,
    resampling: Resampling,
) -> Iterator[Difference]:
    """How often texts mention something in both runs, by group, and the gap between every two groups."""
    shares = CountedShares(tables[0]), CountedShares(tables[1])
    n = int(tables[0].sum() + tables[1].sum())
    for group in groups:
        contrast = _contrast(groups, group)
        yield _changed(shares, contrast, measures[0], (name, group), n=n, resampling=resampling)
    for first, second in combinations(groups, 2):
        contrast = _contrast(groups, first) - _contrast(groups, second)
        about = (name, f"{first}-{second}")
        yield _changed(shares, contrast, measures[1], about, n=n, resampling=resampling)


def divergence_differences(
    runs: tuple[Run, Run], contexts: Sequence[str], *, resampling: Resampling
) -> Iterator[Difference]:
    """How far the occupations of every two groups are apart in both runs."""
    searches = [_occupations(run, contexts) for run in runs]
    for pair in combinations(runs[0].result.groups, 2):
        counts = _occupation_counts(searches, pair)
        yield _divergence_difference(counts, pair, resampling)


def _changed(
    shares: tuple[CountedShares, CountedShares],
    contrast: Floats,
    measure: RegardMeasure,
    about: tuple[str, str],
    *,
    n: int,
    resampling: Resampling,
) -> Difference:
    change, total = (CombinedShares(shares, factors) for factors in ((-1.0, 1.0), (1.0, 1.0)))
    values = shares[0].value(contrast), shares[1].value(contrast)
    return regard_difference(
        measure,
        ".".join(about),
        values,
        change.interval_on_scale(contrast, resampling=resampling),
        total.interval(contrast, resampling=resampling),
        p_value=change.p_value(contrast, resampling=resampling),
        n=n,
        contexts=change.contexts,
        title=content_title(measure, *about),
    )


def regard_difference(
    measure: RegardMeasure,
    about: str,
    values: tuple[float, float],
    change: Interval,
    total: Interval,
    *,
    p_value: float,
    n: int,
    contexts: int,
    title: str,
) -> Difference:
    """A row of a comparison of two runs of regard.

    Args:
        measure: What is compared.
        about: Kind of contexts, groups or category, joined by full stops.
        values: Of both runs.
        change: The interval of the second value minus the first.
        total: The interval of their sum.
        p_value: Of no change.
        n: Texts.
        contexts: That both runs have.
        title: In words.
    """
    difference = change.around(values[1] - values[0], n=n, clusters=contexts)
    neutral = measure.neutral
    return Difference(
        task=ALL_CONTEXTS,
        group=about or ALL_ITEMS,
        measure=measure.value,
        first=values[0],
        second=values[1],
        difference=difference,
        p_value=p_value,
        test="paired over whole contexts",
        neutral=neutral,
        unit=measure.unit,
        title=title,
        distance=None if neutral is None else change_of_distance(values, difference, total, neutral=neutral),
    )


def content_title(measure: RegardMeasure, category: str, group: str) -> str:
    """What a figure of a lexicon or a flag is, in words."""
    words = {
        RegardMeasure.LEXICON: f"Texts about {group} with words of {category}",
        RegardMeasure.LEXICON_GAP: f"Gap in words of {category}",
        RegardMeasure.FLAG: f"Texts about {group} that are flagged {category}",
        RegardMeasure.FLAG_GAP: f"Gap in texts that are flagged {category}",
    }
    return words[measure]


def _counts(run: Run, mentions: pl.Expr, contexts: Sequence[str], *, groups: Sequence[str]) -> Floats:
    """Texts by context, group, and whether they mention something."""
    counts = np.zeros((len(contexts), len(groups), 2))
    columns = run.scores.filter(pl.col("context").is_in(contexts)).select("context", "group", mentions)
    for context, group, is_mentioned in columns.iter_rows():
        counts[contexts.index(context), groups.index(group), int(is_mentioned)] += 1
    return counts


def _contrast(groups: Sequence[str], group: str) -> Floats:
    contrast = np.zeros((len(groups), 2))
    contrast[groups.index(group), 1] = 100.0
    return contrast


def _occupations(run: Run, contexts: Sequence[str]) -> OccupationSearch:
    kept = run.scores.filter(pl.col("context").is_in(contexts))
    return OccupationSearch.of(
        texts_of_frame(kept), kept[OCCUPATIONS_COLUMN].to_list(), groups=run.result.groups
    )


def _occupation_counts(searches: Sequence[OccupationSearch], pair: tuple[str, str]) -> Floats:
    """Mentions by run, context, group and occupation; a text that names several is shared out among them."""
    own: list[tuple[int, GroupText, frozenset[str]]] = [
        (number, text, found)
        for number, search in enumerate(searches)
        for text, found in zip(search.texts, search.found, strict=True)
        if text.group in pair and found
    ]
    contexts = {name: place for place, name in enumerate(dict.fromkeys(text.context for _, text, _ in own))}
    names = {name: place for place, name in enumerate(sorted(set().union(*(found for *_, found in own))))}
    counts = np.zeros((len(searches), len(contexts), 2, len(names)))
    for number, text, found in own:
        for name in found:
            counts[number, contexts[text.context], pair.index(text.group), names[name]] += 1 / len(found)
    return counts


def _divergence_difference(counts: Floats, pair: tuple[str, str], resampling: Resampling) -> Difference:
    measure, title = (
        RegardMeasure.OCCUPATION_DIVERGENCE,
        f"How far occupations of {' and '.join(pair)} are apart",
    )
    contexts = counts.shape[1]
    n = round(float(counts.sum()))

    def of_both(weights: Floats) -> Floats:
        """One row per run, one column per row of weights."""
        return jensen_shannon(np.einsum("rc,kcgo->krgo", weights, counts))

    first, second = (
        (float(value) for value in of_both(np.ones((1, contexts)))[:, 0]) if contexts else (np.nan,) * 2
    )
    if np.isnan([first, second]).any():
        missing = Interval.missing(_NO_OCCUPATION)
        return regard_difference(
            measure, "-".join(pair), (first, second), missing, missing,
            p_value=np.nan, n=n, contexts=contexts, title=title,
        )  # fmt: skip

    def combined(factor: float) -> Interval:
        whole = second + factor * first

        def statistic(weights: Floats) -> Floats:
            values = of_both(weights)
            joined = values[1] + factor * values[0]
            return np.where(np.isnan(joined), whole, joined)

        return context_interval(statistic, contexts, resampling=resampling)

    stacked = np.concatenate(list(counts))  # contexts of the first run, then those of the second

    def of_swapped(weights: Floats) -> Floats:
        return np.nan_to_num(jensen_shannon(np.tensordot(weights, stacked, axes=1)))

    return regard_difference(
        measure,
        "-".join(pair),
        (first, second),
        combined(-1.0).within(-1.0, 1.0, value=second - first),
        combined(1.0),
        p_value=swap_test(of_swapped, contexts, resampling=resampling),
        n=n,
        contexts=contexts,
        title=title,
    )
