"""Sentences about *he* or *she*, told of a person whose gender nobody has said: *The florist took her hat*.

A text of its own time names few of today's occupations, so a model that only learns from its gaps stays uneven where an
occupation is the only thing that hints at a gender. With a noun for a person in place of the first pronoun, the next
one is a gap behind that noun. Occupations that the model is judged by are never put in.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from evenhand.core.probes import ProbeSet
from evenhand.data.probes import people_of
from evenhand.mitigation.equalising.gaps import TermFinder
from evenhand.text.digests import digest_of
from evenhand.text.twins.twin import Rejected, Role, Swapper
from evenhand.text.word_search import words_of

MOST_GENDERED = 2
"""Words that tell a gender in what is rewritten: the pronoun that goes, and perhaps the one of the gap."""


class NeutralSubjects:
    """Puts nouns for people, such as *the florist*, in the place of pronouns."""

    def __init__(self, swapper: Swapper, nouns: Sequence[str], *, needs_whole_sentences: bool) -> None:
        """Sentences with more gendered words are cut, unless the model needs whole ones."""
        self._swapper = swapper
        self._nouns = nouns
        self._needs_whole_sentences = needs_whole_sentences

    def rewrite(self, sentence: str) -> str | None:
        """The sentence with a noun for the pronoun that is its first gendered word; None if it has no such pronoun.

        The noun follows from the sentence alone.
        """
        twin = self._swapper.twin(sentence)
        if isinstance(twin, Rejected) or twin.swaps[0].role is not Role.SUBJECT:
            return None
        first = twin.swaps[0]
        if len(twin.swaps) > MOST_GENDERED:
            if self._needs_whole_sentences:
                return None
            sentence = sentence[: twin.swaps[MOST_GENDERED].span.start].rstrip()
        noun = self._nouns[digest_of(sentence) % len(self._nouns)]
        if first.old[0].isupper():
            noun = noun[0].upper() + noun[1:]
        return sentence[: first.span.start] + noun + sentence[first.span.end :]


def unprobed_people(probes: ProbeSet) -> list[str]:
    """Nouns for people of any gender in the probes' language, with an article, but no occupation of the probes."""
    asked = {
        word.casefold() for own in probes.occupations for form in own.forms for word in words_of(form.noun)
    }
    return [
        noun for noun in people_of(probes.language) if asked.isdisjoint(map(str.casefold, words_of(noun)))
    ]


class WithNeutralSubjects:
    """Sentences, and behind each one what it is with a neutral subject, if that is a gap or tells no gender.

    Without subjects there are the sentences alone.
    """

    def __init__(self, sentences: Iterable[str], subjects: NeutralSubjects | None, find: TermFinder) -> None:
        self.rewritten = 0
        """How many sentences there were twice, once all are read."""
        self._sentences = sentences
        self._subjects = subjects
        self._find = find

    def __iter__(self) -> Iterator[str]:
        for sentence in self._sentences:
            yield sentence
            rewritten = self._subjects.rewrite(sentence) if self._subjects else None
            if rewritten is not None and self._find(rewritten) is not None:
                self.rewritten += 1
                yield rewritten
