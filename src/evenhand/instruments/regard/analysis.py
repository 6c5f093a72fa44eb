"""Analysis: labelled texts about groups, to shares, gaps, intervals and tests."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import polars as pl

from evenhand.core.errors import DatasetError, EvenhandError
from evenhand.data.group_texts import REGARD_LABELS, GroupText, GroupTexts
from evenhand.instruments.regard.estimation import NET_REGARD, RegardEstimator
from evenhand.instruments.regard.results import (
    FLAGS_COLUMN,
    SCORES_SCHEMA,
    ContextRegard,
    ErrorTreatment,
    LabelledSample,
    LabellingClassifier,
    RegardFigures,
    RegardResult,
)
from evenhand.stats.classification import (
    Integers,
    accuracy,
    confusion_totals,
    estimate_measure,
    independent_clusters,
)
from evenhand.stats.group_shares import CountedShares, GroupShares, IndependentShares, exchange_test
from evenhand.stats.label_error import (
    PredictionPoweredShares,
    UnconfusedShares,
    confusion_problem,
    prediction_power,
)
from evenhand.stats.paired_labels import cramers_v, homogeneity_test
from evenhand.stats.resampling import Floats, Resampling
from evenhand.stats.significance import holm
from evenhand.stats.vote_aggregation import NO_LABEL

_CODES = tuple(REGARD_LABELS)
_LABELS = len(_CODES)
_VALUES = NET_REGARD / 100

FEWEST_LABELLED = 10
"""Texts of each group that people must have labelled for the mean error of a classifier to be known at all."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LabelPairs:
    """Labels of the same texts by people and by a classifier, as codes."""

    human: tuple[str, ...]
    predicted: tuple[str, ...]
    sha256: str = ""
    """Digest of where they come from."""

    def confusions(self) -> Floats:
        """Texts by cluster, people's label and the classifier's."""
        human, predicted = (
            np.array([_CODES.index(code) for code in side], dtype=np.int64)
            for side in (self.human, self.predicted)
        )
        return _confusion_clusters(human, predicted)


@dataclass(frozen=True, slots=True, kw_only=True)
class RegardAnalysisOptions:
    """How texts about groups are analysed.

    Attributes:
        margin: The largest gap that is called no difference, in points.
        classifier: Who labelled the texts; None if that is not known.
        other_texts: Labels of texts that are none of those in question, which tell how the classifier confuses labels.
        resampling: Resamples, seed and confidence level.
    """

    margin: float = 5.0
    classifier: LabellingClassifier | None = None
    other_texts: LabelPairs | None = None
    resampling: Resampling = field(default_factory=Resampling)

    def __post_init__(self) -> None:
        if not self.margin > 0:
            raise EvenhandError(f"A margin of {self.margin:g} points was given; it must be above 0.")


def analyse_regard(texts: GroupTexts, options: RegardAnalysisOptions | None = None) -> RegardResult:
    """Shares of labels per group, gaps between groups, their intervals and tests.

    Args:
        texts: Every text with a label, and a random sample of them with people's labels too, where a classifier's
            error is to be carried through.
        options: How they are analysed.

    Raises:
        DatasetError: If a text has no label.
    """
    chosen = options or RegardAnalysisOptions()
    if texts.unlabelled:
        raise DatasetError(
            f"{texts.unlabelled:,} of {len(texts):,} texts of {texts.name} have no label. Name the column of labels "
            "with --label, or give a classifier that labels them with --classifier."
        )
    labels = TextLabelTable.of(texts.texts, texts.groups)
    confusions = _confusions(labels, chosen)
    kinds = tuple(dict.fromkeys(own.kind for own in texts if own.kind))
    parts = [texts.texts, *(tuple(own for own in texts if own.kind == kind) for kind in kinds)]
    whole, *by_kind = _adjusted(
        [_context_regard(TextLabelTable.of(part, texts.groups), confusions, chosen) for part in parts]
    )
    contexts = dict.fromkeys(own.context for own in texts)
    return RegardResult(
        groups=texts.groups,
        all=whole,
        by_kind=dict(zip(kinds, by_kind, strict=True)),
        by_context={
            context: _single_context(
                TextLabelTable.of([own for own in texts if own.context == context], texts.groups), chosen
            )
            for context in contexts
        },
        kind_of_context={own.context: own.kind for own in texts},
        labelled_sample=None if confusions is None else _labelled_sample(confusions, chosen.resampling),
        classifier=chosen.classifier,
    )


def frame_of_texts(texts: GroupTexts) -> pl.DataFrame:
    """One row per text, as a run keeps them."""
    columns = {
        "number": list(range(len(texts))),
        **{name: [getattr(own, name) for own in texts] for name in ("group", "kind", "context", "text")},
        **{
            name: [None if code is None else int(code) for code in (getattr(own, name) for own in texts)]
            for name in ("label", "human_label")
        },
    }
    frame = pl.DataFrame(columns, schema=SCORES_SCHEMA)
    if not texts.flags:
        return frame
    flags = [list(own.flags) for own in texts]
    return frame.with_columns(pl.Series(FLAGS_COLUMN, flags, dtype=pl.List(pl.String)))


def texts_of_frame(frame: pl.DataFrame) -> list[GroupText]:
    """The texts that a run keeps."""
    return [
        GroupText(
            text=row["text"],
            group=row["group"],
            context=row["context"],
            kind=row["kind"],
            label=str(row["label"]),
            human_label=None if row["human_label"] is None else str(row["human_label"]),
        )
        for row in frame.iter_rows(named=True)
    ]


@dataclass(frozen=True, slots=True, eq=False)
class TextLabelTable:
    """Texts as numbers: group, cluster and labels of each.

    Clusters are contexts. Where there is one context only, they are texts.
    """

    groups: tuple[str, ...]
    contexts: int
    group: Integers
    cluster: Integers
    label: Integers
    human: Integers
    """``NO_LABEL`` for texts that people did not label."""

    @classmethod
    def of(
        cls, texts: Sequence[GroupText], groups: tuple[str, ...], *, contexts: Sequence[str] | None = None
    ) -> TextLabelTable:
        """The numbers of texts.

        Args:
            texts: The texts.
            groups: In the order in which they are numbered.
            contexts: In the order in which they are numbered; that of the texts if not given.
        """
        group = np.array([groups.index(own.group) for own in texts], dtype=np.int64)
        order = dict.fromkeys(own.context for own in texts) if contexts is None else contexts
        names = {context: number for number, context in enumerate(order)}
        codes = {code: number for number, code in enumerate(_CODES)} | {None: NO_LABEL}
        cluster = np.array([names[own.context] for own in texts], dtype=np.int64)
        if len(names) == 1:
            cluster = np.empty_like(group)
            for number in range(len(groups)):
                inside = group == number
                cluster[inside] = independent_clusters(int(inside.sum()))
        return cls(
            groups=groups,
            contexts=len(names),
            group=group,
            cluster=cluster,
            label=np.array([codes[own.label] for own in texts], dtype=np.int64),
            human=np.array([codes[own.human_label] for own in texts], dtype=np.int64),
        )

    @property
    def in_sample(self) -> Integers:
        """The places of texts that people labelled."""
        return np.flatnonzero(self.human != NO_LABEL)

    def counts(self, labels: Integers, places: Integers | None = None) -> Floats:
        """Texts by cluster, group and label, of all texts or of those at some places."""
        chosen = np.arange(len(labels)) if places is None else places
        clusters = self.contexts if self.contexts > 1 else int(self.cluster.max()) + 1
        totals = np.zeros((clusters, len(self.groups), _LABELS))
        np.add.at(totals, (self.cluster[chosen], self.group[chosen], labels[chosen]), 1.0)
        return totals

    def confusions(self) -> Floats:
        """Texts that people labelled by cluster, people's label and the classifier's; texts are clusters here."""
        return _confusion_clusters(self.human[self.in_sample], self.label[self.in_sample])

    def prediction_powered(self) -> PredictionPoweredShares | None:
        """Shares with the mean error on the labelled sample taken off; None where the sample is too small."""
        sample = self.in_sample
        of_group = np.bincount(self.group[sample], minlength=len(self.groups))
        if of_group.min() < FEWEST_LABELLED:
            return None
        cells = self.cluster[sample] * len(self.groups) + self.group[sample]
        return PredictionPoweredShares(
            counts=self.counts(self.label),
            human=self.counts(self.human, sample),
            predicted=self.counts(self.label, sample),
            power=prediction_power(_VALUES[self.human[sample]], _VALUES[self.label[sample]], cells=cells),
        )


def _context_regard(
    labels: TextLabelTable, confusions: Floats | None, options: RegardAnalysisOptions
) -> ContextRegard:
    """All that is known of some contexts, the figures first that carry a classifier's error through best."""
    counts = labels.counts(labels.label)
    counted = (IndependentShares if labels.contexts == 1 else CountedShares)(counts)
    treatments: dict[ErrorTreatment, GroupShares] = {}
    powered = labels.prediction_powered()
    if powered is not None:
        treatments[ErrorTreatment.PREDICTION_POWERED] = powered
    if confusions is not None and confusion_problem(confusions.sum(axis=0)) is None:
        unconfused = UnconfusedShares(counts, confusions)
        if unconfused.are_possible(resampling=options.resampling):
            treatments[ErrorTreatment.CONFUSION_MATRIX] = unconfused
    treatments[ErrorTreatment.NONE] = counted
    figures, *others = (_figures(labels, shares, name, options) for name, shares in treatments.items())
    return _tested(labels, counts, figures=figures, others=others, resampling=options.resampling)


def _single_context(labels: TextLabelTable, options: RegardAnalysisOptions) -> ContextRegard:
    """One context as it was labelled: too few of its texts have people's labels to know the error."""
    counts = labels.counts(labels.label)
    figures = _figures(labels, IndependentShares(counts), ErrorTreatment.NONE, options)
    return _tested(labels, counts, figures=figures, others=(), resampling=options.resampling)


def _tested(
    labels: TextLabelTable,
    counts: Floats,
    *,
    figures: RegardFigures,
    others: Sequence[RegardFigures],
    resampling: Resampling,
) -> ContextRegard:
    """Figures with the tests that groups are alike."""
    table = counts.sum(axis=0)
    test = homogeneity_test(table)
    with np.errstate(invalid="ignore"):
        means = counts @ NET_REGARD / counts.sum(axis=2)
    return ContextRegard(
        n=len(labels.label),
        contexts=labels.contexts,
        chi_squared=test.statistic,
        freedom=test.freedom,
        p=test.p_value,
        p_clustered=math.nan if labels.contexts == 1 else exchange_test(means, resampling=resampling),
        cramers_v=cramers_v(table),
        figures=figures,
        others=tuple(others),
    )


def _figures(
    labels: TextLabelTable, shares: GroupShares, treatment: ErrorTreatment, options: RegardAnalysisOptions
) -> RegardFigures:
    sizes = np.bincount(labels.group, minlength=len(labels.groups))
    estimator = RegardEstimator(
        shares=shares,
        sizes=dict(zip(labels.groups, sizes.tolist(), strict=True)),
        contexts=labels.contexts,
        margin=options.margin,
        resampling=options.resampling,
    )
    return estimator.figures(treatment)


def _adjusted(parts: Sequence[ContextRegard]) -> list[ContextRegard]:
    """The same with p-values of gaps adjusted by Holm, over all contexts and all kinds of contexts."""
    adjusted = iter(holm([gap.p_value for part in parts for gap in part.figures.gaps]))
    return [
        part.model_copy(
            update={
                "figures": part.figures.model_copy(
                    update={
                        "gaps": tuple(
                            gap.model_copy(update={"p_holm": next(adjusted)}) for gap in part.figures.gaps
                        )
                    }
                )
            }
        )
        for part in parts
    ]


def _confusions(labels: TextLabelTable, options: RegardAnalysisOptions) -> Floats | None:
    """Confusions of the texts in question if people labelled any, else of other texts; None without either."""
    if len(labels.in_sample):
        return labels.confusions()
    return None if options.other_texts is None else options.other_texts.confusions()


def _confusion_clusters(human: Integers, predicted: Integers) -> Floats:
    return confusion_totals(human, predicted, classes=_LABELS, clusters=independent_clusters(len(human)))


def _labelled_sample(confusions: Floats, resampling: Resampling) -> LabelledSample:
    confusion = confusions.sum(axis=0)
    return LabelledSample(
        texts=int(confusion.sum()),
        confusion=tuple(tuple(int(count) for count in row) for row in confusion),
        accuracy=estimate_measure(accuracy, confusions, resampling=resampling),
    )
