"""From options on the command line to the options of an instrument."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_type_hints

from evenhand.core.errors import EvenhandError, UnknownNameError

if TYPE_CHECKING:
    from evenhand.instruments.instrument import Instrument, InstrumentOptions


def options_for(
    instrument: Instrument[Any], given: Mapping[str, Any], settings: Sequence[str] = ()
) -> InstrumentOptions:
    """The options of an instrument, refusing what it does not take.

    Args:
        instrument: Which one.
        given: Options that the command line knows, None where they were not given.
        settings: Others, written ``name=value``.
    """
    known = {field.name for field in fields(instrument.options_type)}
    chosen = {name: value for name, value in given.items() if value is not None}
    for name in chosen:
        if name not in known:
            raise EvenhandError(
                f"--{name.replace('_', '-')} is not an option of {instrument.name}. It takes: "
                f"{', '.join(sorted(option.replace('_', '-') for option in known))}."
            )
    return instrument.options_type(**chosen, **_settings(instrument, settings, known))


def _settings(instrument: Instrument[Any], settings: Sequence[str], known: set[str]) -> dict[str, Any]:
    types = get_type_hints(instrument.options_type)
    values: dict[str, Any] = {}
    for setting in settings:
        name, equals, text = setting.partition("=")
        name = name.strip().replace("-", "_")
        if not equals:
            raise EvenhandError(f"--set {setting!r} is not understood. Write --set name=value.")
        if name not in known:
            raise UnknownNameError(f"option of {instrument.name}", name, known)
        values[name] = _parsed(name, text.strip(), types[name])
    return values


def _parsed(name: str, text: str, kind: Any) -> Any:
    """A value of the option's own type, as far as a text can be one."""
    alternatives = [kind, *getattr(kind, "__args__", ())]
    if bool in alternatives and text.casefold() in ("true", "false", "yes", "no"):
        return text.casefold() in ("true", "yes")
    for number in (int, float):
        if number in alternatives:
            try:
                return number(text)
            except ValueError:
                continue
    if str in alternatives:
        return text
    if Path in alternatives:
        return Path(text)
    raise EvenhandError(f"--set {name}={text}: a value of this kind cannot be written here. Use Python.")
