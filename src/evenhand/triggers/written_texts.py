"""What a model writes behind prefixes: regard, lexicons, occupations, how varied texts are, and what they are about.

A model writes about the groups of the targets in contexts that the search did not see, behind each prefix with the same
random numbers. Every figure stands beside its change from no prefix, paired by contexts.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any

import polars as pl

from evenhand.core.errors import EvenhandError
from evenhand.core.estimates import Estimate
from evenhand.core.progress import SILENT, Monitor
from evenhand.data.group_texts import REGARD_LABELS
from evenhand.data.regard_prompts import PromptSet
from evenhand.instruments.regard.audit import RegardAudit, RegardLabeller, RegardOptions, planned_record
from evenhand.instruments.regard.comparison import compare_regard
from evenhand.instruments.regard.generation import lack_of_texts, write_texts
from evenhand.instruments.regard.results import RegardMeasure, RegardResult
from evenhand.instruments.regard.text_changes import content_shift, distinct_shares, words_by_prompt
from evenhand.models.requests import Write
from evenhand.stats.resampling import Resampling
from evenhand.store.comparison import ComparisonOptions, Difference
from evenhand.store.jobs import Parts
from evenhand.store.run import Run
from evenhand.store.trigger_records import (
    CONTENT_SHIFT,
    DISTINCT,
    OCCUPATION_DIVERGENCE,
    REGARD_GAP,
    WrittenTextsRecord,
)
from evenhand.triggers.comparison import FigureOfPrefix, NamedPrefixes
from evenhand.triggers.held_out_contexts import FEWEST_CONTEXTS

DISTINCT_LENGTHS = (1, 2)

_BASELINE = "it is what other prefixes are compared with"

Figures = dict[str, list[FigureOfPrefix]]


@dataclass(frozen=True)
class WrittenTexts:
    """What is written about groups in held-out contexts, and who labels it."""

    prompts: PromptSet
    labeller: RegardLabeller
    options: RegardOptions
    """Texts per prompt and decoding."""
    monitor: Monitor = SILENT

    @property
    def record(self) -> WrittenTextsRecord:
        """What a trigger's record says about it."""
        classifier = self.labeller.description
        return WrittenTextsRecord(
            contexts=tuple(own.words for own in self.prompts.contexts),
            kinds=tuple(own.kind for own in self.prompts.contexts),
            groups=tuple(own.words for own in self.prompts.groups),
            texts=self.options.texts,
            decoding=self._audit_options.decoding.to_record(),
            classifier=classifier.name,
            classifier_fingerprint=classifier.fingerprint,
            classifier_warning=classifier.warning,
        )

    def measure(
        self,
        model: Any,
        prefixes: Sequence[NamedPrefixes],
        resampling: Resampling,
        *,
        parts: Parts | None = None,
    ) -> Mapping[str, Sequence[FigureOfPrefix]]:
        """By key, one figure for each of the prefixes; see ``PrefixMeasure``."""
        runs: list[Run] = []
        lacks: dict[str, str] = {}
        with self.monitor.stage(f"writing texts with {model.ref.id}", "prefixes") as progress:
            for number, own in enumerate(prefixes):
                progress(number, len(prefixes))
                frame = self._written(model, own, parts)
                lack = self._lack(frame)
                if lack is None:
                    runs.append(self._run(model, own, frame, resampling))
                elif not runs:
                    raise EvenhandError(f"{lack} Allow more new tokens, or give other --contexts.")
                else:
                    self.monitor.warn(f"{own.name}: {lack} It has no figures of written texts.")
                    lacks[own.name] = lack
            progress(len(prefixes), len(prefixes))
        figures = {**self._regard(runs, resampling), **self._changes(runs, resampling)}
        return {key: _with_missing(own, prefixes, lacks) for key, own in figures.items()}

    @property
    def longest(self) -> int:
        """Most new tokens of a text."""
        return self._audit_options.decoding.max_new_tokens

    @property
    def prompt_texts(self) -> list[str]:
        """What the model goes on from."""
        return [prompt.text for prompt in self.prompts.prompts]

    def describe_cost(self, model: Any, prefixes: Sequence[NamedPrefixes]) -> str | None:
        """What the texts of a server cost, in a sentence; None for a model that costs nothing."""
        decoding = replace(self._audit_options.decoding, samples=1)
        requests = [
            Write(prefix + prompt.text, decoding)
            for own in prefixes
            for prefix in own.prefixes
            for prompt in self.prompts.prompts
            for _ in range(self._share(own))
        ]
        cost: str | None = model.describe_cost(requests)
        return cost

    @property
    def _audit_options(self) -> RegardOptions:
        return replace(self.options, data=self.prompts, classifier=self.labeller)

    def _share(self, prefixes: NamedPrefixes) -> int:
        """Texts per prompt behind each of several prefixes of a kind, which share those of one."""
        return max(1, self.options.texts // len(prefixes.prefixes))

    def _written(self, model: Any, prefixes: NamedPrefixes, parts: Parts | None) -> pl.DataFrame:
        decoding = replace(self._audit_options.decoding, samples=self._share(prefixes))
        return pl.concat(
            write_texts(model, self.prompts, replace(decoding, prefix=prefix), parts=parts)
            for prefix in prefixes.prefixes
        )

    def _lack(self, frame: pl.DataFrame) -> str | None:
        """Why texts cannot be compared, in a sentence; None if they can."""
        contexts = (
            frame.filter(pl.col("skipped_reason").is_null())
            .group_by("context")
            .agg(pl.col("group").n_unique())
        )
        whole = contexts.filter(pl.col("group") == len(self.prompts.groups))
        if len(whole) < FEWEST_CONTEXTS:
            few = (
                f"Texts about all groups can be used in {len(whole)} contexts; needed are {FEWEST_CONTEXTS}."
            )
            return lack_of_texts(frame, self.prompts) or few
        return None

    def _run(self, model: Any, prefixes: NamedPrefixes, frame: pl.DataFrame, resampling: Resampling) -> Run:
        options = replace(self._audit_options, resampling=resampling)
        planned = planned_record(prefixes.name, self.labeller, options)
        return RegardAudit(model, self.labeller, options, planned).assemble(frame)

    def _regard(self, runs: Sequence[Run], resampling: Resampling) -> Figures:
        """Gaps, shares, lexicons and occupations."""
        options = ComparisonOptions(measures=tuple(RegardMeasure), resampling=resampling)
        differences: list[dict[str, Difference]] = [
            {row.key: row for row in compare_regard(runs[0], run, options).differences} for run in runs
        ]
        return {
            name: [
                _figure(run, own.get(key), key, measure) for run, own in zip(runs, differences, strict=True)
            ]
            for name, key, measure in _figure_keys(runs[0].result)
        }

    def _changes(self, runs: Sequence[Run], resampling: Resampling) -> Figures:
        """How varied texts are, and what became of what they are about."""
        words = [words_by_prompt(run.scores) for run in runs]
        found: Figures = {}
        for length in DISTINCT_LENGTHS:
            pairs = distinct_shares(words, length=length, resampling=resampling)
            found[f"{DISTINCT}-{length}"] = [FigureOfPrefix(*own, unit="percent") for own in pairs]
        for group in runs[0].result.groups:
            shifts = [
                content_shift(words[0], own, resampling=resampling, group=group)
                if number
                else Estimate.undefined(_BASELINE)
                for number, own in enumerate(words)
            ]
            found[f"{group}.{CONTENT_SHIFT}"] = [FigureOfPrefix(own, own, unit="bits") for own in shifts]
        return found


def _with_missing(
    figures: Sequence[FigureOfPrefix], prefixes: Sequence[NamedPrefixes], lacks: Mapping[str, str]
) -> list[FigureOfPrefix]:
    """One figure for each prefix, undefined where its texts cannot be compared."""
    known = iter(figures)
    unit = figures[0].unit
    undefined = {name: Estimate.undefined(lack.rstrip(".")) for name, lack in lacks.items()}
    return [
        FigureOfPrefix(undefined[own.name], undefined[own.name], unit=unit)
        if own.name in undefined
        else next(known)
        for own in prefixes
    ]


def _figure(run: Run, difference: Difference | None, key: str, measure: RegardMeasure) -> FigureOfPrefix:
    figure = run.figure(key).estimate
    if difference is None:
        return FigureOfPrefix(figure, Estimate.undefined("it is not known in both"), unit=measure.unit)
    change = difference.difference if difference.distance is None else difference.distance
    return FigureOfPrefix(figure, change, unit=measure.unit)


def _figure_keys(result: RegardResult) -> Iterator[tuple[str, str, RegardMeasure]]:
    """What each figure is called in a trigger's record, its key in a run, and its measure."""
    pairs = [f"{first}-{second}" for first, second in combinations(result.groups, 2)]
    for pair in pairs:
        measure = RegardMeasure.SIGNED_GAP
        yield f"{pair}.{REGARD_GAP}", f"all.{pair}.{measure}", measure
    for group in result.groups:
        for label in REGARD_LABELS.values():
            yield f"{group}.{label}", f"all.{group}.{label}", RegardMeasure(label)
    for own in result.lexicons.categories if result.lexicons else ():
        for group in result.groups:
            measure = RegardMeasure.LEXICON
            yield f"{group}.{own.category}", f"all.{own.category}.{group}.{measure}", measure
    for pair in pairs if result.occupations else ():
        measure = RegardMeasure.OCCUPATION_DIVERGENCE
        yield f"{pair}.{OCCUPATION_DIVERGENCE}", f"all.{pair}.{measure}", measure
