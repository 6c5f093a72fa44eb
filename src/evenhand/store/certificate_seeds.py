"""What a recipe does whatever the seed: several mitigated models of one original, in one table."""

from __future__ import annotations

from evenhand.core.estimates import Estimate, Number
from evenhand.core.frozen import FrozenModel
from evenhand.store.certificate_quality import QualityVerdict
from evenhand.store.certificates import TakenOver


class SeedsRow(FrozenModel):
    """One measure of the original and of every mitigated model."""

    measure: str
    unit: str
    before: Number
    after: tuple[Number, ...]
    """In the order of the models."""
    deviation: Number
    """Standard deviation over the models."""
    difference: Estimate
    """The mean over the models less the original, with an interval over models and what they were asked."""
    movement: int | None = None
    """Of bias: 1 if it is clearly closer to neutral over models, -1 if clearly farther, 0 if that is open."""
    part_of: str | None = None
    """The measure that this one is a part of: MALoR, of its base rate and of its spread."""
    untrained_pair: str | None = None
    """Of MALoR: which pair of words it is about, where no mitigation is trained for it."""
    sample: str | None = None
    """Of MALoR: over which structures and occupations it is."""
    margin: float | None = None
    """Of quality: the worst difference that is tolerated."""
    verdict: QualityVerdict | None = None


class SeedsComparison(FrozenModel):
    """Several mitigated models of one recipe, compared with their original."""

    before: str
    after: tuple[str, ...]
    confidence: float
    rows: tuple[SeedsRow, ...]
    not_compared: tuple[str, ...] = ()
    """Models whose quality could not be compared on enough texts or items, or not by the measures of others."""
    taken_over: tuple[TakenOver, ...] = ()
    """What of it an earlier command measured; of the first model its certificate says so."""

    @property
    def is_quality_lost(self) -> bool:
        """Whether any measure of quality is lost over models."""
        return any(row.verdict is QualityVerdict.LOST for row in self.rows)
