"""Nouns for persons that our lists do not have, paired by the table of noun genders.

*Vertriebsleiter* is masculine and *Vertriebsleiterin* is feminine, and *Ballfänger* ends in such a noun. *Weißer* and
*Weiße* are declined like adjectives. Only a noun that is said of somebody is read so: a *Läufer* may be a carpet.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache

from evenhand.twins.de.declension import DETERMINERS, adjective_stem
from evenhand.twins.de.noun_genders import noun_genders
from evenhand.twins.de.persons import (
    PersonLexicon,
    PersonTerm,
    adjectival_term,
    german_lexicon,
    term_from_row,
)
from evenhand.twins.de.things import is_thing, may_be_agent
from evenhand.twins.de.words import BECOMING, GermanWord, word_classes, words_in

_REACH = 5
"""Words before a noun among which *als* or *zum* says that it is said of somebody."""
_SAYING_WHAT = frozenset({"als", "zum", "zur"})
_JOINING = frozenset({",", "und", "oder", "sowie"})
_SHORTEST_HEAD = 4
_SHORTEST_MODIFIER = 3
_UMLAUTS = (("au", "äu"), ("a", "ä"), ("o", "ö"), ("u", "ü"))
_FARMERS = re.compile(
    r"(?:Alm|Alt|Berg|Bio|Eier|Frei|Gemüse|Groß|Hopfen|Jung|Kaffee|Kakao|Kartoffel|Klein|Mais|Milch|Nebenerwerbs|"
    r"Obst|Öko|Reis|Spargel|Tabak|Voll|Wein)bauer"
)
"""Those whose women are *Bäuerinnen*; a *Straßenbauerin* builds."""
_SUPERLATIVE = re.compile(r"[A-ZÄÖÜ][a-zäöüß]+[sß]te[rnm]?")
_ADJECTIVAL = (
    "los",
    "erziehend",
    "ständig",
    "süchtig",
    "stämmig",
    "gläubig",
    "krank",
    "reich",
    "tätig",
    "iert",
)
"""Ends of adjectives of which nouns for persons are made."""
_OFFICIALS = ("beamtin", "beamter", "beamte", "beamten")
_UNDERIVED = frozenset({"Bergmann", "Kavalier", "Fan", "Rat", "Gast", "Hauptmann", "Nerd", "Staatsmann"})
"""Nouns whose feminine in the table is hardly used."""
AGENT_ENDINGS = (
    *("er", "or", "ist", "ent", "ant", "eur", "oge", "ier", "at", "graf", "wart", "ling", "är", "ut", "e"),
)
"""Common endings of nouns for persons."""
_OF_WOMEN = (
    *("in", "ina", "ima", "onna", "euse", "ess", "ette"),
    *("frau", "dame", "schwester", "mädchen", "mutter", "tante", "weib"),
)


def lexicon_for(text: str, lexicon: PersonLexicon) -> PersonLexicon:
    """The lexicon with the nouns that may be said of somebody in a text, where the table has their counterparts."""
    words = words_in(text)
    neutral = _neutral()
    nouns: dict[str, PersonTerm] = {}
    adjectives: dict[str, PersonTerm] = {}
    for at, word in enumerate(words):
        is_noun = word.capital and not word.starts and _may_be_said(words, at)
        if not is_noun or word.text in neutral or lexicon.knows(word.text) or _is_before_noun(words, at):
            continue
        pair = pair_of(word.text)
        stem = None if pair else adjectival_stem(word.text, lexicon)
        if pair:
            nouns[word.text] = _term(*pair)
        elif stem:
            adjectives[stem] = adjectival_term(stem)
    return lexicon.extended(nouns.values(), adjectives)


def _may_be_said(words: tuple[GermanWord, ...], at: int) -> bool:
    """Whether *als*, *zum* or *war* comes before a noun that is no attribute of another: *Anerkennung der Rechte*."""
    is_attribute = words[at - 1].lower in DETERMINERS and words[at - 1].lower not in _SAYING_WHAT
    if at > 1 and is_attribute and words[at - 2].capital:
        return False
    if any(word.lower in word_classes()["copulas"] | BECOMING for word in words[:at]):
        return True
    for place in range(at - 1, max(-1, at - 1 - _REACH), -1):
        is_noun = words[place].capital and not words[place].starts
        if words[place].lower in _SAYING_WHAT or (is_noun and words[place + 1].lower not in _JOINING):
            return words[place].lower in _SAYING_WHAT
    return False


def _is_before_noun(words: tuple[GermanWord, ...], at: int) -> bool:
    """Whether it may be an adjective with a capital, as in *als Technische Zeichnerin*."""
    return at + 1 < len(words) and words[at + 1].capital


@lru_cache(maxsize=2**14)
def pair_of(text: str) -> tuple[str, str] | None:
    """The masculine and the feminine of a noun by the table, of the longest last part that has both."""
    if text.endswith(_OFFICIALS):
        return None
    if _FARMERS.fullmatch(text):
        return text, text.removesuffix("bauer") + "bäuerin"
    if text.endswith("krankenschwester"):
        return text.removesuffix("schwester") + "pfleger", text
    starts = (0, *range(_SHORTEST_MODIFIER, len(text) - _SHORTEST_HEAD + 1))
    for start in starts:
        head = text[start:].capitalize() if start else text
        pair = _pair_in_table(head)
        if pair is not None:
            masculine, feminine = pair
            return (text[:start] + masculine.lower(), text[:start] + feminine.lower()) if start else pair
        if start and _is_other(head):
            return None
    return None


def _is_other(head: str) -> bool:
    """Whether the last part of a compound is a noun without a counterpart, so that a shorter one is none either."""
    return bool(noun_genders().kinds.get(head)) and len(head) > _SHORTEST_HEAD


def _pair_in_table(noun: str) -> tuple[str, str] | None:
    kinds = noun_genders().kinds
    if noun in _UNDERIVED:
        return None
    masculine = _first(_masculines(noun), "m") if kinds.get(noun) == "f" else None
    if masculine:
        return masculine, noun
    feminine = _first(_feminines(noun), "f") if "m" in kinds.get(noun, "") else None
    if feminine:
        return (noun, feminine) if _first(_masculines(feminine), "m") == noun else None
    agent = noun.removesuffix("in")
    return (agent, agent + "in") if _is_agent(agent) else None


def _is_agent(noun: str) -> bool:
    """Whether a noun in *-er* is of whoever does it: with the same plural, or of a verb (*Fänger* of *das Fangen*)."""
    if not noun.endswith("er") or noun in word_classes()["no agents"] | word_classes()["masculine things"]:
        return False
    if is_thing(noun) and not may_be_agent(noun):  # *Bücher*
        return False
    if noun.removesuffix("er") in noun_genders().adjectival:
        return False
    if noun_genders().kinds.get(noun) == "mp" or noun.endswith("ierer"):
        return True
    stem = noun.removesuffix("r")
    verbs = (stem + "n", *(bare.capitalize() + "n" for bare in _without_umlaut(stem.lower())))
    return any("n" in noun_genders().kinds.get(verb, "") for verb in verbs)


def _without_umlaut(stem: str) -> Iterator[str]:
    for vowel, umlaut in _UMLAUTS:
        front, found, end = stem.rpartition(umlaut)
        if found:
            yield front + vowel + end
            return


def _first(nouns: Iterator[str], kind: str) -> str | None:
    """The first of some nouns that the table has in the singular of this gender."""
    return next((noun for noun in nouns if kind in noun_genders().kinds.get(noun, "")), None)


def _masculines(feminine: str) -> Iterator[str]:
    if feminine.endswith("frau") and feminine != "Frau":
        yield feminine.removesuffix("frau") + "mann"
    if not feminine.endswith("in"):
        return
    stem = feminine.removesuffix("in")
    if stem.endswith("er"):
        yield from (stem + "er", stem)
        return
    for bare in (*map(str.capitalize, _without_umlaut(stem.lower())), stem):
        if "m" in noun_genders().kinds.get(bare + "en", ""):  # *Jude*, not the old dative *Arzte*
            yield bare + "e"
        yield bare


def _feminines(masculine: str) -> Iterator[str]:
    if masculine.lower().endswith("mann"):
        yield masculine.removesuffix("mann") + "frau"
        return
    stem = masculine.removesuffix("e")
    yield stem + "in"
    if masculine.endswith("erer"):
        yield masculine.removesuffix("er") + "in"
    for vowel, umlaut in _UMLAUTS:
        front, found, end = stem.lower().rpartition(vowel)
        if found:
            yield (front + umlaut + end).capitalize() + "in"
            return


def _term(masculine: str, feminine: str) -> PersonTerm:
    genitive, plural = _declined(masculine)
    return term_from_row(
        {
            "masculine": masculine,
            "genitive": genitive,
            "plural": plural,
            "feminine": feminine,
            "feminine_plural": feminine + "nen",
            "role": "occupation",
        }
    )


def _declined(masculine: str) -> tuple[str, str]:
    """The genitive and the plural: of *Zeitgenosse* and *Steinmetz*, or as most nouns form them."""
    genders = noun_genders()
    weak = masculine + ("n" if masculine.endswith("e") else "en")
    is_strong = any("m" in genders.of(masculine + ending) for ending in ("s", "es"))
    if not is_strong and (masculine.endswith("e") or "m" in genders.of(weak)):
        return weak, weak
    return masculine + "s", masculine if masculine.endswith(("er", "el", "en")) else masculine + "e"


def adjectival_stem(text: str, lexicon: PersonLexicon) -> str | None:
    """The stem of a noun that is declined like an adjective: *Weißer*, *Schnellste*, *Krebskranker*."""
    stem = text.removesuffix("in") if text.endswith("beamtin") else adjective_stem(text)
    if stem is None:
        return None
    genders = noun_genders()
    is_noun = stem + "in" in genders.kinds or "m" in genders.kinds.get(stem, "")
    if stem in genders.adjectival or (stem.endswith(_ADJECTIVAL) and not is_noun):
        return stem
    if text in genders.kinds and not stem.endswith("beamt"):
        return None
    is_superlative = _SUPERLATIVE.fullmatch(text) and "f" not in genders.of(text) and not is_thing(text)
    heads = (stem[start:].capitalize() for start in range(_SHORTEST_MODIFIER, len(stem) - _SHORTEST_HEAD + 1))
    is_compound = any(head in genders.adjectival or head in lexicon.adjectival for head in heads)
    return stem if is_superlative or is_compound else None


@lru_cache(maxsize=1)
def _neutral() -> frozenset[str]:
    """Nouns that are said of women and of men alike."""
    return frozenset(
        noun for name, nouns in word_classes().items() if name.startswith("neutral ") for noun in nouns
    )


def looks_gendered(text: str) -> bool:
    """Whether a noun without a known counterpart may tell a gender: *Bandenboss* does not, *Broker* does."""
    neutral = _neutral()
    _, hyphen, last = text.rpartition("-")
    if hyphen and german_lexicon().knows(last):  # *Kneipp-Mann*
        return True
    if text in neutral or text.lower().endswith(tuple(word.lower() for word in neutral if len(word) > 3)):
        return False
    kinds = noun_genders().of(text)
    if not kinds:
        return text.endswith("er") or not is_thing(text)
    if text.endswith("er"):  # *Schläger* has the plural of those who do something, *Charakter* has not
        return "p" in kinds or text.endswith("ier")
    if "f" in kinds and text.endswith(_OF_WOMEN):
        return True
    is_masculine = "m" in kinds and not (text.endswith("e") and "f" in kinds)
    return is_masculine and text.endswith(AGENT_ENDINGS) and not is_thing(text)
