"""Which German words are finite verbs, and whether of one or of several persons, as far as their form tells."""

from __future__ import annotations

from functools import lru_cache

from evenhand.text.twins.de.articles import DETERMINERS
from evenhand.text.twins.de.words import word_classes

SINGULAR = "singular"
PLURAL = "plural"
NONE = ""

_PLURALS = frozenset({"sind", "seien", "tun"})

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


@lru_cache(maxsize=1)
def _function_words() -> frozenset[str]:
    classes = word_classes()
    return frozenset(word for name in _NO_CONTENT for word in classes[name]) | frozenset(DETERMINERS)


@lru_cache(maxsize=2**15)
def is_function_word(lower: str) -> bool:
    """Whether a word is none of a noun, an adjective and a verb."""
    return lower in _function_words()


@lru_cache(maxsize=2**15)
def verb_number(lower: str) -> str:
    """Singular or plural if a word has the form of a finite verb in the third person."""
    classes = word_classes()
    if lower in classes["singular verbs"]:
        return SINGULAR
    if lower in _PLURALS:
        return PLURAL
    if is_function_word(lower) or len(lower) < 3:
        return NONE
    if _is_strong(lower) or _is_weak(lower):
        return SINGULAR
    return PLURAL if lower.endswith(("en", "ern", "eln")) else NONE


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
    """The same at the end of a subordinate clause, where a word in -e is a verb too (*ob er komme*)."""
    found = verb_number(lower)
    if not found and lower.endswith("e") and not is_function_word(lower) and len(lower) > 3:
        return SINGULAR
    return found


@lru_cache(maxsize=2**15)
def has_stem(lower: str, name: str) -> bool:
    """Whether a word may be a form of a verb of this class, such as ``dative verbs``."""
    stems = word_classes()[name]
    bare = lower.removeprefix("ge")
    return any(bare.startswith(stem) or lower.startswith(stem) for stem in stems)
