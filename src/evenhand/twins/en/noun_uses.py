"""Whom the nouns of an English text about a person are about: the person, of whom they are said, or somebody else."""

from __future__ import annotations

from collections.abc import Iterable

from evenhand.text.person_texts import NOUN_ROLES, PARTNER, GenderedWords, NounUse
from evenhand.text.swappers import Rejected, Role, Swap
from evenhand.twins.en import grammar
from evenhand.twins.en.grammar import word_set
from evenhand.twins.en.tokens import Tokens
from evenhand.twins.en.word_classes import WordClass, classes_of, may_describe

COPULAS = word_set("is was be been being became become becomes remained remains 's wasn't isn't")
_REGARDED = word_set("known regarded seen described viewed remembered thought considered")
_NAMED = word_set("called named nicknamed crowned appointed elected declared considered deemed made")
_BEFORE_COPULAS = word_set(
    "has had have will would can could may might must should shall not never always also once still really"
)
_SUBJECTS = word_set("she he who to and but , for by of without")
"""Words before a copula that lets what follows be said of the person: *who was*, *wants to be*, *for being*."""
_SHORTENED = word_set("she he it who that there what")
"""Words behind which *'s* is a verb: *she's king*."""
_POSSESSIVES = word_set("her his their my your our its whose")
_PARTNERS = word_set(
    "wife wives husband husbands girlfriend girlfriends boyfriend boyfriends fiancé fiancée bride groom"
)
_PARTNERS_OF_SOMEBODY = word_set("woman man lady gentleman girl boy")
_MARRYING = word_set(
    "marry marries married marrying wed weds wedded divorce divorced divorces dating dated dates"
)
_REACH_OF_MARRYING = 5
"""Words behind *married* among which somebody is the one whom the person married."""


class EnglishNounUses:
    """Whom the nouns of a text are about."""

    def __init__(self, text: str, *, subject_at: int) -> None:
        self._tokens = Tokens(text)
        self._subject_at = subject_at
        self._swaps: dict[int, Swap] = {}

    def sort(self, swaps: Iterable[Swap]) -> GenderedWords | Rejected:
        """The swaps of a twin by whom their words are about."""
        self._swaps = {swap.span.start: swap for swap in swaps}
        words = GenderedWords.of(self._swaps.values(), subject_at=self._subject_at, use_of=self._use_of)
        if isinstance(words, Rejected):
            return words
        return PARTNER if any(self._is_partner(self._place(at)) for at, _ in words.others) else words

    def _place(self, start: int) -> int:
        return next(place for place in range(len(self._tokens)) if self._tokens[place].start == start)

    def _is_partner(self, at: int) -> bool:
        tokens = self._tokens
        is_somebodys = tokens[at - 1].lower in _POSSESSIVES and tokens[at].lower in _PARTNERS_OF_SOMEBODY
        is_married = any(tokens[at - back].lower in _MARRYING for back in range(1, _REACH_OF_MARRYING))
        return tokens[at].lower in _PARTNERS or is_somebodys or is_married

    def _use_of(self, swap: Swap) -> NounUse:
        """Whom a noun is about, or the noun behind an article."""
        at = self._place(swap.span.start)
        if swap.role is Role.AGREEMENT:
            at += 1
        if self._tokens[at].start == self._subject_at:
            return NounUse.PERSON
        following = self._tokens[at + 1]
        if following.lower == "'s" or following.text == "'":
            return NounUse.OTHER
        lead, article = self._lead(at)
        word = self._tokens[lead].lower
        if swap.role in (Role.NAME, Role.TITLE) and self._tokens[at - 1].lower in _NAMED:
            return NounUse.UNCLEAR
        if word == "as":
            return self._behind_as(lead, article)
        if word == "'s" and not article and self._tokens[lead - 1].lower not in _SHORTENED:
            return NounUse.OTHER
        if word in COPULAS or (word in _NAMED and self._is_passive(lead)):
            return self._behind_copula(lead - (word in _NAMED))
        return self._elsewhere(lead, article)

    def _is_passive(self, at: int) -> bool:
        """Whether a copula stands before a participle: *has been called*, *was once called*."""
        before = at - 1
        while self._is_between(before) and self._tokens[before].lower not in COPULAS:
            before -= 1
        return self._tokens[before].lower in COPULAS

    def _is_between(self, at: int) -> bool:
        """Whether a word may stand between a subject and the verb that says what it is."""
        word = self._tokens[at].lower
        is_adverb = word in grammar.ADVERBS or classes_of(word) == WordClass.ADVERB
        return word in COPULAS | _BEFORE_COPULAS or (is_adverb and word not in _SUBJECTS)

    def _lead(self, at: int) -> tuple[int, str]:
        """The place of the word before a noun phrase, and its article; empty if it has none."""
        tokens = self._tokens
        before = at - 1
        while tokens[before].is_hyphen or (
            tokens[before].lower not in COPULAS
            and (may_describe(tokens[before]) or tokens.hyphen_after(before))
        ):
            before -= 1
        article = tokens[before].lower if tokens[before].lower in grammar.DETERMINERS | _POSSESSIVES else ""
        if article:
            before -= 1
        while tokens[before].lower in grammar.ADVERBS:
            before -= 1
        return before, article

    def _behind_as(self, at: int, article: str) -> NounUse:
        """*worked as a waiter* is said of the person; *hired her brother as a waiter* may not be."""
        tokens = self._tokens
        is_regarded = tokens[at - 1].lower in _REGARDED or tokens[at - 2].lower in _REGARDED
        is_clear = article in ("a", "an", "") or (article == "the" and is_regarded)
        is_of_others = any(
            swap.role in NOUN_ROLES | {Role.OBJECT}
            for start, swap in self._swaps.items()
            if self._subject_at < start < tokens[at].start
        )
        return NounUse.PERSON if is_clear and not (is_of_others and not is_regarded) else NounUse.UNCLEAR

    def _behind_copula(self, at: int) -> NounUse:
        """*was a waiter* is said of the subject of *was*, which has to be the person."""
        tokens = self._tokens
        before = at
        while self._is_between(before):
            before -= 1
        if tokens[before].start == self._subject_at or tokens[before].lower in _SUBJECTS:
            return NounUse.PERSON
        # What describes the person may stand between: *The person from the village was a king*.
        return NounUse.UNCLEAR

    def _elsewhere(self, at: int, article: str) -> NounUse:
        """Somebody else, unless the noun may go on with what is said of the person: *was a poet and an actor*."""
        tokens = self._tokens
        word = tokens[at].lower
        if word == "like" and article in ("a", "an", ""):
            return NounUse.UNCLEAR
        if word not in ("and", "or", ",", "but"):
            return NounUse.OTHER
        is_apposition = word == "," and tokens[at - 1].start == self._subject_at
        may_go_on = any(
            tokens[place].lower in COPULAS | {"as"} and tokens[place + 1].lower in ("a", "an", "the")
            for place in range(at)
        )
        return NounUse.UNCLEAR if is_apposition or may_go_on else NounUse.OTHER
