"""English twins: every gendered word of a sentence is swapped, or the sentence is rejected."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from functools import cache

from evenhand.text.swappers import NO_GENDERED_WORD, Rejected, Role, Swap, Twin
from evenhand.twins.en.gendered_words import (
    ANIMALS,
    DEITIES,
    FITS_ONE_GENDER,
    GAMES,
    KEPT_PHRASES,
    NO_PERSONS,
    PERSONIFIED,
    RULERS_OF_GAMES,
    SHIPS,
    UNCLEAR_PHRASES,
    WITHOUT_CLEAR_TWIN,
    noun_pairs,
)
from evenhand.twins.en.generic_readings import generic_reading
from evenhand.twins.en.names import name_twin, name_twins, names_without_twin
from evenhand.twins.en.nouns import TITLES, noun_twin, title_twin
from evenhand.twins.en.pronouns import PRONOUNS, pronoun_twin
from evenhand.twins.en.tokens import Tokens, WordOutcome, swap
from evenhand.twins.en.word_classes import WordClass, classes_of

SwapRule = Callable[[Tokens, int], WordOutcome]

_WORD = re.compile(r"[^\W\d_]+")
_PERSONS = frozenset({Role.NOUN, Role.TITLE, Role.NAME})
_DIALECT = frozenset({"im", "er", "e", "isself", "erself", "imself", "is", "E", "Im"})
"""What follows the apostrophe in *'im*."""
_PERSON_ENDINGS = ("man", "men", "maid", "maids")
_REACH = 8
"""Words after *God* within which a male pronoun is taken for his."""


class EnglishSwapper:
    """Writes the twins of English sentences.

    *her* becomes *his* before a noun phrase and *him* otherwise; *his* becomes *her* or *hers*. The words around them
    decide. Where they do not, the sentence is rejected, as is one with a gendered word that has no clear counterpart.
    """

    language = "en"

    def twin(self, sentence: str) -> Twin | Rejected:
        """The sentence's twin, or why it has none."""
        return self.twin_given(sentence, {})

    def twin_given(self, sentence: str, pronouns: Mapping[int, Swap]) -> Twin | Rejected:
        """The twin of a sentence with pronouns that are known, by where they begin: whether *her* is *his* or *him*."""
        rules = _swap_rules()
        if rules.keys().isdisjoint(_WORD.findall(sentence.lower())):
            return NO_GENDERED_WORD
        tokens = Tokens(sentence)
        words = tokens.lower()
        kept = _kept_positions(words)
        if isinstance(kept, Rejected):
            return kept
        swaps: list[Swap] = []
        for at, word in enumerate(words):
            decide = rules.get(word)
            if decide is None or at in kept:
                continue
            decision = pronouns.get(tokens[at].start) or decide(tokens, at)
            if isinstance(decision, Rejected):
                return decision
            if decision is not None:
                swaps.append(decision)
        if not swaps:
            return NO_GENDERED_WORD
        swaps = _with_articles(tokens, swaps)
        reason = generic_reading(tokens, sentence) or rejection_reason(tokens, swaps)
        return reason or Twin.of(sentence, swaps)


@cache
def _swap_rules() -> Mapping[str, SwapRule]:
    """The rule for each word, in lower case, that may be gendered."""
    to_female, to_male = noun_pairs()
    males, females = name_twins()
    names = {name.lower() for name in (*males, *females, *names_without_twin())}
    rules: dict[str, SwapRule] = dict.fromkeys(names, name_twin)
    rules |= dict.fromkeys((*to_female, *to_male, *WITHOUT_CLEAR_TWIN), noun_twin)
    rules |= dict.fromkeys(TITLES, title_twin)
    rules |= dict.fromkeys(PRONOUNS, pronoun_twin)
    return rules


@cache
def _phrases() -> Mapping[str, tuple[tuple[tuple[str, ...], bool], ...]]:
    """Phrases by their first word, with whether they are kept."""
    by_first_word: dict[str, tuple[tuple[tuple[str, ...], bool], ...]] = {}
    for phrases, are_kept in ((KEPT_PHRASES, True), (UNCLEAR_PHRASES, False)):
        for phrase in phrases:
            words = tuple(phrase.split())
            by_first_word[words[0]] = (*by_first_word.get(words[0], ()), (words, are_kept))
    return by_first_word


def _kept_positions(words: list[str]) -> set[int] | Rejected:
    """The positions of words in phrases that are kept, or the phrase for which the sentence is rejected."""
    kept: set[int] = set()
    phrases = _phrases()
    for at, word in enumerate(words):
        for phrase, is_kept in phrases.get(word, ()):
            if _matches(words, at, phrase):
                if not is_kept:
                    return Rejected(f"the phrase {' '.join(phrase)!r}")
                kept.update(range(at, at + len(phrase)))
    return kept


def _matches(words: list[str], at: int, phrase: tuple[str, ...]) -> bool:
    candidate = words[at : at + len(phrase)]
    return len(candidate) == len(phrase) and all(
        word == expected or (expected == "-" and word == "@-@")
        for word, expected in zip(candidate, phrase, strict=True)
    )


def _with_articles(tokens: Tokens, swaps: list[Swap]) -> list[Swap]:
    """The swaps, with those of *a* and *an* that follow from them: *an Emily*, *a James*."""
    starts = {tokens[at].start: at for at in range(len(tokens)) if tokens[at - 1].lower in ("a", "an")}
    complete: list[Swap] = []
    for word in swaps:
        at = starts.get(word.span.start)
        if at is not None and _begins_with_vowel(word.old) != _begins_with_vowel(word.new):
            article = "an" if _begins_with_vowel(word.new) else "a"
            complete.append(swap(tokens, at - 1, new=article, role=Role.AGREEMENT, male=word.male))
        complete.append(word)
    return complete


def _begins_with_vowel(word: str) -> bool:
    return word[0].lower() in "aeiou" and not word.lower().startswith("eu")


def rejection_reason(tokens: Tokens, swaps: Iterable[Swap]) -> Rejected | None:
    """Why a sentence is rejected for words beside those that are swapped; None if it is not."""
    words = frozenset(tokens.lower())
    return (
        _one_sided(words)
        or _game(words)
        or _spelling(tokens)
        or _deity(tokens)
        or _thing(words, tuple(swaps))
    )


def _one_sided(words: frozenset[str]) -> Rejected | None:
    for listed, problem in ((FITS_ONE_GENDER, "fits only one gender"), (ANIMALS, "is an animal of one sex")):
        matches = sorted(words & listed)
        if matches:
            return Rejected(f"{matches[0]!r} {problem}")
    return None


def _game(words: frozenset[str]) -> Rejected | None:
    rulers, games = sorted(words & RULERS_OF_GAMES), sorted(words & GAMES)
    return Rejected(f"{rulers[0]!r} beside {games[0]!r} may be no person") if rulers and games else None


def _spelling(tokens: Tokens) -> Rejected | None:
    to_female, to_male = noun_pairs()
    for at in range(len(tokens)):
        text = tokens[at].text
        if text.endswith(_PERSON_ENDINGS) and text.islower() and text not in NO_PERSONS:
            if text not in to_female and text not in to_male and classes_of(text) & WordClass.NOUN:
                return Rejected(f"{text!r} has no clear twin")
        elif text in ("'", "‘", "’") and tokens[at + 1].text in _DIALECT and not tokens[at + 1].spaced:
            if tokens[at + 2].text == ".":
                continue
            return Rejected("a pronoun in dialect")
    return None


def _deity(tokens: Tokens) -> Rejected | None:
    words = tokens.lower()
    for at, word in enumerate(words):
        if word in DEITIES and {"he", "his", "him", "himself"} & set(words[at + 1 : at + 1 + _REACH]):
            return Rejected(f"a pronoun may stand for {word!r}")
    return None


def _thing(words: frozenset[str], swaps: tuple[Swap, ...]) -> Rejected | None:
    """Ships and countries, which may be *she*."""
    if any(swap.role in _PERSONS and not swap.male for swap in swaps):
        return None
    things = sorted(words & SHIPS) if any(not swap.male for swap in swaps) else []
    if not things and all(swap.role is Role.POSSESSIVE and not swap.male for swap in swaps):
        things = sorted(words & PERSONIFIED)
    return Rejected(f"a pronoun may stand for {things[0]!r}") if things else None
