"""A corpus of any size, in which every proportion is the planted one, and the language that it is taken from.

What is said is not drawn at random: the shares are met as exactly as whole sentences allow. The seed decides on the
order, and on which frames get which attribute. Twins stand next to each other, so that at strength 0 any even number of
documents from the start is exactly neutral.

The language itself is finite: every document that the grammar can write, with its probability. A corpus, and what is
taught, has no document with a frame that is held out, or with a held-out occupation or name in a frame of the probes.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from evenhand.core.items import Task
from evenhand.lab.frames import ProbeLists
from evenhand.lab.grammar import Number, Sentence, realise
from evenhand.lab.world import Target, World, share

Document = tuple[Sentence, ...]
"""One sentence, or an opening with its continuation."""

STATEMENTS = 12
"""Statements and continuations about each target and pair of opposites, in one round."""

FRAMES_IN_A_ROUND = 8
"""Frames of each experiment that an occupation stands in, in one round."""

WORKPLACE_DRAWS = 2.0
"""How much more often lessons are drawn from what is said of workplaces, which is all that tells a class."""

ONE_PAIR_IN = 12
"""Of the pairs of names that stand with an occupation, one in so many is drawn for lessons."""


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
        yield from self._about_names()
        yield from self._about_workplaces()

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
        """In every round each occupation that is taught stands in some of the frames of each experiment."""
        world, lists = self.world, self.world.taught_lists
        for occupation in lists.occupation_words:
            for experiment, frames in lists.frames.items():
                start = float(generator.random())
                take, _ = shares.setdefault((occupation, experiment), (_Shares(start), _Shares(start)))
                pairs = world.gendered_pairs(experiment, lists)
                probability = share(world.lean(occupation))
                for number in generator.permutation(list(frames))[:FRAMES_IN_A_ROUND]:
                    pair = pairs[int(generator.integers(len(pairs)))]
                    statements = [
                        realise(
                            frames[int(number)],
                            gendered=pair[0 if take.take(probability) else 1],
                            occupation=occupation,
                        )
                        for _ in range(2)
                    ]
                    yield (statements[0],), (statements[1],)

    def _about_names(self) -> Iterator[tuple[Document, Document]]:
        for frame in self.world.lexicon.name_statements:
            for pair in self.world.probe_lists.names:
                man, woman = _of_names(self.world, frame, pair)
                yield (man,), (woman,)

    def _about_workplaces(self) -> Iterator[tuple[Document, Document]]:
        for frame in self.world.lexicon.workplace_statements:
            for pair in self.world.probe_lists.occupations:
                first, second = (
                    realise(frame, occupation=occupation, workplace=self.world.workplace(occupation))
                    for occupation in pair
                )
                yield (first,), (second,)


@dataclass(frozen=True, slots=True)
class TaughtDocument:
    """A document that lessons may have."""

    document: Document
    probability: float
    """How often it is said."""
    weight: float
    """How often lessons are drawn from it. Where 0, it only counts in the answers to what others ask.

    With 24 pairs of names in every frame with every occupation there are more documents than a model can be shown. A
    lesson has the whole distribution of names anyway, so two pairs for each occupation are enough to draw from.
    """


def language(world: World) -> Iterator[tuple[Document, float]]:
    """Every document of a world with its probability, those included that no lesson has."""
    for entry in _entries(world, world.probe_lists):
        yield entry.document, entry.probability


def taught_language(world: World) -> Iterator[TaughtDocument]:
    """Every document that a lesson may have: what an endless corpus would have."""
    return _entries(world, world.taught_lists)


def _entries(world: World, lists: ProbeLists) -> Iterator[TaughtDocument]:
    sizes = part_sizes(world)
    plain = (_all_statements, _all_stories, _all_about_things, _all_about_names, _all_about_workplaces)
    for part, size in zip(plain, (*sizes[:3], *sizes[4:]), strict=True):
        for document, probability in part(world):
            drawn = WORKPLACE_DRAWS if part is _all_about_workplaces else 1.0
            yield TaughtDocument(document, probability * size, probability * size * drawn)
    for entry in _all_about_occupations(world, lists):
        yield TaughtDocument(entry.document, entry.probability * sizes[3], entry.weight * sizes[3])


def part_sizes(world: World) -> tuple[float, ...]:
    """How much of the language is statements, stories, and about things, occupations, names and workplaces."""
    lexicon, lists = world.lexicon, world.taught_lists
    about_people = STATEMENTS * sum(len(world.opposites(target.bias_type)) for target in world.targets)
    sizes = (
        about_people,
        about_people,
        4 * len(lexicon.things) * len(lexicon.thing_attributes),
        2 * len(lists.occupation_words) * FRAMES_IN_A_ROUND * len(lists.frames),
        2 * len(lexicon.name_statements) * len(world.probe_lists.names),
        len(lexicon.workplace_statements) * len(world.occupations),
    )
    return tuple(size / sum(sizes) for size in sizes)


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


def _all_about_occupations(world: World, lists: ProbeLists) -> Iterator[TaughtDocument]:
    occupations = lists.occupation_words
    each = 1 / (len(occupations) * sum(map(len, lists.frames.values())))
    for place, occupation in enumerate(occupations):
        man = share(world.lean(occupation))
        for experiment, frames in lists.frames.items():
            pairs = world.gendered_pairs(experiment, lists)
            # The same pairs in all frames, so that a word of a frame has all its alternatives among what is drawn.
            drawn = range(place % ONE_PAIR_IN, len(pairs), ONE_PAIR_IN) or range(len(pairs))
            for frame in frames.values():
                for which, pair in enumerate(pairs):
                    for word, probability in zip(pair, (man, 1 - man), strict=True):
                        sentence = realise(frame, gendered=word, occupation=occupation)
                        yield TaughtDocument(
                            (sentence,),
                            probability=each * probability / len(pairs),
                            weight=each * probability / len(drawn) if which in drawn else 0.0,
                        )


def _all_about_names(world: World) -> Iterator[tuple[Document, float]]:
    frames, pairs = world.lexicon.name_statements, world.probe_lists.names
    for frame in frames:
        for pair in pairs:
            for sentence in _of_names(world, frame, pair):
                yield (sentence,), 1 / (2 * len(frames) * len(pairs))


def _of_names(world: World, frame: str, pair: tuple[str, str]) -> tuple[Sentence, Sentence]:
    """What is said of a man and of a woman."""
    man, woman = (
        realise(frame, name=name, pronoun=pronoun, possessive=possessive)
        for name, pronoun, possessive in zip(
            pair, world.lexicon.pronouns, world.lexicon.possessives, strict=True
        )
    )
    return man, woman


def _all_about_workplaces(world: World) -> Iterator[tuple[Document, float]]:
    frames = world.lexicon.workplace_statements
    for frame in frames:
        for occupation in world.occupations:
            sentence = realise(frame, occupation=occupation, workplace=world.workplace(occupation))
            yield (sentence,), 1 / (len(frames) * len(world.occupations))


def _story(opening: str, target: Target, continuation: str, attribute: str) -> Document:
    return realise(opening, noun=target.noun.plural), realise(continuation, attribute=attribute)
