"""Whether a noun phrase about a person is the subject of its German clause, decided from the clause."""

from __future__ import annotations

from itertools import pairwise

from evenhand.text.twins.de.clauses import Clause, ClauseKind
from evenhand.text.twins.de.phrases import Phrase
from evenhand.text.twins.de.sentences import GermanSentence
from evenhand.text.twins.de.subjects import (
    certain_subjects,
    is_predicative,
    possible_subjects,
)
from evenhand.text.twins.de.verbs import PLURAL, SINGULAR, is_function_word, verb_number

_COORDINATORS = frozenset({"und", "oder", "aber", "sondern", "doch"})


def is_nominative(sentence: GermanSentence, phrase: Phrase, clause: Clause) -> bool | None:
    """Whether a phrase that may be a subject is one; None if that is not certain."""
    is_conjunction = clause.kind is ClauseKind.SUBORDINATE and clause.words[0] == phrase.start - 1
    if sentence.lower(phrase.start - 1) in {"als", "wie"} and not is_conjunction:
        return True if is_predicative(sentence, clause) else None
    certain = certain_subjects(sentence, clause, without=phrase.noun)
    joined = sentence.by_start.get(phrase.noun + 2)
    if sentence.lower(phrase.noun + 1) in {"und", "oder", "sowie"} and joined and joined.noun in certain:
        return True
    if any(_parted(sentence, at, phrase) for at in certain):
        return None
    if certain or is_predicative(sentence, clause):
        return is_predicative(sentence, clause)
    return _without_certain_subject(sentence, phrase, clause)


def _without_certain_subject(sentence: GermanSentence, phrase: Phrase, clause: Clause) -> bool | None:
    if not clause.verbs:
        return True if _is_address(sentence, phrase, clause) else None
    if _is_infinitive_clause(sentence, clause):
        return False
    return _by_position(sentence, phrase, clause)


def _is_address(sentence: GermanSentence, phrase: Phrase, clause: Clause) -> bool:
    """Whether somebody is spoken to, as in *guten Tag, liebe Anna*."""
    alone = phrase.start == clause.words[0] and phrase.noun + phrase.is_title >= clause.words[-1]
    in_list = sentence.lower(phrase.start - 1) == "," and phrase.start - 2 in sentence.phrases
    return (
        alone and not in_list and phrase.determiner is None and (bool(phrase.adjectives) or phrase.is_title)
    )


def _parted(sentence: GermanSentence, at: int, phrase: Phrase) -> bool:
    """Whether a coordinator stands between that may begin another clause, with another subject."""
    first, last = sorted((at, phrase.start))
    for between in range(first + 1, last):
        if sentence.lower(between) not in _COORDINATORS or verb_number(sentence.lower(between + 1)):
            continue
        if not _joins_others(sentence, between, at, phrase) and not _joins_adjectives(sentence, between):
            return True
    return False


def _joins_others(sentence: GermanSentence, between: int, at: int, phrase: Phrase) -> bool:
    """Whether two nouns are joined of which neither is the phrase or the subject."""
    before = sentence.phrases.get(between - 1)
    behind = sentence.by_start.get(between + 1)
    if before is None or behind is None:
        return False
    return not {before.noun, behind.noun} & {at, phrase.noun}


def _joins_adjectives(sentence: GermanSentence, between: int) -> bool:
    return any(phrase.start <= between <= phrase.noun for phrase in sentence.phrases.values())


def _is_infinitive_clause(sentence: GermanSentence, clause: Clause) -> bool:
    """Whether a clause has *zu* with an infinitive and no finite verb, so that it has no subject."""
    forms = [sentence.lower(at) for at in clause.words]
    has_infinitive = any(form == "zu" and verb_number(behind) == PLURAL for form, behind in pairwise(forms))
    if not has_infinitive or clause.has_singular_verb:
        return False
    in_phrases = {at for phrase in sentence.phrases_of(clause) for at in range(phrase.start, phrase.noun + 1)}
    rest = [sentence.lower(at) for at in clause.words if at not in in_phrases]
    return forms[0] in {"um", "ohne", "statt", "anstatt"} or all(
        is_function_word(form) or verb_number(form) == PLURAL for form in rest
    )


def _by_position(sentence: GermanSentence, phrase: Phrase, clause: Clause) -> bool | None:
    others = possible_subjects(sentence, clause, without=phrase.noun)
    opening = [at for at in clause.words if sentence.lower(at) not in _COORDINATORS][:1]
    verb_first = clause.verbs[0][0] in opening
    if verb_first and clause.previous in {ClauseKind.MAIN, ClauseKind.FRAGMENT}:
        return None
    coordinated = _is_coordinated(sentence, phrase)
    has_verb = clause.has_singular_verb or (coordinated and clause.has_plural_verb)
    if not has_verb:
        several = [at for at in others if at in sentence.phrases and sentence.phrases[at].is_plural]
        return False if several and several[0] < phrase.start and len(clause.verbs) == 1 else None
    if not others:
        return True
    if clause.kind is ClauseKind.RELATIVE:
        return None
    if _is_first(sentence, phrase, clause):
        return True if _verb_behind(clause, phrase, several=coordinated) else None
    follow_only = all(at > phrase.noun for at in others)
    things = all(at in sentence.phrases and not sentence.phrases[at].readings for at in others)
    return True if follow_only and things else None


def _is_coordinated(sentence: GermanSentence, phrase: Phrase) -> bool:
    return sentence.lower(phrase.noun + 1) in {"und", "oder", "sowie"} or sentence.lower(
        phrase.start - 1
    ) in {
        "und",
        "oder",
        "sowie",
    }


def _is_first(sentence: GermanSentence, phrase: Phrase, clause: Clause) -> bool:
    for at in clause.words:
        if at == phrase.start:
            return True
        if sentence.lower(at) not in {
            "und",
            "aber",
            "doch",
            "denn",
            "oder",
            "auch",
            "nur",
            "sogar",
            "sondern",
        }:
            return False
    return False


def _verb_behind(clause: Clause, phrase: Phrase, *, several: bool) -> bool:
    wanted = {SINGULAR, PLURAL} if several else {SINGULAR}
    return any(at > phrase.noun and number in wanted for at, number in clause.verbs)
