"""Weights that are put back into a model, and those that have no place in it."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from safetensors.torch import save_file
from torch import nn

from evenhand.core.errors import RunError
from evenhand.training.checkpoints import CURVE_FILE, WEIGHTS_FILE, Checkpoint


def test_weights_go_where_their_names_say(tmp_path: Path) -> None:
    model = nn.Linear(2, 1)
    untouched = model.weight.detach().clone()
    save_file({"bias": torch.tensor([3.0])}, tmp_path / WEIGHTS_FILE)

    Checkpoint(tmp_path, 1).load_weights(model)

    assert model.bias.tolist() == [3.0]
    assert torch.equal(model.weight, untouched)


def test_weights_of_another_model_are_refused_before_any_is_taken(tmp_path: Path) -> None:
    model = nn.Linear(2, 1)
    own = model.bias.item()
    save_file({"bias": torch.tensor([3.0]), "head.weight": torch.ones(2)}, tmp_path / WEIGHTS_FILE)

    with pytest.raises(
        RunError, match=r"weights that the model has not, such as head\.weight: it is of another"
    ):
        Checkpoint(tmp_path, 1).load_weights(model)
    assert model.bias.item() == own


def test_a_learning_curve_that_has_no_end_is_refused(tmp_path: Path) -> None:
    (tmp_path / CURVE_FILE).symlink_to("/dev/zero")
    with pytest.raises(RunError, match=r"The checkpoint .* is damaged \(.*is no file"):
        _ = Checkpoint(tmp_path, 1).curve
