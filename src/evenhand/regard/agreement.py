"""How far the annotators of a table agree, and which texts they do not settle."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from evenhand.core.errors import DatasetError, UnknownNameError
from evenhand.core.files import write_text
from evenhand.data.annotations import AnnotationTable
from evenhand.data.csv_files import spreadsheet_cell
from evenhand.stats.agreement import Alpha, alpha_values, krippendorff_alpha, mean_kappa, pairwise_kappa
from evenhand.stats.resampling import Floats, Resampling
from evenhand.stats.vote_aggregation import (
    NO_LABEL,
    CrowdModel,
    TieRule,
    aggregate_votes,
    estimated_shares,
    most_likely,
)


@dataclass(frozen=True, slots=True)
class CompleteAgreement:
    """Agreement on the texts that every annotator labelled: one who was unsure or gave no answer drops the text."""

    texts: int
    mean_kappa: float
    alpha_nominal: float
    alpha_ordinal: float


@dataclass(frozen=True)
class AnnotatorAgreement:
    """Agreement on a table of annotations. Decisions of an adjudicator are no votes and do not count.

    Attributes:
        texts: How many texts there are.
        annotators: In the order of rows and columns of ``pairwise_kappa``.
        pairwise_kappa: Cohen's kappa of every two; the diagonal is NaN.
        mean_kappa: The mean over pairs, without the diagonal.
        alpha: Krippendorff's alpha, nominal and ordinal.
        consensus: Ids of the texts to which all who labelled them, at least two, gave one label.
        ambiguous: Ids of the texts whose most frequent labels tie.
        unsure: Ids of the texts that somebody who was asked did not label.
        single: Ids of the texts that one annotator labelled, and nobody else was asked about.
        complete: The same figures on the texts that all annotators labelled; None if there are none.
    """

    texts: int
    annotators: tuple[str, ...]
    pairwise_kappa: Floats
    mean_kappa: float
    alpha: Alpha
    consensus: tuple[str, ...]
    ambiguous: tuple[str, ...]
    unsure: tuple[str, ...]
    single: tuple[str, ...] = ()
    complete: CompleteAgreement | None = None

    def summary(self) -> dict[str, Any]:
        """The figures as JSON has them; undefined ones are None."""
        return {
            "n": self.texts,
            "annotators": list(self.annotators),
            "pairwise_kappa": [[_or_none(kappa) for kappa in row] for row in self.pairwise_kappa.tolist()],
            "mean_kappa": _or_none(self.mean_kappa),
            "alpha": {
                "nominal": _or_none(self.alpha.nominal.value),
                "ordinal": _or_none(self.alpha.ordinal.value),
            },
            "consensus": len(self.consensus),
            "ambiguous": len(self.ambiguous),
            "unsure": len(self.unsure),
            "single": len(self.single),
            "complete": None
            if self.complete is None
            else {
                "n": self.complete.texts,
                "mean_kappa": _or_none(self.complete.mean_kappa),
                "alpha": {
                    "nominal": _or_none(self.complete.alpha_nominal),
                    "ordinal": _or_none(self.complete.alpha_ordinal),
                },
            },
        }


def annotator_agreement(
    table: AnnotationTable, *, resampling: Resampling | None = None
) -> AnnotatorAgreement:
    """Measure how far annotators agree.

    Args:
        table: Their annotations; ``table.labelled_by_all()`` for the texts alone that nobody was unsure about.
        resampling: For the intervals of alpha.

    Raises:
        DatasetError: If fewer than two annotators voted, or nobody gave a label.
    """
    if len(table.annotators) < 2:
        raise DatasetError(
            f"{len(table.annotators)} annotator voted, and agreement needs at least two. Give one file per annotator, "
            "or a long table with a column annotator."
        )
    if not (table.votes >= 0).any():
        raise DatasetError("No annotator gave a label to any text. Check the column of labels.")
    aggregated = aggregate_votes(table.votes, table.scheme.values)
    kappas = pairwise_kappa(table.votes)
    return AnnotatorAgreement(
        texts=len(table.texts),
        annotators=table.annotators,
        pairwise_kappa=kappas,
        mean_kappa=mean_kappa(kappas),
        alpha=krippendorff_alpha(table.votes, table.scheme.values, resampling=resampling or Resampling()),
        consensus=_ids(table, aggregated.consensus != NO_LABEL),
        ambiguous=_ids(table, aggregated.ambiguous),
        unsure=_ids(table, aggregated.unsure),
        single=_ids(table, aggregated.single),
        complete=_complete_agreement(table),
    )


def _complete_agreement(table: AnnotationTable) -> CompleteAgreement | None:
    votes = table.votes[np.all(table.votes >= 0, axis=1)]
    if not len(votes):
        return None
    nominal, ordinal = alpha_values(votes, table.scheme.values)
    return CompleteAgreement(len(votes), mean_kappa(pairwise_kappa(votes)), nominal, ordinal)


def write_labels(
    table: AnnotationTable,
    out: Path,
    *,
    ties: TieRule = TieRule.LOWEST,
    model: str | None = None,
    seed: int = 0,
) -> None:
    """Write the label of each text: mode, consensus, vote shares, and what a model of annotators says if one is named.

    Args:
        table: Annotations; decisions of an adjudicator take the place of the mode.
        out: The CSV file.
        ties: What to do where labels have the same number of votes.
        model: A name of ``CrowdModel``.
        seed: Where MACE starts.

    Raises:
        UnknownNameError: If there is no model of this name.
        MissingExtraError: If the model needs a package that is not installed.
    """
    codes = table.scheme.codes
    aggregated = table.aggregated(ties=ties)
    columns: dict[str, list[str]] = {
        "text_id": list(table.texts),
        "text": list(table.texts.values()),
        "mode": [_code(index, codes) for index in aggregated.mode.tolist()],
        "consensus": [_code(index, codes) for index in aggregated.consensus.tolist()],
        "ambiguous": ["x" if is_one else "" for is_one in aggregated.ambiguous.tolist()],
        "unsure": ["x" if is_one else "" for is_one in aggregated.unsure.tolist()],
    }
    for code, shares in zip(codes, aggregated.shares.T.tolist(), strict=True):
        columns[f"share_{code}"] = [_share(share) for share in shares]
    if model is not None:
        if model not in tuple(CrowdModel):
            raise UnknownNameError("model of annotators", model, [known.value for known in CrowdModel])
        estimated = estimated_shares(table.votes, len(codes), model=CrowdModel(model), seed=seed)
        columns[model] = [_code(index, codes) for index in most_likely(estimated).tolist()]
        for code, shares in zip(codes, estimated.T.tolist(), strict=True):
            columns[f"{model}_{code}"] = [_share(share) for share in shares]
    stream = io.StringIO(newline="")
    writer = csv.writer(stream, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows(map(spreadsheet_cell, row) for row in zip(*columns.values(), strict=True))
    write_text(out, stream.getvalue())


def _code(index: int, codes: Sequence[str]) -> str:
    return "" if index == NO_LABEL else codes[index]


def _share(share: float) -> str:
    return "" if math.isnan(share) else f"{share:.6g}"


def _ids(table: AnnotationTable, chosen: npt.NDArray[np.bool_]) -> tuple[str, ...]:
    return tuple(text_id for text_id, is_one in zip(table.texts, chosen.tolist(), strict=True) if is_one)


def _or_none(value: float) -> float | None:
    return None if math.isnan(value) else value
