"""What the data of a certificate can exclude, worked out before any model is asked."""

from __future__ import annotations

from functools import reduce
from operator import mul

from pydantic import computed_field

from evenhand.core.estimates import Number
from evenhand.core.frozen import FrozenModel


class PowerCase(FrozenModel):
    """What the data can show if answers vary by so much."""

    assumption: str
    power: Number
    """How often the quality is called kept at its margin, if nothing is lost."""
    provable: Number
    """The smallest margin within which it would be called kept in 80% of cases, in the unit of the margin."""
    needed: int | None
    """How many units that takes at the margin in force; None where no number is enough."""


class QualityPower(FrozenModel):
    """One measure of quality: what there is to judge it by."""

    measure: str
    counted: str
    """What is counted, such as pairs of sentences."""
    available: int
    margin: float
    unit: str
    cases: tuple[PowerCase, ...] = ()
    """From little to much variation."""
    reason: str | None = None
    """Why nothing can be said, or why it is not measured."""


class CertificatePower(FrozenModel):
    """Every measure of quality of a certificate, before it is made."""

    before: str
    after: str
    confidence: float
    qualities: tuple[QualityPower, ...]

    @computed_field  # type: ignore[prop-decorator]
    @property
    def overall(self) -> tuple[Number, Number] | None:
        """How often quality as a whole is called kept if nothing is lost, with little and with much variation.

        As if the measures were independent; None where nothing can be planned.
        """
        planned = [quality.cases for quality in self.qualities if quality.cases]
        if not planned:
            return None
        little, much = (reduce(mul, (cases[place].power for cases in planned)) for place in (0, -1))
        return little, much
