"""Rows that are joined are read as rows by themselves are, with the same gradients."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from zoo_fixtures import Zoo

from evenhand.models.language_model import LanguageModel
from evenhand.models.objectives.layouts import (
    JoinedLayout,
    PaddedLayout,
    RowLayout,
    tokens_when_joined,
)
from evenhand.models.objectives.objective import InputRow

LEFT_TO_RIGHT = ("gpt2", "llama")


def groups_of_rows(model: LanguageModel, *, count: int, seed: int = 0) -> list[list[InputRow]]:
    """Groups whose rows begin alike and go on differently; some rows stand alone, and some occur twice."""
    generator = np.random.default_rng(seed)
    vocabulary = len(model.tokenizer)

    def tokens(most: int) -> tuple[int, ...]:
        return tuple(generator.integers(vocabulary, size=generator.integers(1, most)).tolist())

    groups = []
    for _ in range(count):
        shared = tokens(12)
        rows = [InputRow((*shared, *tokens(9))) for _ in range(generator.integers(1, 5))]
        groups.append([*rows, rows[0]] if generator.random() < 0.3 else rows)
    return groups


def read_everywhere(model: LanguageModel, layout: RowLayout, groups: list[list[InputRow]]) -> torch.Tensor:
    """The scores of the network at every token of every row, in order."""
    network: Any = model.loaded.model
    rows = [row for group in groups for row in group]
    located = np.array([(number, place) for number, row in enumerate(rows) for place in range(len(row.ids))])
    laid_out = layout.lay_out(groups, network)
    read = laid_out.places(*located.T)
    states = model.position_reader.states(network, laid_out.inputs, rows=read[0], columns=read[1])
    return states.logits(slice(len(located)))


@pytest.mark.parametrize("name", LEFT_TO_RIGHT)
def test_joined_rows_are_read_as_each_by_itself(menagerie: Zoo, name: str) -> None:
    model = menagerie.model(name)
    network: Any = model.loaded.model
    groups = groups_of_rows(model, count=40)
    apart = torch.cat([network(input_ids=torch.tensor([row.ids]))[0][0] for group in groups for row in group])
    for layout in (PaddedLayout(model.loaded.pad_id), JoinedLayout(model.loaded.pad_id)):
        torch.testing.assert_close(read_everywhere(model, layout, groups), apart, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("name", LEFT_TO_RIGHT)
def test_joined_rows_have_the_gradients_of_rows_by_themselves(menagerie: Zoo, name: str) -> None:
    model = menagerie.model(name)
    groups = groups_of_rows(model, count=10, seed=1)
    gradients = []
    for layout in (PaddedLayout(model.loaded.pad_id), JoinedLayout(model.loaded.pad_id)):
        lost = read_everywhere(model, layout, groups).log_softmax(-1)[:, 7].sum()
        gradients.append(torch.autograd.grad(lost, list(model.loaded.model.parameters()), allow_unused=True))
    for padded, joined in zip(*gradients, strict=True):
        if padded is not None:
            torch.testing.assert_close(joined, padded, rtol=1e-3, atol=1e-4)


def test_what_rows_share_is_laid_out_once(menagerie: Zoo) -> None:
    model = menagerie.model("llama")
    beginning = tuple(range(10, 30))
    group = [InputRow((*beginning, last)) for last in range(40, 90)]
    assert tokens_when_joined(group) == 20 + 50
    laid_out = JoinedLayout(model.loaded.pad_id).lay_out([group], model.loaded.model)
    assert laid_out.inputs["input_ids"].shape == (1, 70)
    padded = PaddedLayout(model.loaded.pad_id).lay_out([group], model.loaded.model)
    assert padded.inputs["input_ids"].shape == (50, 21)


@pytest.mark.parametrize(
    ("name", "joins"), [("gpt2", True), ("llama", True), ("bert", False), ("t5", False), ("albert", False)]
)
def test_only_models_that_read_left_to_right_are_shown_joined_rows(
    menagerie: Zoo, name: str, joins: bool
) -> None:
    layout = menagerie.model(name).row_layout
    assert layout.pads is not joins
    assert isinstance(layout, JoinedLayout) is joins


def test_a_model_that_looks_back_only_so_far_is_shown_rows_by_themselves(
    menagerie: Zoo, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = menagerie.model("llama")
    monkeypatch.setattr(model.loaded.config, "sliding_window", 16, raising=False)
    assert model.row_layout.pads
