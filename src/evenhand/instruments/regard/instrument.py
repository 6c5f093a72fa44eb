"""Regard as an instrument: the figures of a run, and what two runs can be compared by."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import polars as pl

from evenhand.core.errors import EvenhandError
from evenhand.data.contexts import ALL_CONTEXTS
from evenhand.data.group_texts import REGARD_LABELS, GroupTexts
from evenhand.instruments.instrument import (
    Instrument,
    InstrumentOptions,
    Preparation,
    ScoresLayout,
    default_name,
)
from evenhand.instruments.regard.analysis import RegardAnalysisOptions
from evenhand.instruments.regard.comparison import compare_regard, refuse_incomparable_texts
from evenhand.instruments.regard.evaluation import RegardEvaluation
from evenhand.instruments.regard.results import (
    NAME,
    SCORES_SCHEMA,
    ContextRegard,
    RegardMeasure,
    RegardResult,
)
from evenhand.models.capabilities import Generates
from evenhand.runs.comparison import Comparison, ComparisonOptions
from evenhand.runs.figures import Figure
from evenhand.runs.run import Run


class RegardInstrument(Instrument[InstrumentOptions]):
    """How texts speak of groups of people."""

    name = NAME
    version = "regard.v1"
    title = "Regard"
    summary = "How much better texts speak of one group of people than of another."
    needs = (Generates,)
    options_type = InstrumentOptions
    result_type = RegardResult
    scores_layout = ScoresLayout(SCORES_SCHEMA, key=("number",), optional=("human_label",))

    @property
    def measures(self) -> tuple[str, ...]:
        """The names of its figures."""
        return tuple(own.value for own in RegardMeasure)

    def prepare(self, model: Any, options: InstrumentOptions, *, name: str | None = None) -> Preparation:
        """Take texts that the model wrote, every one with a label."""
        self.refuse_impossible(options)
        texts: GroupTexts = options.data
        return RegardEvaluation(
            texts,
            RegardAnalysisOptions(resampling=options.resampling),
            name=name or default_name(model.ref.short_name, texts.language, self.name),
            model=model.record,
        )

    def refuse_impossible(self, options: InstrumentOptions) -> None:
        """Refuse anything but texts about groups."""
        if not isinstance(options.data, GroupTexts):
            raise EvenhandError(
                "Regard is measured on texts about groups, and none were given as data. Let the model write and a "
                "classifier label them, or evaluate files of texts: evenhand regard evaluate."
            )

    def read_scores(self, scores: pl.DataFrame) -> pl.DataFrame:
        """Scores in their layout, with labels that regard has."""
        checked = super().read_scores(scores)
        codes = [int(code) for code in REGARD_LABELS]
        for column in ("label", "human_label"):
            if not checked[column].drop_nulls().is_in(codes).all():
                raise ValueError(f"the column {column} has values other than {', '.join(REGARD_LABELS)}")
        return checked

    def figures(self, run: Run) -> tuple[Figure, ...]:
        """Gaps and groups in all contexts, then in each kind of contexts."""
        result: RegardResult = run.result
        parts: dict[tuple[str, ...], ContextRegard] = {(ALL_CONTEXTS,): result.all}
        parts |= {(ALL_CONTEXTS, kind): own for kind, own in result.by_kind.items()}
        return tuple(figure for place, own in parts.items() for figure in _figures(place, own))

    def compare(self, first: Run, second: Run, options: ComparisonOptions) -> Comparison:
        """How gaps changed, over the contexts that both runs have."""
        self.refuse_incomparable(first, second)
        return compare_regard(first, second, options)

    def refuse_incomparable(self, first: Run, second: Run) -> None:
        """Refuse runs about other groups, and those that differ in more than the model and its prefix."""
        refuse_incomparable_texts(first, second)


REGARD = RegardInstrument()


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
