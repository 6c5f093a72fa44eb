"""What a certificate says about how a model was mitigated."""

from __future__ import annotations

from pydantic import Field

from evenhand.core.estimates import Number
from evenhand.core.frozen import FrozenModel
from evenhand.store.trigger_records import PrefixComparison


class CurvePoint(FrozenModel):
    """A model in training after an epoch; epoch 0 is the original."""

    epoch: int
    malor: dict[str, Number]
    perplexity: Number


class FrontierPoint(FrozenModel):
    """One setting of the balance between bias and quality that was tried."""

    weight: float
    malor: dict[str, Number]
    perplexity_change: Number
    """In percent."""
    chosen: bool = False


class MitigationSummary(FrozenModel):
    """What the record beside a mitigated model says was done."""

    method: str
    experiments: tuple[str, ...]
    weights: str
    """Digest of the weights that the record is about."""
    language: str | None = None
    """Of the probes that it was done for."""
    settings: dict[str, str] = Field(default_factory=dict)
    curve: tuple[CurvePoint, ...] = ()
    kept_epoch: int | None = None
    frontier: tuple[FrontierPoint, ...] = ()
    unseen: bool = False
    """Whether it is recorded that no training saw the held-out half of the probes."""
    prefixes: PrefixComparison | None = None
    """A trigger beside no prefix, random tokens and a sentence, on what its search did not see."""
    transfer: tuple[PrefixComparison, ...] = ()
    """The same on other models."""
