"""From inputs to tensors and back: one runner for each kind of input."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn

from evenhand.models.engine.plan import ForwardInput, MaskedInput, PairInput, Seq2SeqInput
from evenhand.models.engine.projection import Projection
from evenhand.models.engine.transfer import on_device
from evenhand.models.engine.trees import CausalInput, JoinedRows, Read

Values = npt.NDArray[np.float64]


class Runner(Protocol):
    """Computes everything that is read from inputs of one kind, in order."""

    def start(self, inputs: Sequence[ForwardInput]) -> Tensor:
        """Natural log-probabilities, input after input and read after read, on the device.

        On a GPU this returns before they are computed; ``finished`` waits for them.
        """
        ...


class ReadyRunner(ABC):
    """A runner that lays inputs out on the device first, so that they can be run again and again."""

    @abstractmethod
    def ready(self, inputs: Sequence[ForwardInput]) -> Callable[[], Tensor]:
        """Everything but the model's own work; what comes back runs the model as it is then."""

    def start(self, inputs: Sequence[ForwardInput]) -> Tensor:
        """See ``Runner``."""
        return self.ready(inputs)()


def finished(values: Tensor) -> Values:
    """Values once they are computed."""
    return values.double().cpu().numpy()


def padded(rows: Sequence[Sequence[int]], device: torch.device, *, fill: int = 0) -> tuple[Tensor, Tensor]:
    """Rows of different length as a tensor, filled up on the right, and the mask of what is real."""
    width = max(map(len, rows))
    ids = np.full((len(rows), width), fill, dtype=np.int64)
    mask = np.zeros((len(rows), width), dtype=np.int64)
    for number, row in enumerate(rows):
        ids[number, : len(row)] = row
        mask[number, : len(row)] = 1
    return on_device(ids, device), on_device(mask, device)


def read_index(
    reads_of: Sequence[Sequence[Read]], device: torch.device, places: Sequence[tuple[int, int]] | None = None
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Needed positions once each (row, column), and for every read its position's number and its token.

    Args:
        reads_of: The reads of each entry.
        device: Where the result goes.
        places: Row and column at which each entry begins; its own row if not given.
    """
    counts = [len(reads) for reads in reads_of]
    begins = np.array(places if places is not None else [(row, 0) for row in range(len(reads_of))])
    rows, shifts = np.repeat(begins, counts, axis=0).T
    flat = np.array([read for reads in reads_of for read in reads], dtype=np.int64).reshape(-1, 2)
    columns = flat[:, 0] + shifts
    width = int(columns.max(initial=0)) + 1
    needed, numbers = np.unique(rows * width + columns, return_inverse=True)
    index = (needed // width, needed % width, numbers, flat[:, 1])
    first, second, third, fourth = (on_device(np.ascontiguousarray(part), device) for part in index)
    return first, second, third, fourth


class MaskedRunner(ReadyRunner):
    """Masked models: the distribution at a masked position."""

    def __init__(self, projection: Projection, device: torch.device, pad: int) -> None:
        self.projection = projection
        self.device = device
        self.pad = pad

    def ready(self, inputs: Sequence[ForwardInput]) -> Callable[[], Tensor]:
        """See ``ReadyRunner``."""
        masked = [entry for entry in inputs if isinstance(entry, MaskedInput)]
        ids, mask = padded([entry.ids for entry in masked], self.device, fill=self.pad)
        index = read_index([entry.reads for entry in masked], self.device)
        arguments = {"input_ids": ids, "attention_mask": mask}
        return lambda: self.projection.log_probabilities(arguments, *index)


class CausalRunner(ReadyRunner):
    """Decoders: the distribution of the next token, one sequence in a row."""

    def __init__(self, projection: Projection, device: torch.device, pad: int) -> None:
        self.projection = projection
        self.device = device
        self.pad = pad

    def ready(self, inputs: Sequence[ForwardInput]) -> Callable[[], Tensor]:
        """See ``ReadyRunner``."""
        sequences = [entry for entry in inputs if isinstance(entry, CausalInput)]
        ids, mask = padded([entry.ids for entry in sequences], self.device, fill=self.pad)
        index = read_index([entry.reads for entry in sequences], self.device)
        arguments = {"input_ids": ids, "attention_mask": mask, "use_cache": False}
        return lambda: self.projection.log_probabilities(arguments, *index)


class JoinedCausalRunner(ReadyRunner):
    """Decoders: several trees of sequences in a row, under a mask that keeps them apart.

    What sequences share is computed once, and hardly any place in the batch is padding.
    """

    def __init__(self, projection: Projection, device: torch.device, pad: int, dtype: torch.dtype) -> None:
        self.projection = projection
        self.device = device
        self.pad = pad
        self.dtype = dtype

    def ready(self, inputs: Sequence[ForwardInput]) -> Callable[[], Tensor]:
        """See ``ReadyRunner``."""
        trees = [entry for entry in inputs if isinstance(entry, CausalInput)]
        rows = JoinedRows.of(trees, pad=self.pad, device=self.device)
        index = read_index([tree.reads for tree in trees], self.device, rows.begins)

        def run() -> Tensor:
            # The mask is made here: those of many batches that are ready would take far more than their tokens.
            arguments = {**rows.inputs(self.dtype), "use_cache": False}
            return self.projection.log_probabilities(arguments, *index)

        return run


class Seq2SeqRunner(ReadyRunner):
    """Encoder-decoders: each encoder input once, then all decoder arguments under it."""

    def __init__(self, model: nn.Module, projection: Projection, device: torch.device, pad: int) -> None:
        self.model = model
        self.projection = projection
        self.device = device
        self.pad = pad

    def ready(self, inputs: Sequence[ForwardInput]) -> Callable[[], Tensor]:
        """See ``ReadyRunner``."""
        seq2seq = [entry for entry in inputs if isinstance(entry, Seq2SeqInput)]
        rows = {entry.encoder_ids: None for entry in seq2seq}
        numbers = {encoder: number for number, encoder in enumerate(rows)}
        ids, mask = padded(list(rows), self.device, fill=self.pad)
        chosen = on_device(np.array([numbers[entry.encoder_ids] for entry in seq2seq]), self.device)
        decoder_ids, _ = padded([entry.decoder_ids for entry in seq2seq], self.device, fill=self.pad)
        index = read_index([entry.reads for entry in seq2seq], self.device)
        greedy = seq2seq[0].greedy_first

        def run() -> Tensor:
            encoder: Any = self.model.get_encoder()  # type: ignore[operator]
            states = encoder(input_ids=ids, attention_mask=mask)[0]
            arguments: dict[str, Any] = {
                "encoder_outputs": (states[chosen],),
                "attention_mask": mask[chosen],
                "use_cache": False,
            }
            written = self._continued(decoder_ids, arguments) if greedy else decoder_ids
            return self.projection.log_probabilities({**arguments, "decoder_input_ids": written}, *index)

        return run

    def _continued(self, decoder_ids: Tensor, arguments: dict[str, Any]) -> Tensor:
        """The decoder's input and the token that the model prefers after it."""
        preferred = self.model(decoder_input_ids=decoder_ids, **arguments)[0][:, -1].argmax(-1)
        return torch.cat([decoder_ids, preferred[:, None]], dim=1)


class FollowsReader(Protocol):
    """What says how likely the second sentence of an encoded pair follows the first."""

    def log_follows(self, ids: Tensor, mask: Tensor, types: Tensor) -> Tensor:
        """The natural log-probability that each pair follows."""
        ...


class PairRunner(ReadyRunner):
    """Next-sentence heads: the probability that the second sentence follows the first."""

    def __init__(self, reader: FollowsReader, device: torch.device, pad: int) -> None:
        self.reader = reader
        self.device = device
        self.pad = pad

    def ready(self, inputs: Sequence[ForwardInput]) -> Callable[[], Tensor]:
        """See ``ReadyRunner``."""
        pairs = [entry for entry in inputs if isinstance(entry, PairInput)]
        ids, mask = padded([entry.ids for entry in pairs], self.device, fill=self.pad)
        types, _ = padded([entry.types for entry in pairs], self.device)
        return lambda: self.reader.log_follows(ids, mask, types)
