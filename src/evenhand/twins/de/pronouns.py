"""German pronouns of the third person: their role in the sentence, and what replaces them in the twin."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum

from evenhand.twins.de.phrases import NounPhrase
from evenhand.twins.de.sentences import RELATIVES, Clause, ClauseKind, GermanSentence
from evenhand.twins.de.subjects import YOUR_VERBS, certain_subjects, possible_subjects
from evenhand.twins.de.things import is_thing
from evenhand.twins.de.words import PLURAL, SINGULAR, Ambiguous, has_stem, verb_number, word_classes

POSSESSIVE_ENDINGS = ("", "e", "en", "em", "er", "es")
HIS = frozenset("sein" + ending for ending in POSSESSIVE_ENDINGS)
HER = frozenset("ihr" + ending for ending in POSSESSIVE_ENDINGS)
_MALE_PERSONAL = {"er": "sie", "ihn": "sie", "ihm": "ihr"}
_COORDINATORS = frozenset({"und", "oder", "aber", "denn", "doch", "sondern"})

_DATIVES = frozenset({"mir", "dir", "ihm", "uns", "euch", "ihnen"})
_OWNED = frozenset({"erst", "zweit", "dritt", "letzt", "neu", "eigen", "ganz", "best", "einzig", "nächst"})

_PARTICIPLE = re.compile(r"(?:\w{2,})?ge(?!h|b|lt|ni|wi|sch|l[aiä]|ra|fa|st)\w{3,}en")


class PronounUse(StrEnum):
    """The role of a pronoun in its clause."""

    SUBJECT = "subject"
    OBJECT = "object"
    POSSESSIVE = "possessive"


@dataclass(frozen=True, slots=True)
class Pronoun:
    """A pronoun about one person.

    Attributes:
        at: Its place.
        use: What it is.
        male: Whether it is a man's.
        new: What replaces it in the twin; the stem of a possessive.
        may_be_plural: Whether it has the form of one that is about several.
    """

    at: int
    use: PronounUse
    male: bool
    new: str
    may_be_plural: bool = False


def classify_sie(sentence: GermanSentence) -> None:
    """Classify every *sie*: a subject or an object, one woman or several persons."""
    for at, word in enumerate(sentence.words):
        if word.lower == "sie" and (not word.capital or word.starts):
            _classify(sentence, at, sentence.clause_by_word[at])
    if len(set(sentence.subjects.values())) > 1:
        raise Ambiguous("sie is one woman here and several persons there")


def _classify(sentence: GermanSentence, at: int, clause: Clause) -> None:
    if _follows_preposition(sentence, at, clause):
        sentence.objects.add(at)
        return
    number = _number_as_subject(sentence, at, clause)
    certain = [
        place for place in certain_subjects(sentence, clause) if not _are_separated(sentence, place, at)
    ]
    if certain:
        if number and sentence.lower(at - 1) in {"und", "oder"}:
            raise Ambiguous("pronouns joined by a conjunction")
        sentence.objects.add(at)
        return
    if not number and sentence.known_subject >= 0:
        number = _number_beside_known(sentence, at)
    if number == PLURAL and sentence.known_subject >= 0 and not _several_come_before(sentence, at):
        raise Ambiguous("whether sie is one woman is not certain")
    if not number:
        raise Ambiguous("whether sie is one woman is not certain")
    sentence.subjects[at] = number == SINGULAR


def _several_come_before(sentence: GermanSentence, at: int) -> bool:
    """Whether somebody or something is named before *sie* that may be several."""
    if any(sentence.lower(place) == "und" for place in range(at)):
        return True
    return any(
        phrase.noun < at and any(slot[1] == "p" for slot in phrase.slots)
        for phrase in sentence.phrases.values()
    )


def _number_beside_known(sentence: GermanSentence, at: int) -> str:
    """The number of the verb of *sie* where the person is known: of *wäre* in *als wäre sie*, or of the last verb."""
    before = sentence.lower(at - 1)
    if before in word_classes()["singular verbs"]:
        return SINGULAR
    if before not in word_classes()["subordinators"] and not _is_relative_of_things(sentence, at - 1):
        return ""
    end = at
    while end + 1 < len(sentence.words) and sentence.words[end + 1].is_word:
        end += 1
    stops = [place for place in range(at + 1, end) if sentence.lower(place) in _COORDINATORS]
    last = [place - 1 for place in (*stops, end + 1) if not sentence.words[place - 1].capital]
    found = {verb_number(sentence.lower(place)) for place in last} - {""}
    return found.pop() if len(found) == 1 else ""


def _is_relative_of_things(sentence: GermanSentence, at: int) -> bool:
    """Whether a relative pronoun before *sie* is about things: *die Blumen, die sie verkaufte*."""
    if sentence.lower(at) not in RELATIVES or sentence.lower(at - 1) != ",":
        return False
    before = [phrase for phrase in sentence.phrases.values() if phrase.noun < at]
    return bool(before) and not before[-1].readings and is_thing(sentence.words[before[-1].noun].text)


def _follows_preposition(sentence: GermanSentence, at: int, clause: Clause) -> bool:
    """Whether a preposition governs *sie*; some are conjunctions at the start of a clause."""
    before = sentence.lower(at - 1)
    classes = word_classes()
    if before not in classes["accusative prepositions"] and before not in classes["two-way prepositions"]:
        return False
    return at - 1 != clause.words[0] or before != "bis"


def _are_separated(sentence: GermanSentence, first: int, second: int) -> bool:
    low, high = sorted((first, second))
    return any(sentence.lower(at) in _COORDINATORS for at in range(low + 1, high))


def _number_as_subject(sentence: GermanSentence, at: int, clause: Clause) -> str:
    """The number of the verb whose subject *sie* would be; empty if there is none."""
    place = clause.words.index(at)
    opening = [sentence.lower(i) for i in clause.words[:place]]
    while opening and opening[0] in _COORDINATORS:
        opening.pop(0)
    if clause.kind is ClauseKind.SUBORDINATE and len(opening) == 1:
        if opening[0] == "was" and sentence.lower(at + 1) != "sich":
            return ""
        return _final_number(sentence, clause)
    if clause.kind is ClauseKind.RELATIVE and clause.relative_at == at - 1:
        is_object = sentence.lower(at - 1) in {"den", "dem", "denen", "welchen", "welchem"}
        return _final_number(sentence, clause) if is_object or sentence.lower(at - 2) != "," else ""
    if not opening:
        following = sentence.lower(at + 1)
        return verb_number(following) if clause.kind is ClauseKind.MAIN else ""
    return _number_when_inverted(sentence, at, clause)


def _final_number(sentence: GermanSentence, clause: Clause) -> str:
    last_place, number = clause.verbs[-1] if clause.verbs else (-1, "")
    is_infinitive = sentence.known_subject >= 0 and sentence.lower(last_place - 1) == "zu"
    if last_place != clause.words[-1] or is_infinitive:
        return ""
    # Where *hat* is omitted, a participle ends the clause, and it looks like a plural.
    is_participle = number == PLURAL and bool(_PARTICIPLE.fullmatch(sentence.lower(last_place)))
    return "" if is_participle else number


def _number_when_inverted(sentence: GermanSentence, at: int, clause: Clause) -> str:
    verb = at - 1
    if sentence.lower(verb) == "sich":
        verb -= 1
    number = dict(clause.verbs).get(verb, "")
    last = clause.words[-1]
    disagrees = last > at and verb_number(sentence.lower(last)) == PLURAL and last == at + 1
    if not number or clause.kind is not ClauseKind.MAIN or (number == SINGULAR and disagrees):
        return ""
    if verb == clause.words[0] and clause.previous in {ClauseKind.MAIN, ClauseKind.FRAGMENT}:
        return ""
    if any(place < verb for place in possible_subjects(sentence, clause) if place != at):
        return ""
    if any(place < verb for place, _ in clause.verbs):
        return ""
    return number


def pronouns_in(sentence: GermanSentence) -> Iterator[Pronoun]:
    """The pronouns about single persons."""
    for at, word in enumerate(sentence.words):
        lower = word.lower
        if lower in _MALE_PERSONAL or lower in HIS:
            yield from _his(sentence, at)
        elif word.capital and not word.starts:
            continue
        elif lower == "sie":
            yield from _she(sentence, at)
        elif lower == "ihr":
            yield from _her(sentence, at, sentence.clause_by_word[at])
        elif lower in HER:
            if phrase_of_determiner(sentence, at) is None:
                raise Ambiguous("ihr may be of one woman or of several persons")
            yield Pronoun(at, PronounUse.POSSESSIVE, male=False, new="sein", may_be_plural=True)


def phrase_of_determiner(sentence: GermanSentence, at: int) -> NounPhrase | None:
    """The noun phrase whose determiner is at this position."""
    for phrase in sentence.phrases.values():
        if phrase.determiner_at == at:
            return phrase
    return None


def _his(sentence: GermanSentence, at: int) -> Iterator[Pronoun]:
    word = sentence.words[at]
    if word.capital and not word.starts:
        raise Ambiguous("a pronoun with a capital")
    if word.lower in HIS:
        if word.lower == "sein" and (
            sentence.lower(at - 1) == "zu" or phrase_of_determiner(sentence, at) is None
        ):
            return
        if word.lower == "sein" and sentence.lower(at - 1) in {"ich", "wir", "sie", "ihr"}:
            raise Ambiguous("sein may be a verb")
        yield Pronoun(at, PronounUse.POSSESSIVE, male=True, new="ihr")
        return
    use = PronounUse.SUBJECT if word.lower == "er" else PronounUse.OBJECT
    yield Pronoun(at, use, male=True, new=_MALE_PERSONAL[word.lower])


def _she(sentence: GermanSentence, at: int) -> Iterator[Pronoun]:
    if sentence.subjects.get(at):
        yield Pronoun(at, PronounUse.SUBJECT, male=False, new="er")
    elif at in sentence.objects:
        yield Pronoun(at, PronounUse.OBJECT, male=False, new="ihn", may_be_plural=True)


def _her(sentence: GermanSentence, at: int, clause: Clause) -> Iterator[Pronoun]:
    """*ihr* alone: her book, (to) her, or you."""
    phrase = phrase_of_determiner(sentence, at)
    before, following = sentence.lower(at - 1), sentence.lower(at + 1)
    classes = word_classes()
    is_conjunction = before == "seit" and phrase is not None  # *seit ihr Vater starb*
    is_dative = (before in classes["dative prepositions"] and not is_conjunction) or (
        before in classes["two-way prepositions"] and phrase is None
    )
    if is_dative:
        yield Pronoun(at, PronounUse.OBJECT, male=False, new="ihm")
    elif phrase is not None:
        if not _is_possessive(sentence, at, phrase=phrase, clause=clause):
            raise Ambiguous("ihr may be a possessive or a pronoun")
        yield Pronoun(at, PronounUse.POSSESSIVE, male=False, new="sein", may_be_plural=True)
    elif _is_you(before) or _is_you(following) or sentence.lower(clause.words[-1]) in YOUR_VERBS:
        return
    elif _has_subject_beside(sentence, at, clause):
        yield Pronoun(at, PronounUse.OBJECT, male=False, new="ihm")
    else:
        raise Ambiguous("ihr may be you or her")


def _is_you(verb: str) -> bool:
    return verb in YOUR_VERBS or (verb.endswith(("tet", "det")) and len(verb) > 5)


def _is_possessive(sentence: GermanSentence, at: int, *, phrase: NounPhrase, clause: Clause) -> bool:
    classes = word_classes()
    if not phrase.slots:
        return False
    if (
        phrase.readings
        or sentence.lower(at - 1) in classes["accusative prepositions"] | classes["two-way prepositions"]
    ):
        return True
    opening = clause.words.index(at)
    if opening == 0 or (opening == 1 and clause.kind is ClauseKind.SUBORDINATE):
        return True
    adjectives = [sentence.lower(adjective) for adjective in phrase.adjectives]
    if any(adjective.endswith("er") or adjective.removesuffix("es") in _OWNED for adjective in adjectives):
        return True
    if any(sentence.lower(place) in _DATIVES for place in clause.words):
        return True
    return not any(
        has_stem(sentence.lower(place), name)
        for place in clause.words
        for name in ("giving verbs", "dative verbs")
        if place not in sentence.phrases and not sentence.words[place].capital
    )


def _has_subject_beside(sentence: GermanSentence, at: int, clause: Clause) -> bool:
    if certain_subjects(sentence, clause):
        return True
    if at == clause.words[0] and sentence.lower(at + 1).endswith("t"):
        return False
    if not possible_subjects(sentence, clause):
        return False
    return any(
        (number in {SINGULAR, PLURAL} and not sentence.lower(place).endswith("t")) or place < at - 1
        for place, number in clause.verbs
    )
