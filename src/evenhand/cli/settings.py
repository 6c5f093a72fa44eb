"""From the command line to the options of an instrument or a mitigation, whose names only their own package knows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import fields
from pathlib import Path
from typing import Any, TypeVar, get_type_hints

from evenhand.core.errors import EvenhandError, UnknownNameError

Options = TypeVar("Options")

_COMPOSED = {"recipe", "resampling"}
"""Fields that several options of a command make up."""


def options_from(
    options_type: type[Options],
    named: Mapping[str, Any],
    *,
    owner: str,
    settings: Sequence[str] = (),
    flags: Mapping[str, str] | None = None,
) -> Options:
    """Options of a type, refusing those that it does not have.

    Args:
        options_type: A dataclass.
        named: Values of options that the command has itself; None where they were not given.
        owner: The instrument or mitigation that the options are for.
        settings: Other options, written ``name=value``.
        flags: How the command spells those options of its own that have another name than the field.
    """
    known = {field.name for field in fields(options_type)}  # type: ignore[arg-type] # a dataclass
    chosen = {
        name: tuple(value) if isinstance(value, list) else value
        for name, value in named.items()
        if value is not None
    }
    for name in chosen:
        if name not in known:
            flag, *others = (
                f"--{(flags or {}).get(option, option).replace('_', '-')}"
                for option in (name, *(option for option in named if option in known - _COMPOSED))
            )
            takes = f"It takes {', '.join(others)}." if others else "It takes none of this kind."
            raise EvenhandError(f"{flag} is not an option of {owner}. {takes}")
    return options_type(**chosen | _parsed_settings(options_type, settings, known, owner=owner))


def _parsed_settings(
    options_type: type[Any], settings: Sequence[str], known: set[str], *, owner: str
) -> dict[str, Any]:
    types = get_type_hints(options_type)
    values: dict[str, Any] = {}
    for setting in settings:
        name, equals, text = setting.partition("=")
        name = name.strip().replace("-", "_")
        if not equals:
            raise EvenhandError(f"--set {setting!r} is not understood. Write --set name=value.")
        if name not in known:
            raise UnknownNameError(f"option of {owner}", name, known)
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
    raise EvenhandError(f"--set {name}={text} is not a value that this option takes: {_described(kind)}.")


def _described(kind: Any) -> str:
    return getattr(kind, "__name__", str(kind))
