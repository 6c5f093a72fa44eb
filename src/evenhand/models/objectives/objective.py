"""What a model is trained towards, apart from how the training runs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import torch

Batch = dict[str, torch.Tensor]

IGNORED = -100
"""A label that no loss counts."""


@dataclass(frozen=True, slots=True)
class PretrainingOptions:
    """How a model goes on learning from sentences."""

    whole_words: bool = False
    """For masked models: hide all tokens of a word or none."""
    max_tokens: int | None = None
    """Longer sentences are cut."""


class Objective(Protocol):
    """Examples, and how far a model is from what they want."""

    name: str

    @property
    def examples(self) -> Sequence[Any]:
        """What is gone through once an epoch, in an order drawn anew each time."""
        ...

    def collate(self, examples: Sequence[Any], generator: np.random.Generator) -> Batch:
        """Examples as a batch of CPU tensors.

        All chance (masks, replayed sentences) comes from the generator, which depends on the seed, the epoch and the
        examples alone, so that a training that was interrupted goes on exactly as it would have.
        """
        ...

    def loss(self, model: Any, batch: Batch) -> torch.Tensor:
        """What is to be lowered, from the model in training and a batch on its device."""
        ...


def padded(rows: Sequence[Sequence[int]], filler: int) -> torch.Tensor:
    """Rows of one length."""
    table = np.full((len(rows), max(map(len, rows))), filler, dtype=np.int64)
    for number, row in enumerate(rows):
        table[number, : len(row)] = row
    return torch.from_numpy(table)
