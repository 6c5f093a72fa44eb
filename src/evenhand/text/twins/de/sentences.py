"""A German sentence as the swapper reads it: words, noun phrases, clauses, and what has been found out so far."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from evenhand.text.twins.de.clauses import Clause, clauses_in
from evenhand.text.twins.de.nouns import Lexicon
from evenhand.text.twins.de.phrases import Phrase, phrases_in
from evenhand.text.twins.de.words import Word, words_in


@dataclass(slots=True)
class GermanSentence:
    """A sentence taken apart.

    Attributes:
        words: Its words and marks.
        phrases: Its noun phrases by the place of the noun.
        clauses: Its clauses.
        subjects: Places of the ambiguous *sie* that are subjects, with whether they are one woman.
        objects: Places of those *sie* that are objects.
    """

    words: tuple[Word, ...]
    phrases: dict[int, Phrase]
    clauses: tuple[Clause, ...]
    subjects: dict[int, bool] = field(default_factory=dict)
    objects: set[int] = field(default_factory=set)
    by_start: dict[int, Phrase] = field(default_factory=dict)
    clause_by_word: dict[int, Clause] = field(default_factory=dict)

    @classmethod
    def read(cls, text: str, lexicon: Lexicon) -> GermanSentence:
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
        )

    def lower(self, at: int) -> str:
        """A word in lower case, empty beyond the ends."""
        return self.words[at].lower if 0 <= at < len(self.words) else ""

    def persons(self) -> Iterator[Phrase]:
        """The noun phrases about persons."""
        return (phrase for phrase in self.phrases.values() if phrase.readings)

    def phrases_of(self, clause: Clause) -> Iterator[Phrase]:
        """The noun phrases of a clause."""
        return (self.phrases[at] for at in clause.words if at in self.phrases)

    def narrow(self, phrase: Phrase) -> None:
        """Put what was found out about a phrase in its place."""
        self.phrases[phrase.noun] = phrase
        self.by_start[phrase.start] = phrase
