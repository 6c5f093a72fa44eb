"""What a model is trained towards, apart from how the training runs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import torch

from evenhand.models.engine.requests import Tokens
from evenhand.models.engine.transfer import on_device

Batch = dict[str, torch.Tensor]


@dataclass(frozen=True, slots=True)
class PretrainingOptions:
    """How a model goes on learning from sentences."""

    whole_words: bool = False
    """For masked models: hide all tokens of a word or none."""
    max_tokens: int | None = None
    """Longer sentences are cut."""


@dataclass(frozen=True, slots=True)
class InputRow:
    """A row of tokens that a model is shown."""

    ids: Tokens
    source: Tokens = ()
    """What an encoder sees, where there is one; ``ids`` are then the decoder's."""

    @property
    def length(self) -> int:
        """Of the longer input."""
        return max(len(self.ids), len(self.source))


@dataclass(frozen=True, slots=True)
class TokenRow(InputRow):
    """A sentence as a model sees it, and what is asked at which of its places."""

    places: Tokens = ()
    targets: Tokens = ()
    weight: float = 1.0
    """How much each of the targets counts."""
    marks: int = 0
    """Targets that are no text: the sentinels of spans, and what ends them."""

    @property
    def text_tokens(self) -> int:
        """Tokens of the text that are asked for."""
        return len(self.targets) - self.marks

    @property
    def rows(self) -> int:
        """One."""
        return 1

    @property
    def tokens(self) -> int:
        """All of them."""
        return len(self.ids) + len(self.source)


class Piece(Protocol):
    """The smallest part of a batch that has a loss of its own: a few rows that belong together."""

    @property
    def rows(self) -> int:
        """How many rows it has."""
        ...

    @property
    def length(self) -> int:
        """Tokens in the longest of them."""
        ...

    @property
    def tokens(self) -> int:
        """Tokens of them all; where rows are joined, those that they share count once."""
        ...


class Objective(Protocol):
    """Examples, and how far a model is from what they want."""

    name: str

    @property
    def pads(self) -> bool:
        """Whether rows are filled up to the longest that is run with them; otherwise they are joined."""
        ...

    @property
    def examples(self) -> Sequence[Any]:
        """What is gone through once an epoch, in an order drawn anew each time."""
        ...

    def lay_out(self, examples: Sequence[Any], generator: np.random.Generator) -> Sequence[Piece]:
        """The pieces of a batch.

        All chance (masks, replayed sentences) comes from the generator, which depends on the seed, the epoch and the
        examples alone, so that a training that was interrupted goes on exactly as it would have.
        """
        ...

    def loss(self, model: Any, pieces: Sequence[Any]) -> torch.Tensor:
        """What is to be lowered, from the model in training and some pieces of a batch.

        However a batch is split into pieces that are run together, their losses add up to that of the batch: its size
        is the recipe's, whatever fits into memory at once.
        """
        ...


class PretrainingObjective(Objective, Protocol):
    """An objective over sentences that asks for tokens of them."""

    def lay_out(self, examples: Sequence[Any], generator: np.random.Generator) -> Sequence[TokenRow]:
        """Sentences as rows, with what is asked of them; every token of the batch counts the same."""
        ...


def padded(rows: Sequence[Sequence[int]], filler: int) -> torch.Tensor:
    """Rows of one length."""
    table = np.full((len(rows), max(map(len, rows))), filler, dtype=np.int64)
    for number, row in enumerate(rows):
        table[number, : len(row)] = row
    return torch.from_numpy(table)


def model_inputs(rows: Sequence[InputRow], *, pad: int, device: torch.device) -> Batch:
    """What a model's ``forward`` takes for rows, each filled up to the longest."""
    has_encoder = bool(rows[0].source)
    shown = [row.source if has_encoder else row.ids for row in rows]
    inputs = {
        "input_ids": padded(shown, pad),
        "attention_mask": padded([[1] * len(row) for row in shown], 0),
    }
    if has_encoder:
        inputs["decoder_input_ids"] = padded([row.ids for row in rows], pad)
    return {name: on_device(values, device) for name, values in inputs.items()}


@dataclass(frozen=True, slots=True)
class TokenQuestions:
    """What rows ask: at which row and column which token, and how much it counts."""

    rows: torch.Tensor
    columns: torch.Tensor
    targets: torch.Tensor
    weights: torch.Tensor

    @classmethod
    def of(cls, rows: Sequence[TokenRow], *, device: torch.device, first: int = 0) -> TokenQuestions:
        """Of rows, the first of which has a number in its batch."""
        counts = [len(row.places) for row in rows]
        numbers = np.repeat(np.arange(first, first + len(rows)), counts)
        columns = np.array([place for row in rows for place in row.places], dtype=np.int64)
        targets = np.array([token for row in rows for token in row.targets], dtype=np.int64)
        weights = np.repeat(np.array([row.weight for row in rows], dtype=np.float32), counts)
        return cls(*(on_device(part, device) for part in (numbers, columns, targets, weights)))
