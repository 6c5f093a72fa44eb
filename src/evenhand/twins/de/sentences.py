"""A German sentence taken apart into words, noun phrases and clauses."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from enum import StrEnum

from evenhand.twins.de.persons import PersonLexicon
from evenhand.twins.de.phrases import PREPOSITIONS, NounPhrase, phrases_in
from evenhand.twins.de.words import (
    PLURAL,
    SINGULAR,
    GermanWord,
    final_verb_number,
    verb_number,
    word_classes,
    words_in,
)

RELATIVES = frozenset(
    [
        "der",
        "die",
        "das",
        "den",
        "dem",
        "deren",
        "dessen",
        "denen",
        "welcher",
        "welche",
        "welches",
        "welchen",
        "welchem",
    ]
)
_MARKS = frozenset(',;:.!?–—()„“”»«"‚‘›‹…-[]/*')


class ClauseKind(StrEnum):
    """The kind of a clause, which decides the position of its verb."""

    MAIN = "main"
    SUBORDINATE = "subordinate"
    RELATIVE = "relative"
    FRAGMENT = "fragment"


@dataclass(frozen=True, slots=True)
class Clause:
    """Words that belong to one verb.

    Attributes:
        words: Their places in the sentence.
        kind: What it is.
        verbs: Places of words with the form of a finite verb, and their number.
        previous: The kind of the clause before, None at the start of a sentence or quotation.
        relative_at: The place of its relative pronoun.
    """

    words: tuple[int, ...]
    kind: ClauseKind
    verbs: tuple[tuple[int, str], ...]
    previous: ClauseKind | None
    relative_at: int = -1

    @property
    def has_singular_verb(self) -> bool:
        """Whether some verb is singular."""
        return any(number == SINGULAR for _, number in self.verbs)

    @property
    def has_plural_verb(self) -> bool:
        """Whether some verb may be plural (an infinitive looks the same)."""
        return any(number == PLURAL for _, number in self.verbs)


def clauses_in(words: Sequence[GermanWord], phrases: Sequence[NounPhrase]) -> tuple[Clause, ...]:
    """The clauses of a sentence; those that a relative clause or an apposition interrupts are whole."""
    segments = list(_split_at_coordinators(words, phrases, list(_segments(words, phrases))))
    clauses: list[Clause] = []
    adjectives = {at for phrase in phrases for at in phrase.adjectives}
    for segment in segments:
        clauses.append(_clause(words, phrases, segment, adjectives=adjectives, before=clauses))
    return tuple(_joined(words, clauses))


def _segments(words: Sequence[GermanWord], phrases: Sequence[NounPhrase]) -> Iterator[list[int]]:
    within = {at for phrase in phrases for at in range(phrase.start, phrase.noun)}
    segment: list[int] = []
    for at, word in enumerate(words):
        if word.text in _MARKS and at not in within:
            if segment:
                yield segment
            segment = []
        elif word.is_word:
            segment.append(at)
    if segment:
        yield segment


def _split_at_coordinators(
    words: Sequence[GermanWord], phrases: Sequence[NounPhrase], segments: list[list[int]]
) -> Iterator[list[int]]:
    starts = {phrase.start: phrase for phrase in phrases}
    for segment in segments:
        begun = 0
        for place, at in enumerate(segment):
            if place <= begun or words[at].lower not in {"und", "oder", "aber", "denn", "doch", "sondern"}:
                continue
            left, right = segment[begun:place], segment[place + 1 :]
            if (
                right
                and _begins_clause(words, starts, right)
                and any(verb_number(words[i].lower) for i in left)
            ):
                yield left
                begun = place
        yield segment[begun:]


def _begins_clause(words: Sequence[GermanWord], starts: dict[int, NounPhrase], right: list[int]) -> bool:
    """Whether a subject and its verb come next."""
    first = right[0]
    if words[first].lower in {"ich", "du", "er", "sie", "es", "wir", "man", "ihr", "niemand", "jeder"}:
        following = right[1] if len(right) > 1 else -1
    elif first in starts and starts[first].may_be("N"):
        following = starts[first].noun + 1
    else:
        return False
    return following in right and not words[following].capital and bool(verb_number(words[following].lower))


def _clause(
    words: Sequence[GermanWord],
    phrases: Sequence[NounPhrase],
    segment: list[int],
    *,
    adjectives: set[int],
    before: list[Clause],
) -> Clause:
    verbs = tuple(
        (at, number)
        for at in segment
        if at not in adjectives
        and (not words[at].capital or words[at].starts)
        and (number := verb_number(words[at].lower))
    )
    kind, relative_at = _kind(words, phrases, segment, has_verb=bool(verbs))
    if kind is not ClauseKind.MAIN and not verbs and final_verb_number(words[segment[-1]].lower):
        verbs = ((segment[-1], SINGULAR),)
    if (
        kind is not ClauseKind.MAIN
        and verbs
        and verbs[-1][0] != segment[-1]
        and not words[segment[-1]].capital
    ):
        last = final_verb_number(words[segment[-1]].lower)
        verbs = (*verbs, (segment[-1], last)) if last else verbs
    previous = before[-1].kind if before and not words[segment[0]].starts else None
    return Clause(tuple(segment), kind, verbs, previous, relative_at)


def _kind(
    words: Sequence[GermanWord], phrases: Sequence[NounPhrase], segment: list[int], *, has_verb: bool
) -> tuple[ClauseKind, int]:
    place = 0
    while place < len(segment) - 1 and words[segment[place]].lower in {
        "und",
        "oder",
        "aber",
        "denn",
        "doch",
        "sondern",
    }:
        place += 1
    first = words[segment[place]]
    follows = words[segment[place + 1]].lower if place + 1 < len(segment) else ""
    last = words[segment[-1]]
    ends_with_verb = len(segment) > 1 and not last.capital and bool(final_verb_number(last.lower))
    if first.lower in word_classes()["subordinators"] and ends_with_verb and not verb_number(follows):
        return ClauseKind.SUBORDINATE, -1
    relative = place + (first.lower in PREPOSITIONS)
    if relative < len(segment) and segment[place] > 0 and words[segment[place] - 1].text == ",":
        at = segment[relative]
        is_article = _is_article(words, phrases, at, after_preposition=relative > place)
        if words[at].lower in RELATIVES and ends_with_verb and not is_article:
            return ClauseKind.RELATIVE, at
    return (ClauseKind.MAIN if has_verb else ClauseKind.FRAGMENT), -1


def _is_article(
    words: Sequence[GermanWord], phrases: Sequence[NounPhrase], at: int, *, after_preposition: bool
) -> bool:
    """Whether the word is the article of a noun phrase before a verb, and not a relative pronoun."""
    for phrase in phrases:
        if phrase.determiner_at == at:
            if after_preposition:
                return True
            following = phrase.noun + 1
            is_last = following < len(words) - 1 and words[following + 1].is_word
            return following < len(words) and (bool(verb_number(words[following].lower)) or not is_last)
    return False


def _joined(words: Sequence[GermanWord], clauses: list[Clause]) -> Iterator[Clause]:
    """Join clauses that another clause interrupts, as in *die Lehrerin, die gestern kam, ist krank*."""
    taken: set[int] = set()
    for place, clause in enumerate(clauses):
        if place in taken:
            continue
        last = _continuation(words, clauses, place)
        if last is None:
            yield clause
            continue
        taken.add(last)
        rest = clauses[last]
        yield Clause((*clause.words, *rest.words), ClauseKind.MAIN, rest.verbs, clause.previous)


def _continuation(words: Sequence[GermanWord], clauses: list[Clause], place: int) -> int | None:
    """The index of the clause with the verb of a clause that is interrupted between commas."""
    if clauses[place].kind is not ClauseKind.FRAGMENT:
        return None
    for later in range(place + 1, len(clauses)):
        clause = clauses[later]
        if words[clause.words[0]].starts:
            return None
        if clause.kind is ClauseKind.MAIN:
            verb_first = later > place + 1 and bool(clause.verbs) and clause.verbs[0][0] == clause.words[0]
            return later if verb_first else None
    return None


@dataclass(slots=True)
class GermanSentence:
    """A sentence taken apart.

    Attributes:
        words: Its words and marks.
        phrases: Its noun phrases by the place of the noun.
        clauses: Its clauses.
        subjects: Places of the ambiguous *sie* that are subjects, with whether they are one woman.
        objects: Places of those *sie* that are objects.
        known_subject: Where a noun begins that is known to be the subject of its clause; -1 if none is.
    """

    words: tuple[GermanWord, ...]
    phrases: dict[int, NounPhrase]
    clauses: tuple[Clause, ...]
    subjects: dict[int, bool] = field(default_factory=dict)
    objects: set[int] = field(default_factory=set)
    by_start: dict[int, NounPhrase] = field(default_factory=dict)
    clause_by_word: dict[int, Clause] = field(default_factory=dict)
    known_subject: int = -1

    @classmethod
    def read(cls, text: str, lexicon: PersonLexicon, *, known_subject: int = -1) -> GermanSentence:
        """Take a sentence apart."""
        words = words_in(text)
        phrases = phrases_in(words, lexicon)
        clauses = clauses_in(words, phrases)
        return cls(
            words=words,
            phrases={phrase.noun: phrase for phrase in phrases},
            clauses=clauses,
            by_start={phrase.start: phrase for phrase in phrases},
            clause_by_word={at: clause for clause in clauses for at in clause.words},
            known_subject=known_subject,
        )

    def lower(self, at: int) -> str:
        """A word in lower case, empty beyond the ends."""
        return self.words[at].lower if 0 <= at < len(self.words) else ""

    def persons(self) -> Iterator[NounPhrase]:
        """The noun phrases about persons."""
        return (phrase for phrase in self.phrases.values() if phrase.readings)

    def phrases_of(self, clause: Clause) -> Iterator[NounPhrase]:
        """The noun phrases of a clause."""
        return (self.phrases[at] for at in clause.words if at in self.phrases)

    def said_with(self, phrase: NounPhrase) -> NounPhrase | None:
        """The phrase that one without a definite article is joined to: *als Arzt, Lehrer und ein Freund*."""
        is_joined = self.lower(phrase.start - 1) in {"und", "oder", "sowie", ","}
        is_open = phrase.determiner is None or phrase.determiner.stem == "ein"
        following = verb_number(self.lower(phrase.noun + 1))
        is_subject = following == PLURAL or (bool(following) and phrase.determiner is not None)
        return self.phrases.get(phrase.start - 2) if is_joined and is_open and not is_subject else None

    def has_known_subject(self, clause: Clause) -> bool:
        """Whether it is known which noun of a clause is its subject."""
        return any(self.words[at].span.start == self.known_subject for at in clause.words)

    def narrow(self, phrase: NounPhrase) -> None:
        """Replace a phrase by one with fewer readings."""
        self.phrases[phrase.noun] = phrase
        self.by_start[phrase.start] = phrase
