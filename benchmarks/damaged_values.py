"""Values that nobody expects, and JSON values with one change somewhere in them."""

from __future__ import annotations

import random
from collections.abc import Mapping
from typing import Any

LONG_SENTENCE = "He was late, and she said that the doctor was not. " * 42_000
"""Two megabytes."""

HOSTILE: tuple[Any, ...] = (
    None, True, 0, -1, 1, 2**31, 2**63, -(2**63), 10**400, 0.5, 1e308, -1e308, 5e-324, float("nan"), float("inf"),
    "", " ", "0", "x", "../..", "..", "/dev/zero", "/etc/passwd", "a\0b", "\ud800", "\u2028", "BLANK", "[MASK]",
    "😀" * 9, [], [[]], {}, {"a": {}}, [None], ["x", 1], {"": ""},
)  # fmt: skip
"""Values that nobody expects where they stand."""

Chance = random.Random


def changed_value(document: Any, chance: Chance) -> Any:
    """A copy of a JSON value with one change somewhere in it."""
    if not isinstance(document, dict | list) or not document or chance.random() < 0.02:
        return hostile_value(chance)
    copy: Any = dict(document) if isinstance(document, dict) else list(document)
    keys: list[Any] = list(copy) if isinstance(copy, dict) else list(range(len(copy)))
    key = chance.choice(keys)
    if isinstance(copy[key], dict | list) and copy[key] and chance.random() < 0.75:
        copy[key] = changed_value(copy[key], chance)
        return copy
    way = chance.randrange(6)
    if way == 0:
        del copy[key]
    elif way == 1 and isinstance(copy, dict):
        copy[f"{key}x"] = copy.pop(key)
    elif way == 1:
        copy.insert(key, copy[key])
    elif way == 2:
        other = chance.choice(keys)
        copy[key], copy[other] = copy[other], copy[key]
    elif way == 3:
        copy[key] = _retyped(copy[key])
    else:
        copy[key] = hostile_value(chance)
    return copy


def _retyped(value: Any) -> Any:
    """The value as another type."""
    if isinstance(value, str):
        return [value]
    if isinstance(value, Mapping):
        return list(value.values())
    if isinstance(value, list):
        return {str(number): each for number, each in enumerate(value)}
    return str(value)


def hostile_value(chance: Chance) -> Any:
    """A value that nobody expects, now and then a very long one."""
    return LONG_SENTENCE if chance.random() < 0.02 else chance.choice(HOSTILE)
