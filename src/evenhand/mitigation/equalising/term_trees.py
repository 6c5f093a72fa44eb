"""What can stand in a gap, as a tree of tokens, so that words of several tokens are equalised exactly."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from evenhand.models.engine.requests import Tokens
from evenhand.models.engine.transfer import on_device

Ints = npt.NDArray[np.int64]

SETTLED_BITS = 8.0
"""Beyond this the context has settled the matter, by grammar or by what it tells; a stereotype is not that sure."""


@dataclass(frozen=True, slots=True)
class GenderedGroup:
    """Male and female words that are to have the same share: a pair of pronouns, or two groups of names."""

    male: tuple[Tokens, ...]
    female: tuple[Tokens, ...]


@dataclass(frozen=True)
class TermTree:
    """Everything that is to be evened out in a gap, each word a path of tokens from the root.

    A node is the beginning of some word; the root is the empty one. Words of one token need the root alone.
    """

    groups: tuple[GenderedGroup, ...]
    fits: int = 1
    """How many of the groups, from the first, have words that can stand in the gap by grammar."""

    @property
    def fitting(self) -> tuple[GenderedGroup, ...]:
        """The groups whose words can stand in the gap by grammar; the first is that of the word that stood there."""
        return self.groups[: self.fits]

    @cached_property
    def words(self) -> tuple[Tokens, ...]:
        """Group after group, the male words before the female ones."""
        return tuple(word for group in self.groups for word in group.male + group.female)

    @cached_property
    def nodes(self) -> tuple[Tokens, ...]:
        """Every beginning of a word that more tokens follow, the shorter before the longer."""
        beginnings = {word[:length] for word in self.words for length in range(len(word))}
        return tuple(sorted(beginnings, key=lambda beginning: (len(beginning), beginning)))

    @cached_property
    def edges(self) -> tuple[tuple[int, int], ...]:
        """The number of a node and a token behind it, for every token that a word has there; node after node."""
        number = {node: place for place, node in enumerate(self.nodes)}
        steps = {(number[word[:length]], token) for word in self.words for length, token in enumerate(word)}
        return tuple(sorted(steps))

    @cached_property
    def index(self) -> TreeIndex:
        """The tree as arrays of numbers."""
        nodes = {node: place for place, node in enumerate(self.nodes)}
        edges = {edge: place for place, edge in enumerate(self.edges)}
        words = {word: place for place, word in enumerate(self.words)}
        sides = [side for group in self.groups for side in (group.male, group.female)]

        def steps(paths: Iterable[Tokens]) -> Ints:
            found = [
                (edges[nodes[path[:length]], token], number)
                for number, path in enumerate(paths)
                for length, token in enumerate(path)
            ]
            return np.array(found, dtype=np.int64).reshape(-1, 2).T

        longest = max(map(len, sides))
        return TreeIndex(
            counts=(len(nodes), len(edges), len(words), len(self.groups)),
            tokens=np.array([token for _, token in self.edges], dtype=np.int64),
            node_of_edge=np.array([node for node, _ in self.edges], dtype=np.int64),
            word_steps=steps(self.words),
            node_steps=steps(self.nodes),
            side_of_word=np.repeat(np.arange(len(sides)), [len(side) for side in sides]),
            words_of_side=np.array(
                [[*(words[word] for word in side), *[-1] * (longest - len(side))] for side in sides]
            ),
        )


@dataclass(frozen=True, slots=True)
class TreeIndex:
    """A tree as arrays: nodes, edges, words and sides are numbered from 0."""

    counts: tuple[int, int, int, int]
    """Nodes, edges, words and groups."""
    tokens: Ints
    """Of edges."""
    node_of_edge: Ints
    word_steps: Ints
    """The edge of each step of a word, and the word, (2, steps)."""
    node_steps: Ints
    side_of_word: Ints
    words_of_side: Ints
    """One row for each side; -1 where it has fewer words than others."""


class TermForest:
    """Probabilities of words, sides and nodes from those of edges, of the trees of many gaps at once.

    Edges, nodes, words and groups of all gaps stand one gap after the other, in the order of their trees. So a batch
    needs as many operations as a single tree, however many different ones it has.
    """

    def __init__(self, trees: Sequence[TermTree], device: torch.device) -> None:
        indices = [tree.index for tree in trees]
        counts = np.array([index.counts for index in indices], dtype=np.int64).reshape(-1, 4)
        nodes, edges, words, groups = (counts.cumsum(axis=0) - counts).T.tolist()
        self.nodes, self._edges, self._words, self._groups = counts.sum(axis=0).tolist()
        self.gaps = len(indices)
        node_of_edge = _shifted([index.node_of_edge for index in indices], nodes)
        self.places = torch.from_numpy(node_of_edge)
        """The number of each edge's node, in rising order, in main memory."""
        numbers = np.arange(self.gaps)
        longest = max((index.words_of_side.shape[1] for index in indices), default=1)
        words_of_side = np.full((2 * self._groups, longest), self._words)
        for index, group, word in zip(indices, groups, words, strict=True):
            own = index.words_of_side
            rows = words_of_side[2 * group : 2 * group + len(own), : own.shape[1]]
            np.copyto(rows, own + word, where=own >= 0)
        parts = [
            _shifted([index.tokens for index in indices], [0] * self.gaps),
            node_of_edge,
            _shifted([index.word_steps[0] for index in indices], edges),
            _shifted([index.word_steps[1] for index in indices], words),
            _shifted([index.node_steps[0] for index in indices], edges),
            _shifted([index.node_steps[1] for index in indices], nodes),
            _shifted([index.side_of_word for index in indices], [2 * group for group in groups]),
            np.repeat(numbers, counts[:, 0]),
            np.repeat(numbers, counts[:, 3]),
            words_of_side.ravel(),
        ]
        # In one piece: a copy to a GPU takes as long for one number as for thousands.
        sent = torch.split(on_device(np.concatenate(parts), device), [len(part) for part in parts])
        (
            self.tokens,
            self.node_of_edge,
            *steps,
            self._side_of_word,
            self.gap_of_node,
            self.gap_of_group,
            sides,
        ) = sent
        """The token of each edge, and so on; gaps are numbered from 0."""
        self._word_steps, self._node_steps = (steps[0], steps[1]), (steps[2], steps[3])
        self._words_of_side = sides.reshape(words_of_side.shape)

    def word_logs(self, edges: Tensor) -> Tensor:
        """Log-probabilities of words from those of edges."""
        return _sums(edges[self._word_steps[0]], self._word_steps[1], self._words)

    def node_logs(self, edges: Tensor) -> Tensor:
        """Log-probability that each node is reached."""
        return _sums(edges[self._node_steps[0]], self._node_steps[1], self.nodes)

    def side_logs(self, words: Tensor) -> Tensor:
        """Log-probabilities that any word of a side stands there, (groups, 2), from those of words."""
        shares = torch.cat([words, words.new_full((1,), -math.inf)])[self._words_of_side].logsumexp(dim=-1)
        return shares.reshape(-1, 2)

    def of_words(self, sides: Tensor) -> Tensor:
        """What holds for a side, (groups, 2), for each of its words."""
        return sides.flatten()[self._side_of_word]

    def through_edges(self, words: Tensor) -> Tensor:
        """The sum over the words that go through each edge."""
        return _sums(words[self._word_steps[1]], self._word_steps[0], self._edges)

    def behind_nodes(self, edges: Tensor) -> Tensor:
        """The sum over the edges of each node."""
        return _sums(edges, self.node_of_edge, self.nodes)

    def of_gaps(self, groups: Tensor) -> Tensor:
        """The sum over the groups of each gap."""
        return _sums(groups, self.gap_of_group, self.gaps)


def _sums(parts: Tensor, places: Tensor, count: int) -> Tensor:
    """Parts that are added up at their places."""
    return parts.new_zeros(count).index_add(0, places, parts)


def _shifted(parts: Sequence[Ints], by: Sequence[int]) -> Ints:
    """Numbers of one gap after those of another, each shifted by where its gap begins."""
    return np.concatenate(
        [np.zeros(0, dtype=np.int64), *(part + own for part, own in zip(parts, by, strict=True))]
    )


def build_term_tree(groups: Sequence[GenderedGroup], fits: int = 1) -> TermTree:
    """A tree of the words that the tokenizer tells apart, without groups that lose a side.

    The first ``fits`` of the groups have words that can stand in the gap by grammar.

    A word that is spelt like one of another side is left out: its share cannot be told from the other's. Of two words
    of which one begins with the other ("Paul" + "a") one is left out, because the longer one's share is a part of the
    other's and cannot be scaled apart from it: the one of the later group, or else the longer one.
    """
    times = Counter(
        word for group in groups for side in (group.male, group.female) for word in dict.fromkeys(side)
    )
    own: set[Tokens] = set()
    beginnings: set[Tokens] = set()
    for group in groups:
        for word in sorted(group.male + group.female, key=len):
            before = {word[:length] for length in range(1, len(word))}
            if times[word] == 1 and word not in beginnings and not before & own:
                own.add(word)
                beginnings |= before
    kept = [
        GenderedGroup(
            *(
                tuple(dict.fromkeys(word for word in side if word in own))
                for side in (group.male, group.female)
            )
        )
        for group in groups
    ]
    whole = [group for group in kept if group.male and group.female]
    return TermTree(tuple(whole), sum(bool(group.male and group.female) for group in kept[:fits]))


MOST_WORDS = 0.8
"""The share of a side's words that must be of one token, if these are to stand for the side."""


def words_of_one_token(trees: Iterable[TermTree]) -> list[GenderedGroup]:
    """The groups of trees whose words are of one token, or most of them, without the others; no token is in two."""
    groups: list[GenderedGroup] = []
    taken: set[Tokens] = set()
    for group in dict.fromkeys(group for tree in trees for group in tree.groups):
        male, female = (
            tuple(word for word in side if len(word) == 1 and word not in taken)
            for side in (group.male, group.female)
        )
        if len(male) >= MOST_WORDS * len(group.male) and len(female) >= MOST_WORDS * len(group.female):
            groups.append(GenderedGroup(male, female))
            taken |= {*male, *female}
    return groups
