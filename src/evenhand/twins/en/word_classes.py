"""The parts of speech that an English word can have, and where a noun phrase begins."""

from __future__ import annotations

from collections.abc import Callable
from enum import Flag, auto
from functools import cache, lru_cache

from evenhand.core.errors import require_extra
from evenhand.twins.en import grammar
from evenhand.twins.en.grammar import word_set
from evenhand.twins.en.tokens import Token, Tokens

_NEVER_ADVERBS = word_set(
    "cold dead pretty clean clear dear dirty fair firm good great green real rough sick still"
)
_LACKING_NOUNS = word_set("retreat resolve other others yoke bidding calling victuals merits hurts")
_ADDED_ADJECTIVES = 3


class WordClass(Flag):
    """Parts of speech; a word has every one that it can be."""

    UNKNOWN = 0
    NOUN = auto()
    PLURAL = auto()
    """A noun that can be a plural."""
    VERB = auto()
    """A verb in its base form."""
    THIRD_PERSON = auto()
    PAST = auto()
    """A past tense or past participle."""
    ING = auto()
    ADJECTIVE = auto()
    ADVERB = auto()
    FINITE = VERB | THIRD_PERSON | PAST
    ANY_VERB = VERB | THIRD_PERSON | PAST | ING


_CORRECTED = dict.fromkeys(_LACKING_NOUNS, WordClass.NOUN) | {"responsible": WordClass.ADJECTIVE}
"""Words that the lexicon lacks or has wrong."""


@lru_cache(maxsize=2**17)
def classes_of(word: str) -> WordClass:
    """The parts of speech of a word in lower case; none if it is not in the lexicon."""
    if word in _CORRECTED:
        return _CORRECTED[word]
    classes = WordClass.UNKNOWN
    for part, lemmas in _lemmas_of()(word).items():
        if part == "NOUN":
            classes |= WordClass.NOUN if word in lemmas else WordClass.NOUN | WordClass.PLURAL
        elif part in ("VERB", "AUX"):
            classes |= _verb_form(word, tuple(lemmas))
        elif part == "ADJ":
            classes |= WordClass.ADJECTIVE
        elif part == "ADV" and word not in _NEVER_ADVERBS:
            classes |= WordClass.ADVERB
    if not classes and word.endswith("ly"):
        return WordClass.ADVERB
    return classes


@lru_cache(maxsize=2**15)
def verb_lemma(word: str) -> str | None:
    """The infinitive of a verb form in lower case, or None if the word is not a verb."""
    lemmas = _lemmas_of()(word)
    of_verb = lemmas.get("VERB") or lemmas.get("AUX")
    return of_verb[0] if of_verb else None


def _verb_form(word: str, lemmas: tuple[str, ...]) -> WordClass:
    if word.endswith("ing") and word not in lemmas:
        return WordClass.ING
    form = WordClass.VERB if word in lemmas else WordClass.UNKNOWN
    if any(lemma != word for lemma in lemmas):
        form |= WordClass.THIRD_PERSON if word.endswith("s") else WordClass.PAST
    return form


@cache
def _lemmas_of() -> Callable[[str], dict[str, tuple[str, ...]]]:
    require_extra("train", "lemminflect", purpose="Swapping genders in English")
    # Of lemminflect only the table of known words is used: unknown words would load a pickled model.
    from lemminflect import getAllLemmas

    lookup: Callable[[str], dict[str, tuple[str, ...]]] = getAllLemmas
    return lookup


def is_open(token: Token) -> bool:
    """Whether a token is a word of an open class: a noun, adjective, main verb, or adverb in *-ly*."""
    lower = token.lower
    return token.is_word and not (
        lower in grammar.BEHIND_AN_OBJECT or lower in grammar.ADVERBS or lower in grammar.NUMERALS
    )


def may_be_noun(token: Token) -> bool:
    """Whether a token can be a noun; words outside the lexicon count as nouns."""
    if not is_open(token):
        return False
    classes = classes_of(token.lower)
    return not classes or bool(classes & WordClass.NOUN)


def may_describe(token: Token) -> bool:
    """Whether a token can describe a noun that follows it."""
    return is_open(token) and bool(
        classes_of(token.lower) & (WordClass.ADJECTIVE | WordClass.PAST | WordClass.ING)
    )


def leads_to_noun(tokens: Tokens, place: int) -> bool:
    """Whether a noun follows the adjective or participle at a position, perhaps after more adjectives."""
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
    """The last noun of the phrase that begins at a position."""
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
    return token.is_word and not closed and classes_of(token.lower) == WordClass.ADVERB
