"""Sentences about *he* or *she*, told of somebody else: *The florist took her hat*, *My aunt took her hat*.

A text of its own time names few of today's occupations, so a model that only learns from its gaps stays uneven where an
occupation is the only thing that hints at a gender. With a noun for a person of any gender in place of the first
pronoun, the next one is a gap behind that noun. Occupations that the model is judged by are never put in.

That alone would teach that no subject tells anything. So sentences are told once more of somebody whose gender the
subject tells: a name or a relative. There the model is to stay as it was, and whoever is an aunt stays *she*.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from evenhand.core.experiments import Experiment
from evenhand.core.probes import ProbeSet, TermPairs
from evenhand.data.probes import gendered_people, people_of
from evenhand.mitigation.equalising.gaps import TermFinder
from evenhand.text.digests import digest_of
from evenhand.text.swappers import Rejected, Role, Swap, Swapper
from evenhand.text.word_search import words_of

MOST_GENDERED = 2
"""Words that tell a gender in what is rewritten: the pronoun that goes, and perhaps one more."""


@dataclass(frozen=True, slots=True)
class Subjects:
    """Who can stand in the place of a pronoun."""

    neutral: Sequence[str]
    """Nouns for people of any gender, with an article."""
    gendered: TermPairs
    """Men, and women: names, or nouns with an article."""

    @classmethod
    def of(cls, probes: ProbeSet) -> Subjects:
        """Those of the probes' language, without what the probes ask for."""
        people = gendered_people(probes.language)
        names = probes.terms.get(Experiment.NAMES, TermPairs((), ()))
        return cls(
            unprobed_people(probes), TermPairs((*people.male, *names.male), (*people.female, *names.female))
        )


@dataclass(frozen=True, slots=True)
class Retold:
    """A sentence with other subjects, each if there is one that fits."""

    neutral: str | None = None
    gendered: str | None = None


class Retelling:
    """Puts other subjects in the place of pronouns."""

    def __init__(self, swapper: Swapper, subjects: Subjects, *, needs_whole_sentences: bool) -> None:
        """Sentences with more gendered words are cut, unless the model needs whole ones."""
        self._swapper = swapper
        self._subjects = subjects
        self._needs_whole_sentences = needs_whole_sentences

    def retell(self, sentence: str) -> Retold:
        """The sentence with others in place of the pronoun that is its first gendered word, if it is one.

        Who they are follows from the sentence alone. Where nothing else tells a gender, nothing would depend on the
        gender of a subject, so there is none.
        """
        twin = self._swapper.twin(sentence)
        if isinstance(twin, Rejected) or twin.swaps[0].role is not Role.SUBJECT:
            return Retold()
        first = twin.swaps[0]
        if len(twin.swaps) > MOST_GENDERED:
            if self._needs_whole_sentences:
                return Retold()
            sentence = sentence[: twin.swaps[MOST_GENDERED].span.start].rstrip()
        gendered = self._subjects.gendered.male if first.male else self._subjects.gendered.female
        return Retold(
            _with_subject(sentence, first, self._subjects.neutral),
            _with_subject(sentence, first, gendered if len(twin.swaps) > 1 else ()),
        )


def _with_subject(sentence: str, pronoun: Swap, subjects: Sequence[str]) -> str | None:
    if not subjects:
        return None
    subject = subjects[digest_of(sentence) % len(subjects)]
    if pronoun.old[0].isupper():
        subject = subject[0].upper() + subject[1:]
    return sentence[: pronoun.span.start] + subject + sentence[pronoun.span.end :]


def unprobed_people(probes: ProbeSet) -> list[str]:
    """Nouns for people of any gender in the probes' language, with an article, but no occupation of the probes."""
    asked = {
        word.casefold() for own in probes.occupations for form in own.forms for word in words_of(form.noun)
    }
    return [
        noun for noun in people_of(probes.language) if asked.isdisjoint(map(str.casefold, words_of(noun)))
    ]


class RetoldSentences:
    """Sentences, and behind each one what it is with other subjects.

    With a neutral subject it must be a gap or tell no gender. Without a retelling there are the sentences alone.
    """

    def __init__(self, sentences: Iterable[str], retelling: Retelling | None, find: TermFinder) -> None:
        self.with_neutral_subjects = 0
        """How many there were, once all are read."""
        self.with_gendered_subjects = 0
        self._sentences = sentences
        self._retelling = retelling
        self._find = find

    def __iter__(self) -> Iterator[str]:
        for sentence in self._sentences:
            yield sentence
            retold = self._retelling.retell(sentence) if self._retelling else Retold()
            if retold.neutral is not None and self._find(retold.neutral) is not None:
                self.with_neutral_subjects += 1
                yield retold.neutral
            if retold.gendered is not None:
                self.with_gendered_subjects += 1
                yield retold.gendered
