"""What reads figures off a model in training."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from evenhand.core.estimates import Estimate
from evenhand.store.figures import Figure

if TYPE_CHECKING:
    from evenhand.instruments.instrument import Instrument, InstrumentOptions


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


@dataclass(frozen=True, slots=True)
class MeasuringReader:
    """Measures afresh each time: for any instrument that knows no quicker way."""

    instrument: Instrument[Any]
    model: Any
    options: InstrumentOptions
    figures: tuple[Figure, ...]
    """As they were when the reader was made."""

    @classmethod
    def of(cls, instrument: Instrument[Any], model: Any, options: InstrumentOptions) -> MeasuringReader:
        """Measure once, to know which figures there are."""
        return cls(instrument, model, options, _headline_figures(instrument, model, options))

    @property
    def neutral(self) -> dict[str, float]:
        """Of each figure."""
        return {figure.key: figure.neutral for figure in self.figures if figure.neutral is not None}

    def values(self) -> dict[str, float]:
        """Measured now."""
        return {key: estimate.value for key, estimate in self.estimates().items()}

    def parts(self) -> dict[str, float]:
        """None."""
        return {}

    def estimates(self) -> dict[str, Estimate]:
        """Measured now."""
        figures = _headline_figures(self.instrument, self.model, self.options)
        return {figure.key: figure.estimate for figure in figures}


def _headline_figures(
    instrument: Instrument[Any], model: Any, options: InstrumentOptions
) -> tuple[Figure, ...]:
    """The headline figures that have a neutral value to come closer to."""
    run = instrument.prepare(model, options).measure()
    return tuple(
        figure for figure in instrument.figures(run) if figure.is_headline and figure.neutral is not None
    )
