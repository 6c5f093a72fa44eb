"""A batch in groups: what fits together, what happens when it does not, and gradients that do not depend on it."""

from __future__ import annotations

import copy
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import fitting_runs
import numpy as np
import pytest
import torch
import zoo_tokenizers
from torch import Tensor, nn
from zoo_fixtures import Zoo

from evenhand.models.engine.memory import MemoryBudget
from evenhand.models.language_model import LanguageModel
from evenhand.models.objectives.objective import Objective, Piece, PretrainingOptions, TokenRow
from evenhand.models.objectives.pretraining import NextTokenPretraining
from evenhand.training.half_precision import HalfPrecision
from evenhand.training.micro_batches import (
    MOST_TOKENS,
    FullPrecision,
    Gradients,
    MicroBatches,
    grouped,
    tokens_in,
    tokens_that_fit,
)
from evenhand.training.pretraining import pretraining_objective

SENTENCES = tuple(dict.fromkeys(zoo_tokenizers.sentences()))[:12]


@dataclass(frozen=True)
class Rows:
    """A piece of so many rows."""

    length: int
    rows: int = 1

    @property
    def tokens(self) -> int:
        return self.length + self.rows - 1  # its rows differ in their last token


def test_groups_have_all_pieces_and_no_more_tokens_than_they_may() -> None:
    generator = np.random.default_rng(0)
    pieces = [Rows(int(length), int(rows)) for length, rows in generator.integers(1, 40, size=(200, 2))]
    groups = grouped(pieces, 400)
    assert sorted(piece.length for group in groups for piece in group) == sorted(p.length for p in pieces)
    assert all(tokens_in(group) <= 400 or len(group) == 1 for group in groups)
    assert any(tokens_in(group) > 400 for group in groups), "no piece is too large for a group"
    padding = 1 - sum(p.length * p.rows for p in pieces) / sum(map(tokens_in, groups))
    assert padding < 0.15


def test_groups_of_joined_rows_are_full() -> None:
    generator = np.random.default_rng(0)
    pieces = [Rows(int(length), int(rows)) for length, rows in generator.integers(1, 40, size=(200, 2))]
    groups = grouped(pieces, 400, pads=False)
    assert Counter(piece for group in groups for piece in group) == Counter(pieces)
    sizes = [sum(piece.length + piece.rows - 1 for piece in group) for group in groups]
    assert [tokens_in(group, pads=False) for group in groups] == sizes
    assert max(sizes) <= 400
    assert min(sizes[:-1]) > 400 - 80, "another piece would have fitted"


class LittleMemory:
    """An objective that runs out of memory on the way back where there are too many tokens.

    It fails at the first weights of the model, so that gradients of all others are there already.
    """

    def __init__(self, inner: Objective, most: int, error: Callable[[str], Exception]) -> None:
        self.inner = inner
        self.most = most
        self.error = error
        self.tried: list[int] = []

    def loss(self, model: Any, pieces: Sequence[Any]) -> Tensor:
        self.tried.append(tokens_in(pieces))
        loss = self.inner.loss(model, pieces)
        if tokens_in(pieces) > self.most:
            handle = next(model.parameters()).register_hook(lambda _: fail())

            def fail() -> None:
                handle.remove()
                assert any(weight.grad is not None for weight in model.parameters())
                raise self.error("out of memory, not enough memory")

        return loss


def gradients_of(model: nn.Module) -> dict[str, Tensor]:
    return {name: weight.grad.clone() for name, weight in model.named_parameters() if weight.grad is not None}


def run(
    gradients: Gradients, batches: MicroBatches, network: nn.Module, loss: Any, pieces: Sequence[Piece]
) -> float:
    gradients.start()
    lost = batches.run(pieces, lambda group: gradients.add(network, lambda computing: loss(computing, group)))
    return float(lost)


@pytest.mark.parametrize("error", [torch.OutOfMemoryError, RuntimeError, MemoryError])
@pytest.mark.parametrize("make", [FullPrecision, HalfPrecision])
def test_where_memory_ends_halves_are_run_and_gradients_stay_the_same(
    menagerie: Zoo, make: Callable[[nn.Module], Gradients], error: Callable[[str], Exception]
) -> None:
    model = menagerie.model("llama")
    network = copy.deepcopy(model.loaded.model)
    objective = pretraining_objective(SENTENCES, model)
    pieces = objective.lay_out(objective.examples, np.random.default_rng(0))
    gradients = make(network)
    expected = run(gradients, MicroBatches(10_000), network, objective.loss, pieces)
    wanted = gradients_of(network)

    whole = tokens_in(pieces)
    little, batches = LittleMemory(objective, whole // 3, error), MicroBatches(10_000)
    found = run(gradients, batches, network, little.loss, pieces)
    tolerance = 1e-6 if make is FullPrecision else 1e-2
    assert little.tried[0] == whole
    assert sum(tried > whole // 3 for tried in little.tried) >= 2
    assert batches.max_tokens <= whole // 3
    assert not batches.skipped
    assert found == pytest.approx(expected, rel=tolerance)
    made = gradients_of(network)
    assert made.keys() == wanted.keys()
    for name, gradient in made.items():
        scale = float(wanted[name].abs().max())
        torch.testing.assert_close(gradient, wanted[name], rtol=0, atol=max(1e-6, tolerance * scale))
    # What did not fit once is not tried again.
    little.tried.clear()
    run(gradients, batches, network, little.loss, pieces)
    assert max(little.tried) <= whole // 3


def test_a_piece_that_does_not_fit_alone_is_skipped_with_a_reason(menagerie: Zoo) -> None:
    model = menagerie.model("llama")
    network = copy.deepcopy(model.loaded.model)
    objective = pretraining_objective([*SENTENCES[:4], " ".join(SENTENCES)], model)
    pieces = objective.lay_out(objective.examples, np.random.default_rng(0))
    longest = max(piece.length for piece in pieces)
    little = LittleMemory(objective, longest - 1, torch.OutOfMemoryError)
    batches = MicroBatches(10_000)
    gradients = FullPrecision(network)
    run(gradients, batches, network, little.loss, pieces)
    assert dict(batches.skipped) == {f"there is no memory for {longest:,} tokens at once": 1}
    made = gradients_of(network)
    run(gradients, MicroBatches(10_000), network, objective.loss, [p for p in pieces if p.length < longest])
    for name, gradient in gradients_of(network).items():
        torch.testing.assert_close(made[name], gradient, rtol=1e-5, atol=1e-7)


def test_other_errors_are_not_taken_for_a_want_of_memory(menagerie: Zoo) -> None:
    model = menagerie.model("llama")
    network = copy.deepcopy(model.loaded.model)
    objective = pretraining_objective(SENTENCES, model)
    pieces = objective.lay_out(objective.examples, np.random.default_rng(0))
    little = LittleMemory(objective, 1, lambda _: RuntimeError("shapes differ"))
    with pytest.raises(RuntimeError, match="shapes differ"):
        run(FullPrecision(network), MicroBatches(10_000), network, little.loss, pieces)


@pytest.mark.parametrize("name", ["llama", "bert", "t5"])
def test_as_many_tokens_are_run_as_keep_what_there_is_memory_for(menagerie: Zoo, name: str) -> None:
    model = menagerie.model(name)
    network = model.loaded.model
    objective = pretraining_objective(SENTENCES, model)
    pieces = objective.lay_out(objective.examples, np.random.default_rng(0))

    def loss(some: Sequence[Any]) -> Tensor:
        return objective.loss(network, some)

    chance = torch.get_rng_state()
    most = MOST_TOKENS["cpu"]
    found = tokens_that_fit(pieces, loss, MemoryBudget(2**21), most=most)
    assert torch.equal(torch.get_rng_state(), chance), "what follows depends on whether it was measured"
    assert 1 < found < most
    assert tokens_that_fit(pieces, loss, MemoryBudget(2**22), most=most) == 2 * found
    assert tokens_that_fit(pieces, loss, MemoryBudget(2**50), most=most) == most
    # The values of every layer are kept at least: hidden states, and what the feed-forward layer makes of them.
    config: Any = network.config
    assert found <= 2**21 / (4 * 5 * config.num_hidden_layers * config.hidden_size)


def test_a_training_tells_what_it_left_out(
    menagerie: Zoo, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    most = 12

    class LittleMemory(NextTokenPretraining):
        def loss(self, model: Any, pieces: Sequence[TokenRow]) -> Tensor:
            if tokens_in(pieces) > most:
                raise torch.OutOfMemoryError("CUDA out of memory")
            return super().loss(model, pieces)

    def objective(sentences: Sequence[str], model: LanguageModel) -> NextTokenPretraining:
        return LittleMemory(sentences, model, PretrainingOptions())

    monkeypatch.setattr(fitting_runs, "pretraining_objective", objective)
    model, fitted = fitting_runs.small_fit(menagerie.folder("llama"), tmp_path)
    lengths = [len(row) for row in objective(fitting_runs.SENTENCES, model).examples]
    assert min(lengths) < most < max(lengths)
    assert dict(fitted.skipped) == {
        f"there is no memory for {length} tokens at once": fitting_runs.EPOCHS * count
        for length, count in Counter(lengths).items()
        if length > most
    }
