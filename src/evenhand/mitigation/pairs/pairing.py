"""A pair: a sentence about a man and the same sentence about a woman."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum

from evenhand.core.probes import Experiment
from evenhand.core.spans import Span
from evenhand.text.twins.twin import Role, Swap, Twin


class Side(StrEnum):
    """Which sentence of a pair."""

    MALE = "male"
    FEMALE = "female"
    NEITHER = "neither"
    """Both sentences are made: names were put in that the corpus does not have there."""


@dataclass(frozen=True, slots=True)
class Place:
    """Where the sentences of a pair differ."""

    role: Role
    male: Span
    """In the male sentence."""
    female: Span
    """In the female sentence."""
    crossed: bool = False
    """Whether the male sentence has the female word here, as it can in a sentence about men and women."""


@dataclass(frozen=True, slots=True)
class Pair:
    """Two sentences that differ in gendered words alone.

    A sentence may tell of men and women. Its side is that of its first word which an experiment asks for: *She met his
    doctor* is the female sentence, and its twin *He met her doctor* the male one. So there are as many male sentences
    as female ones in any set of pairs.
    """

    male: str
    female: str
    original: Side
    """The sentence that the corpus has."""
    experiments: tuple[Experiment, ...]
    """The experiments that it is kept for."""
    occupations: tuple[str, ...]
    """Their names, which are the same in all languages, from left to right."""
    places: tuple[Place, ...]
    """From left to right."""

    @property
    def found(self) -> str:
        """The sentence of the corpus; of a pair that is made, the male one."""
        return self.female if self.original is Side.FEMALE else self.male

    @property
    def sentences(self) -> tuple[str, str]:
        """The male and the female sentence."""
        return self.male, self.female

    def words_at(self, place: Place) -> tuple[str, str]:
        """The male and the female word at a place, whichever sentence they stand in."""
        words = place.male.of(self.male), place.female.of(self.female)
        return (words[1], words[0]) if place.crossed else words


def experiments_in(swaps: Iterable[Swap], asked: Iterable[Experiment]) -> tuple[Experiment, ...]:
    """Those of the asked experiments that ask for one of the words."""
    present = {swap.role.experiment for swap in swaps}
    return tuple(
        experiment for experiment in Experiment if experiment in present and experiment in set(asked)
    )


def pair_of(
    sentence: str, twin: Twin, *, experiments: tuple[Experiment, ...], occupations: tuple[str, ...]
) -> Pair:
    """The pair of a sentence and its twin.

    Args:
        sentence: As the corpus has it.
        twin: With at least one word that the experiments ask for.
        experiments: That the sentence is kept for.
        occupations: Names of those in the sentence.

    Raises:
        ValueError: If the twin differs from the sentence elsewhere than its swaps say.
    """
    text, spans = _swapped(sentence, twin.swaps)
    if text != twin.text:
        raise ValueError(f"The swaps make {text!r} of {sentence!r}, but its twin is {twin.text!r}.")
    first = next(swap for swap in twin.swaps if swap.role.experiment in experiments)
    places = tuple(
        Place(
            swap.role,
            *((swap.span, span) if first.male else (span, swap.span)),
            crossed=swap.male is not first.male,
        )
        for swap, span in zip(twin.swaps, spans, strict=True)
    )
    male, female = (sentence, text) if first.male else (text, sentence)
    return Pair(
        male=male,
        female=female,
        original=Side.MALE if first.male else Side.FEMALE,
        experiments=experiments,
        occupations=occupations,
        places=places,
    )


def _swapped(sentence: str, swaps: Iterable[Swap]) -> tuple[str, list[Span]]:
    """The sentence with new words, and where they stand in it."""
    return replaced(sentence, [(swap.span, swap.new) for swap in swaps])


def replaced(sentence: str, words: Iterable[tuple[Span, str]]) -> tuple[str, list[Span]]:
    """The sentence with other words at some spans, given from left to right, and where they stand in it."""
    pieces: list[str] = []
    spans: list[Span] = []
    end = size = 0
    for span, word in words:
        kept = sentence[end : span.start]
        pieces += [kept, word]
        size += len(kept)
        spans.append(Span(size, size + len(word)))
        size += len(word)
        end = span.end
    return "".join([*pieces, sentence[end:]]), spans
