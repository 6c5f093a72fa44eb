"""Words of a German sentence, and the classes by which they are told apart."""

from __future__ import annotations

import csv
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from importlib import resources
from pathlib import Path

from evenhand.core.spans import Span

_PIECES = re.compile(r"[^\W\d_]+(?:[-‐‑][^\W\d_]+)*|\d+|[^\w\s]")
_OPENING = frozenset("„»«\"“‚‘'›‹:(–—-*")
_FINAL = frozenset(".!?…")

AGENT_ENDINGS = (
    "er",
    "or",
    "ist",
    "ent",
    "ant",
    "eur",
    "oge",
    "ier",
    "at",
    "graf",
    "wart",
    "ling",
    "är",
    "ut",
    "e",
)
"""How many nouns for persons end."""


class Unsure(Exception):  # noqa: N818 - a way out, no error
    """The sentence cannot be exchanged with certainty, for this reason."""


@dataclass(frozen=True, slots=True)
class Word:
    """A word or a mark of a sentence."""

    text: str
    lower: str
    span: Span
    is_word: bool
    capital: bool
    starts: bool
    """Whether it begins a sentence or a quotation, where a capital says nothing."""


def words_in(sentence: str) -> tuple[Word, ...]:
    """The words and marks of a sentence."""
    found: list[Word] = []
    starts = True
    for match in _PIECES.finditer(sentence):
        text = match[0]
        is_word = text[0].isalpha()
        found.append(
            Word(
                text=text,
                lower=text.lower(),
                span=Span(*match.span()),
                is_word=is_word,
                capital=is_word and text[0].isupper(),
                starts=starts,
            )
        )
        if is_word or text[0].isdigit():
            starts = False
        elif text in _OPENING or text in _FINAL:
            starts = True
    return tuple(found)


@lru_cache(maxsize=1)
def word_classes() -> Mapping[str, frozenset[str]]:
    """The classes of words that are bundled for German, by name."""
    with german_resource("words").open(encoding="utf-8", newline="") as lines:
        return {row["class"]: frozenset(row["words"].split()) for row in csv.DictReader(lines)}


def german_resource(name: str) -> Path:
    """One of the bundled word lists, such as ``persons``."""
    return Path(str(resources.files("evenhand.data") / "resources" / "counterfactual" / "de" / f"{name}.csv"))
