"""What reads figures off a model in training."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

from evenhand.core.estimates import Estimate


class FigureReader(Protocol):
    """Reads the same figures off one model as it is now, again and again."""

    @property
    def neutral(self) -> Mapping[str, float]:
        """The neutral value of each figure that it reads, by key."""
        ...

    def values(self) -> dict[str, float]:
        """The figures by key, without intervals."""
        ...

    def parts(self) -> dict[str, float]:
        """What the figures that were read last are made of, by key; empty if they have no parts."""
        ...

    def estimates(self) -> dict[str, Estimate]:
        """The figures by key, with intervals."""
        ...
