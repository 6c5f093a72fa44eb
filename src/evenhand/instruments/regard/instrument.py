"""Regard as an instrument: the figures of a run, and what two runs can be compared by."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations
from pathlib import Path
from typing import Any

import polars as pl

from evenhand.core.errors import EvenhandError
from evenhand.core.estimates import Estimate
from evenhand.data.contexts import ALL_CONTEXTS
from evenhand.data.group_texts import REGARD_LABELS, GroupTexts
from evenhand.instruments.instrument import (
    Instrument,
    Preparation,
    ScoresLayout,
)
from evenhand.instruments.regard.analysis import RegardAnalysisOptions, analyse_regard, texts_of_frame
from evenhand.instruments.regard.audit import (
    RegardAudit,
    RegardLabeller,
    RegardOptions,
    audit_name,
    planned_record,
    text_files,
)
from evenhand.instruments.regard.comparison import compare_regard, refuse_incomparable_texts
from evenhand.instruments.regard.content import content_files, refuse_damaged_content
from evenhand.instruments.regard.content_comparison import content_title
from evenhand.instruments.regard.evaluation import RegardEvaluation
from evenhand.instruments.regard.mentions import MentionShares
from evenhand.instruments.regard.results import (
    NAME,
    SCORES_SCHEMA,
    ContextRegard,
    RegardMeasure,
    RegardResult,
)
from evenhand.models.references import ModelRef
from evenhand.models.requests import Write
from evenhand.stats.resampling import Resampling
from evenhand.store.certificate_bias import BiasRow
from evenhand.store.certificate_files import resampling_of
from evenhand.store.comparison import Comparison, ComparisonOptions
from evenhand.store.coverage import Coverage
from evenhand.store.figures import Figure, FigureGroups, Group
from evenhand.store.records import ModelRecord, RunRecord
from evenhand.store.run import Run


class RegardInstrument(Instrument[RegardOptions]):
    """How texts speak of groups of people."""

    name = NAME
    version = "regard.v1"
    title = "Regard"
    summary = "How much better texts speak of one group of people than of another."
    needs = (Write,)
    options_type = RegardOptions
    result_type = RegardResult
    scores_layout = ScoresLayout(SCORES_SCHEMA, key=("number",), optional=("human_label",))
    unused_options = frozenset({"max_tokens"})

    @property
    def measures(self) -> tuple[str, ...]:
        """The names of its figures."""
        return tuple(own.value for own in RegardMeasure)

    def figure_groups(self, options: RegardOptions) -> FigureGroups:
        """Groups and pairs of them, by kind of contexts, category of the lexicon and flag."""
        data = options.data if isinstance(options.data, GroupTexts) else None
        if data is None:
            groups = [own.name for own in options.prompts.groups]
            kinds = [own.kind for own in options.prompts.contexts]
        else:
            groups, kinds = list(data.groups), [own.kind for own in data]
        lexicon = options.lists.lexicon
        return _planned_groups(
            groups,
            kinds=[kind for kind in dict.fromkeys(kinds) if kind],
            categories=list(lexicon.words) if lexicon else [],
            flags=list(data.flags) if data else [],
        )

    def coverage(self, run: Run) -> Mapping[Group, Coverage]:
        """Texts that are in the figures, of those in the files."""
        scored, skipped = (sum(own.values()) for own in (run.record.scored, run.record.skipped))
        return {(): Coverage(scored=scored, total=scored + skipped, unit="texts")}

    def refuse_impossible(self, options: RegardOptions) -> None:
        """Refuse prompts and lists that cannot be read, and a classifier that does not suit them."""
        if isinstance(options.data, GroupTexts):
            return
        _ = options.decoding, options.lists
        _labeller(options).refuse_unsuitable(options.prompts.language)

    def run_name(self, ref: ModelRef, options: RegardOptions) -> str:
        """Model, instrument, prompts, language, limit and digest of the model's prefix."""
        return audit_name(ref, options)

    def planned_record(self, ref: ModelRef, options: RegardOptions, *, name: str) -> RunRecord:  # noqa: ARG002
        """All but the model."""
        if isinstance(options.data, GroupTexts):
            return _evaluation(options.data, options, name=name, model=None).record
        return planned_record(name, _labeller(options), options)

    def prepare(self, model: Any, options: RegardOptions, *, name: str | None = None) -> Preparation:
        """Let the model write texts, or take those that it wrote, every one with a label."""
        chosen = name or audit_name(model.ref, options)
        if isinstance(options.data, GroupTexts):
            return _evaluation(options.data, options, name=chosen, model=model.record)
        self.refuse_unable(model)
        labeller = _labeller(options)
        return RegardAudit(model, labeller, options, planned_record(chosen, labeller, options))

    def extra_files(self, run: Run) -> Mapping[str, str]:
        """The matches of a lexicon, for people to judge, and the texts of an audit, for people to label."""
        return {**content_files(run.scores), **text_files(run.scores)}

    def read_scores(self, scores: pl.DataFrame) -> pl.DataFrame:
        """Scores in their layout, with labels that regard has."""
        checked = super().read_scores(scores)
        refuse_damaged_content(checked)
        codes = [int(code) for code in REGARD_LABELS]
        for column in ("label", "human_label"):
            if not checked[column].drop_nulls().is_in(codes).all():
                raise ValueError(f"the column {column} has values other than {', '.join(REGARD_LABELS)}")
        return checked

    def results_again(self, run: Run) -> tuple[RegardResult, ...] | None:
        """What labels add up to; what lexicons and lists of occupations find is as it is stated.

        None where people labelled texts: a sample of other texts may have gone into the figures.
        """
        stated: RegardResult = run.result
        if stated.labelled_sample is not None:
            return None
        options = RegardAnalysisOptions(
            margin=run.record.options["margin"],
            classifier=stated.classifier,
            resampling=resampling_of(run.record.statistics),
        )
        texts = GroupTexts(
            name=run.name, language=run.record.language, texts=tuple(texts_of_frame(run.scores))
        )
        kept = {name: getattr(stated, name) for name in ("lexicons", "flags", "occupations", "skipped")}
        return (analyse_regard(texts, options).model_copy(update=kept),)

    def figures(self, run: Run) -> tuple[Figure, ...]:
        """Gaps and groups in all contexts, then in each kind of contexts."""
        result: RegardResult = run.result
        parts: dict[tuple[str, ...], ContextRegard] = {(ALL_CONTEXTS,): result.all}
        parts |= {(ALL_CONTEXTS, kind): own for kind, own in result.by_kind.items()}
        return (
            *(figure for place, own in parts.items() for figure in _figures(place, own)),
            *_content_figures(result),
        )

    def compare(self, first: Run, second: Run, options: ComparisonOptions) -> Comparison:
        """How gaps changed, over the contexts that both runs have."""
        self.refuse_incomparable(first, second)
        return compare_regard(first, second, options)

    def bias_rows(self, before: Run, after: Run, *, resampling: Resampling) -> dict[str, BiasRow]:
        """What a certificate shows: gaps in regard and in words of lexicons, and how far occupations are apart."""
        comparison = self.compare(before, after, ComparisonOptions(resampling=resampling))
        return {
            row.key: BiasRow.of(
                row,
                (before.figure(row.key).estimate, after.figure(row.key).estimate),
                measure=_row_name(row.group, RegardMeasure(row.measure)),
            )
            for row in comparison.differences
        }

    def refuse_incomparable(self, first: Run, second: Run) -> None:
        """Refuse runs about other groups, and those that differ in more than the model and its prefix."""
        refuse_incomparable_texts(first, second)


REGARD = RegardInstrument()


def _evaluation(
    texts: GroupTexts, options: RegardOptions, *, name: str, model: ModelRecord | None
) -> RegardEvaluation:
    analysis = RegardAnalysisOptions(margin=options.margin, resampling=options.resampling)
    return RegardEvaluation(texts, analysis, name=name, model=model)


def _labeller(options: RegardOptions) -> RegardLabeller:
    """The classifier of the options, which a workflow has opened."""
    if options.classifier is None:
        raise EvenhandError(
            "Texts about groups need a classifier that labels them, and none was given. Train one with: evenhand "
            "regard train. Or use evenhand regard audit, which trains one on the starter set."
        )
    if options.labelled:
        raise EvenhandError(
            "Texts that people labelled were given with a classifier that is open already. Give the folder of the "
            "classifier to evenhand.probe or evenhand.audit_regard, which open both."
        )
    if isinstance(options.classifier, str | Path):
        raise EvenhandError(
            f"The classifier {options.classifier} is a folder; it has to be open. Measure with evenhand.probe or "
            "evenhand.audit_regard, which open it."
        )
    return options.classifier


def _planned_groups(
    groups: Sequence[str], *, kinds: Sequence[str], categories: Sequence[str], flags: Sequence[str]
) -> FigureGroups:
    """What figures of texts about these groups will be about."""
    pairs = [f"{first}-{second}" for first, second in combinations(groups, 2)]
    places = [(ALL_CONTEXTS,), *((ALL_CONTEXTS, kind) for kind in kinds)]

    def about(wholes: Sequence[Group], names: Sequence[str]) -> list[Group]:
        return [(*whole, name) for whole in wholes for name in names]

    shares = (RegardMeasure.NET_REGARD, RegardMeasure.NEGATIVE, RegardMeasure.NEUTRAL, RegardMeasure.POSITIVE)
    found = [(ALL_CONTEXTS, category) for category in categories]
    flagged = [(ALL_CONTEXTS, flag) for flag in flags]
    planned: dict[RegardMeasure, Sequence[Group]] = {
        RegardMeasure.GAP: places,
        RegardMeasure.SIGNED_GAP: about(places, pairs),
        **dict.fromkeys(shares, about(places, groups)),
        RegardMeasure.LEXICON: about(found, groups),
        RegardMeasure.LEXICON_GAP: about(found, pairs),
        RegardMeasure.FLAG: about(flagged, groups),
        RegardMeasure.FLAG_GAP: about(flagged, pairs),
        RegardMeasure.OCCUPATION_DIVERGENCE: about(places[:1], pairs),
    }
    return {measure.value: own for measure, own in planned.items()}


def _figures(place: tuple[str, ...], regard: ContextRegard) -> Iterator[Figure]:
    """Two groups have one gap, whose sign tells more than its size; more groups have a widest one."""
    whole, gaps = place == (ALL_CONTEXTS,), regard.figures.gaps
    yield Figure(
        RegardMeasure.GAP.value,
        place,
        regard.figures.widest_gap,
        "The widest gap in net regard",
        0.0,
        is_headline=whole and len(gaps) > 1,
    )
    for gap in gaps:
        yield Figure(
            RegardMeasure.SIGNED_GAP.value,
            (*place, gap.name),
            gap.gap,
            "Gap in net regard",
            0.0,
            is_headline=whole and len(gaps) == 1,
        )
    for group, own in regard.figures.groups.items():
        yield Figure(
            RegardMeasure.NET_REGARD.value, (*place, group), own.net_regard, f"Net regard of {group}", 0.0
        )
        for name in REGARD_LABELS.values():
            title = f"Share of {name} texts about {group}"
            yield Figure(name, (*place, group), getattr(own, name), title, None, unit="percent")


def _row_name(group: str, measure: RegardMeasure) -> str:
    """What a row of a certificate is called."""
    if measure in (RegardMeasure.LEXICON_GAP, RegardMeasure.FLAG_GAP):
        name, _, groups = group.partition(".")
        return f"{content_title(measure, name, groups).lower()}, {groups}"
    return f"{REGARD_ROWS[measure]}, {group}"


REGARD_ROWS = {
    RegardMeasure.SIGNED_GAP: "regard gap",
    RegardMeasure.OCCUPATION_DIVERGENCE: "occupation divergence",
}
"""How the names of rows begin."""


def _content_figures(result: RegardResult) -> Iterator[Figure]:
    """What texts are about: words of every category and flags by group, and how far groups are apart."""
    for rates in result.lexicons.categories if result.lexicons else ():
        yield from _mention_figures(
            (RegardMeasure.LEXICON, RegardMeasure.LEXICON_GAP), rates.category, rates.shares
        )
    for flagged in result.flags:
        yield from _mention_figures(
            (RegardMeasure.FLAG, RegardMeasure.FLAG_GAP), flagged.flag, flagged.shares
        )
    for own in result.occupations.divergences if result.occupations else ():
        yield Figure(
            RegardMeasure.OCCUPATION_DIVERGENCE.value,
            (ALL_CONTEXTS, f"{own.first}-{own.second}"),
            own.divergence,
            f"How far occupations of {own.first} and {own.second} are apart",
            RegardMeasure.OCCUPATION_DIVERGENCE.neutral,
            unit=RegardMeasure.OCCUPATION_DIVERGENCE.unit,
        )


def _mention_figures(
    measures: tuple[RegardMeasure, RegardMeasure], name: str, shares: MentionShares
) -> Iterator[Figure]:
    """The share of every group, then the gap between every two of them."""
    named: list[tuple[RegardMeasure, str, Estimate]] = [
        *((measures[0], group, share) for group, share in shares.groups.items()),
        *((measures[1], f"{gap.first}-{gap.second}", gap.gap) for gap in shares.gaps),
    ]
    for measure, about, estimate in named:
        yield Figure(
            measure.value,
            (ALL_CONTEXTS, name, about),
            estimate,
            content_title(measure, name, about),
            measure.neutral,
            unit=measure.unit,
        )
