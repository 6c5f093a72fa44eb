"""Words that tell a person's gender, beyond pronouns, relatives and names: *waitress*, *Lehrerin*, *pregnant*.

German nouns for people nearly always tell a gender, so every listed occupation that has two forms counts, in either of
them and at the end of a compound. In English only marked forms do: *waitress*, *policeman*. What is not in a list is
told by its ending, so this is a rule of thumb; it is for texts that should tell no gender at all.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache

from evenhand.data.probes import PROBE_LANGUAGES, gendered_vocabulary
from evenhand.text.occupations import load_occupations

_WORD = re.compile(r"[^\W\d_]+")

_SHORTEST_PART = 3
"""Letters before the last part of a compound."""

_SHORTEST_NOUN = 5
"""Letters of an occupation that is looked for at the end of compounds."""

_INFINITIVES = frozenset({"sein"})
"""German words that look like possessives and are verbs more often where no gender should be told."""

_GERMAN_HEADS = (
    "braut bräutigam bruder brüder dame damen frau frauen freundin königin kumpel mann männer mädchen mutter mütter "
    "schwester schwestern sohn söhne tante tochter töchter vater väter witwe witwer onkel oma opa"
)  # fmt: skip
_GERMAN_FEMININE = re.compile(
    r"[A-ZÄÖÜ]\w*(?:er|or|ist|ent|ant|eur|iker|ier|log|gog|oph|dat|kat|är|eld|und|ährt)in(?:nen)?"
)
_GERMAN_ADJECTIVE = re.compile(
    r"(?:hoch)?(?:schwanger|weiblich|männlich|mütterlich|väterlich|feminin|maskulin|bärtig|jungenhaft|mädchenhaft)"
    r"(?:e[mnrs]?)?|schwangerschaft(?:en)?|entbindung(?:en)?",
    re.IGNORECASE,
)
_NO_GERMAN_PERSON = frozenset({"glycerin", "glyzerin", "keratin", "mandarin", "muscarin"})

_ENGLISH_ENDINGS = re.compile(
    r"\w{2,}(?:woman|women|man|men|girls?|boys?|lady|ladies|maids?|wife|wives|mothers?|fathers?|sisters?|brothers?|"
    r"daughters?|husbands?)",
    re.IGNORECASE,
)
_NO_ENGLISH_PERSON = re.compile(
    r"\w*human|german|roman|norman|ottoman|talisman|shaman|caiman|ramen|omen|abdomen|acumen|regimen|specimen|stamen|"
    r"semen|hymen|yemen|bitumen|lumen|examen|midwi(?:fe|ves)",
    re.IGNORECASE,
)
_ENGLISH_FEMININE = frozenset(
    [
        "abbess",
        "actress",
        "adulteress",
        "ballerina",
        "baroness",
        "comedienne",
        "countess",
        "diva",
        "empress",
        "enchantress",
        "goddess",
        "governess",
        "heiress",
        "heroine",
        "hostess",
        "huntress",
        "masseuse",
        "mistress",
        "murderess",
        "poetess",
        "priestess",
        "seamstress",
        "sorceress",
        "stewardess",
        "temptress",
        "usherette",
        "waitress",
    ]
)
_ENGLISH_TELLING = frozenset(
    [
        "bearded",
        "boyish",
        "breastfeeding",
        "feminine",
        "girlish",
        "lactating",
        "ladylike",
        "manly",
        "masculine",
        "maternal",
        "maternity",
        "menstruating",
        "motherly",
        "fatherly",
        "paternal",
        "paternity",
        "pregnant",
        "pregnancy",
        "womanly",
    ]
)


def words_telling_gender(text: str, language: str) -> list[str]:
    """The words of a text that tell a person's gender, in their order; none in languages that are not known."""
    if language not in PROBE_LANGUAGES:
        return []
    tells = _RULES[language]
    listed = _listed(language)
    words = dict.fromkeys(_WORD.findall(text))
    return [word for word in words if word in listed or word.casefold() in listed or tells(word)]


@cache
def _listed(language: str) -> frozenset[str]:
    return gendered_vocabulary(language) - _INFINITIVES


def _tells_in_german(word: str) -> bool:
    if _GERMAN_ADJECTIVE.fullmatch(word):
        return True
    if not word[0].isupper():
        return False
    lower = word.casefold()
    if _GERMAN_FEMININE.fullmatch(word) and lower not in _NO_GERMAN_PERSON:
        return True
    return lower in _two_formed_occupations("de") or lower[_SHORTEST_PART:].endswith(_german_heads())


def _tells_in_english(word: str) -> bool:
    lower = word.casefold()
    singular = lower.removesuffix("es") if lower.endswith("esses") else lower.removesuffix("s")
    if {lower, singular} & (_ENGLISH_FEMININE | _ENGLISH_TELLING):
        return True
    return bool(_ENGLISH_ENDINGS.fullmatch(word)) and not _NO_ENGLISH_PERSON.fullmatch(word)


_RULES: dict[str, Callable[[str], bool]] = {"de": _tells_in_german, "en": _tells_in_english}


@cache
def _two_formed_occupations(language: str) -> frozenset[str]:
    """Forms of occupations of which one is for women and one for men, in lower case."""
    feminine = re.compile(r"\w+(?:in|frau|schwester|dame|mädchen|e)")
    return frozenset(
        form.casefold()
        for forms in load_occupations(language).forms.values()
        if any(feminine.fullmatch(form) for form in forms) and len(forms) > 1
        for form in forms
        if not form.endswith(("kraft", "hilfe", "person", "personal"))
    )


@cache
def _german_heads() -> tuple[str, ...]:
    """What a compound ends with that tells a gender."""
    occupations = (form for form in _two_formed_occupations("de") if len(form) >= _SHORTEST_NOUN)
    return (*_GERMAN_HEADS.split(), *occupations)
