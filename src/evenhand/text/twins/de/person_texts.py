"""German texts about *die Person*, told of a woman and of a man.

*Person* is feminine like *Frau*, so the noun alone makes a text about a woman, and its twin is about a man. Feminine
pronouns tell nothing for the same reason; masculine ones do. A plural such as *ihre Freunde* is of any gender.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

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
from evenhand.text.twins.de.things import is_known_noun, is_thing, may_be_agent
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
_MAKING = _BECOMING | {"ernannt", "gewählt", "befördert", "gekrönt", "gemacht"}
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
_SUBORDINATE = re.compile(
    r"(,?)(?<!\bund)(?<!\boder)(?<!\bauch)(?<!\bals)(?<!\bnur)"
    r"( (?:dass|daß|indem|weil|obwohl|wenn|damit|nachdem|bevor)\b)"
)
"""The beginning of a subordinate clause, with the comma before it if there is one."""
_OPENING = re.compile(r"(?:Die|Der|Eine|Ein)\s(?:[a-zäöüß]+\s)?(Frau|Mann)\b")
_FORMAL = re.compile(r"(?<=[^\W\d_,;] )(?:Sie|Ihnen|Ihr(?:e[mnrs]?)?)\b")
"""Pronouns with a capital within a sentence, which may be yours or a slip for hers."""
_ONE_OF = re.compile(r"\beine?r?\s+(?:der|von|dieser|seiner|ihrer)\b")
_GENDERED_PRONOUN = re.compile(r"\b(?:er|ihn|ihm|sein(?:e[mnrs]?)?|ihr(?:e[mnrs]?)?)\b", re.IGNORECASE)
_BEHIND_INFINITIVES = frozenset(
    [
        "und",
        "oder",
        "aber",
        "als",
        "wie",
        "zu",
        "will",
        "wollte",
        "kann",
        "konnte",
        "muss",
        "musste",
        "soll",
        "sollte",
    ]
)
_REACH_OF_AS = 3
"""Words before a noun among which *als* says that it is said of somebody: *als allseits beliebter Koch*."""
_SUBJECTS = frozenset({"er", "sie", "die", "der"})
"""Pronouns that may stand for the person as the subject of a clause; the last two are relative."""


class GermanPersonTexts:
    """Tells German texts of a woman and of a man."""

    language = "de"

    def __init__(self) -> None:
        self._swapper = GermanSwapper()

    def versions(self, text: str) -> PersonVersions | Rejected:
        """Both versions of a text, or why they cannot be told.

        People leave out commas before *dass*, without which clauses cannot be told apart. The text is read with them.
        """
        were_missing = [not match[1] for match in _SUBORDINATE.finditer(text)]
        found = self._versions(_SUBORDINATE.sub(r",\2", text))
        if isinstance(found, Rejected):
            return found
        female, male = (_without_added_commas(told, were_missing) for told in (found.female, found.male))
        return PersonVersions(female, male, found.told)

    def _versions(self, text: str) -> PersonVersions | Rejected:
        persons = list(_PERSON.finditer(text))
        if not persons:
            found = versions_of_told_text(text, self._swapper)
            return NO_PERSON if found == NO_GENDERED_WORD else found
        at = persons[0].start()
        if len(persons) > 1 or _OF_SEVERAL & set(_WORD.findall(text[:at].lower())[-2:]):
            return SEVERAL_PERSONS
        about_woman = text[:at] + "Frau" + text[persons[0].end() :]
        twin = self._swapper.twin_about(about_woman, subject_at=_known_subject(about_woman))
        if isinstance(twin, Rejected):
            return twin
        return _rejection_reason(about_woman, twin, subject_at=at) or self._of_either(
            about_woman, twin, subject_at=at
        )

    def _of_either(self, about_woman: str, twin: Twin, *, subject_at: int) -> PersonVersions | Rejected:
        nouns = _NounUses(about_woman)
        swaps = [swap for swap in twin.swaps if not nouns.is_plural(swap)]
        words = GenderedWords.of(swaps, subject_at=subject_at, use_of=nouns.use_of)
        if isinstance(words, Rejected):
            return words
        if words.tell(Gender.MALE):
            return self._of_man(about_woman, swaps, words)
        told = Gender.FEMALE if Gender.FEMALE in words.said else None
        return PersonVersions(about_woman, Twin.of(about_woman, swaps).text, told)

    def _of_man(
        self, about_woman: str, swaps: Sequence[Swap], words: GenderedWords
    ) -> PersonVersions | Rejected:
        """The versions of a text that tells a man, in which only the words that agree with *Person* are feminine."""
        if words.others or Gender.FEMALE in words.said or len(words.pronouns) > 1:
            return BOTH_GENDERS
        about_man = Twin.of(about_woman, (swap for swap in swaps if not swap.male)).text
        to_woman = self._swapper.twin_about(about_man, subject_at=_known_subject(about_man))
        if isinstance(to_woman, Rejected):
            return to_woman
        nouns = _NounUses(about_man)
        told_of_woman = Twin.of(about_man, (swap for swap in to_woman.swaps if not nouns.is_plural(swap)))
        return PersonVersions(told_of_woman.text, about_man, Gender.MALE)


def _without_added_commas(text: str, were_missing: Sequence[bool]) -> str:
    """A text without the commas that were added, one after the other: words between clauses are never swapped."""
    missing = iter(were_missing)
    return _SUBORDINATE.sub(lambda match: ("" if next(missing) else match[1]) + match[2], text)


def _known_subject(text: str) -> int:
    """Where the noun begins that opens a text as its subject; -1 if the text opens otherwise."""
    opening = _OPENING.match(text)
    return opening.start(1) if opening else -1


def _rejection_reason(about_woman: str, twin: Twin, *, subject_at: int) -> Rejected | None:
    """Why a text is rejected although it has a twin: words that tell a gender may be left as they are in it."""
    subject = [swap for swap in twin.swaps if swap.span.start == subject_at]
    if not subject or not subject[0].new.startswith("Mann"):
        return Rejected("a person who may be somebody else")
    if twin.text.startswith("Den Mann"):
        return Rejected("a person at the start who may be an object")
    if _FORMAL.search(about_woman):
        return Rejected("a pronoun with a capital")
    if _ONE_OF.search(about_woman):
        return Rejected("one of several, which tells a gender")
    swapped = {swap.span.start for swap in twin.swaps}
    if any(
        match.start() not in swapped and not _is_verb(about_woman, match)
        for match in _GENDERED_PRONOUN.finditer(about_woman)
    ):
        return Rejected("a pronoun that may be about the person")
    return _NounUses(about_woman).rejection_reason()


def _is_verb(text: str, pronoun: re.Match[str]) -> bool:
    """Whether *sein* is the verb: behind *zu*, or with no word behind it that it could belong to."""
    if pronoun[0].lower() != "sein":
        return False
    following = _WORD.match(text, pronoun.end() + 1)
    return text[: pronoun.start()].endswith("zu ") or following is None or following[0] in _BEHIND_INFINITIVES


class _NounUses:
    """Whom the nouns of a sentence that has a twin are about."""

    def __init__(self, text: str) -> None:
        self._sentence = GermanSentence.read(text, german_lexicon(), known_subject=_known_subject(text))
        classify_sie(self._sentence)
        decide_cases(self._sentence)

    def rejection_reason(self) -> Rejected | None:
        """Reject what is said of the person with a noun that no list has: *galt als gesuchter Attentäter*."""
        for phrase in self._sentence.phrases.values():
            noun = self._sentence.words[phrase.noun].text
            is_agent = may_be_agent(noun)
            is_other = phrase.slots and (phrase.is_plural or not phrase.may_be("N")) and not is_agent
            if phrase.readings or phrase.preposition or is_other:
                continue
            is_listed = is_thing(noun) or (is_known_noun(noun) and not noun.endswith(("er", "in")))
            is_known = is_listed and not is_agent
            if not is_known and (self._is_near_as(phrase) or self._is_predicate(phrase)):
                return Rejected("an occupation that is not listed")
        return None

    def is_plural(self, swap: Swap) -> bool:
        """Whether what is swapped is a plural: *ihre Freunde* are of any gender, and stay as they are."""
        phrase = self._phrase_of(swap)
        return phrase is not None and phrase.is_plural

    def use_of(self, swap: Swap) -> NounUse:
        """Whom the noun that is swapped is about."""
        phrase = self._phrase_of(swap)
        if phrase is None:
            return NounUse.UNCLEAR
        if self._is_made(phrase):
            return NounUse.PERSON
        if phrase.preposition:
            return NounUse.OTHER
        if phrase.may_be("N"):
            return self._use_of_nominative(phrase)
        return NounUse.UNCLEAR if phrase.determiner is None else NounUse.OTHER

    def _is_made(self, phrase: NounPhrase) -> bool:
        """Whether it is what somebody is made or becomes: *zum Chef ernannt*."""
        contracted = phrase.determiner.preposition if phrase.determiner is not None else ""
        return contracted == "zu" and bool(self._spoken_beside(phrase) & _MAKING)

    def _use_of_nominative(self, phrase: NounPhrase) -> NounUse:
        """It is said of the person behind *als*, and beside *war* or *wurde*."""
        if self._sentence.lower(phrase.start - 1) == "als":
            is_definite = phrase.determiner is not None and phrase.declension is Declension.DEFINITE
            is_clear = not is_definite or bool(self._spoken_beside(phrase) & _REGARDING)
            return NounUse.PERSON if is_clear else NounUse.UNCLEAR
        if self._is_near_as(phrase):  # what stands between may be an adjective that was not seen
            return NounUse.UNCLEAR
        if self._is_predicate(phrase):
            return NounUse.PERSON
        return NounUse.OTHER if phrase.determiner is not None else NounUse.UNCLEAR

    def _is_near_as(self, phrase: NounPhrase) -> bool:
        return any(
            self._sentence.lower(phrase.start - distance) == "als" for distance in range(1, _REACH_OF_AS + 1)
        )

    def _is_predicate(self, phrase: NounPhrase) -> bool:
        copulas = word_classes()["copulas"] | _BECOMING
        return bool(self._spoken_beside(phrase) & copulas) and self._follows_subject(phrase)

    def _spoken_beside(self, phrase: NounPhrase) -> set[str]:
        clause = self._sentence.clause_by_word.get(phrase.noun)
        return {self._sentence.lower(at) for at in clause.words} if clause else set()

    def _phrase_of(self, swap: Swap) -> NounPhrase | None:
        words = self._sentence.words
        return next((own for own in self._sentence.persons() if words[own.noun].span == swap.span), None)

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
