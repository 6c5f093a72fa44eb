"""The gender of German nouns that do not name persons: by lists, by the last part of a compound, or by the ending."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import lru_cache

from evenhand.twins.de.declension import ALL_SLOTS, Slots
from evenhand.twins.de.noun_genders import noun_genders
from evenhand.twins.de.words import word_classes

_GENDER_BY_ENDING = (
    (("ung", "heit", "keit", "schaft", "ion", "tät"), "fp"),
    (("chen", "lein", "ment", "tum"), "np"),
    (("ling", "ismus"), "mp"),
)
_MISLEADING = ("achen", "echen", "ichen", "ochen", "uchen", "schen", "sprung", "schwung", "pion", "ende")
"""Of *Drachen*, *Geistlichen*, *Burschen*, *Vorsprung*, *Spion* and *Reisende*, whose gender is not what it looks."""
_THINGS = (("masculine things", "m"), ("feminine things", "f"), ("neuter things", "n"))
_LISTED = (("neutral masculine", "m"), ("neutral feminine", "f"), ("neutral neuter", "n"), *_THINGS)
_SAID_OF_PERSONS = frozenset(
    {"Stimme", "Kraft", "Kräfte", "Strumpf", "Schnabel", "Rock", "Feder", "Seele", "Geist"}
)
"""Last parts of compounds that name persons: *Fachkraft*, *Grünschnabel*."""
_SHORTEST_HEAD = 4
_SHORTEST_MODIFIER = 3
_WITHOUT_UMLAUT = (("äu", "au"), ("ä", "a"), ("ö", "o"), ("ü", "u"))


def slots_of_thing(text: str) -> Slots:
    """The slots that a noun which names no person can be in."""
    kinds = _kinds(text)
    return frozenset(slot for slot in ALL_SLOTS if slot[1] in kinds) if kinds else ALL_SLOTS


@lru_cache(maxsize=2**15)
def is_thing(text: str) -> bool:
    """Whether a noun is certainly no person, animal or name, and no group of persons."""
    return any(_is_thing(part) for part in _parts_that_name(text))


def _is_thing(text: str) -> bool:
    base = _base(text)
    if base is None or base in word_classes()["collectives"]:
        return False
    return any(base in word_classes()[name] for name, _ in _THINGS)


def _parts_that_name(text: str) -> Iterator[str]:
    """A noun, and the last part of a compound; a *Dickkopf* is somebody, and a *Beamtenschaft* is several."""
    yield text
    if text.endswith(("schaft", "volk", "heer")) or not noun_genders().of(text) or _base(text) is not None:
        return
    for start in range(_SHORTEST_MODIFIER, len(text) - _SHORTEST_HEAD + 1):
        head = text[start:].capitalize()
        if _base(head) is not None:
            if head not in word_classes()["body parts"] | _SAID_OF_PERSONS:
                yield head
            return


def is_known_noun(text: str) -> bool:
    """Whether the gender of a noun that names no person is known."""
    return bool(_kinds(text))


def is_frequent_noun(text: str) -> bool:
    """Whether a word is a noun even where every word has a capital: *Zufrieden* is none, though *Frieden* is."""
    return bool(_frequent_kinds(text))


def may_be_agent(text: str) -> bool:
    """Whether what looks like the plural of a masculine thing may name who does it: *Schläger* beside *Schlag*."""
    base = _base(text)
    return base is not None and text != base and text.endswith("er") and _genders()[base] == "m"


def is_neuter_person(text: str) -> bool:
    """Whether a noun names somebody, or a group, in the neuter: *Kind*, *Enkelkind*, *Volk*."""
    return text in word_classes()["neuter persons"] or text.endswith(("kind", "kinde", "kindes"))


@lru_cache(maxsize=2**15)
def _kinds(text: str) -> str:
    """The kinds that a noun may be; empty if it is not known."""
    listed = _kinds_of_form(text)
    found = noun_genders().of(text)
    if listed:  # rare meanings, such as *der Messer*, are in the larger list alone
        return "".join(kind for kind in listed if kind in found) or listed + found
    return found or ("" if text.endswith(_MISLEADING) else _frequent_kinds(text))


def _frequent_kinds(text: str) -> str:
    """The same by the list of frequent nouns and by the ending."""
    listed = _kinds_of_form(text)
    if listed:
        return listed
    for endings, kinds in _GENDER_BY_ENDING:
        if text.endswith(endings):
            return kinds
    return _kinds_of_compound(text)


def _kinds_of_compound(text: str) -> str:
    """A compound has the gender of its last part; not by an inflected one, or *Abreise* would be a kind of *Reis*."""
    for start in range(_SHORTEST_MODIFIER, len(text) - _SHORTEST_HEAD + 1):
        head = text[start:].capitalize()
        base = _base(head)
        if base is not None:
            return _kinds_of_form(head) if head in {base, base + "s", base + "es"} else ""
    return ""


def _kinds_of_form(text: str) -> str:
    base = _base(text)
    if base is None:
        return ""
    kind = _genders()[base]
    if _is_only_plural(text, base=base, kind=kind):
        return "p"
    return kind + "p"


def _is_only_plural(text: str, *, base: str, kind: str) -> bool:
    """Whether a form is not one of the singular: *Augen* and *Hände*, but not *Gedanken*, *Tages* or *Hause*."""
    if text == base or text in {base + "s", base + "es", base + "ses"}:
        return False
    is_weak = kind == "m" and base.endswith("e") and text == base + "n"
    return not is_weak and not (kind != "f" and text == base + "e")


@lru_cache(maxsize=1)
def _genders() -> Mapping[str, str]:
    classes = word_classes()
    return {noun: kind for name, kind in _LISTED for noun in classes[name]}


def _base(text: str) -> str | None:
    """The listed noun of which a word is a form."""
    genders = _genders()
    for candidate in _bases(text):
        is_umlaut_alone = candidate != text and len(candidate) == len(text)
        if candidate in genders and not (is_umlaut_alone and genders[candidate] == "f"):
            return candidate
    return None


def _bases(text: str) -> Iterator[str]:
    yield text
    for ending in ("n", "en", "e", "er", "ern", "s", "es", "nen", "ses", "se", "sen"):
        stem = text.removesuffix(ending)
        if stem == text or len(stem) < _SHORTEST_MODIFIER - 1:
            continue
        yield stem
        yield from _without_umlaut(stem)
    yield from _without_umlaut(text)


def _without_umlaut(stem: str) -> Iterator[str]:
    lower = stem.lower()
    for umlaut, vowel in _WITHOUT_UMLAUT:
        place = lower.rfind(umlaut)
        if place >= 0:
            yield (lower[:place] + vowel + lower[place + len(umlaut) :]).capitalize()
            return
