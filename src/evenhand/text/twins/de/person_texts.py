"""German texts about *die Person*, told of a woman and of a man.

*Person* is feminine like *Frau*, so the noun alone makes a text about a woman, and its twin is about a man. Feminine
pronouns tell nothing for the same reason; masculine ones do.
"""

from __future__ import annotations

import re

from evenhand.text.person_texts import (
    BOTH_GENDERS,
    NO_PERSON,
    SEVERAL_PERSONS,
    Gender,
    GenderedWords,
    NounUse,
    PersonVersions,
    versions_of_told_text,
)
from evenhand.text.twins.de.cases import decide_cases
from evenhand.text.twins.de.declension import Declension
from evenhand.text.twins.de.persons import german_lexicon
from evenhand.text.twins.de.phrases import NounPhrase
from evenhand.text.twins.de.pronouns import classify_sie
from evenhand.text.twins.de.sentences import GermanSentence
from evenhand.text.twins.de.swapper import GermanSwapper
from evenhand.text.twins.de.words import word_classes
from evenhand.text.twins.twin import NO_GENDERED_WORD, Rejected, Swap, Twin

_PERSON = re.compile(r"\bPerson\b")
_WORD = re.compile(r"[^\W\d_]+")
_OF_SEVERAL = frozenset(
    ["jede", "jeder", "keine", "keiner", "andere", "anderen", "weitere", "weiteren", "manche"]
)
_BECOMING = frozenset(
    ["wird", "wurde", "werde", "würde", "werden", "geworden", "gewesen", "geblieben", "bleiben"]
)
_REGARDING = frozenset(
    [
        "galt",
        "gilt",
        "bekannt",
        "beschrieben",
        "betrachtet",
        "wahrgenommen",
        "gesehen",
        "bezeichnet",
        "angesehen",
    ]
)
_SUBJECTS = frozenset({"er", "sie", "die", "der"})
"""Pronouns that may stand for the person as the subject of a clause; the last two are relative."""


class GermanPersonTexts:
    """Tells German texts of a woman and of a man."""

    language = "de"

    def __init__(self) -> None:
        self._swapper = GermanSwapper()

    def versions(self, text: str) -> PersonVersions | Rejected:
        """Both versions of a text, or why they cannot be told."""
        persons = list(_PERSON.finditer(text))
        if not persons:
            found = versions_of_told_text(text, self._swapper)
            return NO_PERSON if found == NO_GENDERED_WORD else found
        at = persons[0].start()
        if len(persons) > 1 or _OF_SEVERAL & set(_WORD.findall(text[:at].lower())[-2:]):
            return SEVERAL_PERSONS
        about_woman = text[:at] + "Frau" + text[persons[0].end() :]
        twin = self._swapper.twin(about_woman)
        if isinstance(twin, Rejected):
            return twin
        if not any(swap.span.start == at and swap.new.startswith("Mann") for swap in twin.swaps):
            return Rejected("a person who may be somebody else")
        uses = _NounUses(about_woman)
        words = GenderedWords.of(twin.swaps, subject_at=at, use_of=uses.use_of)
        if isinstance(words, Rejected):
            return words
        if words.tells_male:
            return self._of_man(about_woman, twin, words)
        told = Gender.FEMALE if Gender.FEMALE in words.said else None
        return PersonVersions(about_woman, twin.text, told)

    def _of_man(self, about_woman: str, twin: Twin, words: GenderedWords) -> PersonVersions | Rejected:
        """The versions of a text that tells a man, in which only the words that agree with *Person* are feminine."""
        if words.others or Gender.FEMALE in words.said or len(words.pronouns) > 1:
            return BOTH_GENDERS
        about_man = Twin.of(about_woman, (swap for swap in twin.swaps if not swap.male)).text
        whole = self._swapper.twin(about_man)
        if isinstance(whole, Rejected):
            return whole
        return PersonVersions(whole.text, about_man, Gender.MALE)


class _NounUses:
    """Whom the nouns of a sentence that has a twin are about."""

    def __init__(self, text: str) -> None:
        self._sentence = GermanSentence.read(text, german_lexicon())
        classify_sie(self._sentence)
        decide_cases(self._sentence)

    def use_of(self, swap: Swap) -> NounUse:
        """Whom the noun that is swapped is about: it is said of the person behind *als* and with *war*, *wurde*."""
        words = self._sentence.words
        phrase = next((own for own in self._sentence.persons() if words[own.noun].span == swap.span), None)
        if phrase is None:
            return NounUse.UNCLEAR
        if phrase.preposition or not phrase.may_be("N"):
            return NounUse.OTHER
        clause = self._sentence.clause_by_word[phrase.noun]
        spoken = {words[at].lower for at in clause.words}
        if self._sentence.lower(phrase.start - 1) == "als":
            is_definite = phrase.determiner is not None and phrase.declension is Declension.DEFINITE
            is_clear = not is_definite or bool(spoken & _REGARDING)
            return NounUse.PERSON if is_clear else NounUse.UNCLEAR
        if spoken & (word_classes()["copulas"] | _BECOMING) and self._follows_subject(phrase):
            return NounUse.PERSON
        return NounUse.OTHER if phrase.determiner is not None else NounUse.UNCLEAR

    def _follows_subject(self, phrase: NounPhrase) -> bool:
        """Whether a noun or pronoun before it in its clause may be the subject."""
        clause = self._sentence.clause_by_word[phrase.noun]
        for at in clause.words:
            if at >= phrase.start:
                return False
            other = self._sentence.phrases.get(at)
            if self._sentence.lower(at) in _SUBJECTS and self._sentence.by_start.get(at) is None:
                return True
            if other is not None and other.readings and not other.preposition and other.may_be("N"):
                return True
        return False
