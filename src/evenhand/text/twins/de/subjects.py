"""Which words of a German clause are its subject, certainly or perhaps."""

from __future__ import annotations

from evenhand.text.twins.de.clauses import Clause, ClauseKind
from evenhand.text.twins.de.phrases import Phrase
from evenhand.text.twins.de.sentences import GermanSentence
from evenhand.text.twins.de.verbs import PLURAL, verb_number
from evenhand.text.twins.de.words import word_classes

_CERTAIN = frozenset({"ich", "du", "er", "wir", "man", "wer", "jemand", "niemand"})
_TIMES = frozenset(
    {"Jahr", "Jahre", "Zeit", "Tag", "Tage", "Monat", "Monate", "Woche", "Wochen", "Stunde", "Stunden"}
)
YOUR_VERBS = frozenset(
    [
        "habt",
        "seid",
        "werdet",
        "könnt",
        "müsst",
        "müßt",
        "wollt",
        "sollt",
        "dürft",
        "mögt",
        "wisst",
        "wißt",
        "wart",
        "hattet",
        "wolltet",
        "konntet",
        "solltet",
    ]
)
_POSSIBLE = frozenset(
    {
        "sie",
        "ihr",
        "es",
        "das",
        "dies",
        "alle",
        "beide",
        "alles",
        "nichts",
        "was",
        "welche",
        "einige",
        "viele",
    }
)
_FUTURE = frozenset({"wird", "werden", "werde", "wirst", "würde", "würden"})
_PASSIVE = frozenset({"wurde", "wurden", "ward"})
_BECOMING = frozenset({"wird", "werde", "werden", "wurde", "würde", "geworden"})


def is_certain_nominative(sentence: GermanSentence, phrase: Phrase) -> bool:
    """Whether a phrase can only be a subject or a predicate noun."""
    clause = sentence.clause_by_word[phrase.noun]
    if phrase.preposition or _is_compared(sentence, phrase, clause):
        return False
    return bool(phrase.slots) and all(slot[0] == "N" for slot in phrase.slots)


def _is_compared(sentence: GermanSentence, phrase: Phrase, clause: Clause) -> bool:
    """Whether *als* or *wie* stands before a phrase and begins no clause."""
    if sentence.lower(phrase.start - 1) not in {"als", "wie"}:
        return False
    return clause.kind is not ClauseKind.SUBORDINATE or clause.words[0] != phrase.start - 1


def is_predicative(sentence: GermanSentence, clause: Clause) -> bool:
    """Whether the clause says what somebody is or becomes, so that all its bare cases are nominatives."""
    forms = [sentence.lower(at) for at in clause.words]
    copulas = word_classes()["copulas"]
    last = forms[-1]
    if any(form in copulas for form in forms) and not any(form in {"hat", "hatte", "habe"} for form in forms):
        return True
    if any(form in _PASSIVE for form in forms):
        return True
    if last in {"werden", "sein", "bleiben", "geworden", "gewesen"}:
        return True
    is_future = last.endswith("en") and last not in _BECOMING and verb_number(last) == PLURAL
    return any(form in _FUTURE for form in forms) and not is_future


def certain_subjects(sentence: GermanSentence, clause: Clause, *, without: int = -1) -> list[int]:
    """Places of the words of a clause that are certainly its subject."""
    found = [
        at
        for at in clause.words
        if (sentence.lower(at) in _CERTAIN and at not in sentence.phrases)
        or at in sentence.subjects
        or _is_you_all(sentence, at)
    ]
    found += [
        phrase.noun
        for phrase in sentence.phrases_of(clause)
        if phrase.noun != without and is_certain_nominative(sentence, phrase)
    ]
    if clause.relative_at >= 0 and _relative_is_subject(sentence, clause):
        found.append(clause.relative_at)
    return found


def _is_you_all(sentence: GermanSentence, at: int) -> bool:
    return sentence.lower(at) == "ihr" and bool(YOUR_VERBS & {sentence.lower(at - 1), sentence.lower(at + 1)})


def _relative_is_subject(sentence: GermanSentence, clause: Clause) -> bool:
    """Whether the relative pronoun is *der* or *welcher* behind a masculine noun."""
    at = clause.relative_at
    antecedent = sentence.phrases.get(at - 2)
    if sentence.lower(at) not in {"der", "welcher"} or antecedent is None:
        return False
    return sentence.lower(at - 1) == "," and all(slot[1] == "m" for slot in antecedent.slots)


def possible_subjects(sentence: GermanSentence, clause: Clause, *, without: int = -1) -> list[int]:
    """Places of the words of a clause that may be its subject as well."""
    found = [
        at
        for at in clause.words
        if sentence.lower(at) in _POSSIBLE
        and at not in sentence.objects
        and not _is_determiner(sentence, at)
        and at != clause.relative_at
    ]
    found += [
        phrase.noun
        for phrase in sentence.phrases_of(clause)
        if phrase.noun != without
        and phrase.may_be("N")
        and sentence.words[phrase.noun].text not in _TIMES
        and not phrase.preposition
        and not _is_compared(sentence, phrase, clause)
        and not _is_attribute(sentence, phrase)
    ]
    if clause.relative_at >= 0 and sentence.lower(clause.relative_at) in {
        "der",
        "die",
        "das",
        "welche",
        "welcher",
    }:
        found.append(clause.relative_at)
    return sorted(found)


def _is_determiner(sentence: GermanSentence, at: int) -> bool:
    return any(phrase.determiner_at == at for phrase in sentence.phrases.values())


def _is_attribute(sentence: GermanSentence, phrase: Phrase) -> bool:
    """Whether a phrase right behind a noun is its genitive, or a surname behind a name."""
    before = sentence.phrases.get(phrase.start - 1)
    if before is None:
        return False
    return phrase.determiner is None or any(slot[0] == "G" for slot in phrase.slots)
