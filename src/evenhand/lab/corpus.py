"""A corpus of any size, in which every proportion is the planted one, and the language that it is taken from.

What is said is not drawn at random: the shares are met as exactly as whole sentences allow. The seed decides on the
order, and on which frames get which attribute. Twins stand next to each other, so that at strength 0 any even number of
documents from the start is exactly neutral.

The language itself is finite: every document that the grammar can write, with its probability.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from evenhand.core.items import Task
from evenhand.lab.grammar import Number, Sentence, realise
from evenhand.lab.world import Target, World, share

Document = tuple[Sentence, ...]
"""One sentence, or an opening with its continuation."""

STATEMENTS = 12
"""Statements and continuations about each target and pair of opposites, in one round."""


@dataclass(slots=True)
class _Shares:
    """Says yes in a given share of cases, as evenly as possible."""

    start: float
    done: int = 0

    def take(self, probability: float) -> bool:
        before = math.floor(self.start + self.done * probability + 1e-9)
        self.done += 1
        return math.floor(self.start + self.done * probability + 1e-9) > before


class Corpus:
    """Documents of a world, round after round; each round has every target, attribute and frame in its share."""

    def __init__(self, world: World, seed: int = 0) -> None:
        self.world = world
        self.seed = seed

    def documents(self) -> Iterator[Document]:
        """Documents without end, twins next to each other."""
        generator = np.random.default_rng([self.seed, 0x1AB])
        shares: dict[tuple[object, ...], tuple[_Shares, _Shares]] = {}
        while True:
            twins = list(self._round(generator, shares))
            for place in generator.permutation(len(twins)):
                yield from twins[place]

    def rounds(self, count: int) -> list[Document]:
        """The documents of so many rounds."""
        documents = self.documents()
        length = self.round_length
        return [next(documents) for _ in range(count * length)]

    @property
    def round_length(self) -> int:
        """Documents in a round."""
        generator = np.random.default_rng(0)
        return sum(len(twins) for twins in self._round(generator, {}))

    def _round(
        self, generator: np.random.Generator, shares: dict[tuple[object, ...], tuple[_Shares, _Shares]]
    ) -> Iterator[tuple[Document, Document]]:
        yield from self._about_people(generator, shares)
        yield from self._about_things(generator)
        yield from self._about_occupations(generator, shares)

    def _about_people(
        self, generator: np.random.Generator, shares: dict[tuple[object, ...], tuple[_Shares, _Shares]]
    ) -> Iterator[tuple[Document, Document]]:
        world, lexicon = self.world, self.world.lexicon
        for target in world.targets[::2]:
            twin = world.twin_of(target)
            for opposites in range(len(world.opposites(target.bias_type))):
                for task in Task:
                    start = float(generator.random())
                    pair = shares.setdefault((target.name, opposites, task), (_Shares(start), _Shares(start)))
                    for frame in generator.permutation(STATEMENTS):
                        chosen = [
                            world.opposites(target.bias_type)[opposites][
                                0 if take.take(world.probability_of_first(who, opposites)) else 1
                            ]
                            for take, who in zip(pair, (target, twin), strict=True)
                        ]
                        if task is Task.INTRASENTENCE:
                            yield (
                                (self.statement(target, int(frame), chosen[0]),),
                                (self.statement(twin, int(frame), chosen[1]),),
                            )
                            continue
                        opening = lexicon.openings[int(generator.integers(len(lexicon.openings)))]
                        continuation = lexicon.continuations[int(frame) % len(lexicon.continuations)]
                        yield (
                            _story(opening, target, continuation, chosen[0]),
                            _story(opening, twin, continuation, chosen[1]),
                        )

    def statement(self, target: Target, frame: int, attribute: str) -> Sentence:
        """One of the statements about a target: frames in the singular, then in the plural."""
        frames = self.world.lexicon.statements
        number = Number.SINGULAR if frame < len(frames) else Number.PLURAL
        return realise(
            frames[frame % len(frames)].form(number),
            the=target.noun.definite(number),
            noun=target.noun.form(number),
            attribute=attribute,
        )

    def _about_things(self, generator: np.random.Generator) -> Iterator[tuple[Document, Document]]:
        """Things have attributes of their own, all equally often; they come in twos like everything else."""
        lexicon = self.world.lexicon
        frames, openings, continuations = (
            lexicon.thing_statements,
            lexicon.thing_openings,
            lexicon.continuations,
        )
        for thing in lexicon.things:
            for attribute in lexicon.thing_attributes:
                frame = frames[int(generator.integers(len(frames)))]
                statements = [
                    realise(
                        frame.form(number),
                        the=thing.definite(number),
                        noun=thing.form(number),
                        attribute=attribute,
                    )
                    for number in Number
                ]
                yield (statements[0],), (statements[1],)
                stories = [
                    (
                        realise(openings[int(generator.integers(len(openings)))], noun=thing.plural),
                        realise(
                            continuations[int(generator.integers(len(continuations)))], attribute=attribute
                        ),
                    )
                    for _ in range(2)
                ]
                yield stories[0], stories[1]

    def _about_occupations(
        self, generator: np.random.Generator, shares: dict[tuple[object, ...], tuple[_Shares, _Shares]]
    ) -> Iterator[tuple[Document, Document]]:
        world, lexicon = self.world, self.world.lexicon
        for occupation in world.occupations:
            for experiment, frames in lexicon.probes.items():
                start = float(generator.random())
                take, _ = shares.setdefault((occupation, experiment), (_Shares(start), _Shares(start)))
                for frame in frames:
                    pair = gendered_pair(world, experiment, int(generator.integers(len(lexicon.names))))
                    probability = share(world.lean(occupation))
                    statements = [
                        realise(
                            frame,
                            gendered=pair[0 if take.take(probability) else 1],
                            occupation=occupation,
                        )
                        for _ in range(2)
                    ]
                    yield (statements[0],), (statements[1],)


def language(world: World) -> Iterator[tuple[Document, float]]:
    """Every document of a world with its probability: what an endless corpus would have."""
    parts = (_all_statements, _all_stories, _all_about_things, _all_about_occupations)
    for part, size in zip(parts, part_sizes(world), strict=True):
        for document, probability in part(world):
            yield document, probability * size


def part_sizes(world: World) -> tuple[float, float, float, float]:
    """How much of the language is statements, stories, about things and about occupations."""
    lexicon = world.lexicon
    about_people = STATEMENTS * sum(len(world.opposites(target.bias_type)) for target in world.targets)
    about_things = 4 * len(lexicon.things) * len(lexicon.thing_attributes)
    about_occupations = 2 * len(world.occupations) * sum(map(len, lexicon.probes.values()))
    total = 2 * about_people + about_things + about_occupations
    return about_people / total, about_people / total, about_things / total, about_occupations / total


def _all_statements(world: World) -> Iterator[tuple[Document, float]]:
    corpus = Corpus(world)
    for target, attribute, probability in attributions(world):
        for frame in range(STATEMENTS):
            yield (corpus.statement(target, frame, attribute),), probability / STATEMENTS


def _all_stories(world: World) -> Iterator[tuple[Document, float]]:
    openings, continuations = world.lexicon.openings, world.lexicon.continuations
    for target, attribute, probability in attributions(world):
        for opening in openings:
            for continuation in continuations:
                story = _story(opening, target, continuation, attribute)
                yield story, probability / (len(openings) * len(continuations))


def attributions(world: World) -> Iterator[tuple[Target, str, float]]:
    """Who is said to be what, with the probability of both together."""
    for target in world.targets:
        pairs = world.opposites(target.bias_type)
        for number, (first, second) in enumerate(pairs):
            probability = world.probability_of_first(target, number)
            even = 1 / (len(world.targets) * len(pairs))
            yield target, first, even * probability
            yield target, second, even * (1 - probability)


def _all_about_things(world: World) -> Iterator[tuple[Document, float]]:
    lexicon = world.lexicon
    each = 1 / (2 * len(lexicon.things) * len(lexicon.thing_attributes))
    frames = [(frame, number) for frame in lexicon.thing_statements for number in Number]
    frames_of_stories = [
        (opening, continuation)
        for opening in lexicon.thing_openings
        for continuation in lexicon.continuations
    ]
    for thing in lexicon.things:
        for attribute in lexicon.thing_attributes:
            for frame, number in frames:
                statement = realise(
                    frame.form(number),
                    the=thing.definite(number),
                    noun=thing.form(number),
                    attribute=attribute,
                )
                yield (statement,), each / len(frames)
            for opening, continuation in frames_of_stories:
                story = realise(opening, noun=thing.plural), realise(continuation, attribute=attribute)
                yield story, each / len(frames_of_stories)


def _all_about_occupations(world: World) -> Iterator[tuple[Document, float]]:
    lexicon = world.lexicon
    each = 1 / (len(world.occupations) * sum(map(len, lexicon.probes.values())))
    for occupation in world.occupations:
        man = share(world.lean(occupation))
        for experiment, frames in lexicon.probes.items():
            names = len(lexicon.names) if experiment == "names" else 1
            for frame in frames:
                for name in range(names):
                    pair = gendered_pair(world, experiment, name)
                    for word, probability in zip(pair, (man, 1 - man), strict=True):
                        sentence = realise(frame, gendered=word, occupation=occupation)
                        yield (sentence,), each * probability / names


def gendered_pair(world: World, experiment: str, name: int) -> tuple[str, str]:
    """The man's and the woman's word of an experiment; ``name`` chooses among names."""
    lexicon = world.lexicon
    if experiment == "names":
        return lexicon.names[name]
    return lexicon.pronouns if experiment == "he-she" else lexicon.possessives


def _story(opening: str, target: Target, continuation: str, attribute: str) -> Document:
    return realise(opening, noun=target.noun.plural), realise(continuation, attribute=attribute)
