"""YAML that others wrote, read within bounds.

Seven hundred bytes of YAML can stand for billions of values, because an alias repeats a value and a merge key copies
one. So the parser's events are counted first, with aliases written out, and only a document within the bounds is read.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from evenhand.core.errors import EvenhandError, fault
from evenhand.core.files import decode_utf8, parse_json, read_bounded, read_stored

MAX_CHARACTERS = 2**20

MAX_README_BYTES = 2**24

MAX_VALUES = 200_000
"""Values of a document, those behind aliases and merge keys counted each time. A full megabyte has about as many."""

MAX_DEPTH = 50
"""Lists and mappings inside each other, also through aliases."""

_LONGEST_NUMBER = 1_000
"""Characters. YAML has numbers to the base 60, whose reading takes time that grows with the square of their length."""

_NUMBER = re.compile(r"[-+]?[0-9][0-9a-fA-FxX_:.]*")
_NUMBER_TAGS = {"tag:yaml.org,2002:int", "tag:yaml.org,2002:float"}

_SHORT_INTEGER = 18
"""Characters. Longer integers can have one hash, so that a mapping of them takes time that grows with its square."""

_MAX_LONG_INTEGERS = 1_000

_MAX_TAG_DIRECTIVES = 100
"""The parser compares each with all others."""

_SURROGATE = re.compile("[\ud800-\udfff]")

_Loader: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
"""Where PyYAML was built without libyaml, its own loader, which is ten times as slow."""


def read_yaml(path: Path, *, error: type[EvenhandError]) -> Any:
    """The value in a YAML file, or in a JSON file if it is named so.

    Args:
        path: The file.
        error: Raised if it cannot be read.
    """
    text = decode_utf8(read_bounded(path, error=error, limit=MAX_CHARACTERS), path, error=error)
    if path.suffix.lower() == ".json":
        return parse_json(text, path, error=error)
    try:
        return load_yaml(text)
    except ValueError as problem:
        raise error(f"{path} is not valid YAML: {problem}.") from None


_FRONT_MATTER = re.compile(r"\s*---[ \t]*(?:\r\n|\r|\n)(.*?)(?:\r\n|\r|\n)---[ \t]*(?:\r?\n|\Z)", re.DOTALL)


def front_matter(path: Path, *, error: type[EvenhandError]) -> Any:
    """What stands in YAML between two lines of dashes at the beginning of a README; None if there is no such thing.

    Args:
        path: The README.
        error: Raised if it cannot be read.
    """
    content = read_stored(path, error=error, limit=MAX_README_BYTES)
    matter = _FRONT_MATTER.match(decode_utf8(content, path, error=error))
    try:
        return load_yaml(matter[1]) if matter else None
    except ValueError as problem:
        raise error(f"The front matter of {path} cannot be read as YAML: {problem}.") from None


def load_yaml(text: str) -> Any:
    """The value in a YAML text.

    Raises:
        ValueError: If it is not YAML, is beyond the bounds, or has a value that cannot be, such as February 30. All
            that the parser raises becomes this.
    """
    if len(text) > MAX_CHARACTERS:
        raise ValueError(f"it has {len(text):,} characters, and at most {MAX_CHARACTERS:,} are read")
    if text.count("%TAG") > _MAX_TAG_DIRECTIVES:
        raise ValueError(f"it has more than {_MAX_TAG_DIRECTIVES} %TAG directives")
    try:
        _refuse_beyond_bounds(text)
        return yaml.load(text, _Loader)  # noqa: S506 # a safe loader
    except _BoundError as problem:
        raise ValueError(str(problem)) from None
    except yaml.YAMLError as problem:
        raise ValueError(fault(problem).rstrip(".")) from None
    except Exception as problem:  # constructors of values raise anything
        raise ValueError(
            f"one of its values cannot be read ({type(problem).__name__}: {fault(problem)})"
        ) from None


class _BoundError(ValueError):
    """A document beyond the bounds."""


@dataclass(slots=True)
class _Size:
    """How many values a value holds, itself among them, and how many levels of them."""

    values: int = 1
    depth: int = 0


def _refuse_beyond_bounds(text: str) -> None:
    sizes: dict[str | None, _Size] = {}
    unfinished: list[tuple[str | None, _Size]] = []
    long_integers = 0
    for event in yaml.parse(text, _Loader):
        line = event.start_mark.line + 1
        match event:
            case yaml.CollectionStartEvent():
                unfinished.append((event.anchor, _Size()))
                _refuse_depth(len(unfinished), line)
                continue
            case yaml.CollectionEndEvent():
                anchor, size = unfinished.pop()
            case yaml.ScalarEvent():
                _refuse_scalar(event, line)
                long_integers += _is_long_integer(event)
                if long_integers > _MAX_LONG_INTEGERS:
                    raise _BoundError(
                        f"it has more than {_MAX_LONG_INTEGERS:,} integers of more than {_SHORT_INTEGER} characters, "
                        f"in line {line:,}"
                    )
                anchor, size = event.anchor, _Size()
            case yaml.AliasEvent():
                if any(own == event.anchor for own, _ in unfinished):
                    raise _BoundError(f"the value &{event.anchor} contains itself, in line {line:,}")
                anchor, size = None, sizes.get(event.anchor, _Size())
                _refuse_depth(len(unfinished) + size.depth, line)
            case _:
                continue
        if anchor is not None:
            sizes[anchor] = size
        if unfinished:
            parent = unfinished[-1][1]
            parent.depth = max(parent.depth, size.depth + 1)
            parent.values += size.values
            if parent.values > MAX_VALUES:
                raise _BoundError(
                    f"it stands for more than {MAX_VALUES:,} values, aliases written out, by line {line:,}"
                )


def _refuse_depth(depth: int, line: int) -> None:
    if depth > MAX_DEPTH:
        raise _BoundError(f"it is nested more than {MAX_DEPTH} deep, in line {line:,}")


def _refuse_scalar(scalar: yaml.ScalarEvent, line: int) -> None:
    if len(scalar.value) > _LONGEST_NUMBER and _is_number(scalar):
        raise _BoundError(f"the number in line {line:,} has {len(scalar.value):,} characters")
    if _SURROGATE.search(scalar.value):
        raise _BoundError(f"the text in line {line:,} has half of a surrogate pair")


def _is_number(scalar: yaml.ScalarEvent) -> bool:
    """Whether a value may be read as a number, by its look or by its tag."""
    return scalar.tag in _NUMBER_TAGS or bool(scalar.implicit[0] and _NUMBER.fullmatch(scalar.value))


def _is_long_integer(scalar: yaml.ScalarEvent) -> bool:
    return len(scalar.value) > _SHORT_INTEGER and "." not in scalar.value and _is_number(scalar)
