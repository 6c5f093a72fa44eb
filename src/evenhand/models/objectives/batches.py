"""Batches of rows of tokens for training."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch

Batch = dict[str, torch.Tensor]

IGNORED = -100
"""A label that no loss counts."""


def padded(rows: Sequence[Sequence[int]], filler: int) -> torch.Tensor:
    """Rows of one length."""
    found = np.full((len(rows), max(map(len, rows))), filler, dtype=np.int64)
    for number, row in enumerate(rows):
        found[number, : len(row)] = row
    return torch.from_numpy(found)
