"""Gaps as inputs of a model: rows of tokens, and where to read what the model expects in the gap.

Every node of a term's tree is asked in the way in which the probes ask: the word's earlier tokens stand in their place,
and the next one is read at the mask (masked models), behind the sentinel (T5), or as what follows (decoders). A decoder
also tells by what comes after the term whether it expects a man or a woman, so it is shown the rest of the sentence
after a male and after a female word, and both are read.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np

from evenhand.models.engine.requests import Tokens
from evenhand.models.objectives.objective import InputRow

MOST_HIDDEN = 0.5
"""Largest share of the other tokens that is hidden."""

Position = tuple[int, int]
"""A row and a column."""


@dataclass(slots=True)
class GapRows:
    """Rows that show a gap, with the places that are read."""

    rows: list[InputRow] = field(default_factory=list)
    nodes: list[Position] = field(default_factory=list)
    """A place for each node of the gap's tree, or none."""
    after_male: list[Position] = field(default_factory=list)
    after_female: list[Position] = field(default_factory=list)
    """Where the tokens behind the term are expected; the two lists go together."""

    def add(self, row: InputRow) -> int:
        """Another row, and its number."""
        self.rows.append(row)
        return len(self.rows) - 1


class TermGap(Protocol):
    """What stands before and after a term, as tokens."""

    @property
    def before(self) -> Tokens:
        """Before the term."""
        ...

    @property
    def after(self) -> Tokens:
        """After the term."""
        ...

    @property
    def word(self) -> Tokens:
        """The term itself."""
        ...

    @property
    def tree(self) -> int:
        """Which of the trees has the words that could stand there."""
        ...


class TermGroup(Protocol):
    """Male and female words that go together."""

    @property
    def male(self) -> tuple[Tokens, ...]:
        """Words for men."""
        ...

    @property
    def female(self) -> tuple[Tokens, ...]:
        """Words for women."""
        ...


class TermChoices(Protocol):
    """The words that could stand in a gap, as a tree of tokens."""

    @property
    def nodes(self) -> Sequence[Tokens]:
        """Every beginning of a word that more tokens follow; the first is the empty one."""
        ...

    @property
    def fitting(self) -> Sequence[TermGroup]:
        """The groups whose words can stand in the gap by grammar; the first is that of the word that stood there."""
        ...


class GapContexts(Protocol):
    """Lays gaps out as rows, in the way that suits a family of models."""

    @property
    def sees_only_before(self) -> bool:
        """Whether a model of the family sees nothing of what comes after a gap."""
        ...

    def lay_out(self, gap: TermGap, tree: TermChoices, generator: np.random.Generator) -> list[GapRows]:
        """The rows of a gap, in parts that can be looked at apart; one of them has all nodes."""
        ...


@dataclass(frozen=True, slots=True)
class MaskedContexts:
    """A row for each node: the earlier tokens of the word, then a mask.

    In every other gap on average, some of the other tokens are masked as well. The original answers whatever it is
    shown, and a sentence that looks different in every epoch cannot be learnt by heart.
    """

    mask: int
    special: frozenset[int]

    @property
    def sees_only_before(self) -> bool:
        """See ``GapContexts``."""
        return False

    def lay_out(self, gap: TermGap, tree: TermChoices, generator: np.random.Generator) -> list[GapRows]:
        """See ``GapContexts``."""
        gap_rows = GapRows()
        before, after = self._partly_hidden(gap, generator)
        for node in tree.nodes:
            row = gap_rows.add(InputRow((*before, *node, self.mask, *after)))
            gap_rows.nodes.append((row, len(before) + len(node)))
        return [gap_rows]

    def _partly_hidden(self, gap: TermGap, generator: np.random.Generator) -> tuple[Tokens, Tokens]:
        share = max(0.0, generator.uniform(-MOST_HIDDEN, MOST_HIDDEN))
        draws = iter(generator.random(len(gap.before) + len(gap.after)).tolist())
        before, after = (
            tuple(self.mask if next(draws) < share and token not in self.special else token for token in part)
            for part in (gap.before, gap.after)
        )
        return before, after


@dataclass(frozen=True, slots=True)
class SentinelContexts:
    """A row for each node: the earlier tokens of the word, then the sentinel behind which the decoder goes on."""

    sentinel: int
    decoder_row: Tokens

    @property
    def sees_only_before(self) -> bool:
        """See ``GapContexts``."""
        return False

    def lay_out(self, gap: TermGap, tree: TermChoices, _: np.random.Generator) -> list[GapRows]:
        """See ``GapContexts``."""
        gap_rows = GapRows()
        for node in tree.nodes:
            row = gap_rows.add(InputRow(self.decoder_row, (*gap.before, *node, self.sentinel, *gap.after)))
            gap_rows.nodes.append((row, len(self.decoder_row) - 1))
        return [gap_rows]


@dataclass(frozen=True, slots=True)
class LeftContexts:
    """The sentence with a male and with a female word; nodes are read in the first, or in short rows of their own.

    A row that ends with a node has all beginnings of the node on its way, so only the longest nodes have rows.
    """

    @property
    def sees_only_before(self) -> bool:
        """See ``GapContexts``."""
        return True

    def lay_out(self, gap: TermGap, tree: TermChoices, generator: np.random.Generator) -> list[GapRows]:
        """See ``GapContexts``."""
        words = _a_man_and_a_woman(gap, tree, generator)
        sentences, beginnings = GapRows(), GapRows()
        for places, word in zip((sentences.after_male, sentences.after_female), words, strict=True):
            row = sentences.add(InputRow((*gap.before, *word, *gap.after)))
            first = len(gap.before) + len(word) - 1
            places += [(row, first + step) for step in range(len(gap.after))]
        root = len(gap.before) - 1
        if len(tree.nodes) == 1:
            sentences.nodes.append((0, root))
            return [sentences]
        row_of: dict[Tokens, int] = {}
        for node in reversed(tree.nodes):
            if node not in row_of:
                row = beginnings.add(InputRow((*gap.before, *node)))
                row_of |= {node[:length]: row for length in range(len(node) + 1)}
        beginnings.nodes += [(row_of[node], root + len(node)) for node in tree.nodes]
        return [beginnings, sentences] if gap.after else [beginnings]


def _a_man_and_a_woman(
    gap: TermGap, tree: TermChoices, generator: np.random.Generator
) -> tuple[Tokens, Tokens]:
    """Words of a group that fits: the word that stood there and any of the other side, or any two."""
    groups = tree.fitting
    if gap.word not in groups[0].male + groups[0].female:
        raise ValueError("A gap's word is none of those that could stand there.")
    group = groups[int(generator.integers(len(groups)))]
    return _one_of(group.male, gap.word, generator), _one_of(group.female, gap.word, generator)


def _one_of(side: tuple[Tokens, ...], word: Tokens, generator: np.random.Generator) -> Tokens:
    return word if word in side else side[generator.integers(len(side))]
