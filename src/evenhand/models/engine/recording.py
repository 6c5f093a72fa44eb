"""A network whose weights stay as they are, run from recordings on a GPU.

Small models keep a GPU waiting: to launch thousands of small pieces of work takes longer than to do them. A CUDA graph
is recorded once for each shape of the inputs, rounded up so that there are few, and then launched as a whole.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

ROWS, COLUMNS = 4, 64
"""Shapes are rounded up to multiples of these."""

MOST_RECORDINGS = 16
"""Shapes that come later are run as they are."""

WARM_UP = 2
"""Runs before a recording: libraries set themselves up in the first ones, which must not be recorded."""

Hidden = tuple[Any, Tensor]
"""The output of a body, and its hidden states."""

Body = Callable[[Mapping[str, Tensor]], Hidden]
"""Runs a network up to the output of its body."""


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
        self._recordings: dict[tuple[int, ...], _Recording] = {}
        self._pool: Any = None

    def __call__(self, inputs: Mapping[str, Tensor]) -> Hidden:
        """The output of the body, in which inputs may be filled up to a larger shape."""
        recording = self._recording_for(inputs)
        if recording is None:
            return self._body(inputs)
        for name, value in inputs.items():
            _clear(recording.inputs[name])
            recording.inputs[name][tuple(slice(size) for size in value.shape)].copy_(value)
        recording.graph.replay()
        return recording.output, recording.hidden

    def _recording_for(self, inputs: Mapping[str, Tensor]) -> _Recording | None:
        ids, mask = inputs["input_ids"], inputs.get("attention_mask")
        # Other masks are made larger by the model itself, which looks at their values on the way.
        if not ids.is_cuda or mask is None or mask.dim() != 4:
            return None
        shape = tuple(
            math.ceil(size / unit) * unit for size, unit in zip(ids.shape, (ROWS, COLUMNS), strict=True)
        )
        if shape not in self._recordings and len(self._recordings) < MOST_RECORDINGS:
            self._recordings[shape] = self._record(inputs, *shape)
        return self._recordings.get(shape)

    def _record(self, inputs: Mapping[str, Tensor], rows: int, columns: int) -> _Recording:
        filled = {}
        for name, value in inputs.items():
            sizes = (columns if size == value.shape[-1] else size for size in value.shape[1:])
            filled[name] = _clear(value.new_empty((rows, *sizes)))
        beside = torch.cuda.Stream()  # type: ignore[no-untyped-call]
        beside.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(beside):
            for _ in range(WARM_UP):
                self._body(filled)
        torch.cuda.current_stream().wait_stream(beside)
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph, pool=self._pool):
            output, hidden = self._body(filled)
        self._pool = self._pool or graph.pool()
        return _Recording(graph, filled, output, hidden)


def _clear(values: Tensor) -> Tensor:
    """Values of places that are not used: any token, and in a mask each place sees itself alone.

    A place that saw none would come out as no number, and whatever is multiplied by that, be it by 0, is none either.
    """
    if not values.is_floating_point():
        return values.zero_()
    values.fill_(torch.finfo(values.dtype).min)
    values.diagonal(dim1=-2, dim2=-1).zero_()
    return values
