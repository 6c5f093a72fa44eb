"""English pronouns and their counterparts: *her* becomes *his* or *him*, and *his* becomes *her* or *hers*.

The words around a pronoun decide. Where they do not, the sentence is rejected.
"""

from __future__ import annotations

from evenhand.text.swappers import Rejected, Role
from evenhand.twins.en import grammar
from evenhand.twins.en.grammar import word_set
from evenhand.twins.en.her_complements import (
    PronounContext,
    PronounReading,
    ambivalent_reading,
    is_ambivalent,
    object_if,
    open_class_reading,
    possessive_if,
)
from evenhand.twins.en.tokens import NOTHING, Tokens, WordOutcome, stands_in_compound, swap
from evenhand.twins.en.word_classes import (
    WordClass,
    classes_of,
    leads_to_noun,
    may_be_noun,
    may_describe,
)

_UNCLEAR_MARKS = frozenset({"...", "…", "(", "[", "-", "‐", "‑", "'s", "'d", "'ll", "*", "_"})
_NOUNS_LIKE_VERBS = frozenset({"might", "will", "need", "being", "having", "wont"})
_TITLES = word_set("mr mrs miss ms dr sir lord lady captain colonel monsieur madame")
_BAPTISING = frozenset({"name", "call", "christen", "nickname", "dub"})
_BEFORE_NAMES = grammar.SAYING | grammar.EVER_GIVING | grammar.COMPLEMENTED_OR_GIVING
"""Verbs whose object may be followed by a name that is not its own."""
_ALSO_ADJECTIVES = word_set("after above under off over up out about within without down")
_VERBLIKE_NOUNS = word_set("might will need being")
_DESCRIBED = word_set("not both no such enough either as so yet")
_ONE = word_set("a an another some any no one two three many several this that these those")
_COPULAS = word_set("is was are were be been being become became not than like 's")
_PLAIN = {
    "he": ("she", Role.SUBJECT),
    "she": ("he", Role.SUBJECT),
    "him": ("her", Role.OBJECT),
    "himself": ("herself", Role.REFLEXIVE),
    "herself": ("himself", Role.REFLEXIVE),
    "hers": ("his", Role.STANDALONE_POSSESSIVE),
}
PRONOUNS = frozenset(_PLAIN) | {"his", "her"}
_MALE = frozenset({"he", "him", "his", "himself"})


def reading_of_her(tokens: Tokens, at: int) -> PronounReading:
    """Whether *her* is possessive, an object, or unclear."""
    context = PronounContext(tokens, at)
    following = context.after()
    if following.is_word and (context.before.lower in ("it", "them") or _is_clipped(context)):
        return PronounReading.UNCLEAR
    if not following.is_word:
        return _her_before_mark(context)
    if tokens.hyphen_after(at + 1):
        return _before_compound(context)
    if is_ambivalent(following.lower):
        return ambivalent_reading(context)
    closed = _before_closed_class(context)
    if closed is not None:
        return closed
    if following.is_capitalised and not tokens.is_shouted:
        return _before_capital(context)
    return open_class_reading(context)


def _is_clipped(context: PronounContext) -> bool:
    """Whether a participle in dialect follows: *flyin'*."""
    return (
        context.after().lower.endswith("in") and context.after(2).text == "'" and not context.after(2).spaced
    )


def _her_before_mark(context: PronounContext) -> PronounReading:
    following = context.after()
    if following is NOTHING:
        return PronounReading.OBJECT
    if following.text in ("/", "@/@"):
        return _beside_other_pronoun(context)
    if following.text[0].isdigit():
        return possessive_if(context.verb is None and may_be_noun(context.after(2)))
    if following.is_quote and following.spaced:
        opens = context.tokens.opens_quotation(context.at + 1)
        quoted = context.after(2)
        common = may_be_noun(quoted) and not quoted.is_capitalised
        return possessive_if(opens and common and context.verb not in _BEFORE_NAMES)
    return PronounReading.UNCLEAR if following.text in _UNCLEAR_MARKS else PronounReading.OBJECT


def _before_compound(context: PronounContext) -> PronounReading:
    """*her well-known face* is possessive; *thought her good-looking* is not."""
    parts = (context.after(), context.after(3))
    if "-".join(part.lower for part in parts) in grammar.COMPOUND_ADVERBS:
        return PronounReading.OBJECT
    if parts[0].lower in grammar.COUNTED_NOUNS or context.verb not in grammar.COMPLEMENTED_OR_GIVING:
        return PronounReading.POSSESSIVE
    end = context.at + 3
    while context.tokens.hyphen_after(end):
        end += 2
    return possessive_if(may_be_noun(context.tokens[end + 1]) and context.verb not in grammar.GIVING)


def _before_closed_class(context: PronounContext) -> PronounReading | None:
    word = context.after().lower
    if word in _NOUNS_LIKE_VERBS:
        gerund = word in ("being", "having") and context.verb not in grammar.WITH_PARTICIPLE
        willed = word != "might" and context.follows_preposition
        return possessive_if(gerund or willed or context.before.lower == "all")
    if word in ("or", "and") and context.after(2).lower in ("his", "her"):
        return _beside_other_pronoun(context)
    if word in grammar.NUMERALS:
        timed = context.after(2).lower in grammar.MEASURES or (word == "one" and context.verb)
        possible = may_be_noun(context.after(2)) or may_describe(context.after(2))
        return possessive_if(possible and not timed and context.verb not in grammar.EVER_GIVING)
    if word in grammar.BEHIND_AN_OBJECT:
        return PronounReading.OBJECT
    if word in grammar.ORDINALS:
        described = context.verb not in grammar.GIVING and may_be_noun(context.after(2))
        return possessive_if(described or word == "other")
    if word in grammar.PREDICATES:
        return PronounReading.UNCLEAR if may_be_noun(context.after(2)) else PronounReading.OBJECT
    if _is_adverb_word(word):
        return _before_adverb(context)
    return None


def _beside_other_pronoun(context: PronounContext) -> PronounReading:
    """*her or his badge* is possessive as a whole; *between her and his mother* is not."""
    if context.after().lower == "and":
        return object_if(context.before.lower == "between" or context.after(2).lower == "her")
    if context.after(2).lower != "his":
        return PronounReading.OBJECT
    noun = context.after(3)
    return possessive_if(may_be_noun(noun) or may_describe(noun) or noun.lower == "own")


def _before_adverb(context: PronounContext) -> PronounReading:
    """*her recently repaired watch* is possessive; *loved her dearly* is not."""
    if (
        context.after().lower in ("not", "ever", "never", "always")
        and context.follows_preposition
        and context.after(2).lower.endswith("ing")
    ):
        return PronounReading.POSSESSIVE
    distance = 2
    while _is_adverb_word(context.after(distance).lower) and not context.tokens.hyphen_after(
        context.at + distance
    ):
        distance += 1
    described = context.after(distance)
    if context.tokens.hyphen_after(context.at + distance):
        return possessive_if(context.verb not in grammar.COMPLEMENTED_OR_GIVING)
    if may_describe(described) and leads_to_noun(context.tokens, context.at + distance):
        of_manner = (
            context.after().lower.endswith("ly") and context.verb not in grammar.COMPLEMENTED_OR_GIVING
        )
        return possessive_if(context.verb is None or of_manner)
    governed = context.verb or context.follows_preposition or context.before.lower in grammar.CONJUNCTIONS
    other = WordClass.FINITE | WordClass.ADJECTIVE | WordClass.ING
    before_noun = may_be_noun(described) and not classes_of(described.lower) & other
    return object_if(bool(governed) and not before_noun)


def _is_adverb_word(word: str) -> bool:
    adverb = word not in grammar.BEHIND_AN_OBJECT and classes_of(word) == WordClass.ADVERB
    return adverb or word in grammar.ADVERBS


def _before_capital(context: PronounContext) -> PronounReading:
    """*her Uncle* is possessive; *told her Robert had gone* is not."""
    word = context.after().lower
    if context.verb in _BAPTISING:
        return PronounReading.UNCLEAR
    if word in grammar.HONOURS:
        return PronounReading.POSSESSIVE
    if word in grammar.TIMES or word in _TITLES or context.after(2).lower in grammar.AUXILIARIES - {"'s"}:
        return PronounReading.UNCLEAR
    return possessive_if(context.verb not in _BEFORE_NAMES)


def reading_of_his(tokens: Tokens, at: int) -> PronounReading:
    """Whether *his* is followed by its noun; one that stands alone is an ``OBJECT``."""
    context = PronounContext(tokens, at)
    following = context.after()
    if not following.is_word:
        return _his_before_mark(context)
    if tokens.hyphen_after(at + 1) or following.lower in _VERBLIKE_NOUNS:
        return PronounReading.POSSESSIVE
    if _is_one_of_several(context) and classes_of(following.lower) & WordClass.FINITE:
        return PronounReading.UNCLEAR
    if following.lower in ("and", "or"):
        return _his_before_conjunction(context)
    if following.lower == "can" or (context.before.lower == "as" and following.lower == "ever"):
        return PronounReading.UNCLEAR
    if following.lower in _DESCRIBED:
        return (
            PronounReading.POSSESSIVE if following.lower in ("not", "yet", "no") else PronounReading.UNCLEAR
        )
    if following.lower in _ALSO_ADJECTIVES and may_be_noun(context.after(2)):
        return PronounReading.UNCLEAR
    if following.lower in grammar.BEHIND_AN_OBJECT or following.lower in (
        "too",
        "alone",
        "again",
        "there",
        "here",
    ):
        return PronounReading.OBJECT
    return PronounReading.POSSESSIVE


def _is_one_of_several(context: PronounContext) -> bool:
    """Whether it is used as in *a friend of his*, where a verb may follow."""
    return context.before.lower == "of" and any(
        context.tokens[context.at - distance].lower in _ONE for distance in (3, 4)
    )


def _his_before_mark(context: PronounContext) -> PronounReading:
    following = context.after()
    if following is NOTHING:
        return PronounReading.OBJECT
    if following.text[0].isdigit():
        return PronounReading.POSSESSIVE
    if following.text in ("/", "@/@"):
        return _his_before_conjunction(context)
    if following.is_quote and following.spaced:
        return possessive_if(context.tokens.opens_quotation(context.at + 1))
    if following.text in ("...", "…", "(", "[", "-", "‐", "‑", "—", "--", "*", "_"):
        return PronounReading.UNCLEAR
    if following.text == ",":
        return object_if(context.before.lower in _COPULAS | {"of"})
    return PronounReading.OBJECT


def _his_before_conjunction(context: PronounContext) -> PronounReading:
    """*his or her badge* has a noun in common; *a friend of his and mine* has none."""
    other = context.after(2).lower
    if other == "hers":
        return PronounReading.OBJECT
    if other == "her" and context.before.lower != "of":
        return possessive_if(context.after(3).is_word)
    return object_if(context.before.lower in _COPULAS | {"of"} and other != "her")


def pronoun_twin(tokens: Tokens, at: int) -> WordOutcome:
    """The outcome for a pronoun."""
    word = tokens[at].lower
    if stands_in_compound(tokens, at):
        return Rejected(f"{word!r} in a compound")
    if _is_reverent(tokens, at):
        return Rejected(f"{tokens[at].text!r} with a capital within the sentence")
    if word in _PLAIN:
        new, role = _PLAIN[word]
        return swap(tokens, at, new=new, role=role, male=word in _MALE)
    return _his(tokens, at) if word == "his" else _her(tokens, at)


def _is_reverent(tokens: Tokens, at: int) -> bool:
    text = tokens[at].text
    honoured = tokens[at + 1].lower in grammar.HONOURS
    return tokens.has_name_capital(at) and not text.isupper() and not honoured


def _her(tokens: Tokens, at: int) -> WordOutcome:
    match reading_of_her(tokens, at):
        case PronounReading.POSSESSIVE:
            return swap(tokens, at, new="his", role=Role.POSSESSIVE, male=False)
        case PronounReading.OBJECT:
            return swap(tokens, at, new="him", role=Role.OBJECT, male=False)
        case PronounReading.UNCLEAR:
            return Rejected("'her' may be 'his' or 'him'")


def _his(tokens: Tokens, at: int) -> WordOutcome:
    match reading_of_his(tokens, at):
        case PronounReading.POSSESSIVE:
            return swap(tokens, at, new="her", role=Role.POSSESSIVE, male=True)
        case PronounReading.OBJECT:
            return swap(tokens, at, new="hers", role=Role.STANDALONE_POSSESSIVE, male=True)
        case PronounReading.UNCLEAR:
            return Rejected("'his' may be 'her' or 'hers'")
