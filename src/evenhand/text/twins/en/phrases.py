"""Whether a noun phrase begins at a place in a sentence."""

from __future__ import annotations

from evenhand.text.twins.en import grammar
from evenhand.text.twins.en.lexicon import Class, classes_of
from evenhand.text.twins.tokens import Token, Tokens

_ADDED_ADJECTIVES = 3


def is_open(token: Token) -> bool:
    """Whether a token is a word of an open class: a noun, adjective, main verb, or adverb in *-ly*."""
    lower = token.lower
    return token.is_word and not (
        lower in grammar.BEHIND_AN_OBJECT or lower in grammar.ADVERBS or lower in grammar.NUMERALS
    )


def may_be_noun(token: Token) -> bool:
    """Whether a token can be a noun; words outside the lexicon are."""
    if not is_open(token):
        return False
    classes = classes_of(token.lower)
    return not classes or bool(classes & Class.NOUN)


def may_describe(token: Token) -> bool:
    """Whether a token can stand before a noun and describe it."""
    return is_open(token) and bool(classes_of(token.lower) & (Class.ADJECTIVE | Class.PAST | Class.ING))


def leads_to_noun(tokens: Tokens, place: int) -> bool:
    """Whether a noun follows the adjective or participle at a place, perhaps with more adjectives between."""
    for _ in range(_ADDED_ADJECTIVES):
        following = place + 1
        if tokens[following].lower in (",", "and", "or", "but", "yet") and _describes(tokens, following + 1):
            following += 1
            if tokens[following].lower in ("and", "but", "yet"):
                following += 1
        while _is_adverb(tokens[following]) and may_describe(tokens[following + 1]):
            following += 1
        if tokens.hyphen_after(following):
            return True
        if tokens[following].lower in grammar.TIMES or tokens[following].lower in grammar.ORDINALS:
            return False
        if may_be_noun(tokens[following]):
            return not _is_adverb_only(tokens[following])
        if not may_describe(tokens[following]):
            return False
        place = following
    return False


def head_of(tokens: Tokens, place: int) -> Token:
    """The last noun of the phrase at a place, as far as words may be nouns."""
    while may_describe(tokens[place]) or may_be_noun(tokens[place]):
        following = tokens[place + 1]
        if not (may_be_noun(following) or may_describe(following)) or following.lower in grammar.TIMES:
            break
        place += 1
    return tokens[place]


def _describes(tokens: Tokens, place: int) -> bool:
    if tokens[place].lower in ("and", "but", "yet"):
        place += 1
    if _is_adverb(tokens[place]):
        place += 1
    if tokens.hyphen_after(place):
        return True
    return may_describe(tokens[place]) and (
        may_be_noun(tokens[place + 1]) or tokens[place + 1].lower in (",", "and")
    )


def _is_adverb(token: Token) -> bool:
    return token.lower in (
        "very",
        "rather",
        "quite",
        "almost",
        "most",
        "more",
        "too",
        "so",
    ) or _is_adverb_only(token)


def _is_adverb_only(token: Token) -> bool:
    closed = token.lower in grammar.BEHIND_AN_OBJECT
    return token.is_word and not closed and classes_of(token.lower) == Class.ADVERB
