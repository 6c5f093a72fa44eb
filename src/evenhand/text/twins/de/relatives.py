"""Relative pronouns that agree with a German noun which changes: *der Lehrer, der ...* and *die Lehrerin, die ...*."""

from __future__ import annotations

from collections.abc import Iterator

from evenhand.text.twins.de.agreement import swap_of
from evenhand.text.twins.de.articles import CASES
from evenhand.text.twins.de.clauses import RELATIVES, Clause, ClauseKind
from evenhand.text.twins.de.phrases import PREPOSITIONS, Phrase
from evenhand.text.twins.de.sentences import GermanSentence
from evenhand.text.twins.de.subjects import certain_subjects, possible_subjects
from evenhand.text.twins.de.words import Unsure, word_classes
from evenhand.text.twins.twin import Role, Swap

_FORMS = {
    "m": ("der", "den", "dem", "dessen"),
    "f": ("die", "die", "der", "deren"),
    "n": ("das", "das", "dem", "dessen"),
    "p": ("die", "die", "denen", "deren"),
}
_LONG_FORMS = {
    "m": ("welcher", "welchen", "welchem", "dessen"),
    "f": ("welche", "welche", "welcher", "deren"),
    "n": ("welches", "welches", "welchem", "dessen"),
    "p": ("welche", "welche", "welchen", "deren"),
}


def relative_swaps(sentence: GermanSentence) -> Iterator[Swap]:
    """The swaps of relative pronouns.

    Raises:
        Unsure: If the noun of a relative clause, or the case of its pronoun, is not certain.
    """
    for clause in sentence.clauses:
        if clause.kind is ClauseKind.RELATIVE:
            yield from _of_clause(sentence, clause)
        else:
            _refuse_hidden(sentence, clause)


def _of_clause(sentence: GermanSentence, clause: Clause) -> Iterator[Swap]:
    at = clause.relative_at
    comma = at - 1 if sentence.lower(at - 1) == "," else at - 2
    antecedent = sentence.phrases.get(comma - 1)
    if antecedent is None or not antecedent.readings:
        _refuse_other_antecedents(sentence, at, antecedent)
        return
    kinds = {slot[1] for slot in antecedent.slots}
    if kinds == {"p"}:
        return
    reading = antecedent.readings[0]
    if len(antecedent.readings) > 1 or len(kinds) > 1:
        raise Unsure("the noun of a relative clause is not certain")
    old_kind = next(iter(kinds))
    new_kind = reading.person.kind if reading.male else "m"
    new = _exchanged(sentence, clause, old_kind, new_kind)
    if new != sentence.lower(at):
        yield swap_of(sentence.words[at], new, Role.AGREEMENT, male=reading.male)


def _exchanged(sentence: GermanSentence, clause: Clause, old_kind: str, new_kind: str) -> str:
    at = clause.relative_at
    table = _LONG_FORMS if sentence.lower(at).startswith("welch") else _FORMS
    cases = [place for place, form in enumerate(table[old_kind]) if form == sentence.lower(at)]
    if not cases:
        raise Unsure("a relative pronoun does not agree with its noun")
    new = {table[new_kind][place] for place in cases}
    if len(new) == 1:
        return new.pop()
    return table[new_kind][_case(sentence, clause, cases)]


def _case(sentence: GermanSentence, clause: Clause, cases: list[int]) -> int:
    at = clause.relative_at
    preposition = sentence.lower(at - 1)
    classes = word_classes()
    if preposition in PREPOSITIONS:
        for place in cases:
            wanted = {"A": "accusative prepositions", "D": "dative prepositions"}.get(CASES[place])
            if wanted and preposition in classes[wanted] | classes["two-way prepositions"]:
                return place
        raise Unsure("the case of a relative pronoun is not certain")
    if certain_subjects(sentence, clause):
        return 1
    others = [place for place in possible_subjects(sentence, clause) if place != at]
    if clause.has_singular_verb and all(_is_unlikely_subject(sentence, place) for place in others):
        return 0
    raise Unsure("the case of a relative pronoun is not certain")


def _is_unlikely_subject(sentence: GermanSentence, at: int) -> bool:
    """Whether a noun is something that the person of the clause has or does: *die ein Buch las*."""
    phrase = sentence.phrases.get(at)
    if phrase is None or phrase.readings or phrase.determiner is None:
        return False
    return phrase.determiner.stem in {"ein", "kein", "ihr", "sein"}


def _refuse_other_antecedents(sentence: GermanSentence, at: int, antecedent: Phrase | None) -> None:
    kinds = {
        kind
        for table in (_FORMS, _LONG_FORMS)
        for kind, forms in table.items()
        if sentence.lower(at) in forms
    }
    for phrase in sentence.persons():
        if phrase.noun < at and any(slot[1] in kinds and slot[1] != "p" for slot in phrase.slots):
            is_thing_at_hand = (
                antecedent is not None and antecedent.determiner is not None and not antecedent.preposition
            )
            if not is_thing_at_hand:
                raise Unsure("the noun of a relative clause is not certain")
    if antecedent is None and sentence.lower(at) != "das":
        raise Unsure("the noun of a relative clause is not certain")


def _refuse_hidden(sentence: GermanSentence, clause: Clause) -> None:
    """Stop at what may be a relative clause but was not recognised as one: *die Frau, die Kinder liebt*."""
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
    if phrase is not None and not phrase.readings and clause.verbs and len(clause.words) > 2:
        raise Unsure("a relative clause is not certain")
