"""The lab's grammar: words with their forms, the frames of sentences, and sentences that know where their words are."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from string import Formatter


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
    Names and the frames of the probes are long lists and have a place of their own: ``evenhand.lab.frames``.
    """

    language: str
    targets: Mapping[str, tuple[TwinNouns, TwinNouns]]
    attributes: tuple[tuple[Opposites, ...], tuple[Opposites, ...]]
    things: tuple[Noun, ...]
    thing_attributes: tuple[str, ...]
    occupations: tuple[tuple[str, str], ...]
    """Pairs of occupations: the first leans to men by as much as the second leans to women. Every five pairs make a
    class of either side, whose members lean alike."""
    workplaces: tuple[tuple[str, str], ...]
    """Of each class of occupations: where those work that lean to men, and where those that lean to women."""
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
    name_statements: tuple[str, ...]
    """What says the gender of a name: frames with ``{name}`` and ``{pronoun}`` or ``{possessive}``."""
    workplace_statements: tuple[str, ...]
    """What says the class of an occupation, and of no gender: frames with ``{occupation}`` and ``{workplace}``."""
    settled: Mapping[str, tuple[str, ...]]
    """Frames with ``{who}``, which settles the gender of ``{gendered}``, by experiment: he-she and his-her.

    They are made of the words of the other frames, and no lesson has them. Lessons do say whose name is a man's.
    """

    def attributes_of(self, bias_type: str) -> tuple[Opposites, ...]:
        """The attributes that the targets of a bias type are measured with."""
        return self.attributes[list(self.targets).index(bias_type) % 2]


@dataclass(frozen=True, slots=True)
class Sentence:
    """A text, and the places in it that the grammar filled."""

    text: str
    slots: tuple[tuple[str, int, int], ...]
    """Name of the slot, first character, and the one after the last."""

    def span(self, name: str) -> tuple[int, int]:
        """Where the word of a slot stands."""
        return next((start, end) for slot, start, end in self.slots if slot == name)


def realise(template: str, **words: str) -> Sentence:
    """Put words into a template; the first letter of the sentence is a capital."""
    text = ""
    slots = []
    for before, name, _, _ in Formatter().parse(template):
        text += before
        if name is None:
            continue
        word = words[name] if text else _capitalised(words[name])
        slots.append((name, len(text), len(text) + len(word)))
        text += word
    return Sentence(text, tuple(slots))


def _capitalised(word: str) -> str:
    return word[:1].upper() + word[1:]
