"""Results of MALoR: typed, frozen, and equal to the JSON that is printed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

import polars as pl
from pydantic import Field

from evenhand.core.estimates import Estimate, Number
from evenhand.core.frozen import FrozenModel
from evenhand.core.probes import GENDERS
from evenhand.instruments.gate import GatedResult
from evenhand.instruments.instrument import Skipped

SCORES_SCHEMA: Mapping[str, pl.DataType] = {
    "experiment": pl.String(),
    "direction": pl.String(),
    "structure": pl.Int64(),
    "text": pl.String(),
    "occupation": pl.String(),
    "field": pl.String(),
    "log2_male": pl.Float64(),
    "log2_female": pl.Float64(),
    "log2_ratio": pl.Float64(),
}
"""Columns of ``scores.parquet``, one row per occupation and structure; null where it could not be asked."""


class OccupationLean(FrozenModel):
    """One occupation: which side the model leans to, and how far."""

    occupation: str
    field: str | None
    log2_ratio: Estimate
    """Mean over structures of log2 P(male) / P(female); above 0 the model expects a man."""
    p_male: Number
    """Mean over structures of the probability of the male term (of all male terms, for names)."""
    p_female: Number
    n: int
    """Structures that could be scored."""


class Correlation(FrozenModel):
    """How the model's lean goes with the real share of women in each occupation."""

    source: str
    pearson: Estimate
    spearman: Estimate
    n: int
    shares: dict[str, Number] = Field(default_factory=dict)
    """The real share of women in each occupation that was counted, in percent."""


class MalorResult(GatedResult):
    """Mean absolute log-ratio over occupations, for one experiment and direction."""

    kind: Literal["malor"] = "malor"
    experiment: str
    direction: str
    groups: tuple[str, str] = GENDERS
    """What the two sides are; where they are no genders, the first stands wherever a field says male."""
    MALoR: Estimate
    signed_mean: Estimate
    """The base rate that occupations share: above 0 the model expects a man whatever the occupation."""
    spread: Estimate
    """The mean distance of occupations from that base rate."""
    by_field: dict[str, Estimate]
    """Signed means."""
    occupations: tuple[OccupationLean, ...]
    correlations: tuple[Correlation, ...] = ()
    skipped: tuple[Skipped, ...] = ()
