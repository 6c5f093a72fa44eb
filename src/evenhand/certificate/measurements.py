"""What was measured on one model."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from evenhand.store.run import Run


@dataclass(frozen=True, slots=True)
class Measurements:
    """The runs of one model by instrument, and why there are none of other instruments."""

    runs: Mapping[str, Run]
    gaps: Mapping[str, str]
