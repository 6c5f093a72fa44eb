"""Whom the nouns of a German text about a person are about: the person, of whom they are said, or somebody else."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import replace

from evenhand.text.person_texts import (
    NOUN_ROLES,
    PARTNER,
    UNCLEAR_NOUN,
    UNCLEAR_PRONOUN,
    GenderedWords,
    NounUse,
)
from evenhand.text.swappers import Rejected, Role, Swap
from evenhand.twins.de.agreement import antecedent_of, in_case_of
from evenhand.twins.de.cases import decide_cases
from evenhand.twins.de.declension import DETERMINERS, Declension
from evenhand.twins.de.noun_pairs import adjectival_stem, looks_gendered
from evenhand.twins.de.persons import PersonLexicon, german_lexicon
from evenhand.twins.de.phrases import NounPhrase
from evenhand.twins.de.pronouns import HER, HIS, classify_sie
from evenhand.twins.de.sentences import RELATIVES, ClauseKind, GermanSentence
from evenhand.twins.de.things import may_be_agent
from evenhand.twins.de.words import BECOMING, verb_number, word_classes

_OPENING = re.compile(
    r"(?:Die|Der|Eine|Ein)\s(?:[a-zäöüß]+\s)?(?:(Frau|Mann)\b|([A-ZÄÖÜ][a-zäöüß]+)\b(?! [A-ZÄÖÜ]))"
)
_MAKING = BECOMING | {
    *(
        "ernannt",
        "gewählt",
        "befördert",
        "gekrönt",
        "gekürt",
        "gemacht",
        "ausgebildet",
        "umgeschult",
        "schult",
        "schulte",
    ),
    *("aufgestiegen", "avancierte", "avanciert", "entwickelte", "entwickelt", "mauserte", "qualifizierte"),
}
_TRAINING = (
    "ausbildung",
    "bildung",
    "lehre",
    "umschulung",
    "studium",
    "aufstieg",
    "ernennung",
    "wahl",
    "beförderung",
)
_BEING = frozenset(["sein", "werden", "bleiben"])
_REGARDING = frozenset(
    [
        *("galt", "gilt", "bekannt", "beschrieben", "betrachtet"),
        *("wahrgenommen", "gesehen", "bezeichnet", "angesehen"),
    ]
)
_REACH_OF_AS = 3
"""Words before a noun among which *als* says that it is said of somebody: *als allseits beliebter Koch*."""
_SUBJECTS = frozenset({"er", "sie", "die", "der"})
"""Pronouns that may stand for the person as the subject of a clause; the last two are relative."""
_PARTNERS = re.compile(
    r"(?:Ex-?|Ehe)(?:frau|mann)(?:e?s)?|Gatt(?:e|en|in)|Gemahl(?:s|in)?|Verlobte[nr]?|Bräutigams?|Braut"
    r"|Geliebte[nr]?|(?:Ex-?|Lebens|Ehe)?[Pp]artner(?:s|in)?|Lebensgefährt(?:e|en|in)|(?:Ex-?)freund(?:s|es|in)?",
    re.IGNORECASE,
)
_PARTNERS_OF_SOMEBODY = frozenset(["Frau", "Mann", "Mannes", "Manne", "Freund", "Freundes", "Freundin"])
"""Partners behind a possessive; *ihre Freundin* is a friend of a woman and may be more of a man."""
_MARRYING = re.compile(r"\b(?:heirat|verheirat|verlob|geheirat)\w*", re.IGNORECASE)
_NEAR = ("fest", "lieb", "neu")
"""Adjectives of partners: *einen festen Freund*."""
_HELD = ("ruf", "rolle", "status", "titel", "amt", "position", "posten", "stelle", "beruf")
"""What somebody has of those who are named behind it: *den Ruf eines Geschäftsmanns*."""
_OPENING_INFINITIVES = frozenset({"um", "ohne", "statt", "anstatt"})
_QUOTED = re.compile(r"\bals [\"„“»«‚']$")
"""What comes before a noun in quotation marks that is said of the person."""
_POSSESSIVES = ("ihr", "sein")
_OPEN_RELATIVES = frozenset(["die", "der", "das", "deren", "dessen", "welche", "welcher"])
OPEN_RELATIVE = Rejected("what may be a relative clause without a comma")


def known_subject(text: str) -> int:
    """Where the noun begins that opens a text as its subject; -1 if the text opens otherwise."""
    opening = _OPENING.match(text)
    if opening is None or opening[1]:
        return opening.start(1) if opening else -1
    article = opening[0].split(maxsplit=1)[0].lower()
    slots = DETERMINERS[article].slots & {"Nm", "Nf"}
    readings = german_lexicon().readings(opening[2], DETERMINERS[article].declension)
    may_be_several = (
        any(slot[1] == "p" for reading in readings for slot in reading.slots) and article == "die"
    )
    is_one = not may_be_several and any(slots & reading.slots for reading in readings)
    return opening.start(2) if is_one else -1


class GermanNounUses:
    """Whom the nouns of a sentence that has a twin are about."""

    def __init__(self, text: str, lexicon: PersonLexicon, *, subject_at: int) -> None:
        self._text = text
        self._lexicon = lexicon
        self._subject_at = subject_at
        self._known_at = subject_at if known_subject(text) == subject_at else -1
        self._sentence = GermanSentence.read(text, lexicon, known_subject=self._known_at)
        classify_sie(self._sentence)
        decide_cases(self._sentence)

    def rejection_reason(self, swaps: Iterable[Swap]) -> Rejected | None:
        """Reject what is said of the person with a noun that no list has, and pronouns about somebody unnamed.

        *Galt als gesuchter Attentäter*; *die Frau mochte sie nicht*, in which the person would be *sich*.
        """
        pronouns = {swap.span.start for swap in swaps if swap.role in {Role.SUBJECT, Role.OBJECT}}
        objects = {swap.span.start for swap in swaps if swap.role is Role.OBJECT}
        if (
            any(map(self._is_beside_subject, pronouns))
            or any(map(self._is_in_infinitive, objects))
            or self._has_object_beside_pronoun(swaps)
        ):
            return UNCLEAR_PRONOUN
        for phrase in self._sentence.phrases.values():
            noun = self._sentence.words[phrase.noun].text
            is_agent = may_be_agent(noun)
            is_other = phrase.slots and (phrase.is_plural or not phrase.may_be("N")) and not is_agent
            is_quoted = (
                _QUOTED.search(self._text, 0, self._sentence.words[phrase.noun].span.start) is not None
            )
            if (
                is_quoted
                and not phrase.readings
                and (looks_gendered(noun) or adjectival_stem(noun, self._lexicon))
            ):
                return Rejected("an occupation that is not listed")
            if phrase.readings or phrase.preposition or is_other:
                continue
            joined = self._sentence.said_with(phrase)
            is_joined = joined is not None and (self._is_said(joined) or self._is_near_as(joined))
            is_said = is_joined or self._is_near_as(phrase) or self._predicate_of(phrase) is not None
            if is_said and looks_gendered(noun):
                return Rejected("an occupation that is not listed")
        return None

    def _has_object_beside_pronoun(self, swaps: Iterable[Swap]) -> bool:
        """Whether two pronouns of one gender in a clause cannot be one person: *ob sie sie gesehen hat*."""
        places = {word.span.start: place for place, word in enumerate(self._sentence.words)}
        by_role = {
            role: {
                (self._sentence.clause_by_word[places[swap.span.start]], swap.male)
                for swap in swaps
                if swap.role is role
            }
            for role in (Role.SUBJECT, Role.OBJECT)
        }
        return bool(by_role[Role.SUBJECT] & by_role[Role.OBJECT])

    def _is_beside_subject(self, start: int) -> bool:
        """Whether a pronoun is beside the known subject and its verb, with no word between that begins a clause."""
        words = self._sentence.words
        places = {word.span.start: place for place, word in enumerate(words)}
        first, last = places.get(self._known_at, -1), places[start]
        if first < 0 or last < first:
            return False
        classes = word_classes()
        openers = classes["subordinators"] | classes["coordinators"] | RELATIVES - {"das", "den", "dem"}
        between = [place for place in range(first + 1, last) if place not in self._articles()]
        if any(not words[place].is_word or words[place].lower in openers for place in between):
            return False
        verbs = [place for place in between if not words[place].capital and verb_number(words[place].lower)]
        return len(verbs) == 1

    def _is_in_infinitive(self, start: int) -> bool:
        """Whether a pronoun is the object of what the person does: *sammelte Uhren, um sie zu verkaufen*."""
        places = {word.span.start: place for place, word in enumerate(self._sentence.words)}
        clause = self._sentence.clause_by_word[places[start]]
        return self._sentence.lower(clause.words[0]) in _OPENING_INFINITIVES and any(
            self._sentence.lower(at) == "zu" for at in clause.words
        )

    def _articles(self) -> set[int]:
        return {phrase.determiner_at for phrase in self._sentence.phrases.values()}

    def sort(self, swaps: Iterable[Swap]) -> GenderedWords | Rejected:
        """The swaps of a twin by whom their words are about. Plurals such as *ihre Freunde* stay as they are."""
        kept = [self._in_own_gender(swap) for swap in swaps if not self._is_plural(swap)]
        if any(swap.role is Role.AGREEMENT and swap.old.lower() in HIS | HER for swap in kept):
            return UNCLEAR_PRONOUN
        words = GenderedWords.of(kept, subject_at=self._subject_at, use_of=self._use_of)
        if isinstance(words, Rejected):
            return words
        if self._has_open_relative(words):
            return OPEN_RELATIVE
        return self._rejection_of_others({at for at, _ in words.others}) or words

    def _rejection_of_others(self, others: set[int]) -> Rejected | None:
        """Why a text is rejected for others in it: they may be the person, or a spouse."""
        phrases = [*self._phrases_at(others)]
        if any(map(self._may_be_the_person, phrases)):
            return UNCLEAR_NOUN
        is_married = bool(others) and _MARRYING.search(self._text) is not None
        is_partner = any(self._is_the_woman_or_man(own) or self._is_partner(own) for own in phrases)
        return PARTNER if is_married or is_partner else None

    def _has_open_relative(self, words: GenderedWords) -> bool:
        """Whether a relative clause may follow the person without a comma, so that its pronoun was not seen."""
        nouns = {swap.span.start for swap in words.nouns if swap.role in NOUN_ROLES}
        if self._known_at < 0:
            nouns -= {self._subject_at}  # *stahl der Person die Tasche*
        for phrase in self._phrases_at(nouns):
            following = self._sentence.by_start.get(phrase.noun + 1)
            is_genitive = following is not None and following.may_be("G")
            if self._sentence.lower(phrase.noun + 1) in _OPEN_RELATIVES and not is_genitive:
                return True
        return False

    def _in_own_gender(self, swap: Swap) -> Swap:
        """A possessive before somebody else, who stays: *ihre Mutter* becomes *seine Mutter* and not *seinen Vater*."""
        if swap.role is not Role.POSSESSIVE:
            return swap
        stem = _POSSESSIVES[swap.male]
        ending = swap.old.lower().removeprefix(stem)
        new = _POSSESSIVES[not swap.male] + ending
        return replace(swap, new=in_case_of(swap.old, new))

    def _is_plural(self, swap: Swap) -> bool:
        phrase = self._phrase_of(swap) if swap.role in NOUN_ROLES else None
        return phrase is not None and phrase.is_plural

    def _is_partner(self, phrase: NounPhrase) -> bool:
        noun = self._sentence.words[phrase.noun].text
        is_near = any(self._sentence.lower(at).startswith(_NEAR) for at in phrase.adjectives)
        is_own = (self._is_somebodys(phrase) or is_near) and noun in _PARTNERS_OF_SOMEBODY
        return is_own or bool(_PARTNERS.fullmatch(noun))

    def _is_the_woman_or_man(self, phrase: NounPhrase) -> bool:
        """Whether it is mostly the person's, or the person: *hatte eine Frau*, *die Güter des Mannes*."""
        if self._sentence.words[phrase.noun].text not in {"Frau", "Mann", "Mannes"} or phrase.adjectives:
            return False
        is_definite = phrase.determiner is not None and phrase.declension is Declension.DEFINITE
        is_family = phrase.determiner is None and self._sentence.lower(phrase.noun + 1) == "und"
        return is_definite or is_family or self._sentence.lower(phrase.start - 1) in {"hat", "hatte"}

    def _may_be_the_person(self, phrase: NounPhrase) -> bool:
        """Whether the person may be named again, or called so: *den Ruf eines Geschäftsmanns*, *Weg zum Meister*."""
        nouns = [self._sentence.words[at].text for at in (phrase.noun, *self._subject_nouns())]
        is_again = nouns[0] in nouns[1:] and phrase.declension is Declension.DEFINITE
        before = self._sentence.lower(phrase.start - 1)
        is_held = phrase.may_be("G") and before.endswith(_HELD)
        return is_again or is_held or (phrase.preposition == "zu" and before.endswith("weg"))

    def _subject_nouns(self) -> list[int]:
        words = self._sentence.words
        return [at for at in self._sentence.phrases if words[at].span.start == self._subject_at]

    def _is_somebodys(self, phrase: NounPhrase) -> bool:
        return phrase.determiner is not None and phrase.determiner.stem in _POSSESSIVES

    def _is_compared(self, phrase: NounPhrase) -> bool:
        """Whether the person is compared with it: *wie schon ihr Vater*, *wie ein König*."""
        return "wie" in (self._sentence.lower(phrase.start - 1), self._sentence.lower(phrase.start - 2))

    def _use_of(self, swap: Swap) -> NounUse:
        """Whom the noun is about that is swapped, or that what is swapped agrees with."""
        phrase = self._phrase_of(swap)
        if phrase is None:
            return NounUse.UNCLEAR
        if self._sentence.words[phrase.noun].span.start == self._subject_at:
            return NounUse.SUBJECT
        before = self._sentence.said_with(phrase)
        is_with_said = before is not None and phrase.may_be("N") and self._is_said(before)
        if self._is_made(phrase) or is_with_said:
            return NounUse.PERSON
        if self._is_compared(phrase):
            return NounUse.OTHER if self._is_somebodys(phrase) else NounUse.UNCLEAR
        if phrase.may_be("N") and not phrase.preposition:
            return self._use_of_nominative(phrase)
        is_art = self._sentence.lower(phrase.start - 2) == "art"  # *eine Art von einem Mädchen*
        is_bare = phrase.determiner is None and not phrase.preposition
        return NounUse.UNCLEAR if is_art or is_bare else NounUse.OTHER

    def _is_said(self, phrase: NounPhrase) -> bool:
        """Whether a noun is said of the person, itself or beside others."""
        if not phrase.readings or phrase.preposition:
            return False
        before = self._sentence.said_with(phrase)
        if before is not None:
            return self._is_said(before)
        is_person = self._sentence.words[phrase.noun].span.start == self._subject_at
        return not is_person and phrase.may_be("N") and self._use_of_nominative(phrase) is NounUse.PERSON

    def _is_made(self, phrase: NounPhrase) -> bool:
        """Whether it is what somebody is made or becomes: *zum Chef ernannt*."""
        is_trained = self._sentence.lower(phrase.start - 1).endswith(_TRAINING)
        return phrase.preposition == "zu" and (is_trained or bool(self._spoken_beside(phrase) & _MAKING))

    def _use_of_nominative(self, phrase: NounPhrase) -> NounUse:
        """It is said of the person behind *als*, and beside *war* or *wurde* whose subject is the person."""
        if self._sentence.lower(phrase.start - 1) == "als":
            is_definite = phrase.determiner is not None and phrase.declension is Declension.DEFINITE
            is_regarded = bool(self._spoken_beside(phrase) & _REGARDING)
            is_clear = (not is_definite or is_regarded) and not self._follows_others(phrase)
            return NounUse.PERSON if is_clear else NounUse.UNCLEAR
        if self._is_near_as(phrase):  # what stands between may be an adjective that was not seen
            return NounUse.UNCLEAR
        said_of = self._predicate_of(phrase)
        if said_of is not None:
            is_object = self._is_somebodys(phrase) or self._is_before_infinitive(phrase)
            return NounUse.UNCLEAR if is_object else said_of
        if self._is_further_said(phrase) or self._goes_on(phrase):
            return NounUse.UNCLEAR
        return NounUse.OTHER if phrase.determiner is not None else NounUse.UNCLEAR

    def _goes_on(self, phrase: NounPhrase) -> bool:
        """Whether it may be said of the subject of the clause before: *der gern lacht und ein guter Freund ist*."""
        is_joined = self._sentence.lower(phrase.start - 1) in {"und", "aber", "auch", "noch", "sondern"}
        return is_joined and bool(self._spoken_beside(phrase) & (word_classes()["copulas"] | BECOMING))

    def _is_further_said(self, phrase: NounPhrase) -> bool:
        """Whether it may be said of the person further on: *war nicht nur Chef, sondern auch ein guter Freund*."""
        clause = self._sentence.clause_by_word[phrase.noun]
        is_nominative = all(slot[0] == "N" for slot in phrase.slots)
        saying = word_classes()["copulas"] | BECOMING | {"als"}
        said = any(self._sentence.lower(at) in saying for at in range(phrase.start))
        return is_nominative and said and clause.kind is ClauseKind.FRAGMENT

    def _is_before_infinitive(self, phrase: NounPhrase) -> bool:
        """Whether it may be the object of an infinitive that lost its comma: *war dafür bekannt Mädchen zu ärgern*."""
        if self._sentence.lower(phrase.start - 1) == "dafür":
            return True
        clause = self._sentence.clause_by_word[phrase.noun]
        return any(
            self._sentence.lower(at) == "zu" and self._sentence.lower(at + 1) not in _BEING
            for at in clause.words
            if at > phrase.noun
        )

    def _is_near_as(self, phrase: NounPhrase) -> bool:
        first = phrase.start
        while first - 1 in self._sentence.phrases:  # *als Call Center Agent*
            first -= 1
        for at in range(first - 1, first - 1 - _REACH_OF_AS, -1):
            if self._sentence.lower(at) == "als":
                return True
            if at in self._sentence.phrases:  # *als Fahrzeug- und Maschinenschlosser*
                return self._sentence.lower(at + 1) == "-" and self._sentence.lower(at - 1) == "als"
        return False

    def _follows_others(self, phrase: NounPhrase) -> bool:
        """Whether somebody else in the clause may be meant: *stellte den Bruder als Koch ein*."""
        clause = self._sentence.clause_by_word[phrase.noun]
        return any(
            other.readings
            and not other.preposition
            and self._sentence.words[other.noun].span.start != self._subject_at
            and not self._is_said(other)
            for other in self._sentence.phrases_of(clause)
            if other.noun < phrase.start
        )

    def _predicate_of(self, phrase: NounPhrase) -> NounUse | None:
        """Of whom a noun is said beside *war* or *wurde*; None if it is no predicate."""
        copulas = word_classes()["copulas"] | BECOMING
        if not self._spoken_beside(phrase) & copulas:
            return None
        clause = self._sentence.clause_by_word[phrase.noun]
        if self._sentence.lower(clause.words[0]) in copulas and clause.previous is not None:
            return NounUse.PERSON  # *arbeitete als Koch, war aber auch ein guter Sänger*
        for at in clause.words:
            if at >= phrase.start:
                return None
            other = self._sentence.phrases.get(at)
            if self._sentence.lower(at) in _SUBJECTS and self._sentence.by_start.get(at) is None:
                return self._use_of_relative(at) if clause.kind is ClauseKind.RELATIVE else NounUse.PERSON
            if other is not None and other.readings and not other.preposition and other.may_be("N"):
                is_person = self._sentence.words[at].span.start == self._subject_at
                return NounUse.PERSON if is_person else NounUse.OTHER
        return None

    def _use_of_relative(self, at: int) -> NounUse:
        """Whom a relative pronoun is about."""
        antecedent = antecedent_of(self._sentence, at)
        if antecedent is None:
            return NounUse.UNCLEAR
        is_person = self._sentence.words[antecedent.noun].span.start == self._subject_at
        return NounUse.PERSON if is_person or self._is_said(antecedent) else NounUse.OTHER

    def _spoken_beside(self, phrase: NounPhrase) -> set[str]:
        clause = self._sentence.clause_by_word.get(phrase.noun)
        return {self._sentence.lower(at) for at in clause.words} if clause else set()

    def _phrase_of(self, swap: Swap) -> NounPhrase | None:
        """The phrase that a swapped word stands in, or that the noun of a swapped relative pronoun stands in."""
        words = self._sentence.words
        for phrase in self._sentence.persons():
            start = words[phrase.start].span.start
            if start < swap.span.end and swap.span.start <= words[phrase.noun].span.start:
                return phrase
        at = next(place for place, word in enumerate(words) if word.span.start == swap.span.start)
        return antecedent_of(self._sentence, at)

    def _phrases_at(self, starts: set[int]) -> Iterable[NounPhrase]:
        words = self._sentence.words
        return (own for own in self._sentence.persons() if words[own.noun].span.start in starts)
