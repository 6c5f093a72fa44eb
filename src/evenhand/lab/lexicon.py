"""What a language needs for the lab's grammar: words with their forms, and the shapes of its sentences."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum


class Number(StrEnum):
    """Singular or plural."""

    SINGULAR = "singular"
    PLURAL = "plural"


@dataclass(frozen=True, slots=True)
class Noun:
    """A noun with its definite article, which German needs and English has only one of."""

    singular: str
    plural: str
    article: str = "the"
    article_plural: str = "the"

    def form(self, number: Number) -> str:
        """The noun in this number."""
        return self.singular if number is Number.SINGULAR else self.plural

    def definite(self, number: Number) -> str:
        """Its definite article in the nominative."""
        return self.article if number is Number.SINGULAR else self.article_plural


@dataclass(frozen=True, slots=True)
class Frame:
    """One sentence in both numbers. ``{the}`` is the article, ``{noun}`` the noun, ``{attribute}`` the gap.

    A slot at the start of a sentence is written with a capital letter.
    """

    singular: str
    plural: str

    def form(self, number: Number) -> str:
        """The template in this number."""
        return self.singular if number is Number.SINGULAR else self.plural


TwinNouns = tuple[Noun, Noun]
"""Two target groups of which each has the stereotypes that the other has not."""

Opposites = tuple[str, str]
"""Two attributes of which one is said of one twin, the other of the other."""


@dataclass(frozen=True, slots=True)
class Lexicon:
    """The words and frames of one language.

    ``targets`` has two pairs of twins for each bias type. ``attributes`` are given for two sets of bias types.
    ``probes`` are frames by experiment with ``{gendered}`` and ``{occupation}``; ``gendered`` gives the two
    forms that can stand in the gap of a frame by the name of the gap.
    """

    language: str
    targets: Mapping[str, tuple[TwinNouns, TwinNouns]]
    attributes: tuple[tuple[Opposites, ...], tuple[Opposites, ...]]
    things: tuple[Noun, ...]
    thing_attributes: tuple[str, ...]
    occupations: tuple[tuple[str, str], ...]
    """Pairs of occupations: the first leans to men by as much as the second leans to women."""
    names: tuple[tuple[str, str], ...]
    """A man's name and a woman's."""
    pronouns: tuple[str, str]
    possessives: tuple[str, str]
    statements: tuple[Frame, ...]
    """What is said of people: frames of the intra-sentence task."""
    openings: tuple[str, ...]
    """About people in the plural, without an attribute: contexts of the inter-sentence task."""
    continuations: tuple[str, ...]
    """The sentence after an opening, with an attribute."""
    thing_statements: tuple[Frame, ...]
    thing_openings: tuple[str, ...]
    probes: Mapping[str, tuple[str, ...]]
    """Frames by experiment: he-she, his-her and names."""

    def attributes_of(self, bias_type: str) -> tuple[Opposites, ...]:
        """The attributes that the targets of a bias type are measured with."""
        return self.attributes[list(self.targets).index(bias_type) % 2]
