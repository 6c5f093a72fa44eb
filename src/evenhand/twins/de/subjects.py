"""Find the subject of a German clause: the words that certainly are, or may be, its subject."""

from __future__ import annotations

from itertools import pairwise

from evenhand.twins.de.phrases import NounPhrase
from evenhand.twins.de.sentences import Clause, ClauseKind, GermanSentence
from evenhand.twins.de.words import PLURAL, SINGULAR, is_function_word, verb_number, word_classes

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
OBJECTS = frozenset(["mich", "mir", "dich", "dir", "ihn", "ihm", "ihnen", "uns", "euch"])
_FUTURE = frozenset({"wird", "werden", "werde", "wirst", "würde", "würden"})
_PASSIVE = frozenset({"wurde", "wurden", "ward"})
_BECOMING = frozenset({"wird", "werde", "werden", "wurde", "würde", "geworden"})
_COORDINATORS = frozenset({"und", "oder", "aber", "sondern", "doch"})


def is_certain_nominative(sentence: GermanSentence, phrase: NounPhrase) -> bool:
    """Whether a phrase can only be a subject or a predicate noun."""
    clause = sentence.clause_by_word[phrase.noun]
    if phrase.preposition or _is_compared(sentence, phrase, clause):
        return False
    return bool(phrase.slots) and all(slot[0] == "N" for slot in phrase.slots)


def _is_compared(sentence: GermanSentence, phrase: NounPhrase, clause: Clause) -> bool:
    """Whether *als* or *wie* comes before a phrase without beginning a clause."""
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
    """Positions of the words of a clause that are certainly its subject."""
    places = [
        at
        for at in clause.words
        if (sentence.lower(at) in _CERTAIN and at not in sentence.phrases)
        or at in sentence.subjects
        or _is_you_all(sentence, at)
    ]
    places += [
        phrase.noun
        for phrase in sentence.phrases_of(clause)
        if phrase.noun != without and is_certain_nominative(sentence, phrase)
    ]
    if clause.relative_at >= 0 and _relative_is_subject(sentence, clause):
        places.append(clause.relative_at)
    return places


def _is_you_all(sentence: GermanSentence, at: int) -> bool:
    return sentence.lower(at) == "ihr" and bool(YOUR_VERBS & {sentence.lower(at - 1), sentence.lower(at + 1)})


def _relative_is_subject(sentence: GermanSentence, clause: Clause) -> bool:
    """Whether the relative pronoun is *der* or *welcher* after a masculine noun."""
    at = clause.relative_at
    antecedent = sentence.phrases.get(at - 2)
    if sentence.lower(at) not in {"der", "welcher"} or antecedent is None:
        return False
    return sentence.lower(at - 1) == "," and all(slot[1] == "m" for slot in antecedent.slots)


def possible_subjects(sentence: GermanSentence, clause: Clause, *, without: int = -1) -> list[int]:
    """Positions of the words of a clause that may be its subject."""
    places = [
        at
        for at in clause.words
        if sentence.lower(at) in _POSSIBLE
        and at not in sentence.objects
        and not _is_determiner(sentence, at)
        and at != clause.relative_at
    ]
    places += [
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
        places.append(clause.relative_at)
    return sorted(places)


def _is_determiner(sentence: GermanSentence, at: int) -> bool:
    return any(phrase.determiner_at == at for phrase in sentence.phrases.values())


def _is_attribute(sentence: GermanSentence, phrase: NounPhrase) -> bool:
    """Whether a phrase directly after a noun is its genitive, or a surname after a name."""
    before = sentence.phrases.get(phrase.start - 1)
    if before is None:
        return False
    return phrase.determiner is None or any(slot[0] == "G" for slot in phrase.slots)


def is_nominative(sentence: GermanSentence, phrase: NounPhrase, clause: Clause) -> bool | None:
    """Whether a phrase that may be a subject is one; None if that is not certain."""
    is_conjunction = clause.kind is ClauseKind.SUBORDINATE and clause.words[0] == phrase.start - 1
    if sentence.lower(phrase.start - 1) in {"als", "wie"} and not is_conjunction:
        return True if is_predicative(sentence, clause) or _is_of_subject(sentence, phrase, clause) else None
    certain = certain_subjects(sentence, clause, without=phrase.noun)
    joined = sentence.by_start.get(phrase.noun + 2)
    if sentence.lower(phrase.noun + 1) in {"und", "oder", "sowie"} and joined and joined.noun in certain:
        return True
    if any(_are_separated(sentence, at, phrase) for at in certain):
        return None
    if certain or is_predicative(sentence, clause):
        return is_predicative(sentence, clause)
    return _without_certain_subject(sentence, phrase, clause)


def _is_of_subject(sentence: GermanSentence, phrase: NounPhrase, clause: Clause) -> bool:
    """Whether what *als* says is of a known subject, since no object stands between them."""
    if sentence.lower(phrase.start - 1) != "als" or not sentence.has_known_subject(clause):
        return False
    return not any(
        sentence.lower(at) in OBJECTS or (at in sentence.phrases and not sentence.phrases[at].preposition)
        for at in clause.words
        if at < phrase.start and sentence.words[at].span.start > sentence.known_subject
    )


def _without_certain_subject(sentence: GermanSentence, phrase: NounPhrase, clause: Clause) -> bool | None:
    if not clause.verbs:
        return True if _is_address(sentence, phrase, clause) else None
    if is_infinitive_clause(sentence, clause):
        return False
    return _by_position(sentence, phrase, clause)


def _is_address(sentence: GermanSentence, phrase: NounPhrase, clause: Clause) -> bool:
    """Whether somebody is addressed, as in *guten Tag, liebe Anna*."""
    alone = phrase.start == clause.words[0] and phrase.noun + phrase.is_title >= clause.words[-1]
    in_list = sentence.lower(phrase.start - 1) == "," and phrase.start - 2 in sentence.phrases
    return (
        alone and not in_list and phrase.determiner is None and (bool(phrase.adjectives) or phrase.is_title)
    )


def _are_separated(sentence: GermanSentence, at: int, phrase: NounPhrase) -> bool:
    """Whether a coordinator between them may begin another clause with its own subject."""
    first, last = sorted((at, phrase.start))
    for between in range(first + 1, last):
        if sentence.lower(between) not in _COORDINATORS or verb_number(sentence.lower(between + 1)):
            continue
        if not _joins_others(sentence, between, at, phrase) and not _joins_adjectives(sentence, between):
            return True
    return False


def _joins_others(sentence: GermanSentence, between: int, at: int, phrase: NounPhrase) -> bool:
    """Whether the coordinator joins two nouns, neither of which is the phrase or the subject."""
    before = sentence.phrases.get(between - 1)
    following = sentence.by_start.get(between + 1)
    if before is None or following is None:
        return False
    return not {before.noun, following.noun} & {at, phrase.noun}


def _joins_adjectives(sentence: GermanSentence, between: int) -> bool:
    return any(phrase.start <= between <= phrase.noun for phrase in sentence.phrases.values())


def is_infinitive_clause(sentence: GermanSentence, clause: Clause) -> bool:
    """Whether a clause has *zu* with an infinitive and no finite verb, so that it has no subject."""
    forms = [sentence.lower(at) for at in clause.words]
    has_infinitive = any(
        form == "zu" and verb_number(following) == PLURAL for form, following in pairwise(forms)
    )
    if not has_infinitive or clause.has_singular_verb:
        return False
    in_phrases = {at for phrase in sentence.phrases_of(clause) for at in range(phrase.start, phrase.noun + 1)}
    rest = [sentence.lower(at) for at in clause.words if at not in in_phrases]
    return forms[0] in {"um", "ohne", "statt", "anstatt"} or all(
        is_function_word(form) or verb_number(form) == PLURAL for form in rest
    )


def _by_position(sentence: GermanSentence, phrase: NounPhrase, clause: Clause) -> bool | None:
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
        return True if _verb_follows(clause, phrase, several=coordinated) else None
    follow_only = all(at > phrase.noun for at in others)
    things = all(at in sentence.phrases and not sentence.phrases[at].readings for at in others)
    return True if follow_only and things else None


def _is_coordinated(sentence: GermanSentence, phrase: NounPhrase) -> bool:
    return sentence.lower(phrase.noun + 1) in {"und", "oder", "sowie"} or sentence.lower(
        phrase.start - 1
    ) in {
        "und",
        "oder",
        "sowie",
    }


def _is_first(sentence: GermanSentence, phrase: NounPhrase, clause: Clause) -> bool:
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


def _verb_follows(clause: Clause, phrase: NounPhrase, *, several: bool) -> bool:
    numbers = {SINGULAR, PLURAL} if several else {SINGULAR}
    return any(at > phrase.noun and number in numbers for at, number in clause.verbs)
