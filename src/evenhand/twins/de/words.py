"""The words of a German sentence, their classes, and the number of finite verbs."""

from __future__ import annotations

import csv
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from importlib import resources
from pathlib import Path

from evenhand.core.items import Span
from evenhand.twins.de.declension import DETERMINERS

_PIECES = re.compile(r"[^\W\d_]+(?:[-‐‑][^\W\d_]+)*|\d+|[^\w\s]")
_OPENING = frozenset("„»«\"“‚‘'›‹:(–—-*")
_FINAL = frozenset(".!?…")

BECOMING = frozenset(
    ["wird", "wurde", "werde", "würde", "werden", "geworden", "gewesen", "geblieben", "bleiben"]
)
"""Verbs beside which a noun says what somebody becomes, stays or was."""
SINGULAR = "singular"
PLURAL = "plural"
NO_NUMBER = ""
_PLURAL_VERBS = frozenset({"sind", "seien", "tun"})
_NO_CONTENT = (
    "accusative prepositions",
    "dative prepositions",
    "two-way prepositions",
    "genitive prepositions",
    "subordinators",
    "coordinators",
    "subject pronouns",
    "pronouns",
    "adverbs",
    "intensifiers",
    "numbers",
    "standalone pronouns",
)


class Ambiguous(Exception):  # noqa: N818 - a way out, no error
    """The twin of a sentence is not certain, for this reason."""


@dataclass(frozen=True, slots=True)
class GermanWord:
    """A word or a mark of a sentence."""

    text: str
    lower: str
    span: Span
    is_word: bool
    capital: bool
    starts: bool
    """Whether it begins a sentence or a quotation, where a capital means nothing."""


def words_in(sentence: str) -> tuple[GermanWord, ...]:
    """The words and marks of a sentence."""
    words: list[GermanWord] = []
    starts = True
    for match in _PIECES.finditer(sentence):
        text = match[0]
        is_word = text[0].isalpha()
        words.append(
            GermanWord(
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
    return tuple(words)


@lru_cache(maxsize=1)
def word_classes() -> Mapping[str, frozenset[str]]:
    """The classes of words that are bundled for German, by name."""
    with german_resource("words").open(encoding="utf-8", newline="") as lines:
        return {row["class"]: frozenset(row["words"].split()) for row in csv.DictReader(lines)}


def german_resource(name: str) -> Path:
    """One of the bundled word lists, such as ``persons``."""
    return Path(str(resources.files("evenhand.data") / "resources" / "counterfactual" / "de" / f"{name}.csv"))


@lru_cache(maxsize=1)
def _function_words() -> frozenset[str]:
    classes = word_classes()
    return frozenset(word for name in _NO_CONTENT for word in classes[name]) | frozenset(DETERMINERS)


@lru_cache(maxsize=2**15)
def is_function_word(lower: str) -> bool:
    """Whether a word is neither a noun, an adjective nor a verb."""
    return lower in _function_words()


@lru_cache(maxsize=2**15)
def verb_number(lower: str) -> str:
    """Singular or plural if a word has the form of a finite verb in the third person."""
    classes = word_classes()
    if lower in classes["singular verbs"]:
        return SINGULAR
    if lower in _PLURAL_VERBS:
        return PLURAL
    if is_function_word(lower) or len(lower) < 3:
        return NO_NUMBER
    if _is_strong(lower) or _is_weak(lower):
        return SINGULAR
    return PLURAL if lower.endswith(("en", "ern", "eln")) else NO_NUMBER


def _is_weak(lower: str) -> bool:
    if lower.startswith("ge") and lower.endswith("t") and lower not in word_classes()["finite despite ge"]:
        return False
    return lower.endswith(("te", "t")) and not lower.endswith(("haft", "heit", "keit", "schaft", "est"))


def _is_strong(lower: str) -> bool:
    preterites = word_classes()["strong preterites"]
    if lower in preterites:
        return True
    return any(
        lower.startswith(prefix) and lower[len(prefix) :].removeprefix("zu") in preterites
        for prefix in word_classes()["verb prefixes"]
    )


@lru_cache(maxsize=2**15)
def final_verb_number(lower: str) -> str:
    """The same for the last word of a subordinate clause, where a word in -e is a verb too (*ob er komme*)."""
    number = verb_number(lower)
    if not number and lower.endswith("e") and not is_function_word(lower) and len(lower) > 3:
        return SINGULAR
    return number


@lru_cache(maxsize=2**15)
def has_stem(lower: str, name: str) -> bool:
    """Whether a word may be a form of a verb of this class, such as ``dative verbs``."""
    stems = word_classes()[name]
    bare = lower.removeprefix("ge")
    return any(bare.startswith(stem) or lower.startswith(stem) for stem in stems)
