"""A sentence's twin, in which somebody has the other gender, and the languages that twins can be written in.

A language is a class with a ``language`` and a ``twin`` method (see ``Swapper``). Another package registers it with an
entry point:

    [project.entry-points."evenhand.swappers"]
    fr = "my_package.french:FrenchSwapper"
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol

from evenhand.core.experiments import Experiment
from evenhand.core.items import Span
from evenhand.core.registry import Registry, lacks


class Role(StrEnum):
    """The role of a swapped word in its sentence."""

    SUBJECT = "subject pronoun"
    OBJECT = "object pronoun"
    POSSESSIVE = "possessive"
    """Before a noun, as in "her book"."""
    STANDALONE_POSSESSIVE = "standalone possessive"
    """Without one, as in "the book is hers"."""
    REFLEXIVE = "reflexive pronoun"
    NAME = "name"
    TITLE = "title"
    NOUN = "gendered noun"
    OCCUPATION = "occupation"
    AGREEMENT = "word that agrees with another"
    """An article or adjective that follows the gender of its noun."""
    TERM = "listed term"
    """Of an experiment of somebody's own."""

    @property
    def experiment(self) -> Experiment | None:
        """The experiment that asks for words of this role."""
        return _EXPERIMENTS.get(self)


_EXPERIMENTS = {
    Role.SUBJECT: Experiment.HE_SHE,
    Role.POSSESSIVE: Experiment.HIS_HER,
    Role.NAME: Experiment.NAMES,
}


@dataclass(frozen=True, slots=True)
class Swap:
    """A word of a sentence, and the word that replaces it in the twin."""

    span: Span
    """Its position in the sentence."""
    old: str
    new: str
    role: Role
    male: bool
    """Whether the old word is the male one, or that of the first group."""
    listed_in: Experiment | None = None
    """The experiment whose list has the word."""

    @property
    def experiment(self) -> Experiment | None:
        """The experiment that asks for the word."""
        return self.listed_in or self.role.experiment


@dataclass(frozen=True, slots=True)
class Twin:
    """A sentence with every gendered word exchanged."""

    text: str
    swaps: tuple[Swap, ...]
    """In the order of the sentence."""

    @classmethod
    def of(cls, sentence: str, swaps: Iterable[Swap]) -> Twin:
        """The twin that swaps, in the order of the sentence, make of it."""
        ordered = tuple(swaps)
        pieces: list[str] = []
        end = 0
        for swap in ordered:
            pieces += (sentence[end : swap.span.start], swap.new)
            end = swap.span.end
        return cls("".join((*pieces, sentence[end:])), ordered)


@dataclass(frozen=True, slots=True)
class Rejected:
    """Why a sentence has no twin: one that may be wrong is worse than none."""

    reason: str


NO_GENDERED_WORD = Rejected("no gendered word")
"""A sentence that tells nobody's gender: it has no twin, because it would be its own."""


class Swapper(Protocol):
    """Knows the grammar of a language well enough to write twins."""

    language: str

    def twin(self, sentence: str) -> Twin | Rejected:
        """The sentence's twin, or why it has none; ``NO_GENDERED_WORD`` where nothing could be swapped."""
        ...


SWAPPERS: Registry[Callable[[], Swapper]] = Registry(
    "language of twins",
    "evenhand.swappers",
    check=lambda entry: lacks(entry, "language", "twin"),
)
"""Swapper classes by language."""


def swapper_for(language: str) -> Swapper:
    """A swapper of this language.

    Raises:
        UnknownNameError: If no package has one.
        PluginError: If another package has one that cannot be used.
    """
    return SWAPPERS.get(language)()
