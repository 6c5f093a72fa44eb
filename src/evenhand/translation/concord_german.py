"""Concord in German: endings of adjectives between article and noun, genders of nouns after an article, and predicates.

Predicates have no ending. *der* before a noun shows a gender at the beginning of a sentence only, where it is taken for
a nominative; *die* and *den* may belong to a plural, so they rule out only nouns whose form cannot be one.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from types import MappingProxyType

from evenhand.core.items import BLANK
from evenhand.translation.concord_tables import ENDS_A_CLAUSE, by_longest_ending, by_name, morphology

_POSSESSIVES = ("kein", "mein", "dein", "sein", "unser")


def _of_possessives(ending: str) -> tuple[str, ...]:
    return tuple(stem + ending for stem in _POSSESSIVES)


_AFTER_OBLIQUE = (
    *("dem", "den", "des", "einen", "einem", "einer", "eines", "vom", "zum", "zur", "im", "am", "beim"),
    *(form for ending in ("en", "em", "es") for form in _of_possessives(ending)),
    *("diesem", "diesen", "jedem", "jeden"),
)

_ADJECTIVE_ENDINGS: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        **dict.fromkeys(("das", "jedes", "jede"), ("e",)),
        **dict.fromkeys(
            ("der", "die", "diese", "dieser", "dieses", "jeder", *_of_possessives("e")), ("e", "en")
        ),
        **dict.fromkeys(("ein", *_POSSESSIVES), ("er", "es")),
        "eine": ("e",),
        **dict.fromkeys(_AFTER_OBLIQUE, ("en",)),
    }
)
"""Articles, with the endings that an adjective after them can have."""

_ENDING_BY_GENDER: Mapping[tuple[str, str], str] = MappingProxyType(
    {
        ("der", "m"): "e",
        ("der", "f"): "en",
        **{(article, "f"): "e" for article in ("die", "diese", *_of_possessives("e"))},
        **{(article, "m"): "er" for article in ("ein", *_POSSESSIVES)},
        **{(article, "n"): "es" for article in ("ein", *_POSSESSIVES)},
    }
)
"""The ending that is left when the gender of the noun is known, which is not a plural."""

_NOUN_GENDERS: Mapping[str, str] = MappingProxyType(
    {
        **dict.fromkeys(("das", "dieses", "jedes", "ins", "ans", "aufs"), "n"),
        **dict.fromkeys(("eine", "jede", "einer", "zur"), "f"),
        **dict.fromkeys(("einen", "jeden"), "m"),
        **dict.fromkeys(("ein", "einem", "eines", "dem", "des", "vom", "zum", "im", "am", "beim"), "mn"),
        **dict.fromkeys(("diesem", "jedem", *_POSSESSIVES, *_of_possessives("em")), "mn"),
    }
)
"""Articles that show a gender; *der*, *die* and *den* show one only together with the case."""

_LIKE_PLURALS = ("er", "el", "en", "chen", "lein")
"""Endings of nouns that look alike in singular and plural."""

_WITH_PLURALS: Mapping[str, tuple[str, tuple[str, ...]]] = MappingProxyType(
    {
        **dict.fromkeys(("die", "diese", *_of_possessives("e")), ("f", _LIKE_PLURALS)),
        **dict.fromkeys(("den", "diesen", *_of_possessives("en")), ("m", ("n",))),
    }
)
"""Articles of one gender or of a plural, with endings of nouns that look alike in both."""

_CASE_ENDINGS = ("e", "en", "em", "er", "es")

_SHORTEST_HEAD = 3
"""Letters of the last part of a compound; of shorter ones, too many words end so by chance."""


@dataclass(frozen=True, slots=True)
class _GermanWords:
    nouns: Mapping[str, str]
    plurals: frozenset[str]
    noun_endings: Mapping[str, str]
    indeclinable: frozenset[str]
    like_inflected: frozenset[str]
    bare_words: frozenset[str]
    with_umlaut: frozenset[str]
    inflected: re.Pattern[str]
    bare: re.Pattern[str]
    copulas: frozenset[str]
    adverbs: frozenset[str]
    degrees: frozenset[str]


@cache
def _german() -> _GermanWords:
    tables = morphology("de")
    adjectives = {name: names.split() for name, names in tables["adjectives"].items()}
    predicates = {name: frozenset(names.split()) for name, names in tables["predicates"].items()}
    stems = "|".join(adjectives["stem_endings"])
    words = "|".join(adjectives["bare"])
    return _GermanWords(
        nouns=by_name(tables["nouns"]),
        plurals=frozenset(tables["plurals"]["nouns"].split()),
        noun_endings=by_name(tables["noun_endings"]),
        indeclinable=frozenset(adjectives["indeclinable"]),
        like_inflected=frozenset(adjectives["like_inflected"]),
        bare_words=frozenset(adjectives["bare"]),
        with_umlaut=frozenset(adjectives["with_umlaut"]),
        inflected=re.compile(rf"(?:(?:{stems})|^(?:{words}))e[mnrs]?$"),
        bare=re.compile(rf"(?:(?:{stems})|^(?:{words}))$"),
        **predicates,
    )


def german_concord(context: str, word: str) -> bool | None:
    """Whether a word agrees with the article before the blank, or is bare after a copula; None if that is not sure."""
    before, _, after = context.partition(BLANK)
    words = [match.casefold() for match in re.findall(r"\w+|[^\w\s]", before)]
    if not words or len(word.split()) != 1 or words[-1] in ENDS_A_CLAUSE:
        return None
    following = re.match(r" ([A-ZÄÖÜ]\w+)", after)
    if words[-1] in _ADJECTIVE_ENDINGS and following:
        return _attribute_agrees(words[-1], word, following[1])
    if word[0].isupper():
        return _noun_agrees(words, word)
    degrees = set()
    while words and words[-1] in _german().adverbs:
        degrees.add(words.pop())
    if (
        words
        and words[-1] in _german().copulas
        and re.match(r"\W*$|\s*[.,;!?]|\s+(?:und|aber|oder)\b", after)
    ):
        return _predicate_agrees(word, has_degree=bool(degrees & _german().degrees))
    return None


def _attribute_agrees(article: str, word: str, noun: str) -> bool | None:
    if word[0].isupper() or word in _german().indeclinable or not word.isalpha():
        return None
    if _german().bare.search(word):
        return False
    ends_inflected = word.endswith(("e", "es")) and word not in _german().like_inflected
    if ends_inflected or _german().inflected.search(word):
        return word.endswith(_adjective_endings(article, noun))
    # *offen* and *lieben* end like inflected adjectives and are none.
    return None if word.endswith(_CASE_ENDINGS) else False


def _adjective_endings(article: str, noun: str) -> tuple[str, ...]:
    endings = _ADJECTIVE_ENDINGS[article]
    if noun in _german().plurals or noun.endswith("innen"):
        return ("en",) if "en" in endings else endings
    ending = _ENDING_BY_GENDER.get((article, gender_of(noun) or ""))
    return endings if ending is None or noun.endswith(_LIKE_PLURALS) else (ending,)


def _noun_agrees(words: list[str], noun: str) -> bool | None:
    article, gender = words[-1], gender_of(noun)
    if gender is None:
        return None
    if article in _NOUN_GENDERS:
        return gender in _NOUN_GENDERS[article]
    if article == "der" and len(words) == 1:
        return gender == "m"
    is_relative = words[-2:-1] == [","]
    if article not in _WITH_PLURALS or is_relative:
        return None
    own, like_plurals = _WITH_PLURALS[article]
    if gender == own:
        return True
    return None if noun.endswith(like_plurals) else False


def gender_of(noun: str) -> str | None:
    """The gender of a singular: ``m``, ``f`` or ``n``; None if neither the tables nor its ending say."""
    if noun in _german().nouns:
        return _german().nouns[noun]
    for length in range(len(noun) - 2, _SHORTEST_HEAD - 1, -1):
        head = noun[-length:].capitalize()
        if head in _german().nouns:
            return _german().nouns[head]
    gender = by_longest_ending(noun, _german().noun_endings)
    return None if gender == "none" else gender


def _predicate_agrees(word: str, *, has_degree: bool) -> bool | None:
    if word in _german().like_inflected or word.endswith("en"):
        return None  # *bewältigen* is a verb
    if _german().bare.search(word):
        return True
    if not _german().inflected.search(word):
        return None
    is_comparative = word.endswith("er") and word[:-2] not in _german().with_umlaut and not has_degree
    return None if is_comparative else False
