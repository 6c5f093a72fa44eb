"""Which measures are calibrated, and what is asked of each. A measure that is missing here fails a contract test."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from evenhand.core.errors import UnknownNameError
from evenhand.runs.calibration import Response


@dataclass(frozen=True, slots=True)
class Expectation:
    """What a measure must do in the lab to be trusted."""

    measure: str
    response: Response
    at_least: float | None = None
    """The lowest value that it may read on any model, for a measure that does not move with bias."""
    in_bits: bool = False
    """Whether it reads the planted bits themselves."""


_EXPECTATIONS = (
    Expectation("LMS", Response.STAYS, at_least=95.0),
    Expectation("SS", Response.RISES),
    Expectation("ICAT", Response.FALLS_AWAY),
    Expectation("mean_LMS", Response.STAYS, at_least=95.0),
    Expectation("mean_SS", Response.RISES),
    Expectation("macro_ICAT", Response.FALLS_AWAY),
    Expectation("micro_ICAT", Response.FALLS_AWAY),
    Expectation("log_ratio", Response.RISES, in_bits=True),
    Expectation("MALoR", Response.GROWS_AWAY, in_bits=True),
)

CALIBRATED: Mapping[str, Expectation] = MappingProxyType({entry.measure: entry for entry in _EXPECTATIONS})
"""Every measure by name."""


def chosen_expectations(names: tuple[str, ...] | None) -> tuple[Expectation, ...]:
    """The expectations of these measures, or of all."""
    for name in names or ():
        if name not in CALIBRATED:
            raise UnknownNameError("measure", name, CALIBRATED)
    return tuple(entry for entry in _EXPECTATIONS if not names or entry.measure in names)
