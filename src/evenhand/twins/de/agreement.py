"""Swap a noun phrase about a person: the noun, and every word that agrees with it, relative pronouns included."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from evenhand.core.items import Span
from evenhand.text.swappers import Role, Swap
from evenhand.twins.de.declension import (
    CASES,
    Declension,
    Determiner,
    adjective_ending,
    adjective_stem,
    contraction,
)
from evenhand.twins.de.persons import PersonReading
from evenhand.twins.de.phrases import PREPOSITIONS, NounPhrase
from evenhand.twins.de.sentences import RELATIVES, Clause, ClauseKind, GermanSentence
from evenhand.twins.de.subjects import certain_subjects, possible_subjects
from evenhand.twins.de.things import is_thing
from evenhand.twins.de.words import PLURAL, SINGULAR, Ambiguous, GermanWord, word_classes

_RELATIVE_FORMS = {
    "m": ("der", "den", "dem", "dessen"),
    "f": ("die", "die", "der", "deren"),
    "n": ("das", "das", "dem", "dessen"),
    "p": ("die", "die", "denen", "deren"),
}
_LONG_RELATIVE_FORMS = {
    "m": ("welcher", "welchen", "welchem", "dessen"),
    "f": ("welche", "welche", "welcher", "deren"),
    "n": ("welches", "welches", "welchem", "dessen"),
    "p": ("welche", "welche", "welchen", "deren"),
}


_SEVERAL = frozenset({"alle", "beide", "einige", "viele"})
_SUBJECT_PRONOUNS = frozenset({"er", "sie", "ich", "wir", "man"})


_TABLES = (_RELATIVE_FORMS, _LONG_RELATIVE_FORMS)


@dataclass(frozen=True, slots=True)
class Possessor:
    """The new stem of a possessive, and whether the old possessor is a man."""

    stem: str
    male: bool


def phrase_swaps(
    words: Sequence[GermanWord],
    phrase: NounPhrase,
    reading: PersonReading,
    *,
    slot: str,
    possessors: Mapping[int, Possessor],
) -> tuple[Swap, ...]:
    """The swaps of a phrase that is in this slot."""
    person = reading.person
    if slot[1] == "p":
        if person.is_neutral_in_plural:
            return ()
        return (_noun(words[phrase.noun], phrase, reading, slot),)
    new_slot = slot[0] + (person.kind if reading.male else "m")
    swaps = [*_determiner(words, phrase, reading, slot=new_slot, possessors=possessors)]
    for at in phrase.adjectives:
        stem = adjective_stem(words[at].lower) or ""
        new = words[at].text[: len(stem)] + adjective_ending(phrase.declension, new_slot)
        swaps.append(swap_of(words[at], new, Role.AGREEMENT, male=reading.male))
    swaps.append(_noun(words[phrase.noun], phrase, reading, new_slot))
    return tuple(swap for swap in swaps if swap.old != swap.new)


def swap_of(word: GermanWord, new: str, role: Role, *, male: bool) -> Swap:
    """A swap of one word, which keeps its capital."""
    return Swap(word.span, word.text, in_case_of(word.text, new), role, male)


def in_case_of(old: str, new: str) -> str:
    """A word with a capital if the old one has one."""
    return new[:1].upper() + new[1:] if old[:1].isupper() else new


def different_outcomes(
    words: Sequence[GermanWord], phrase: NounPhrase
) -> Mapping[tuple[Swap, ...], set[str]]:
    """The ways in which a phrase may be swapped, each with the slots that lead to it."""
    outcomes: dict[tuple[Swap, ...], set[str]] = {}
    for reading in phrase.readings:
        for slot in reading.slots:
            swaps = phrase_swaps(words, phrase, reading, slot=slot, possessors={})
            outcomes.setdefault(swaps, set()).add(slot)
    return outcomes


def _noun(word: GermanWord, phrase: NounPhrase, reading: PersonReading, slot: str) -> Swap:
    new = reading.person.form(slot, phrase.declension, male=not reading.male)
    return Swap(word.span, word.text, new, reading.person.role, reading.male)


def _determiner(
    words: Sequence[GermanWord],
    phrase: NounPhrase,
    reading: PersonReading,
    *,
    slot: str,
    possessors: Mapping[int, Possessor],
) -> Iterator[Swap]:
    determiner, at = phrase.determiner, phrase.determiner_at
    if determiner is None or at < 0:
        return
    possessor = possessors.get(at)
    if possessor:
        new = replace(determiner, stem=possessor.stem).form(slot)
        yield swap_of(words[at], new, Role.POSSESSIVE, male=possessor.male)
    elif determiner.declension is Declension.DEFINITE:
        yield _article(words, phrase, determiner, slot=slot, male=reading.male)
    else:
        yield swap_of(words[at], determiner.form(slot), Role.AGREEMENT, male=reading.male)


def _article(
    words: Sequence[GermanWord], phrase: NounPhrase, determiner: Determiner, *, slot: str, male: bool
) -> Swap:
    """The definite article, contracted with a preposition or separated from it."""
    at = phrase.determiner_at
    article = determiner.form(slot)
    if determiner.preposition:
        new = contraction(determiner.preposition, article) or f"{determiner.preposition} {article}"
        return swap_of(words[at], new, Role.AGREEMENT, male=male)
    short = contraction(words[at - 1].lower, article) if at > 0 else None
    if short and short not in {"ins", "ans", "zur"}:
        before = words[at - 1]
        old = f"{before.text} {words[at].text}"
        if words[at].span.start - before.span.end != 1:
            raise Ambiguous("a preposition apart from its article")
        span = Span(before.span.start, words[at].span.end)
        return Swap(span, old, in_case_of(before.text, short), Role.AGREEMENT, male)
    return swap_of(words[at], article, Role.AGREEMENT, male=male)


def relative_swaps(sentence: GermanSentence) -> Iterator[Swap]:
    """The swaps of relative pronouns.

    Raises:
        Ambiguous: If the noun of a relative clause, or the case of its pronoun, is not certain.
    """
    for clause in sentence.clauses:
        if clause.kind is ClauseKind.RELATIVE:
            yield from _relative_swap(sentence, clause)
        else:
            _reject_hidden(sentence, clause)


def antecedent_of(sentence: GermanSentence, relative_at: int) -> NounPhrase | None:
    """The noun phrase before the comma of a relative pronoun, which a preposition may part from it."""
    comma = relative_at - 1 if sentence.lower(relative_at - 1) == "," else relative_at - 2
    return sentence.phrases.get(comma - 1)


def _relative_swap(sentence: GermanSentence, clause: Clause) -> Iterator[Swap]:
    at = clause.relative_at
    antecedent = antecedent_of(sentence, at)
    if antecedent is None or not antecedent.readings:
        _reject_other_antecedents(sentence, at, antecedent)
        return
    kinds = {slot[1] for slot in antecedent.slots}
    if kinds == {"p"}:
        return
    if _is_about_job(sentence, at, antecedent):
        return
    reading = antecedent.readings[0]
    if len(antecedent.readings) > 1 or len(kinds) > 1:
        raise Ambiguous("the noun of a relative clause is not certain")
    old_kind = next(iter(kinds))
    new_kind = reading.person.kind if reading.male else "m"
    new = _relative_form(sentence, clause, old_kind, new_kind)
    if new != sentence.lower(at):
        yield swap_of(sentence.words[at], new, Role.AGREEMENT, male=reading.male)


def _is_about_job(sentence: GermanSentence, at: int, antecedent: NounPhrase) -> bool:
    """Whether a relative pronoun is about the job, not who has it: *ein Job als Köchin, der ihr gefiel*.

    Raises:
        Ambiguous: If it may be about either.
    """
    job = sentence.phrases.get(antecedent.start - 2)
    if sentence.lower(antecedent.start - 1) != "als" or job is None or job.readings:
        return False
    case = (2, 3) if sentence.lower(at - 1) in PREPOSITIONS else (0, 1)

    def agrees(phrase: NounPhrase) -> bool:
        kinds = {slot[1] for slot in phrase.slots} - {"p"}
        forms = {table[kind][place] for table in _TABLES for kind in kinds for place in case}
        return sentence.lower(at) in forms

    if agrees(job) and (not agrees(antecedent) or sentence.lower(at - 1) in PREPOSITIONS):
        return True
    if agrees(job) or sentence.lower(at - 1) in PREPOSITIONS:
        raise Ambiguous("the noun of a relative clause is not certain")
    return False


def _relative_form(sentence: GermanSentence, clause: Clause, old_kind: str, new_kind: str) -> str:
    at = clause.relative_at
    table = _LONG_RELATIVE_FORMS if sentence.lower(at).startswith("welch") else _RELATIVE_FORMS
    cases = [place for place, form in enumerate(table[old_kind]) if form == sentence.lower(at)]
    if not cases:
        raise Ambiguous("a relative pronoun does not agree with its noun")
    new = {table[new_kind][place] for place in cases}
    if len(new) == 1:
        return new.pop()
    return table[new_kind][_case_of_relative(sentence, clause, cases)]


def _case_of_relative(sentence: GermanSentence, clause: Clause, cases: list[int]) -> int:
    at = clause.relative_at
    preposition = sentence.lower(at - 1)
    classes = word_classes()
    if preposition in PREPOSITIONS:
        for place in cases:
            word_class = {"A": "accusative prepositions", "D": "dative prepositions"}.get(CASES[place])
            if word_class and preposition in classes[word_class] | classes["two-way prepositions"]:
                return place
        raise Ambiguous("the case of a relative pronoun is not certain")
    if 0 in cases and _is_said_of_relative(sentence, clause):
        return 0
    if certain_subjects(sentence, clause):
        return 1
    if sentence.known_subject >= 0 and _has_plural_subject(clause):
        return 1
    others = [place for place in possible_subjects(sentence, clause) if place != at]
    if clause.has_singular_verb and all(_is_unlikely_subject(sentence, place) for place in others):
        return 0
    raise Ambiguous("the case of a relative pronoun is not certain")


def _is_said_of_relative(sentence: GermanSentence, clause: Clause) -> bool:
    """Whether a relative clause ends in what its pronoun is: *die eine gute Ärztin ist*."""
    last = clause.words[-1]
    said = sentence.phrases.get(last - 1)
    is_being = sentence.lower(last) in {"ist", "war", "wird", "wurde", "bleibt", "blieb"}
    return is_being and said is not None and bool(said.readings) and said.start == clause.relative_at + 1


def _has_plural_subject(clause: Clause) -> bool:
    """Whether the last word is a plural verb, so that the relative pronoun of one person is no subject."""
    at, number = clause.verbs[-1] if clause.verbs else (-1, "")
    return number == PLURAL and at == clause.words[-1] and not clause.has_singular_verb


def _is_unlikely_subject(sentence: GermanSentence, at: int) -> bool:
    """Whether a noun is something that the person of the clause has or does: *die ein Buch las*."""
    phrase = sentence.phrases.get(at)
    is_known = sentence.known_subject >= 0
    if phrase is None or phrase.readings:
        return is_known and phrase is None and sentence.lower(at) in _SEVERAL
    if is_known and (is_thing(sentence.words[phrase.noun].text) or phrase.is_plural):
        return True
    return phrase.determiner is not None and phrase.determiner.stem in {"ein", "kein", "ihr", "sein"}


def _reject_other_antecedents(sentence: GermanSentence, at: int, antecedent: NounPhrase | None) -> None:
    if sentence.lower(at - 2) in {"jemand", "niemand"}:
        return
    if sentence.known_subject >= 0 and sentence.lower(at + 1) in _SUBJECT_PRONOUNS:
        return  # *die Waren, die er verkaufte*: no relative clause about the person has the person as its subject
    kinds = {kind for table in _TABLES for kind, forms in table.items() if sentence.lower(at) in forms}
    for phrase in sentence.persons():
        if phrase.noun < at and any(slot[1] in kinds and slot[1] != "p" for slot in phrase.slots):
            is_thing_at_hand = (
                antecedent is not None
                and antecedent.determiner is not None
                and not antecedent.preposition
                and not (antecedent.is_plural and _has_singular_subject(sentence, at))
                and not _disagrees(sentence, at, antecedent)
            )
            if not is_thing_at_hand:
                raise Ambiguous("the noun of a relative clause is not certain")
    if antecedent is None and sentence.lower(at) != "das":
        raise Ambiguous("the noun of a relative clause is not certain")


def _disagrees(sentence: GermanSentence, at: int, antecedent: NounPhrase) -> bool:
    """Whether a relative pronoun that alone can be the subject is not of the noun before: *ein Mann der Tat, der*."""
    clause = sentence.clause_by_word[at]
    others = {*certain_subjects(sentence, clause), *possible_subjects(sentence, clause)} - {at}
    nominatives = {table[slot[1]][0] for table in _TABLES for slot in antecedent.slots}
    is_governed = sentence.lower(at - 1) in PREPOSITIONS
    return not others and not is_governed and sentence.lower(at) not in nominatives


def _has_singular_subject(sentence: GermanSentence, at: int) -> bool:
    """Whether a relative pronoun in the nominative is of one: *eine Frau von 40 Jahren, die hier wohnt*."""
    clause = sentence.clause_by_word[at]
    is_singular = bool(clause.verbs) and clause.verbs[-1][1] == SINGULAR
    return is_singular and not certain_subjects(sentence, clause)


def _reject_hidden(sentence: GermanSentence, clause: Clause) -> None:
    """Reject what may be a relative clause but was not recognised as one: *die Frau, die Kinder liebt*."""
    first = clause.words[0]
    before = sentence.phrases.get(first - 2)
    if (
        sentence.lower(first) not in RELATIVES
        or sentence.lower(first - 1) != ","
        or before is None
        or not before.readings
    ):
        return
    phrase = sentence.by_start.get(first)
    if phrase is None or not clause.verbs or len(clause.words) <= 2:
        return
    if not phrase.readings or clause.verbs[-1][0] == clause.words[-1]:  # *ein Mann, der lange Lehrer war*
        raise Ambiguous("a relative clause is not certain")
