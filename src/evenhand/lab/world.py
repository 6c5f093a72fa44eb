"""The lab's world: who is said to be what, and how often. This is where bias is planted.

Target groups come as twins. Of the two attributes of a pair of opposites, one is the stereotype of the first
twin and the other that of the second. How much more often a twin has its stereotype than the opposite is

    log2 P(stereotype) / P(anti-stereotype) = strength + tilt        for one twin
                                              strength - tilt        for the other

The tilt makes items differ, as words of a language do; without it every item would tip over at once when the
strength leaves zero. Because twins have opposite tilts, strength 0 is exactly neutral: whatever is said of one
twin is said as often of the other.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from types import MappingProxyType

from evenhand.core.errors import EvenhandError, UnknownNameError
from evenhand.core.experiments import Experiment
from evenhand.lab.frames import (
    CLASS_SIZE,
    ProbeLists,
    WordPairs,
    held_out_lists,
    taught_lists,
    whole_lists,
)
from evenhand.lab.grammar import Lexicon, Noun, Opposites
from evenhand.lab.languages import ENGLISH, GERMAN

LEXICONS: Mapping[str, Lexicon] = MappingProxyType(
    {lexicon.language: lexicon for lexicon in (ENGLISH, GERMAN)}
)

STRONGEST = 6.0
"""Bits. Beyond this a training corpus would have to be huge to show the rarer side at all."""

LARGEST_TILT = 2.5

_SIGNS = {
    "race": "++-++-++-+-+",
    "religion": "-+-+--+-+--+",
    "gender": "-+---+--+--+",
    "profession": "+-+++-+-++--",
}
"""Which way each pair of opposites is tilted. Not half of them each way, so that target groups differ as they do in
real benchmarks; their twins differ by as much in the other direction."""


@dataclass(frozen=True, slots=True)
class Target:
    """A target group: one of the twins of a bias type."""

    bias_type: str
    pair: int
    """First or second pair of twins: 0 or 1."""
    twin: int
    """First or second of the twins: 0 or 1."""
    noun: Noun
    name: str
    """The English singular, the same in all languages."""


@dataclass(frozen=True, slots=True)
class World:
    """A language and how strong its stereotypes are, in bits."""

    language: str = "en"
    strength: float = 2.0

    def __post_init__(self) -> None:
        if self.language not in LEXICONS:
            raise UnknownNameError("language of the lab", self.language, LEXICONS)
        if not math.isfinite(self.strength) or abs(self.strength) > STRONGEST:
            raise EvenhandError(
                f"A strength of {self.strength:g} bits was asked for; the lab plants {-STRONGEST:g} to {STRONGEST:g}. "
                "Real models lie between 0 and 3."
            )

    @property
    def lexicon(self) -> Lexicon:
        """The words of the language."""
        return LEXICONS[self.language]

    @property
    def targets(self) -> tuple[Target, ...]:
        """All target groups, twins side by side."""
        return tuple(self._targets())

    def _targets(self) -> Iterator[Target]:
        for bias_type, pairs in self.lexicon.targets.items():
            for pair, twins in enumerate(pairs):
                for twin, noun in enumerate(twins):
                    name = ENGLISH.targets[bias_type][pair][twin].singular
                    yield Target(bias_type, pair, twin, noun, name)

    def twin_of(self, target: Target) -> Target:
        """The other of the two twins."""
        return next(
            other
            for other in self.targets
            if (other.bias_type, other.pair) == (target.bias_type, target.pair) and other.twin != target.twin
        )

    def opposites(self, bias_type: str) -> tuple[Opposites, ...]:
        """Pairs of attributes that a bias type is measured with."""
        return self.lexicon.attributes_of(bias_type)

    def tilt(self, bias_type: str, opposites: int) -> float:
        """Bits by which the first attribute of a pair is said more often of both twins, planted bias aside."""
        types = list(self.lexicon.targets)
        step = types.index(bias_type) + len(types) * opposites
        size = LARGEST_TILT * (step + 0.5) / (len(types) * len(self.opposites(bias_type)))
        return size if _SIGNS[bias_type][opposites] == "+" else -size

    def stereotype(self, target: Target, opposites: int) -> tuple[str, str]:
        """The stereotype of a target among two opposites, and the anti-stereotype."""
        first, second = self.opposites(target.bias_type)[opposites]
        return (first, second) if target.twin == 0 else (second, first)

    def planted(self, target: Target, opposites: int) -> float:
        """log2 of P(stereotype) / P(anti-stereotype): what a model of this world should have learnt."""
        tilt = self.tilt(target.bias_type, opposites)
        return self.strength + (tilt if target.twin == 0 else -tilt)

    def probability_of_first(self, target: Target, opposites: int) -> float:
        """How often the first attribute of a pair is said of the target, when one of the two is."""
        bits = self.planted(target, opposites)
        return share(bits if target.twin == 0 else -bits)

    def lean(self, occupation: str) -> float:
        """log2 of P(man) / P(woman) for an occupation; pairs of occupations lean by as much to either side."""
        number, side = self._class_and_side(occupation)
        weight = 0.6 + 0.8 * number / (len(self.lexicon.workplaces) - 1)
        return self.strength * weight * (1 if side == 0 else -1)

    def workplace(self, occupation: str) -> str:
        """Where those of an occupation work; all occupations of a class work there, and no others."""
        number, side = self._class_and_side(occupation)
        return self.lexicon.workplaces[number][side]

    def _class_and_side(self, occupation: str) -> tuple[int, int]:
        for number, pair in enumerate(self.lexicon.occupations):
            if occupation in pair:
                return number // CLASS_SIZE, pair.index(occupation)
        raise UnknownNameError("occupation of the lab", occupation, self.occupations)

    @property
    def occupations(self) -> tuple[str, ...]:
        """All occupations, those that lean alike strongly to either side next to each other."""
        return self.probe_lists.occupation_words

    @property
    def probe_lists(self) -> ProbeLists:
        """Everything that occupations are probed with."""
        return whole_lists(self.language, self.lexicon.occupations)

    @property
    def taught_lists(self) -> ProbeLists:
        """The part of it that lessons have."""
        return taught_lists(self.language, self.lexicon.occupations)

    @property
    def held_out_lists(self) -> ProbeLists:
        """The part of it that no lesson has."""
        return held_out_lists(self.language, self.lexicon.occupations)

    def gendered_pairs(self, experiment: Experiment, lists: ProbeLists) -> WordPairs:
        """The man's and the woman's words that fill the gap of an experiment's frames."""
        if experiment == Experiment.NAMES:
            return lists.names
        return (self.lexicon.pronouns if experiment == Experiment.HE_SHE else self.lexicon.possessives,)


def share(bits: float) -> float:
    """The probability that has these log-odds."""
    return float(1 / (1 + 2.0**-bits))
