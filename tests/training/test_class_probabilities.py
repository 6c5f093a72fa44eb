"""Classifying in batches: the same as one by one, bounded by length, and in halves where memory does not suffice."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
import torch
from torch import nn

from evenhand.models.objectives.objective import Batch
from evenhand.models.references import ModelError
from evenhand.training import classification
from evenhand.training.classification import ClassificationExample, class_probabilities

LENGTHS = (3, 900, 40, 41, 1, 1, 400, 7)


class Counting(nn.Module):
    """Scores texts by their length, and notes the size of every batch."""

    def __init__(self, most: int = 10**9) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(1))
        self.most = most
        self.sizes: list[tuple[int, int]] = []

    def forward(self, lengths: torch.Tensor) -> torch.Tensor:
        self.sizes.append((len(lengths), int(lengths.max())))
        if len(lengths) * int(lengths.max()) > self.most:
            raise torch.OutOfMemoryError
        return torch.stack([lengths.float() / 100, torch.zeros(len(lengths))], dim=1)


def lay_out(examples: Sequence[ClassificationExample]) -> Batch:
    return {"lengths": torch.tensor([example.length for example in examples])}


def examples() -> list[ClassificationExample]:
    target = np.ones(2, dtype=np.float32)
    return [ClassificationExample(None, target, length=length) for length in LENGTHS]


EXPECTED = [[1 / (1 + np.exp(-length / 100)), 1 / (1 + np.exp(length / 100))] for length in LENGTHS]


def test_long_texts_make_small_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(classification, "MOST_LENGTH", 1_000)
    network = Counting().train()

    found = class_probabilities(network, examples(), layout=lay_out, batch_size=4)

    np.testing.assert_allclose(found, EXPECTED, rtol=1e-5)
    assert network.sizes == [(1, 900), (2, 400), (4, 40), (1, 1)]
    assert network.training


def test_what_does_not_fit_is_classified_in_halves() -> None:
    network = Counting(most=900)
    found = class_probabilities(network, examples(), layout=lay_out, batch_size=8)
    np.testing.assert_allclose(found, EXPECTED, rtol=1e-5)
    with pytest.raises(ModelError, match="not enough memory to classify a text of length 900"):
        class_probabilities(Counting(most=899), examples(), layout=lay_out, batch_size=8)
