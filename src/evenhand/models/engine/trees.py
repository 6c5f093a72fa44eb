"""Trees of sequences for decoders: what sequences share is computed once, and several trees stand in one row.

A mask keeps them apart, so hardly any place in a batch is padding.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

import numpy as np
import torch
from torch import Tensor

from evenhand.models.engine.requests import Tokens
from evenhand.models.engine.transfer import on_device

JOINED_ROW = {"cpu": 128, "cuda": 256}
"""Tokens in a row of joined inputs: long enough to fill well, short enough for attention to cost little."""

SHORTEST_GAP = 8
"""A row with less room than this is full."""

Read: TypeAlias = tuple[int, int]
"""A position of an input and a token: the token's log-probability in the distribution there.

A plain pair, because there are a dozen for every sentence.
"""


@dataclass(slots=True)
class CausalInput:
    """Sequences as a tree: what they share stands once.

    The tokens stand in one row, each before those that follow it in a sequence and each branch before the next.
    ``depths`` are the tokens' positions in their sequences; ``ends`` is, for each token, the last place of the
    row that comes after it in some sequence. So place j is seen from place i if j <= i <= ends[j].
    """

    ids: Tokens
    depths: Tokens
    ends: Tokens
    reads: list[Read] = field(default_factory=list)

    @property
    def length(self) -> int:
        """Tokens that the model sees."""
        return len(self.ids)


def build_tree(sequences: Sequence[Tokens]) -> tuple[CausalInput, list[list[int]]]:
    """The tree of sorted sequences, and for each of them the places of its tokens in the tree's row."""
    ids: list[int] = []
    depths: list[int] = []
    ends: list[int] = []
    paths: list[list[int]] = []
    before: Tokens = ()
    path: list[int] = []
    for sequence in sequences:
        shared = shared_prefix(before, sequence)
        for place in path[shared:]:
            ends[place] = len(ids) - 1
        path = [*path[:shared], *range(len(ids), len(ids) + len(sequence) - shared)]
        ids += sequence[shared:]
        depths += range(shared, len(sequence))
        ends += [0] * (len(sequence) - shared)
        paths.append(path)
        before = sequence
    for place in path:
        ends[place] = len(ids) - 1
    return CausalInput(tuple(ids), tuple(depths), tuple(ends)), paths


def shared_prefix(one: Tokens, other: Tokens) -> int:
    """Tokens that two sequences begin with."""
    return next(
        (place for place, (left, right) in enumerate(zip(one, other, strict=False)) if left != right),
        min(len(one), len(other)),
    )


@dataclass(frozen=True, slots=True)
class JoinedRows:
    """Trees in rows, on a device."""

    begins: list[tuple[int, int]]
    """Row and column at which each tree begins."""
    ids: Tensor
    positions: Tensor
    """Of tokens in their sequences."""
    ends: Tensor
    """As in ``CausalInput``, but places in a row. Padding sees itself alone."""

    @classmethod
    def of(
        cls,
        trees: Sequence[CausalInput],
        *,
        pad: int,
        device: torch.device,
        row_length: int | None = None,
    ) -> JoinedRows:
        """Join trees, each into the first row with room left; there is least padding if the longest come first.

        Args:
            trees: The trees.
            pad: The token that fills rows up.
            device: Where the rows are to be.
            row_length: Tokens in a row, unless a tree is longer; what suits the device if not given.
        """
        begins = _joined(
            [tree.length for tree in trees], row_length or JOINED_ROW.get(device.type, JOINED_ROW["cpu"])
        )
        rows = 1 + max(row for row, _ in begins)
        width = max(column + tree.length for (_, column), tree in zip(begins, trees, strict=True))
        ids = np.full((rows, width), pad, dtype=np.int64)
        positions = np.zeros((rows, width), dtype=np.int64)
        ends = np.tile(np.arange(width), (rows, 1))
        for (row, column), tree in zip(begins, trees, strict=True):
            after = column + tree.length
            ids[row, column:after] = tree.ids
            positions[row, column:after] = tree.depths
            ends[row, column:after] = np.add(tree.ends, column)
        first, second, third = (on_device(part, device) for part in (ids, positions, ends))
        return cls(begins, first, second, third)

    def inputs(self, dtype: torch.dtype) -> dict[str, Tensor]:
        """What a decoder's ``forward`` takes, with a mask in the number format that it computes in."""
        return {
            "input_ids": self.ids,
            "position_ids": self.positions,
            "attention_mask": self._mask(dtype)[:, None],
        }

    def _mask(self, dtype: torch.dtype) -> Tensor:
        """One square for each row: place j is seen from place i if j <= i <= ends[j]; see ``CausalInput``."""
        places = torch.arange(self.ends.shape[1], device=self.ends.device)
        hidden = places[:, None] > self.ends[:, None, :]
        hidden |= places[:, None] < places
        lowest = torch.finfo(dtype).min
        return torch.zeros(hidden.shape, dtype=dtype, device=self.ends.device).masked_fill_(hidden, lowest)


def _joined(lengths: Sequence[int], row_length: int) -> list[tuple[int, int]]:
    """Row and column for each length, given longest first: into the first row with room left."""
    capacity = max(row_length, *lengths)
    used: list[int] = []
    open_row = 0
    places = []
    for length in lengths:
        row = next((row for row in range(open_row, len(used)) if used[row] + length <= capacity), len(used))
        if row == len(used):
            used.append(0)
        places.append((row, used[row]))
        used[row] += length
        while open_row < len(used) and used[open_row] + SHORTEST_GAP > capacity:
            open_row += 1
    return places
