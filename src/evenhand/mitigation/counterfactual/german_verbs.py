"""Which German words are finite verbs, and whether of one or of several persons, as far as their form tells."""

from __future__ import annotations

from functools import lru_cache

from evenhand.mitigation.counterfactual.german_articles import DETERMINERS
from evenhand.mitigation.counterfactual.german_words import word_classes

SINGULAR = "singular"
PLURAL = "plural"
NONE = ""

_PREFIXES = tuple(
    "be ver er ent zer ge miss über unter um wider wieder an auf aus ein vor nach zu ab bei mit los hin her fort weg heim "
    "hinaus heraus hinein herein hinauf herauf hinunter herunter hinab herab hinüber herüber zurück zusammen vorbei "
    "dar empor nieder voll durch statt fest fehl auseinander weiter herum umher davon dazu entgegen gegenüber bevor".split()
)
_FINITE_DESPITE_GE = frozenset(
    "geht gehört gehörte gefällt gelingt gewinnt geschieht genügt genügte genießt gesteht gestattet gestattete gelangt gelangte "
    "gebt gerät gewährt gewährte gewöhnt gebietet gebührt gelobt gelobte gestand gedenkt gedachte gehorcht gehorchte".split()
)


@lru_cache(maxsize=1)
def _function_words() -> frozenset[str]:
    classes = word_classes()
    names = (
        "accusative prepositions,dative prepositions,two-way prepositions,genitive prepositions,subordinators,coordinators,"
        "subject pronouns,adverbs,intensifiers,numbers,standalone pronouns"
    ).split(",")
    pronouns = (
        "er sie es ihn ihm ihr ihnen mich mir dich dir uns euch sich das die der den dem deren dessen selber einander ihrer "
        "seiner meiner deiner keinen nichts zwischen beide alle"
    )
    return (
        frozenset(word for name in names for word in classes[name])
        | frozenset(pronouns.split())
        | frozenset(DETERMINERS)
    )


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
    if is_function_word(lower) or len(lower) < 3:
        return NONE
    if lower in {"sind", "seien", "tun"}:
        return PLURAL
    if _is_strong(lower):
        return SINGULAR
    if lower.startswith("ge") and lower.endswith("t") and lower not in _FINITE_DESPITE_GE:
        return NONE
    if lower.endswith(("te", "t")) and not lower.endswith(("haft", "heit", "keit", "schaft", "test", "est")):
        return SINGULAR
    if lower.endswith("en") or lower.endswith(("ern", "eln")):
        return PLURAL
    return NONE


def _is_strong(lower: str) -> bool:
    preterites = word_classes()["strong preterites"]
    if lower in preterites:
        return True
    return any(
        lower.startswith(prefix) and lower[len(prefix) :].removeprefix("zu") in preterites
        for prefix in _PREFIXES
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
