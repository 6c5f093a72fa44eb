"""How an English pronoun can be read, and how the word after *her* decides whether *her* is possessive or an object."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum, auto

from evenhand.twins.en import grammar
from evenhand.twins.en.grammar import word_set
from evenhand.twins.en.tokens import NOTHING, Token, Tokens
from evenhand.twins.en.word_classes import (
    WordClass,
    classes_of,
    head_of,
    is_open,
    leads_to_noun,
    may_be_noun,
    may_describe,
    verb_lemma,
)


class PronounReading(Enum):
    """How a pronoun is read."""

    POSSESSIVE = auto()
    OBJECT = auto()
    UNCLEAR = auto()


@dataclass(frozen=True, slots=True)
class PronounContext:
    """A pronoun in its sentence."""

    tokens: Tokens
    at: int

    @property
    def before(self) -> Token:
        """The token before it."""
        return self.tokens[self.at - 1]

    def after(self, distance: int = 1) -> Token:
        """A token after it."""
        return self.tokens[self.at + distance]

    @property
    def verb(self) -> str | None:
        """The infinitive of the verb that it directly follows, or None if it follows no verb."""
        before = self.before
        if not before.is_word:
            return None
        if before.lower in ("do", "did", "does", "done", "have", "had", "has", "having", "doing"):
            return "do" if before.lower.startswith("d") else "have"
        if before.lower in grammar.BEHIND_AN_OBJECT or before.lower in grammar.ADVERBS:
            return None
        if classes_of(before.lower) & WordClass.ANY_VERB:
            return verb_lemma(before.lower)
        return None

    @property
    def follows_preposition(self) -> bool:
        """Whether it directly follows a preposition."""
        return self.before.lower in grammar.PREPOSITIONS or self.before.lower in (
            "near",
            "like",
            "round",
            "opposite",
        )


def possessive_if(certain: bool) -> PronounReading:
    """Possessive, or unclear."""
    return PronounReading.POSSESSIVE if certain else PronounReading.UNCLEAR


def object_if(certain: bool) -> PronounReading:
    """An object, or unclear."""
    return PronounReading.OBJECT if certain else PronounReading.UNCLEAR


_OBJECTS = word_set("a an the my your our their its it them me us him himself herself")

_GREETINGS = word_set("day night morning evening afternoon luck bye")

_ADJECTIVE_LIKE = word_set(
    """
    near past inside outside round opposite then later earlier close right left better best present early
    late long straight high low little most more less least nearest dearest favourite favorite worst
    """
)

_ADVERB_LIKE = word_set(
    """
    far north south east west now once still just even down well much fast hard back home like half all
    first last next
    """
)

_ADJECTIVES = word_set("early late long close straight high low near round little")

_NOUN_LIKE = word_set(
    """
    past right left best worst back home present like better half all last next equal
    """
)

_AFTER_FAR = word_set("more less better from away beyond too into")

_AFTER_ALL = word_set("the his about that this he she day night")

_AFTER_MORE = word_set("than and for because in when as every")

_AT_HOME = word_set("door garden room town life pocket teeth country village")

_DONE = word_set("do try give look feel be see")

_HURT = word_set("hurt break injure strain scratch arch straighten rub bend hit")

_DWELLING = word_set("sell own lose build furnish return leave find buy rent share open enter")


def open_class_reading(context: PronounContext) -> PronounReading:
    """How *her* is read before a noun, verb or adjective."""
    word = context.after().lower
    classes = classes_of(word)
    if _is_phrase_of_manner(context):
        return PronounReading.OBJECT
    if word in grammar.COUNTED_NOUNS:
        return _before_counted_noun(context)
    if classes & WordClass.ING:
        return _before_ing(context)
    if classes & WordClass.ADJECTIVE:
        return _before_adjective(context)
    if classes & WordClass.NOUN or not classes:
        return _before_noun(context)
    return _before_verb(context)


def _is_phrase_of_manner(context: PronounContext) -> bool:
    """Phrases without an article that follow an object: kept her company, bade her farewell."""
    word, verb = context.after().lower, context.verb
    if word in grammar.TIMES and context.after(2).lower in ("ago", "before", "since", "later"):
        return verb is not None
    if word == "hand" and context.after(2).lower == "and" and context.after(3).lower == "foot":
        return True
    return (word in grammar.FAREWELLS and verb in ("bid", "wish", "kiss")) or (
        word == "company" and verb in ("keep", "bear")
    )


def _before_counted_noun(context: PronounContext) -> PronounReading:
    """Kin and parts of the body, which are nouns even where they could be verbs."""
    word, verb = context.after().lower, context.verb
    if verb in grammar.NAMING and verb != "make":
        return possessive_if(word in ("name", "attention") or verb in ("consider", "declare"))
    if verb == "make":
        plural = bool(classes_of(word) & WordClass.PLURAL)
        return possessive_if(plural or word in grammar.MADE_ONES)
    followed = context.after(2).lower in grammar.NOMINAL_STARTS
    if followed and verb in grammar.PERCEPTION_AND_CAUSE and classes_of(word) & WordClass.VERB:
        return PronounReading.UNCLEAR
    if verb in grammar.EVER_GIVING and word not in grammar.KIN and _goes_on_with_things(context):
        return PronounReading.UNCLEAR
    if (word == "answer" and verb in grammar.PERCEPTION_AND_CAUSE) or (
        word == "room" and verb in ("give", "allow")
    ):
        return PronounReading.UNCLEAR
    return PronounReading.POSSESSIVE


def _before_ing(context: PronounContext) -> PronounReading:
    """*her trembling hands* is possessive; *kept her waiting* is not; before a gerund both are right."""
    word, verb = context.after().lower, context.verb
    is_noun = bool(classes_of(word) & WordClass.NOUN)
    if verb in grammar.WITH_PARTICIPLE:
        if may_be_noun(context.after(2)) or may_describe(context.after(2)):
            return possessive_if(word in grammar.SHINING and context.after(2).lower in grammar.COUNTED_NOUNS)
        return object_if(not is_noun or word in grammar.POSTURES)
    if is_noun and verb in grammar.GIVING - {"do"}:
        return PronounReading.UNCLEAR
    if context.before.lower in ("at", "against") and not is_noun and word not in grammar.POSTURES:
        return PronounReading.UNCLEAR
    if may_be_noun(context.after(2)) or is_noun or context.before is NOTHING or verb == "do":
        return PronounReading.POSSESSIVE
    if verb in grammar.LIKING:
        return possessive_if(not context.after(2).is_word)
    if verb is not None or context.before.lower in ("with", "without"):
        return PronounReading.OBJECT
    if context.before.lower in grammar.LOCATIVES and not is_noun:
        return PronounReading.UNCLEAR
    if word in grammar.POSTURES and context.before.lower in ("at", "and"):
        return object_if(context.before.lower == "at")
    return possessive_if(context.follows_preposition)


def _before_adjective(context: PronounContext) -> PronounReading:
    """*her cold cheek* is possessive; *thought her clever* is not."""
    classes, verb = classes_of(context.after().lower), context.verb
    greeted = context.after().lower == "good" and context.after(2).lower in _GREETINGS
    if greeted and verb in ("wish", "bid", "kiss"):
        return PronounReading.OBJECT
    if leads_to_noun(context.tokens, context.at + 1):
        if verb in grammar.EVER_GIVING or verb in ("call", "name"):
            return possessive_if(head_of(context.tokens, context.at + 1).lower in grammar.COUNTED_NOUNS)
        infinitive = verb in grammar.PERCEPTION_AND_CAUSE and classes & WordClass.VERB
        return possessive_if(not infinitive)
    if classes & WordClass.NOUN:
        return possessive_if(verb not in grammar.COMPLEMENTED_OR_GIVING)
    if verb is None:
        return PronounReading.UNCLEAR
    return object_if(verb in grammar.WITH_COMPLEMENT or bool(classes & WordClass.ADVERB))


def _before_noun(context: PronounContext) -> PronounReading:
    """*her laboratory* is possessive, but *saw her duck* and *gave her food* may be either."""
    word, verb = context.after().lower, context.verb
    classes = classes_of(word)
    may_act = classes & WordClass.FINITE and context.after(2).lower in grammar.NOMINAL_STARTS
    if verb is None:
        if _is_brought_along(context) or _opens_sentence(context):
            return PronounReading.UNCLEAR
        located = context.before.lower in grammar.LOCATIVES and classes & WordClass.PAST
        return possessive_if(not located and not (may_act and classes & WordClass.PAST))
    if verb == "make" and word in grammar.MADE_ONES:
        return PronounReading.POSSESSIVE
    if verb == "let" and word in grammar.ACTIONS:
        return PronounReading.OBJECT
    if verb in grammar.PERCEPTION_AND_CAUSE and classes & WordClass.VERB:
        return object_if(_has_object(context, 2))
    if verb in grammar.NAMING or verb in grammar.GIVING:
        return PronounReading.UNCLEAR
    if verb in grammar.SOMETIMES_GIVING and (_are_things(context.after()) or _goes_on_with_things(context)):
        return PronounReading.UNCLEAR
    return possessive_if(not may_act)


def _goes_on_with_things(context: PronounContext) -> bool:
    """Whether a second noun may be what is given: *sold her house plants*, to her or of her house."""
    return may_be_noun(context.after(2)) and _are_things(context.after(2))


def _are_things(noun: Token) -> bool:
    """Whether a noun needs no article."""
    return noun.lower in grammar.MASS_NOUNS or bool(classes_of(noun.lower) & WordClass.PLURAL)


def _is_brought_along(context: PronounContext) -> bool:
    """*brought with her tickets*, where the noun may be what is brought."""
    carried = verb_lemma(context.tokens[context.at - 2].lower) in ("bring", "take", "carry", "have", "draw")
    return carried and context.before.lower in ("with", "from", "to")


def _opens_sentence(context: PronounContext) -> bool:
    """*For her marriage must mean rest*, where the noun may be the subject."""
    begins = context.before.lower in ("for", "to", "with") and context.tokens.begins(context.at - 1)
    return begins and context.after(2).lower in grammar.AUXILIARIES - {"'s"}


def _has_object(context: PronounContext, distance: int) -> bool:
    """Whether an object follows a verb, and not a time such as *every day*: watched her climb the wall."""
    first, second = context.after(distance).lower, context.after(distance + 1).lower
    timed = second in grammar.TIMES or second in grammar.ORDINALS or second in grammar.NUMERALS
    return first in _OBJECTS and not timed


def _before_verb(context: PronounContext) -> PronounReading:
    """*her injured knee* is possessive; *let her come* is not."""
    classes, verb = classes_of(context.after().lower), context.verb
    if classes & WordClass.PAST and (may_be_noun(context.after(2)) or may_describe(context.after(2))):
        unsure = verb in grammar.COMPLEMENTED_OR_GIVING or verb in grammar.WITH_PARTICIPLE
        return possessive_if(not unsure and context.before.lower not in grammar.LOCATIVES)
    if classes & (WordClass.VERB | WordClass.THIRD_PERSON) and not classes & WordClass.PAST:
        return object_if(bool(classes & WordClass.VERB) and verb in grammar.PERCEPTION_AND_CAUSE)
    return object_if(verb is not None or context.follows_preposition)


def is_ambivalent(word: str) -> bool:
    """Whether a word can be an adverb as well as a noun or adjective."""
    return word in _ADJECTIVE_LIKE or word in _ADVERB_LIKE or word in ("every", "very", "only", "own")


def ambivalent_reading(context: PronounContext) -> PronounReading:
    """How *her* is read before an ambivalent word."""
    word = context.after().lower
    if word == "own":
        return PronounReading.POSSESSIVE
    if word == "every":
        return _before_every(context)
    if word == "far" and context.after(2).lower in _AFTER_FAR:
        return PronounReading.OBJECT
    if word == "like" and context.after(2).lower in grammar.NOMINAL_STARTS:
        return PronounReading.OBJECT
    if word in ("very", "only"):
        return _before_degree(context)
    if word in ("back", "home"):
        return _before_back_or_home(context)
    if word in ("first", "last", "next"):
        return _before_ordinal(context)
    if word in ("more", "less", "most", "least"):
        return _before_comparison(context)
    if word == "all":
        return object_if(context.after(2).lower in _AFTER_ALL)
    following = context.after(2)
    if is_open(following) and (may_be_noun(following) or may_describe(following)):
        return _before_phrase(context)
    if word in _ADJECTIVES and leads_to_noun(context.tokens, context.at + 1):
        return possessive_if(context.verb not in grammar.GIVING)
    return _at_end(context)


def _before_every(context: PronounContext) -> PronounReading:
    """*her every movement* is possessive; *visits her every day* is not."""
    if context.after(2).lower in grammar.TIMES:
        return PronounReading.OBJECT
    return possessive_if(context.after(2).lower not in ("kind", "sort", "possible", "one"))


def _before_degree(context: PronounContext) -> PronounReading:
    following = context.after(2)
    if following.lower in ("much", "well", "often", "soon", "once", "twice") or not is_open(following):
        return object_if(following.lower not in grammar.NUMERALS)
    classes = classes_of(following.lower)
    if classes == WordClass.ADVERB:
        return PronounReading.UNCLEAR if may_describe(context.after(3)) else PronounReading.OBJECT
    if may_be_noun(following) and not classes & WordClass.ADJECTIVE:
        return PronounReading.POSSESSIVE
    return possessive_if(leads_to_noun(context.tokens, context.at + 2))


def _before_back_or_home(context: PronounContext) -> PronounReading:
    word, verb = context.after().lower, context.verb
    if context.after(2).lower in _AT_HOME:
        return PronounReading.POSSESSIVE
    if is_open(context.after(2)) and may_be_noun(context.after(2)) and verb:
        return PronounReading.UNCLEAR
    if verb is None:
        return possessive_if(
            context.follows_preposition or context.before.lower in ("and", "was", "is", "the", ",")
        )
    if word == "back" and verb == "turn":
        return possessive_if(context.after(2).lower in ("on", "to", "upon", "and", ",", "."))
    if verb in grammar.MOTIONS:
        return object_if(not classes_of(context.after(2).lower) & WordClass.PAST)
    return possessive_if(verb in (_HURT if word == "back" else _DWELLING))


def _before_ordinal(context: PronounContext) -> PronounReading:
    following = context.after(2)
    if following.lower in grammar.NUMERALS:
        return possessive_if(context.verb not in grammar.GIVING)
    if following.lower in grammar.TIMES and context.after().lower != "first":
        return possessive_if(context.verb is None)
    if context.verb in grammar.GIVING and context.after().lower != "first":
        return PronounReading.UNCLEAR
    return possessive_if(may_be_noun(following) or may_describe(following))


def _before_comparison(context: PronounContext) -> PronounReading:
    following = context.after(2)
    if not following.is_word or following.lower in _AFTER_MORE:
        return object_if(context.verb is not None)
    if may_describe(following) or classes_of(following.lower) == WordClass.ADVERB:
        possessive = leads_to_noun(context.tokens, context.at + 2)
        return possessive_if(possessive and context.verb not in grammar.WITH_COMPLEMENT)
    return PronounReading.UNCLEAR


def _before_phrase(context: PronounContext) -> PronounReading:
    word = context.after().lower
    if context.verb is None:
        return possessive_if(word in _ADJECTIVE_LIKE or word in ("once", "still", "half", "well", "now"))
    if word == "little" and context.verb in grammar.EVER_GIVING:
        return possessive_if(context.after(2).lower in grammar.COUNTED_NOUNS)
    classes = classes_of(context.after(2).lower)
    if word in ("best", "better", "well", "most") and classes & WordClass.PAST:
        return PronounReading.UNCLEAR
    timed = context.after(2).lower in grammar.TIMES or classes & WordClass.ADVERB
    describes = word in _ADJECTIVE_LIKE and word != "then"
    return possessive_if(describes and not timed and context.verb not in grammar.GIVING)


def _at_end(context: PronounContext) -> PronounReading:
    word = context.after().lower
    if context.verb is None:
        if context.follows_preposition:
            described = word in _ADJECTIVE_LIKE and context.after(2).text == ","
            return PronounReading.POSSESSIVE if word in _NOUN_LIKE else object_if(not described)
        return PronounReading.UNCLEAR
    if word == "fast" and context.verb == "break":
        return PronounReading.POSSESSIVE
    if word in ("best", "worst"):
        if context.verb in _DONE:
            return PronounReading.POSSESSIVE
        return object_if(context.verb in ("love", "like", "know", "remember"))
    if word in ("right", "left", "past", "present", "half", "like", "better"):
        following = context.after(2).lower
        compared = following in grammar.NOMINAL_STARTS or following == "than"
        return object_if(compared and word in ("past", "like", "better"))
    return PronounReading.OBJECT
