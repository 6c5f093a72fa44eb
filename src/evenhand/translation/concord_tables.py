"""The tables of morphology by which concord is judged: ``resources/morphology/*.toml``."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from importlib import resources
from typing import Any

LONGEST_ENDING = 6
"""No ending of the tables has more letters."""

ENDS_A_CLAUSE = frozenset('.,;:!?…"»”“')
"""After them, nothing stands before the blank that it could agree with."""


def morphology(language: str) -> dict[str, Any]:
    """The tables of a language."""
    file = resources.files("evenhand.data") / "resources" / "morphology" / f"{language}.toml"
    return tomllib.loads(file.read_text(encoding="utf-8"))


def by_name(table: Mapping[str, str]) -> dict[str, str]:
    """Each word of a table, with the key whose words it is among."""
    return {name: key for key, names in table.items() for name in names.split()}


def by_longest_ending(word: str, endings: Mapping[str, str]) -> str | None:
    """What a table says of the longest ending that a word has, which is never the whole word."""
    for length in range(min(len(word) - 1, LONGEST_ENDING), 0, -1):
        if (found := endings.get(word[-length:])) is not None:
            return found
    return None
