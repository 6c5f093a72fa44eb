"""What can stand in a gap, as a tree of tokens, so that words of several tokens are equalised exactly."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

import torch
from torch import Tensor

from evenhand.models.engine.requests import Tokens

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


class TreeSums:
    """Probabilities of words, sides and nodes from those of a tree's edges, on a device."""

    def __init__(self, tree: TermTree, device: torch.device) -> None:
        nodes = {node: place for place, node in enumerate(tree.nodes)}
        edges = {edge: place for place, edge in enumerate(tree.edges)}

        def path(tokens: Tokens) -> list[int]:
            return [edges[nodes[tokens[:length]], token] for length, token in enumerate(tokens)]

        sides = [side for group in tree.groups for side in (group.male, group.female)]
        numbers = {word: place for place, word in enumerate(tree.words)}
        longest = max(map(len, sides))
        none = len(tree.words)
        self.nodes = len(tree.nodes)
        self.tokens = torch.tensor([token for _, token in tree.edges], device=device)
        """The token of each edge."""
        self.places = torch.tensor([node for node, _ in tree.edges])
        """The number of each edge's node, in main memory."""
        self.node_of_edge = self.places.to(device)
        self._words = len(tree.words)
        self._word_steps = _pairs([path(word) for word in tree.words], device)
        self._node_steps = _pairs([path(node) for node in tree.nodes], device)
        self._side_of_word = torch.tensor(
            [number for number, side in enumerate(sides) for _ in side], device=device
        )
        self._words_of_side = torch.tensor(
            [[*(numbers[word] for word in side), *[none] * (longest - len(side))] for side in sides],
            device=device,
        )

    def word_logs(self, edges: Tensor) -> Tensor:
        """Log-probabilities of words, (sentences, words), from those of edges, (sentences, edges)."""
        return self._along(edges, self._word_steps, self._words)

    def node_logs(self, edges: Tensor) -> Tensor:
        """Log-probability that each node is reached, (sentences, nodes)."""
        return self._along(edges, self._node_steps, self.nodes)

    def side_logs(self, words: Tensor) -> Tensor:
        """Log-probabilities that any word of a side stands there, (sentences, groups, 2), from those of words."""
        never = words.new_full((len(words), 1), -math.inf)
        shares = torch.cat([words, never], dim=1)[:, self._words_of_side].logsumexp(dim=-1)
        return shares.reshape(len(words), -1, 2)

    def of_words(self, sides: Tensor) -> Tensor:
        """What holds for a side, (sentences, groups, 2), for each of its words, (sentences, words)."""
        return sides.flatten(start_dim=1)[:, self._side_of_word]

    def through_edges(self, words: Tensor) -> Tensor:
        """The sum over the words that go through each edge, (sentences, edges)."""
        edge_of_step, word_of_step = self._word_steps
        return _sums(words[:, word_of_step], edge_of_step, len(self.tokens))

    def behind_nodes(self, edges: Tensor) -> Tensor:
        """The sum over the edges of each node, (sentences, nodes)."""
        return _sums(edges, self.node_of_edge, self.nodes)

    def _along(self, edges: Tensor, steps: Tensor, count: int) -> Tensor:
        edge_of_step, end_of_step = steps
        return _sums(edges[:, edge_of_step], end_of_step, count)


def _sums(parts: Tensor, places: Tensor, count: int) -> Tensor:
    """Parts of each sentence, added up at their places."""
    return parts.new_zeros(len(parts), count).index_add(1, places, parts)


def _pairs(paths: Sequence[Sequence[int]], device: torch.device) -> Tensor:
    """The edge of each step, and the number of the path that it belongs to, (2, steps)."""
    steps = [(edge, number) for number, path in enumerate(paths) for edge in path]
    return torch.tensor(steps, dtype=torch.long, device=device).reshape(-1, 2).T


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
