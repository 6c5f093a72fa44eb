"""What can stand in a gap, as a tree of tokens, so that words of several tokens are equalised exactly."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import torch
from torch import Tensor

from evenhand.models.engine.requests import Tokens


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
    def steps(self) -> Tensor:
        """Node, token and word of every step of every word, (3, steps)."""
        number = {node: place for place, node in enumerate(self.nodes)}
        return torch.tensor(
            [
                (number[word[:length]], token, place)
                for place, word in enumerate(self.words)
                for length, token in enumerate(word)
            ]
        ).T

    @cached_property
    def side_of_word(self) -> Tensor:
        """For each word the number of its side: 2 g for men and 2 g + 1 for women of group g."""
        return torch.tensor(
            [
                2 * number + female
                for number, group in enumerate(self.groups)
                for female, side in enumerate((group.male, group.female))
                for _ in side
            ]
        )

    def group_of(self, word: Tokens) -> GenderedGroup | None:
        """The group that has a word."""
        return next((group for group in self.groups if word in group.male + group.female), None)

    def word_logs(self, logs: Tensor) -> Tensor:
        """Log-probabilities of words, (sentences, words), from those of tokens, (sentences, nodes, vocabulary)."""
        nodes, tokens, words = self.steps.to(logs.device)
        empty = logs.new_zeros(len(logs), len(self.words))
        return empty.index_add(1, words, logs[:, nodes, tokens])

    def side_logs(self, words: Tensor) -> Tensor:
        """Log-probabilities that any word of a side stands there, (sentences, groups, 2), from those of words."""
        sides = self.side_of_word.to(words.device)
        shares = [words[:, sides == side].logsumexp(dim=1) for side in range(2 * len(self.groups))]
        return torch.stack(shares, dim=1).reshape(len(words), len(self.groups), 2)

    def node_logs(self, logs: Tensor) -> Tensor:
        """Log-probability that each node is reached, (sentences, nodes)."""
        reached: dict[Tokens, Tensor] = {}
        number = {node: place for place, node in enumerate(self.nodes)}
        for node in self.nodes:
            parent = node[:-1]
            reached[node] = (
                reached[parent] + logs[:, number[parent], node[-1]] if node else logs.new_zeros(len(logs))
            )
        return torch.stack(list(reached.values()), dim=1)


def build_term_tree(groups: Sequence[GenderedGroup]) -> TermTree:
    """A tree of the words that the tokenizer tells apart, without groups that lose a side.

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
    kept = (
        GenderedGroup(
            *(
                tuple(dict.fromkeys(word for word in side if word in own))
                for side in (group.male, group.female)
            )
        )
        for group in groups
    )
    return TermTree(tuple(group for group in kept if group.male and group.female))
