"""How German articles and adjectives are declined.

A slot is a case and a kind: ``"Nm"`` is the nominative masculine, ``"Dp"`` the dative plural. The cases are N, A, D and
G, the kinds m, f, n and p.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from types import MappingProxyType

Slots = frozenset[str]

CASES = "NADG"
KINDS = "mfnp"
ALL_SLOTS: Slots = frozenset(case + kind for case in CASES for kind in KINDS)


class Declension(StrEnum):
    """How a determiner and the adjectives after it are declined."""

    DEFINITE = "der"
    STRONG = "dieser"
    POSSESSIVE = "ein"
    COUNTING = "viele"
    TOTAL = "alle"
    SAME = "derselbe"
    NONE = "none"


def _table(rows: Mapping[str, str]) -> Mapping[str, str]:
    return {
        case + kind: form.strip("-")
        for kind, forms in rows.items()
        for case, form in zip(CASES, forms.split(), strict=True)
    }


_DEFINITE = _table(
    {"m": "der den dem des", "f": "die die der der", "n": "das das dem des", "p": "die die den der"}
)
_STRONG = _table({"m": "er en em es", "f": "e e er er", "n": "es es em es", "p": "e e en er"})
_POSSESSIVE = _table({"m": "- en em es", "f": "e e er er", "n": "- - em es", "p": "e e en er"})

_WEAK_ADJECTIVE = _table({"m": "e en en en", "f": "e e en en", "n": "e e en en", "p": "en en en en"})
_MIXED_ADJECTIVE = _table({"m": "er en en en", "f": "e e en en", "n": "es es en en", "p": "en en en en"})
_STRONG_ADJECTIVE = _table({"m": "er en em en", "f": "e e er er", "n": "es es em en", "p": "e e en er"})

_ADJECTIVES: Mapping[Declension, Mapping[str, str]] = MappingProxyType(
    {
        Declension.DEFINITE: _WEAK_ADJECTIVE,
        Declension.STRONG: _WEAK_ADJECTIVE,
        Declension.TOTAL: _WEAK_ADJECTIVE,
        Declension.SAME: _WEAK_ADJECTIVE,
        Declension.POSSESSIVE: _MIXED_ADJECTIVE,
        Declension.COUNTING: _STRONG_ADJECTIVE,
        Declension.NONE: _STRONG_ADJECTIVE,
    }
)

ADJECTIVE_ENDINGS = ("en", "em", "er", "es", "e")


@dataclass(frozen=True, slots=True)
class Determiner:
    """A determiner in one form, and the slots in which it has this form."""

    stem: str
    declension: Declension
    slots: Slots
    bare: str = ""
    """The form without an ending, where that differs from the stem."""
    preposition: str = ""
    """What it is contracted with: the *zu* of *zum*."""

    def form(self, slot: str) -> str:
        """The form in another slot, without the preposition."""
        match self.declension:
            case Declension.DEFINITE:
                return _DEFINITE[slot]
            case Declension.STRONG:
                return self.stem + _STRONG[slot]
            case Declension.POSSESSIVE:
                ending = _POSSESSIVE[slot]
                return self.stem + ending if ending else self.bare or self.stem
            case Declension.SAME:
                return _same(self.stem)[slot]
            case _:
                return self.stem


def _same(stem: str) -> Mapping[str, str]:
    """The forms of *derselbe* and *derjenige*, in which the article and an adjective are one word."""
    return {slot: article + stem + _WEAK_ADJECTIVE[slot] for slot, article in _DEFINITE.items()}


def adjective_ending(declension: Declension, slot: str) -> str:
    """The ending of an adjective after a determiner of this declension."""
    return _ADJECTIVES[declension][slot]


def adjective_stem(adjective: str) -> str | None:
    """An inflected adjective without its ending; None if it has none."""
    if adjective.endswith("ern"):  # unsern, andern
        return adjective[:-1]
    for ending in ADJECTIVE_ENDINGS:
        if adjective.endswith(ending) and len(adjective) > len(ending) + 1:
            return adjective[: -len(ending)]
    return None


def adjective_slots(adjective: str, declension: Declension) -> Slots:
    """The slots in which an adjective may have the ending that it has."""
    stem = adjective_stem(adjective)
    if stem is None:
        return frozenset()
    ending = (
        adjective[len(stem) :].replace("n", "en") if adjective.endswith("ern") else adjective[len(stem) :]
    )
    return frozenset(slot for slot in ALL_SLOTS if adjective_ending(declension, slot) == ending)


_CONTRACTIONS = {
    "zum": ("zu", "Dm Dn"),
    "zur": ("zu", "Df"),
    "beim": ("bei", "Dm Dn"),
    "vom": ("von", "Dm Dn"),
    "im": ("in", "Dm Dn"),
    "am": ("an", "Dm Dn"),
    "ins": ("in", "An"),
    "ans": ("an", "An"),
    "aufs": ("auf", "An"),
    "fürs": ("für", "An"),
    "durchs": ("durch", "An"),
    "ums": ("um", "An"),
    "übers": ("über", "An"),
    "unterm": ("unter", "Dm Dn"),
    "überm": ("über", "Dm Dn"),
    "hinterm": ("hinter", "Dm Dn"),
    "vorm": ("vor", "Dm Dn"),
}
_CONTRACTED = {
    ("zu", "dem"): "zum",
    ("zu", "der"): "zur",
    ("bei", "dem"): "beim",
    ("von", "dem"): "vom",
    ("in", "dem"): "im",
    ("an", "dem"): "am",
    ("in", "das"): "ins",
    ("an", "das"): "ans",
}


def contraction(preposition: str, article: str) -> str | None:
    """The usual contraction of a preposition and an article: *zum* of *zu* and *dem*."""
    return _CONTRACTED.get((preposition, article))


def _by_form(forms: Iterable[tuple[str, str]]) -> Mapping[str, Slots]:
    slots: dict[str, set[str]] = {}
    for slot, form in forms:
        slots.setdefault(form, set()).add(slot)
    return {form: frozenset(slots_of_form) for form, slots_of_form in slots.items()}


def _determiners() -> Iterator[tuple[str, Determiner]]:
    for form, slots in _by_form(_DEFINITE.items()).items():
        yield form, Determiner("", Declension.DEFINITE, slots)
    for stem in ("dies", "jen", "jed", "welch", "manch", "solch"):
        for ending, slots in _by_form(_STRONG.items()).items():
            yield stem + ending, Determiner(stem, Declension.STRONG, slots)
    for stem, bare in (
        *((stem, "") for stem in ("ein", "kein", "mein", "dein", "sein", "ihr", "unser")),
        ("unsr", "unser"),
        ("eur", "euer"),
    ):
        for ending, slots in _by_form(_POSSESSIVE.items()).items():
            if stem == "unsr" and not ending:
                continue
            if stem == "ein":
                slots = frozenset(slot for slot in slots if slot[1] != "p")  # noqa: PLW2901 - one article has no plural
            yield (
                (stem + ending) if ending else bare or stem,
                Determiner(stem, Declension.POSSESSIVE, slots, bare),
            )
    for form, listed in (("unsern", "Am Dp"), ("unserm", "Dm Dn"), ("euern", "Am Dp"), ("euerm", "Dm Dn")):
        stem = "unser" if form.startswith("unser") else "eur"
        yield (
            form,
            Determiner(
                stem, Declension.POSSESSIVE, frozenset(listed.split()), "" if stem == "unser" else "euer"
            ),
        )
    for word in ("viele", "einige", "mehrere", "wenige", "etliche", "andere", "verschiedene"):
        yield word, Determiner(word, Declension.COUNTING, frozenset({"Np", "Ap"}))
        yield word + "n", Determiner(word + "n", Declension.COUNTING, frozenset({"Dp"}))
        yield word + "r", Determiner(word + "r", Declension.COUNTING, frozenset({"Gp"}))
    for word in ("alle", "beide", "sämtliche"):
        yield word, Determiner(word, Declension.TOTAL, frozenset({"Np", "Ap"}))
        yield word + "n", Determiner(word + "n", Declension.TOTAL, frozenset({"Dp"}))
        yield word + "r", Determiner(word + "r", Declension.TOTAL, frozenset({"Gp"}))
    for form, (preposition, slots_of) in _CONTRACTIONS.items():
        yield form, Determiner("", Declension.DEFINITE, frozenset(slots_of.split()), preposition=preposition)


def _same_determiners() -> Iterator[tuple[str, Determiner]]:
    for stem in ("selb", "jenig"):
        for form, slots in _by_form(_same(stem).items()).items():
            yield form, Determiner(stem, Declension.SAME, slots)


DETERMINERS: Mapping[str, Determiner] = MappingProxyType(dict((*_determiners(), *_same_determiners())))
"""Determiners by form."""
