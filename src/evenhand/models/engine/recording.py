"""A network's body, run from recordings on a GPU.

Small models keep a GPU waiting: to launch thousands of small pieces of work takes longer than to do them. A CUDA graph
is recorded once for each shape of the inputs, rows filled up so that there are few, and then launched as a whole.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn
from torch.autograd.function import once_differentiable

from evenhand.models.engine.memory import give_back_memory

COLUMNS = 64
"""Rows are filled up to multiples of so many tokens."""

MOST_RECORDINGS = 16
"""Shapes that come later are run as they are."""

WARM_UP = 2
"""Runs before a recording: libraries set themselves up in the first ones, which must not be recorded."""

OFTEN = 3
"""Times that a shape has to come in training before it is recorded: two graphs take as long as some dozen steps."""

MOST_FAILURES = 3
"""Recordings that may fail before nothing is recorded any more."""

LARGEST = 2**30
"""Weights of a body in training beyond which nothing is recorded: a GPU is busy with their arithmetic anyway."""

ALIGNED = 64
"""Gradients start at multiples of so many numbers, as fast kernels like it."""

ALIKE = 0.02
"""How far apart two passes over the same inputs may be, as a share of their length: what rounding in bf16 explains."""

Hidden = tuple[Any, Tensor]
"""The output of a body, and its hidden states."""

Body = Callable[[Mapping[str, Tensor]], Hidden]
"""Runs a network up to the output of its body."""

Shape = tuple[int, int]


@dataclass(frozen=True, slots=True)
class _Recording:
    graph: torch.cuda.CUDAGraph
    inputs: dict[str, Tensor]
    output: Any
    hidden: Tensor


class RecordedBody:
    """Gives what a body gives, without gradients, until it is called again."""

    def __init__(self, body: Body) -> None:
        self._body = body
        self._recordings: dict[Shape, _Recording] = {}
        self._stream = _OtherStream()
        self._pool: Any = None

    def __call__(self, inputs: Mapping[str, Tensor]) -> Hidden:
        """The output of the body, in which inputs may be filled up to a larger shape."""
        recording = self._recording_for(inputs)
        if recording is None:
            return self._body(inputs)
        _fill(recording.inputs, inputs)
        recording.graph.replay()
        return recording.output, recording.hidden

    def _recording_for(self, inputs: Mapping[str, Tensor]) -> _Recording | None:
        shape = _recorded_shape(inputs)
        if shape is None:
            return None
        if shape not in self._recordings and len(self._recordings) < MOST_RECORDINGS:
            self._recordings[shape] = self._record(inputs, shape)
        return self._recordings.get(shape)

    def _record(self, inputs: Mapping[str, Tensor], shape: Shape) -> _Recording:
        filled = _room_for(inputs, shape)
        self._stream.run(lambda: [self._body(filled) for _ in range(WARM_UP)])
        give_back_memory()  # what passes on the other stream have kept
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph, pool=self._pool):
            output, hidden = self._body(filled)
        self._pool = self._pool or graph.pool()
        return _Recording(graph, filled, output, hidden)


@dataclass(frozen=True, slots=True)
class _TrainingRecording:
    forward: torch.cuda.CUDAGraph
    backward: torch.cuda.CUDAGraph
    inputs: dict[str, Tensor]
    output: Any
    hidden: Tensor
    hidden_gradient: Tensor
    gradients: _GradientRoom


class _GradientRoom:
    """Where a pass backwards leaves the gradients of weights: one after the other, so that they are copied as one."""

    def __init__(self, gradients: Sequence[Tensor | None]) -> None:
        """For gradients like these; None are those of weights that have no part in the body."""
        self._shapes = [None if own is None else own.shape for own in gradients]
        present = [own for own in gradients if own is not None]
        self._sizes = [own.numel() for own in present]
        self._rooms = [math.ceil(size / ALIGNED) * ALIGNED for size in self._sizes]
        self._flat = torch.zeros(sum(self._rooms), dtype=present[0].dtype, device=present[0].device)

    def keep(self, gradients: Sequence[Tensor | None]) -> None:
        """Copy gradients here; a recording does so whenever it is run."""
        kept = [own for own in self._views(self._flat) if own is not None]
        torch._foreach_copy_(kept, [own for own in gradients if own is not None])

    def copies(self) -> list[Tensor | None]:
        """The gradients of the last pass, which the next one leaves alone."""
        return self._views(self._flat.clone())

    def _views(self, flat: Tensor) -> list[Tensor | None]:
        parts = (part[:size] for part, size in zip(torch.split(flat, self._rooms), self._sizes, strict=True))
        return [None if shape is None else next(parts).view(shape) for shape in self._shapes]


class RecordedTraining:
    """Gives what a body in training gives, and takes its gradients, until it is called again.

    A recording is used only if it repeats what the body does, forwards and backwards. A body whose own passes over the
    same inputs differ, as those with dropout do, is run as it is; so is one that cannot be recorded.
    """

    def __init__(self, body: Body, network: nn.Module) -> None:
        """From a body and its network, whose weights stay where they are in memory."""
        self._body = body
        self._network = network
        self._weights = [weight for weight in network.parameters() if weight.requires_grad]
        self._seen: Counter[Shape] = Counter()
        self._recordings: dict[Shape, _TrainingRecording] = {}
        self._gradients: _GradientRoom | None = None
        self._stream = _OtherStream()
        self._pool: Any = None
        self._failures = 0
        self._records = sum(weight.numel() for weight in network.parameters()) <= LARGEST

    def __call__(self, inputs: Mapping[str, Tensor]) -> Hidden:
        """The output of the body, in which inputs may be filled up to a larger shape."""
        recording = self._recording_for(inputs) if torch.is_grad_enabled() else None
        if recording is None:
            return self._body(inputs)
        _fill(recording.inputs, inputs)
        return recording.output, _Repeated.apply(recording, *self._weights)  # type: ignore[no-untyped-call]

    def _recording_for(self, inputs: Mapping[str, Tensor]) -> _TrainingRecording | None:
        shape = _recorded_shape(inputs)
        if shape is None or shape in self._recordings or not self._records:
            return None if shape is None else self._recordings.get(shape)
        self._seen[shape] += 1
        if self._seen[shape] >= OFTEN:
            self._try_to_record(inputs, shape)
        return self._recordings.get(shape)

    def _try_to_record(self, inputs: Mapping[str, Tensor], shape: Shape) -> None:
        try:
            with _other_names(self._network, self._weights) as weights:
                recording = self._record(inputs, shape, weights)
        except RuntimeError:  # no memory left, or something that a GPU cannot record
            self._failures += 1
            self._records = self._failures < MOST_FAILURES
            give_back_memory()
            return
        if recording is None:
            self._records = False
        else:
            self._recordings[shape] = recording
            self._records = len(self._recordings) < MOST_RECORDINGS

    def _record(
        self, inputs: Mapping[str, Tensor], shape: Shape, weights: Sequence[Tensor]
    ) -> _TrainingRecording | None:
        filled = _room_for(inputs, shape)
        _fill(filled, inputs)
        passes: list[_Pass] = []
        self._stream.run(lambda: passes.extend(self._run(filled, weights) for _ in range(WARM_UP)))
        if not passes[0].is_like(passes[1]) or len({weight.dtype for weight in weights}) > 1:
            return None
        room = self._gradients = self._gradients or _GradientRoom(passes[0].weight_gradients)
        # Every kernel has to be loaded before a recording begins, this one too.
        room.keep(passes[0].weight_gradients)
        give_back_memory()  # what passes on the other stream have kept
        forward, backward = torch.cuda.CUDAGraph(), torch.cuda.CUDAGraph()
        with torch.cuda.graph(forward, pool=self._pool):
            output, hidden = self._body(filled)
        self._pool = self._pool or forward.pool()
        hidden_gradient = torch.ones_like(hidden)
        with torch.cuda.graph(backward, pool=self._pool):
            room.keep(torch.autograd.grad(hidden, weights, hidden_gradient, allow_unused=True))
        recording = _TrainingRecording(
            forward, backward, filled, _detached(output), hidden.detach(), hidden_gradient, room
        )
        forward.replay()
        backward.replay()
        return recording if _Pass(recording.hidden, room.copies()).is_like(passes[1]) else None

    def _run(self, inputs: Mapping[str, Tensor], weights: Sequence[Tensor]) -> _Pass:
        _, hidden = self._body(inputs)
        gradients = torch.autograd.grad(hidden, weights, torch.ones_like(hidden), allow_unused=True)
        return _Pass(hidden.detach(), gradients)


@dataclass(frozen=True, slots=True)
class _Pass:
    """What a body gave, and the gradients of the sum of it."""

    hidden: Tensor
    weight_gradients: Sequence[Tensor | None]

    def is_like(self, other: _Pass) -> bool:
        """Whether the two differ by rounding alone."""
        return all(
            _apart(own, others) <= ALIKE
            for own, others in (
                ([self.hidden], [other.hidden]),
                (self.weight_gradients, other.weight_gradients),
            )
        )


def _apart(own: Sequence[Tensor | None], others: Sequence[Tensor | None]) -> float:
    """How long the difference of two is, each taken as one vector, as a share of the second; NaN if one has that."""
    pairs = [
        (one.float(), two.float())
        for one, two in zip(own, others, strict=True)
        if one is not None and two is not None
    ]
    apart = torch.stack([torch.linalg.vector_norm(one - two) for one, two in pairs]).norm()
    length = torch.stack([torch.linalg.vector_norm(two) for _, two in pairs]).norm()
    return float(apart / length.clamp_min(torch.finfo(length.dtype).tiny))


class _Repeated(torch.autograd.Function):
    @staticmethod
    def forward(context: Any, recording: _TrainingRecording, *_weights: Tensor) -> Tensor:
        recording.forward.replay()
        context.recording = recording
        return recording.hidden.detach()

    @staticmethod
    @once_differentiable
    def backward(context: Any, *gradients: Tensor) -> tuple[Tensor | None, ...]:
        recording: _TrainingRecording = context.recording
        recording.hidden_gradient.copy_(gradients[0])
        recording.backward.replay()
        return (None, *recording.gradients.copies())


def _detached(output: Any) -> Any:
    """A body's output without what its gradients would need."""

    def alone(value: Any) -> Any:
        return value.detach() if isinstance(value, Tensor) else value

    if isinstance(output, tuple):
        return tuple(map(alone, output))
    return type(output)(**{name: alone(value) for name, value in output.items()})


def _recorded_shape(inputs: Mapping[str, Tensor]) -> Shape | None:
    """The shape of the recording that serves inputs; None if they cannot be filled up."""
    ids, mask = inputs["input_ids"], inputs.get("attention_mask")
    # Other masks are made larger by the model itself, which looks at their values on the way.
    if not ids.is_cuda or mask is None or mask.dim() != 4:
        return None
    return ids.shape[0], math.ceil(ids.shape[1] / COLUMNS) * COLUMNS


def _room_for(inputs: Mapping[str, Tensor], shape: Shape) -> dict[str, Tensor]:
    """Inputs of a shape, in which nothing stands yet."""
    rows, columns = shape
    room = {}
    for name, value in inputs.items():
        sizes = (columns if size == value.shape[-1] else size for size in value.shape[1:])
        room[name] = _clear(value.new_empty((rows, *sizes)))
    return room


def _fill(room: Mapping[str, Tensor], inputs: Mapping[str, Tensor]) -> None:
    for name, value in inputs.items():
        _clear(room[name])
        room[name][tuple(slice(size) for size in value.shape)].copy_(value)


def _clear(values: Tensor) -> Tensor:
    """Values of places that are not used: any token, and in a mask each place sees itself alone.

    A place that saw none would come out as no number, and whatever is multiplied by that, be it by 0, is none either.
    """
    if not values.is_floating_point():
        return values.zero_()
    values.fill_(torch.finfo(values.dtype).min)
    values.diagonal(dim1=-2, dim2=-1).zero_()
    return values


@contextmanager
def _other_names(network: nn.Module, weights: Sequence[nn.Parameter]) -> Iterator[list[nn.Parameter]]:
    """Let a network compute with other tensors in the same memory, and give those that stand for some weights.

    What is left of an earlier pass ties a weight to the stream of that pass, and no other stream can record it then.
    """
    places = [
        (module, name, weight)
        for module in network.modules()
        for name, weight in module._parameters.items()
        if weight is not None
    ]
    others = {
        weight: nn.Parameter(weight.detach(), requires_grad=weight.requires_grad) for _, _, weight in places
    }
    try:
        for module, name, weight in places:
            module._parameters[name] = others[weight]
        yield [others[weight] for weight in weights]
    finally:
        for module, name, weight in places:
            module._parameters[name] = weight


class _OtherStream:
    """Where passes run that must not be recorded: always the same stream, because each keeps memory of its own."""

    def __init__(self) -> None:
        self._stream: torch.cuda.Stream | None = None

    def run(self, work: Callable[[], Any]) -> None:
        """Do something on it, and let all that comes later wait for that."""
        self._stream = self._stream or torch.cuda.Stream()  # type: ignore[no-untyped-call]
        self._stream.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(self._stream):
            work()
        torch.cuda.current_stream().wait_stream(self._stream)
