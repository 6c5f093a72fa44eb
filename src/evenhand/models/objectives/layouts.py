"""How rows stand in the tensors that a model takes: each filled up to the longest, or as trees in joined rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from evenhand.models.engine.transfer import on_device
from evenhand.models.engine.trees import JOINED_ROW, JoinedRows, build_tree
from evenhand.models.limits import attention_window
from evenhand.models.loading import Loaded
from evenhand.models.objectives.objective import Batch, InputRow, model_inputs

Ints = npt.NDArray[np.int64]

ROW_LENGTHS = {"cpu": (JOINED_ROW["cpu"],), "cuda": (JOINED_ROW["cuda"], 1_024)}
"""Tokens in a row of joined inputs, by device: the first that holds the longest input."""


@dataclass(frozen=True, slots=True)
class LaidOutRows:
    """What a model's ``forward`` takes, and where every token of the rows stands in it."""

    inputs: Batch
    rows: Ints
    """The row of the tensors that each row of tokens is in."""
    columns: Ints
    """The column of each token, one row for each row of tokens."""

    def places(self, rows: Ints, columns: Ints) -> Tensor:
        """Where tokens stand, (2, tokens), by the rows of tokens that they are in and their places there."""
        located = np.stack([self.rows[rows], self.columns[rows, columns]])
        return on_device(located, self.inputs["input_ids"].device)


class RowLayout(Protocol):
    """Lays rows out for a model."""

    @property
    def pads(self) -> bool:
        """Whether rows are filled up to the longest; otherwise they stand one behind the other."""
        ...

    def lay_out(self, groups: Sequence[Sequence[InputRow]], network: Any) -> LaidOutRows:
        """Rows for a network, group after group; rows of one group may begin alike."""
        ...


@dataclass(frozen=True, slots=True)
class PaddedLayout:
    """Each row by itself."""

    pad: int

    @property
    def pads(self) -> bool:
        """Yes."""
        return True

    def lay_out(self, groups: Sequence[Sequence[InputRow]], network: Any) -> LaidOutRows:
        """See ``RowLayout``."""
        rows = [row for group in groups for row in group]
        inputs = model_inputs(rows, pad=self.pad, device=next(network.parameters()).device)
        longest = max(len(row.ids) for row in rows)
        return LaidOutRows(inputs, np.arange(len(rows)), np.tile(np.arange(longest), (len(rows), 1)))


@dataclass(frozen=True, slots=True)
class JoinedLayout:
    """For decoders: the rows of a group as a tree, several trees in a row of the tensors."""

    pad: int

    @property
    def pads(self) -> bool:
        """No."""
        return False

    def lay_out(self, groups: Sequence[Sequence[InputRow]], network: Any) -> LaidOutRows:
        """See ``RowLayout``."""
        weight = next(network.parameters())
        built = [build_tree(sorted({row.ids for row in group})) for group in groups]
        order = sorted(range(len(groups)), key=lambda group: -built[group][0].length)
        joined = JoinedRows.of(
            [built[group][0] for group in order],
            pad=self.pad,
            device=weight.device,
            row_length=_row_length(built[order[0]][0].length, weight.device),
        )
        begins = dict(zip(order, joined.begins, strict=True))
        rows = np.array([begins[number][0] for number, group in enumerate(groups) for _ in group])
        columns = np.zeros(
            (len(rows), max(len(row.ids) for group in groups for row in group)), dtype=np.int64
        )
        first = 0
        for number, (group, (_, paths)) in enumerate(zip(groups, built, strict=True)):
            path_of = dict(zip(sorted({row.ids for row in group}), paths, strict=True))
            for place, row in enumerate(group, start=first):
                columns[place, : len(row.ids)] = np.add(path_of[row.ids], begins[number][1])
            first += len(group)
        return LaidOutRows(joined.inputs(weight.dtype), rows, columns)


def _row_length(longest: int, device: torch.device) -> int:
    """Tokens in a row. Passages would give rows of many different lengths, and a recording serves one length alone."""
    return next(
        (length for length in ROW_LENGTHS.get(device.type, ROW_LENGTHS["cpu"]) if longest <= length), longest
    )


def choose_layout(loaded: Loaded, *, shares_prefixes: bool) -> RowLayout:
    """Joined rows for models that read them rightly; their mask takes the place of one that may look back less far."""
    joins = shares_prefixes and attention_window(loaded.config) is None
    return JoinedLayout(loaded.pad_id) if joins else PaddedLayout(loaded.pad_id)


def tokens_when_joined(group: Sequence[InputRow]) -> int:
    """Tokens of a group's rows, those that they share counted once."""
    return build_tree(sorted({row.ids for row in group}))[0].length
