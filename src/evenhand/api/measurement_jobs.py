"""What is to be measured, and what is refused of it before a model is loaded."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from evenhand.api.defaults.measuring import default_instrument_options
from evenhand.api.executors import ExecutorError
from evenhand.api.models import reference_to
from evenhand.core.errors import RunError
from evenhand.instruments.association.instrument import ASSOCIATION
from evenhand.instruments.instrument import Instrument, InstrumentOptions
from evenhand.models.backends import backend_of
from evenhand.models.references import ModelRef, with_recorded_fields
from evenhand.store.conditions import Condition, refuse_unknown_figures
from evenhand.store.run import INSTRUMENTS, record_in, run_place
from evenhand.store.run_differences import Fact, model_facts, refuse_other_run, scoring_facts


@dataclass(frozen=True, kw_only=True, slots=True)
class MeasurementJob:
    """One model and one instrument, of many that are to be measured."""

    model: str | ModelRef | Any
    instrument: str | Instrument[Any] = ASSOCIATION.name
    options: InstrumentOptions | None = None
    name: str | None = None

    @property
    def chosen_instrument(self) -> Instrument[Any]:
        """The instrument, also where only its name was given."""
        instrument: Instrument[Any] = (
            INSTRUMENTS.get(self.instrument) if isinstance(self.instrument, str) else self.instrument
        )
        return instrument

    @property
    def chosen_options(self) -> InstrumentOptions:
        """The options, also where none were given."""
        return self.options or self.chosen_instrument.options_type()

    @property
    def title(self) -> str:
        """What it is called while it runs."""
        instrument = self.instrument if isinstance(self.instrument, str) else self.instrument.name
        language = self.options.language if self.options else None
        return " ".join(filter(None, [_model_name(self.model), instrument, language]))


def refuse_impossible(measurements: Sequence[MeasurementJob]) -> None:
    """Refuse wrong options before anything is loaded; those that several models share are looked at once."""
    seen: list[tuple[str, InstrumentOptions]] = []
    for measurement in measurements:
        instrument = measurement.chosen_instrument
        options = suited_options(measurement.model, instrument, measurement.chosen_options)
        if not any(name == instrument.name and other is options for name, other in seen):
            instrument.refuse_impossible(options)
            seen.append((instrument.name, options))


def refuse_unplanned_figures(conditions: Sequence[Condition], measurements: Sequence[MeasurementJob]) -> None:
    """Refuse conditions on figures that no run will have, before a model is loaded."""
    for measurement in measurements if conditions else ():
        instrument = measurement.chosen_instrument
        options = suited_options(measurement.model, instrument, measurement.chosen_options)
        refuse_unknown_figures(conditions, instrument.figure_groups(options), of=instrument.title)


def refuse_taken_places(measurements: Sequence[MeasurementJob], out: Path) -> None:
    """Refuse runs whose place holds another one, or that would come to lie in one place, before a model is loaded."""
    by_name: dict[str, MeasurementJob] = {}
    for measurement in measurements:
        instrument, ref = measurement.chosen_instrument, reference_of(measurement.model)
        options = suited_options(measurement.model, instrument, measurement.chosen_options)
        name = measurement.name or instrument.run_name(ref, options)
        if name is None:
            continue
        other = by_name.setdefault(name, measurement)
        if (other.model, other.options) != (measurement.model, measurement.options):
            raise RunError(
                f"Two runs would be called {name}: {other.title} and {measurement.title}. Measure them one after the "
                "other, each with its own --name."
            )
        place = run_place(out, name)
        present = record_in(place)
        planned = instrument.planned_record(ref, options, name=name) if present else None
        if present is not None and planned is not None:
            known = _known_of_model(ref)
            if present.instrument == instrument.name:
                known |= scoring_facts(instrument.other_scoring(present, options))
            refuse_other_run(place, planned, is_planned=True, known=known)


def _known_of_model(ref: ModelRef) -> dict[str, Fact]:
    """What a fingerprint has of a model, where its weights are at hand; nothing otherwise."""
    digest = getattr(backend_of(ref.id), "weights", lambda _: None)(ref)
    if digest is None:
        return {}
    return model_facts(ref.id, weights=digest, precision=ref.precision.value, prefix=ref.prefix)


def suited_options(
    model: str | ModelRef | Any, instrument: Instrument[Any], options: InstrumentOptions
) -> InstrumentOptions:
    """The options with the data that suit the model, which is not loaded for that; those not used are refused."""
    instrument.refuse_unused(options)
    return default_instrument_options(instrument, reference_of(model), options)


def reference_of(model: str | ModelRef | Any) -> ModelRef:
    """What a model is loaded from, or was."""
    ref: ModelRef = reference_to(model) if isinstance(model, str | ModelRef) else model.ref
    return with_recorded_fields(ref)


def refuse_loaded(measurements: Sequence[MeasurementJob]) -> None:
    """Refuse models that are loaded in this process, which others cannot reach."""
    for measurement in measurements:
        if not isinstance(measurement.model, str | ModelRef):
            raise ExecutorError(
                f"{_model_name(measurement.model)} is loaded in this process, and others cannot reach it. Give "
                "its name, its folder or a ModelRef."
            )


def _model_name(model: Any) -> str:
    if isinstance(model, str):
        return model
    ref = model if isinstance(model, ModelRef) else getattr(model, "ref", None)
    return ref.id if isinstance(ref, ModelRef) else type(model).__name__
