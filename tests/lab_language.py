"""The lab's language taken apart by words alone, as somebody would who knows the words but not the grammar."""

from __future__ import annotations

import math
import re
from collections import defaultdict
from collections.abc import Iterable, Mapping
from functools import cache

from evenhand.lab.corpus import language
from evenhand.lab.languages import ENGLISH, GERMAN
from evenhand.lab.world import World

Texts = tuple[str, ...]
"""The sentences of a document."""

LANGUAGES = ("en", "de")

TWINS: Mapping[str, tuple[tuple[str, str], ...]] = {
    "en": (
        ("Ostrian", "Velvan"), ("Ostrians", "Velvans"), ("Tarvian", "Melnian"), ("Tarvians", "Melnians"),
        ("Solarist", "Lunarist"), ("Solarists", "Lunarists"), ("Orenite", "Ilvanite"), ("Orenites", "Ilvanites"),
        ("man", "woman"), ("men", "women"), ("boy", "girl"), ("boys", "girls"),
        ("baker", "tailor"), ("bakers", "tailors"), ("gardener", "printer"), ("gardeners", "printers"),
    ),
    "de": (
        ("der Ostrier", "der Velvaner"), ("die Ostrier", "die Velvaner"),
        ("der Tarvier", "der Melnier"), ("die Tarvier", "die Melnier"),
        ("der Solarist", "der Lunarist"), ("die Solaristen", "die Lunaristen"),
        ("der Orenit", "der Ilvanit"), ("die Oreniten", "die Ilvaniten"),
        ("der Mann", "die Frau"), ("die Männer", "die Frauen"),
        ("der Junge", "das Mädchen"), ("die Jungen", "die Mädchen"),
        ("der Bäcker", "der Schneider"), ("die Bäcker", "die Schneider"),
        ("der Gärtner", "der Drucker"), ("die Gärtner", "die Drucker"),
    ),
}  # fmt: skip
"""Target nouns and their twins in both numbers; German ones with the article, which changes with the noun."""

GENDERED: Mapping[str, tuple[tuple[str, str], ...]] = {
    "en": (("he", "she"), ("his", "her"), *World("en").probe_lists.names),
    "de": (("er", "sie"), ("seine", "ihre"), *World("de").probe_lists.names),
}

NAMES = {tag: frozenset(name for pair in World(tag).probe_lists.names for name in pair) for tag in LANGUAGES}

OCCUPATIONS = {
    "en": frozenset(name for pair in ENGLISH.occupations for name in pair),
    "de": frozenset(name for pair in GERMAN.occupations for name in pair),
}


@cache
def probabilities(tag: str, strength: float) -> dict[Texts, float]:
    """Every document with its probability."""
    found: defaultdict[Texts, float] = defaultdict(float)
    for document, probability in language(World(tag, strength)):
        found[tuple(sentence.text for sentence in document)] += probability
    return dict(found)


def words_of(text: str) -> list[str]:
    return re.findall(r"\w+", text)


def is_about_an_occupation(document: Texts, tag: str) -> bool:
    return not all(OCCUPATIONS[tag].isdisjoint(words_of(text)) for text in document)


def is_about_a_name(document: Texts, tag: str) -> bool:
    return not (is_about_an_occupation(document, tag) or NAMES[tag].isdisjoint(words_of(document[0])))


@cache
def twin_of(document: Texts, tag: str) -> Texts:
    """The same said of the twin; about occupations and names, of the other gender."""
    about_gender = is_about_an_occupation(document, tag) or is_about_a_name(document, tag)
    swaps, pattern = _swaps(tag, about_gender=about_gender)
    return tuple(pattern.sub(lambda match: swaps[match[0]], text) for text in document)


@cache
def _swaps(tag: str, *, about_gender: bool) -> tuple[dict[str, str], re.Pattern[str]]:
    """Each word to its twin and back, also at the beginning of a sentence."""
    swaps: dict[str, str] = {}
    for left, right in GENDERED[tag] if about_gender else TWINS[tag]:
        swaps |= {left: right, right: left}
    swaps |= {_capitalised(left): _capitalised(right) for left, right in swaps.items()}
    return swaps, re.compile(rf"\b(?:{'|'.join(swaps)})\b")


def _capitalised(text: str) -> str:
    return text[0].upper() + text[1:]


def target_of(document: Texts, tag: str) -> str | None:
    """The English name of whom a document is about."""
    names = _names_by_noun(tag)
    return next((names[word] for word in words_of(document[0]) if word in names), None)


@cache
def _names_by_noun(tag: str) -> dict[str, str]:
    english = TWINS["en"][::2]
    singulars, plurals = TWINS[tag][::2], TWINS[tag][1::2]
    return {
        form[side].split()[-1]: names[side]
        for names, *forms in zip(english, singulars, plurals, strict=True)
        for form in forms
        for side in (0, 1)
    }


def counted(documents: Iterable[tuple[Texts, float]], tag: str) -> dict[tuple[str, int, str], float]:
    """How much is said by target, number of sentences, and attribute."""
    attributes = {word for pairs in World(tag, 0.0).lexicon.attributes for pair in pairs for word in pair}
    found: defaultdict[tuple[str, int, str], float] = defaultdict(float)
    for document, weight in documents:
        target = target_of(document, tag)
        if target is None:
            continue
        (said,) = [word for text in document for word in words_of(text.lower()) if word in attributes]
        found[target, len(document), said] += weight
    return dict(found)


@cache
def said_of_people(tag: str, strength: float) -> dict[tuple[str, int, str], float]:
    """The probability of everything that is said of targets, by target, number of sentences, and attribute."""
    return counted(probabilities(tag, strength).items(), tag)


def gendered(documents: Iterable[tuple[Texts, float]], tag: str) -> dict[tuple[str, str, int], float]:
    """How much is said of men (0) and of women (1), by occupation and kind of word."""
    kinds = ("he-she", "his-her", *["names"] * len(World(tag, 0.0).probe_lists.names))
    sides = {
        word.lower(): (kind, side)
        for kind, pair in zip(kinds, GENDERED[tag], strict=True)
        for side, word in enumerate(pair)
    }
    found: defaultdict[tuple[str, str, int], float] = defaultdict(float)
    for document, weight in documents:
        words = words_of(document[0])
        occupation = [word for word in words if word in OCCUPATIONS[tag]]
        said = [sides[word.lower()] for word in words if word.lower() in sides]
        if not occupation or not said:
            continue
        ((kind, side),) = said
        found[occupation[0], kind, side] += weight
    return dict(found)


@cache
def said_of_occupations(tag: str, strength: float) -> dict[tuple[str, str, int], float]:
    """The probability of men (0) and of women (1), by occupation and kind of word."""
    return gendered(probabilities(tag, strength).items(), tag)


def bits(this: float, that: float) -> float:
    """How much more likely one is than the other."""
    return math.log2(this / that)
