"""The cosine test: does an occupation's vector change with the pronoun beside it?

Two sentences of Winogender that differ in the pronoun only, *The nurse told the patient that he was late* and *... that
she was late*, go through the model. The cosine of the two contextual vectors of *nurse* is 1 if the pronoun makes no
difference to it. An occupation's cosine is the mean over its pairs, and the test's value is the mean over occupations,
with an interval that resamples occupations. An occupation's own interval is over its pairs, which are few and much
alike; it says how far they agree and no more.

A decoder has read only what comes before the occupation, and in Winogender the pronoun comes after it: the two vectors
are the same whatever the model makes of the pronoun. Such pairs are left out, and a model for which none is left is
refused.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import polars as pl

from evenhand.data.winogender import WINOGENDER, PronounPairs, load_pronoun_pairs
from evenhand.instruments.instrument import (
    Instrument,
    InstrumentOptions,
    Preparation,
)
from evenhand.instruments.probe_results import CosineResult
from evenhand.models.capabilities import Embeds
from evenhand.runs.comparison import ALL_ITEMS
from evenhand.runs.figures import Figure
from evenhand.runs.run import Run

NAME = "cosine"


MEASURE = "cosine"


@dataclass(frozen=True, kw_only=True)
class CosineOptions(InstrumentOptions):
    """Which layer's vectors are compared."""

    layer: int = field(
        default=-1, metadata={"help": "Layer of the model: 0 is the embeddings, -1 the last layer."}
    )


class CosineInstrument(Instrument[CosineOptions]):
    """The cosine of an occupation's contextual vectors beside a male and a female pronoun."""

    name = NAME
    version = "cosine.v1"
    title = "Cosine test"
    summary = "Whether an occupation's contextual vector changes with the pronoun beside it."
    needs = (Embeds,)
    options_type = CosineOptions
    result_type = CosineResult

    @property
    def measures(self) -> tuple[str, ...]:
        """The names of its figures."""
        return (MEASURE,)

    def refuse_impossible(self, options: CosineOptions) -> None:
        """Refuse sentences that cannot be read."""
        _pairs(options)

    def prepare(self, model: Any, options: CosineOptions, *, name: str | None = None) -> Preparation:
        """Load the pairs of sentences.

        Raises:
            ModelError: If the model gives no hidden states, has no such layer, or reads from left to right while in
                every pair the pronoun comes after the occupation.
        """
        from evenhand.instruments.cosine.preparation import CosinePreparation

        self.refuse_unable(model)
        return CosinePreparation(model, _pairs(options), options, name=name)

    def figures(self, run: Run) -> tuple[Figure, ...]:
        """The mean over occupations, and each occupation."""
        result: CosineResult = run.result
        return (
            Figure(MEASURE, (ALL_ITEMS,), result.mean, "Mean cosine", 1.0, unit="", is_headline=True),
            *(
                Figure(MEASURE, (ALL_ITEMS, own.occupation), own.cosine, own.occupation, 1.0, unit="")
                for own in result.occupations
            ),
        )

    def units(self, run: Run) -> pl.DataFrame:
        """One unit per occupation: the mean over its pairs."""
        return (
            run.scores.drop_nulls("cosine")
            .group_by("occupation", maintain_order=True)
            .agg(pl.col("cosine").mean().alias("value"))
            .select(
                pl.lit(f"{ALL_ITEMS}.{MEASURE}").alias("key"), pl.col("occupation").alias("unit"), "value"
            )
        )


COSINE = CosineInstrument()


def _pairs(options: CosineOptions) -> PronounPairs:
    data = options.data
    return data if isinstance(data, PronounPairs) else load_pronoun_pairs(data or WINOGENDER.name)
