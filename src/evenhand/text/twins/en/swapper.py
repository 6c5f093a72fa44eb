"""English twins: every gendered word of a sentence exchanged, or the sentence left out."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from functools import cache

from evenhand.text.twins.en.doubts import doubt
from evenhand.text.twins.en.name_list import name_twins, names_without_twin
from evenhand.text.twins.en.names import name_twin
from evenhand.text.twins.en.nouns import noun_twin
from evenhand.text.twins.en.pronouns import PRONOUNS, pronoun_twin
from evenhand.text.twins.en.swaps import Decision, swap
from evenhand.text.twins.en.titles import TITLES, title_twin
from evenhand.text.twins.en.words import (
    KEPT_PHRASES,
    UNCLEAR_PHRASES,
    WITHOUT_CLEAR_TWIN,
    noun_pairs,
)
from evenhand.text.twins.tokens import Tokens
from evenhand.text.twins.twin import LeftOut, Role, Swap, Twin

Decider = Callable[[Tokens, int], Decision]

_WORD = re.compile(r"[^\W\d_]+")
_NO_GENDERED_WORD = LeftOut("no gendered word")


class EnglishSwapper:
    """Writes the twins of English sentences.

    *her* is *his* before a noun phrase and *him* alone, *his* is *her* or *hers*, as the words around them tell; where
    they do not, the sentence is left out. So are sentences with a gendered word that has no clear counterpart.
    """

    language = "en"

    def twin(self, sentence: str) -> Twin | LeftOut:
        """The sentence's twin, or why it has none."""
        deciders = _deciders()
        if deciders.keys().isdisjoint(_WORD.findall(sentence.lower())):
            return _NO_GENDERED_WORD
        tokens = Tokens(sentence)
        words = tokens.lower()
        kept = _kept_places(words)
        if isinstance(kept, LeftOut):
            return kept
        swaps: list[Swap] = []
        for at, word in enumerate(words):
            decide = deciders.get(word)
            if decide is None or at in kept:
                continue
            decision = decide(tokens, at)
            if isinstance(decision, LeftOut):
                return decision
            if decision is not None:
                swaps.append(decision)
        if not swaps:
            return _NO_GENDERED_WORD
        swaps = _with_articles(tokens, swaps)
        return doubt(tokens, swaps) or _written(tokens, swaps)


@cache
def _deciders() -> Mapping[str, Decider]:
    """What decides on each word, in lower case, that may be gendered."""
    to_female, to_male = noun_pairs()
    males, females = name_twins()
    names = {name.lower() for name in (*males, *females, *names_without_twin())}
    found: dict[str, Decider] = dict.fromkeys(names, name_twin)
    found |= dict.fromkeys((*to_female, *to_male, *WITHOUT_CLEAR_TWIN), noun_twin)
    found |= dict.fromkeys(TITLES, title_twin)
    found |= dict.fromkeys(PRONOUNS, pronoun_twin)
    return found


@cache
def _phrases() -> Mapping[str, tuple[tuple[tuple[str, ...], bool], ...]]:
    """Phrases by their first word, with whether they are kept."""
    found: dict[str, tuple[tuple[tuple[str, ...], bool], ...]] = {}
    for phrases, are_kept in ((KEPT_PHRASES, True), (UNCLEAR_PHRASES, False)):
        for phrase in phrases:
            words = tuple(phrase.split())
            found[words[0]] = (*found.get(words[0], ()), (words, are_kept))
    return found


def _kept_places(words: list[str]) -> set[int] | LeftOut:
    """The places of words in phrases that are kept, or the phrase for which the sentence is left out."""
    kept: set[int] = set()
    phrases = _phrases()
    for at, word in enumerate(words):
        for phrase, is_kept in phrases.get(word, ()):
            if _matches(words, at, phrase):
                if not is_kept:
                    return LeftOut(f"the phrase {' '.join(phrase)!r}")
                kept.update(range(at, at + len(phrase)))
    return kept


def _matches(words: list[str], at: int, phrase: tuple[str, ...]) -> bool:
    found = words[at : at + len(phrase)]
    return len(found) == len(phrase) and all(
        word == wanted or (wanted == "-" and word == "@-@")
        for word, wanted in zip(found, phrase, strict=True)
    )


def _with_articles(tokens: Tokens, swaps: list[Swap]) -> list[Swap]:
    """The exchanges with those of *a* and *an* that they bring about: *an Emily*, *a James*."""
    starts = {tokens[at].start: at for at in range(len(tokens)) if tokens[at - 1].lower in ("a", "an")}
    found: list[Swap] = []
    for word in swaps:
        at = starts.get(word.span.start)
        if at is not None and _begins_with_vowel(word.old) != _begins_with_vowel(word.new):
            article = "an" if _begins_with_vowel(word.new) else "a"
            found.append(swap(tokens, at - 1, new=article, role=Role.AGREEMENT, male=word.male))
        found.append(word)
    return found


def _begins_with_vowel(word: str) -> bool:
    return word[0].lower() in "aeiou" and not word.lower().startswith("eu")


def _written(tokens: Tokens, swaps: list[Swap]) -> Twin:
    pieces: list[str] = []
    end = 0
    for word in swaps:
        pieces += (tokens.sentence[end : word.span.start], word.new)
        end = word.span.end
    return Twin(text="".join(pieces) + tokens.sentence[end:], swaps=tuple(swaps))
