"""What a GPU repeats from a recording is what the network computes."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
import torch
from zoo_fixtures import Zoo

from evenhand.models.engine import recording
from evenhand.models.engine.projection import SplitProjection
from evenhand.models.engine.recording import MOST_RECORDINGS, OFTEN, RecordedBody, RecordedTraining
from evenhand.models.language_model import LanguageModel, load_language_model
from evenhand.models.objectives.layouts import JoinedLayout
from evenhand.models.objectives.objective import InputRow
from evenhand.training.half_precision import in_bf16


def test_without_a_gpu_nothing_is_recorded(menagerie: Zoo) -> None:
    model = menagerie.model("llama")
    inputs = JoinedLayout(model.loaded.pad_id).lay_out([[InputRow((5, 6, 7))]], model.loaded.model).inputs
    calls = []

    def body(given: Any) -> Any:
        calls.append(given)
        return None, torch.zeros(1, 3, 2)

    recorded = RecordedBody(body)
    recorded(inputs)
    recorded(inputs)
    assert calls == [inputs, inputs]


def test_without_a_gpu_a_body_in_training_is_run_as_it_is() -> None:
    network = torch.nn.ParameterList([torch.tensor([2.0])])
    (weight,) = network.parameters()
    recorded = RecordedTraining(lambda given: (None, weight * given["input_ids"]), network)
    for _ in range(2 * OFTEN):
        weight.grad = None
        _, hidden = recorded({"input_ids": torch.tensor([[3.0]])})
        torch.autograd.backward(hidden.sum())
        assert torch.equal(torch.as_tensor(weight.grad), torch.tensor([3.0]))


class ReplayedByHand:
    """What stands for a CUDA graph where there is none: it computes again, into the same places."""

    def __init__(self, replay: Callable[[], None]) -> None:
        self.replay = replay


class TrainingByHand(RecordedTraining):
    """Recordings that are computed again by hand."""

    def _record(self, inputs: Any, shape: recording.Shape, weights: Any) -> Any:
        filled = recording._room_for(inputs, shape)
        first = self._run(filled, weights)
        self._gradients = room = self._gradients or recording._GradientRoom(first.weight_gradients)
        hidden, gradient = first.hidden.clone(), torch.zeros_like(first.hidden)

        def forward() -> None:
            hidden.copy_(self._body(filled)[1].detach())

        def backward() -> None:
            with torch.enable_grad():
                computed = self._body(filled)[1]
            room.keep(torch.autograd.grad(computed, self._weights, gradient, allow_unused=True))

        onwards: Any = ReplayedByHand(forward)
        back: Any = ReplayedByHand(backward)
        return recording._TrainingRecording(onwards, back, filled, None, hidden, gradient, room)


def test_gradients_of_recordings_add_up_as_others_do(menagerie: Zoo, monkeypatch: pytest.MonkeyPatch) -> None:
    """Several passes before a step, of several shapes, and weights that change where they are."""
    monkeypatch.setattr(recording, "_recorded_shape", filled_up_shape)
    model = menagerie.model("llama")
    network: Any = without_dropout(copy.deepcopy(model.loaded.model))
    split = SplitProjection(network, network.base_model, len(model.tokenizer))
    weights = list(network.parameters())
    recorded = TrainingByHand(split.hidden, network)
    batches = list(joined_inputs(model, network, batches=9))
    for _ in range(4):
        found = []
        for body in (recorded, split.hidden):
            network.zero_grad(set_to_none=True)
            for inputs in batches:
                hidden = body(inputs)[1][:, : inputs["input_ids"].shape[1]]
                torch.autograd.backward((hidden * inputs["position_ids"][:, :, None]).square().sum())
            found.append([weight.grad.clone() for weight in weights if weight.grad is not None])
        for own, wanted in zip(*found, strict=True):
            assert (own - wanted).norm() <= 1e-4 * wanted.norm()
        with torch.no_grad():
            for weight in weights:
                weight.mul_(1.01)
    assert len(recorded._recordings) == len({filled_up_shape(inputs) for inputs in batches})


def filled_up_shape(inputs: dict[str, torch.Tensor]) -> recording.Shape:
    rows, columns = inputs["input_ids"].shape
    return rows, -(-columns // recording.COLUMNS) * recording.COLUMNS


needs_gpu = pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA device on this machine")


@needs_gpu
@pytest.mark.parametrize("name", ["gpt2", "llama"])
def test_recordings_of_any_shape_give_the_same_states(menagerie: Zoo, name: str) -> None:
    model = load_language_model(str(menagerie.folder(name)), device="cuda")
    network: Any = model.loaded.model
    frozen = model.position_reader.frozen(network)
    layout = JoinedLayout(model.loaded.pad_id)
    generator = np.random.default_rng(0)
    # More shapes than are recorded, and every one of them more than once, after larger and after smaller ones.
    for _ in range(6 * MOST_RECORDINGS):
        lengths = generator.integers(1, 60, size=generator.integers(1, 160))
        rows = [InputRow(tuple(generator.integers(len(model.tokenizer), size=n).tolist())) for n in lengths]
        laid_out = layout.lay_out([[row] for row in rows], network)
        last = laid_out.places(np.arange(len(rows)), lengths - 1)
        with torch.no_grad():
            expected = model.position_reader.states(network, laid_out.inputs, rows=last[0], columns=last[1])
        actual = frozen(laid_out.inputs, last[0], last[1])
        torch.testing.assert_close(actual.vectors, expected.vectors, rtol=1e-4, atol=1e-4)
        some = slice(min(5, len(rows)))
        torch.testing.assert_close(actual.logits(some), expected.logits(some), rtol=1e-4, atol=1e-4)


def joined_inputs(model: LanguageModel, network: Any, *, batches: int) -> Iterator[dict[str, torch.Tensor]]:
    """Batches of few different shapes, so that every one of them comes often."""
    layout, generator = JoinedLayout(model.loaded.pad_id), np.random.default_rng(1)
    for number in range(batches):
        lengths = generator.integers(20, 60, size=(10, 25, 40)[number % 3])
        rows = [InputRow(tuple(generator.integers(len(model.tokenizer), size=n).tolist())) for n in lengths]
        yield layout.lay_out([[row] for row in rows], network).inputs


def without_dropout(network: Any) -> Any:
    for module in network.modules():
        if isinstance(module, torch.nn.Dropout):
            module.p = 0.0
    return network.train()


@needs_gpu
@pytest.mark.parametrize("precision", ["fp32", "bf16"])
@pytest.mark.parametrize("name", ["gpt2", "llama"])
def test_recordings_of_training_give_the_same_states_and_gradients(
    menagerie: Zoo, name: str, precision: str
) -> None:
    model = load_language_model(str(menagerie.folder(name)), device="cuda")
    reader = model.position_reader
    network: Any = without_dropout(model.loaded.model)
    if precision == "bf16":
        network = in_bf16(network).train()
    trained, tolerance = reader.trained(network), 1e-3 if precision == "fp32" else 5e-2
    recorded = 0
    for number, inputs in enumerate(joined_inputs(model, network, batches=24)):
        ids = inputs["input_ids"]
        rows, columns = (part.flatten() for part in torch.meshgrid(
            torch.arange(ids.shape[0], device="cuda"), torch.arange(0, ids.shape[1], 7, device="cuda"), indexing="ij"
        ))  # fmt: skip
        found = []
        for read in (trained, lambda i, r, c: reader.states(network, i, rows=r, columns=c)):
            network.zero_grad(set_to_none=True)
            states = read(inputs, rows, columns)
            torch.autograd.backward((states.vectors.float() ** 2).sum())
            gradients = [weight.grad.float() for weight in network.parameters() if weight.grad is not None]
            found.append((states.vectors.detach().float().clone(), gradients))
        (vectors, gradients), (expected, wanted) = found
        assert (vectors - expected).norm() <= tolerance * expected.norm(), number
        assert len(gradients) == len(wanted)
        apart = torch.stack([(one - two).norm() for one, two in zip(gradients, wanted, strict=True)]).norm()
        assert apart <= tolerance * torch.stack([own.norm() for own in wanted]).norm(), number
        with torch.no_grad():  # as an optimizer does: where they are
            for weight in network.parameters():
                weight.mul_(1.01)
        recorded += 1
    assert recorded == 24
    assert training_recordings(trained), "nothing was recorded"


def test_a_network_has_its_own_weights_again_after_a_recording(menagerie: Zoo) -> None:
    network: Any = copy.deepcopy(menagerie.model("llama").loaded.model)
    before = dict(network.named_parameters())
    weights = list(before.values())
    with recording._other_names(network, weights) as others:
        named = dict(network.named_parameters())
        assert named.keys() == before.keys()
        for own, other in zip(weights, others, strict=True):
            assert other is not own
            assert other.data_ptr() == own.data_ptr()
        assert all(weight is other for weight, other in zip(named.values(), others, strict=True))
    assert all(weight is before[name] for name, weight in network.named_parameters())


def training_recordings(reader: Any) -> Any:
    bodies = [cell.cell_contents for cell in reader.__closure__]
    (recorded,) = [body for body in bodies if isinstance(body, RecordedTraining)]
    return recorded._recordings


@needs_gpu
def test_a_body_with_dropout_is_not_recorded(menagerie: Zoo) -> None:
    model = load_language_model(str(menagerie.folder("gpt2")), device="cuda")
    reader, network = model.position_reader, model.loaded.model
    for module in network.modules():
        if isinstance(module, torch.nn.Dropout):
            module.p = 0.3
    trained = reader.trained(network.train())
    for inputs in joined_inputs(model, network, batches=12):
        first = torch.zeros(1, dtype=torch.long)
        torch.autograd.backward(trained(inputs, first, first).vectors.sum())
    assert not training_recordings(trained)


@needs_gpu
def test_a_body_that_waits_for_the_gpu_is_not_recorded_and_gives_what_it_gives(menagerie: Zoo) -> None:
    model = load_language_model(str(menagerie.folder("llama")), device="cuda")
    network: Any = model.loaded.model
    own = torch.nn.ParameterList([torch.ones(1, device="cuda")])

    def body(given: Any) -> Any:
        return (None,), (own[0] * float(given["input_ids"].max())).expand(*given["input_ids"].shape, 1)

    recorded = RecordedTraining(body, own)
    for inputs in joined_inputs(model, network, batches=12):
        _, hidden = recorded(inputs)
        assert hidden.max().item() == inputs["input_ids"].max().item()
    assert not recorded._recordings
