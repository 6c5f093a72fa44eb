"""What a model expects at chosen places, a chunk of places at a time, so that no vocabulary's scores stand whole.

The body of a model runs once and leaves a state at every place. A state is a few thousand numbers; the scores over the
vocabulary that its head makes of it are 50,000 to 260,000. So states are kept, and scores exist for one chunk of places
only. In training each chunk is computed once more when gradients go back through it.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import torch
from torch import Tensor, nn
from torch.nn import functional
from torch.nn.parallel import DistributedDataParallel
from torch.utils.checkpoint import checkpoint

from evenhand.models.engine.memory import MemoryBudget
from evenhand.models.engine.projection import Projection, SplitProjection
from evenhand.models.engine.recording import Body, RecordedBody, RecordedTraining
from evenhand.models.engine.transfer import on_device

CHUNK_BYTES = {"cpu": 64 * 2**20, "cuda": 512 * 2**20}
"""Scores of one chunk in 32-bit floats, by device, if memory allows: more are hardly faster."""

SCORE_COPIES = 16
"""Blocks as large as a chunk's scores that must fit into memory: while they are compared and gradients go back, half as
many stand at once, and what the body keeps lies beside them."""

Found = TypeVar("Found")

StateReader = Callable[[Mapping[str, Any], Tensor, Tensor], "PositionStates"]
"""From inputs, and the rows and columns of places, to the states there."""


@dataclass(frozen=True, slots=True)
class PositionStates:
    """A state for each of some places, and the head that makes scores over the vocabulary of it."""

    vectors: Tensor
    head: Callable[[Tensor], Tensor]
    at_once: int
    """Places in a chunk."""

    def __len__(self) -> int:
        return len(self.vectors)

    def logits(self, places: slice) -> Tensor:
        """Scores over the vocabulary in 32 bits, one row for each place."""
        return self.head(self.vectors[places]).float()

    def split(self, sizes: Sequence[int]) -> list[PositionStates]:
        """The states of the first places, of those after them, and so on."""
        return [
            PositionStates(part, self.head, self.at_once) for part in torch.split(self.vectors, list(sizes))
        ]

    def total(self, parts: Sequence[Tensor]) -> Tensor:
        """The sum of parts of a loss; of none it is 0, through which gradients can go all the same."""
        return torch.stack([self.vectors[:0].float().sum(), *parts]).sum()

    def token_logs(self, places: Tensor, tokens: Tensor) -> Tensor:
        """Log-probabilities of tokens at places.

        Args:
            places: A place for each token, in rising order, in main memory.
            tokens: The tokens, on the device of the states.
        """

        def read(chunk: slice) -> Tensor:
            reads = within(places, chunk)
            here = on_device(places[reads] - chunk.start, tokens.device)
            return functional.log_softmax(self.logits(chunk), dim=-1)[here, tokens[reads]]

        return torch.cat([self.vectors[:0].float().flatten(), *in_chunks(read, len(self), self.at_once)])

    def logs_and_other_mass(self, tokens: Tensor, text_tokens: Tensor) -> tuple[Tensor, Tensor]:
        """The log-probability of a token at every place, and the probability of all that is no token of a text there.

        Args:
            tokens: One for each place, on the device of the states.
            text_tokens: Tokens that texts are made of, on the same device; the vocabulary of the head may be smaller
                or larger.
        """

        def read(chunk: slice) -> tuple[Tensor, Tensor]:
            logs = functional.log_softmax(self.logits(chunk), dim=-1)
            entries = logs.shape[-1]
            is_other = torch.ones(entries, dtype=torch.bool, device=logs.device)
            is_other[text_tokens[text_tokens < entries]] = False
            return logs.gather(1, tokens[chunk, None])[:, 0], logs[:, is_other].exp().sum(dim=-1)

        logs, masses = zip(*in_chunks(read, len(self), self.at_once), strict=True)
        return torch.cat(logs), torch.cat(masses)

    def surprise(self, tokens: Tensor, weights: Tensor) -> Tensor:
        """The weighted sum of the surprise at a token at every place, in nats."""

        def lost(chunk: slice) -> Tensor:
            each = functional.cross_entropy(self.logits(chunk), tokens[chunk], reduction="none")
            return (each * weights[chunk]).sum()

        return self.total(in_chunks(lost, len(self), self.at_once))


def in_chunks(compute: Callable[[slice], Found], count: int, at_once: int) -> list[Found]:
    """Something about each chunk of places; where there are several, each is computed anew for its gradients."""
    chunks = [slice(start, min(start + at_once, count)) for start in range(0, count, at_once)]
    if len(chunks) == 1 or not torch.is_grad_enabled():
        return [compute(chunk) for chunk in chunks]
    return [checkpoint(compute, chunk, use_reentrant=False) for chunk in chunks]


def within(places: Tensor, chunk: slice) -> slice:
    """Which of some places, in rising order, lie in a chunk."""
    start, end = torch.searchsorted(places, torch.tensor([chunk.start, chunk.stop])).tolist()
    return slice(start, end)


class PositionReader:
    """Reads a model, its copies and its wrapped self at chosen places."""

    def __init__(self, projection: Projection, memory: MemoryBudget) -> None:
        takes = inspect.signature(projection.model.forward).parameters
        # Nothing is written on, so a decoder need not remember what it saw.
        self._options = {"use_cache": False} if "use_cache" in takes else {}
        device = next(projection.model.parameters()).device.type
        self._chunk_bytes = min(CHUNK_BYTES.get(device, CHUNK_BYTES["cpu"]), memory.bytes // SCORE_COPIES)
        self._vocabulary = 0
        self._body: str | None = None
        if isinstance(projection, SplitProjection):
            names = {module: name for name, module in projection.model.named_modules()}
            self._body = names[projection.body]
            self._vocabulary = projection.vocabulary

    def states(
        self, model: nn.Module, inputs: Mapping[str, Any], *, rows: Tensor, columns: Tensor
    ) -> PositionStates:
        """The states at places, after the body has run.

        Of a model that cannot be split into body and head, the scores themselves are its states.
        """
        # torchrun wraps the model of a single process too; the wrapper gathers gradients in its own forward, so it is
        # called whole.
        if self._body is None or isinstance(model, DistributedDataParallel):
            scores: Tensor = model(**inputs, **self._options)[0][rows, columns]
            return PositionStates(scores, lambda vectors: vectors, self._at_once(scores.shape[-1]))
        vectors, head = self._split(model, self._body).states({**inputs, **self._options}, rows, columns)
        return PositionStates(vectors, head, self._at_once(self._vocabulary))

    def frozen(self, model: nn.Module) -> StateReader:
        """Reads a model that is not trained, without gradients."""
        read = self._recorded(model, RecordedBody)

        def states(inputs: Mapping[str, Any], rows: Tensor, columns: Tensor) -> PositionStates:
            with torch.no_grad():
                return read(inputs, rows, columns)

        return states

    def trained(self, model: nn.Module) -> StateReader:
        """Reads a model whose weights are trained where they are in memory."""
        return self._recorded(model, lambda body: RecordedTraining(body, model))

    def _recorded(self, model: nn.Module, record: Callable[[Body], Body]) -> StateReader:
        if self._body is None or isinstance(model, DistributedDataParallel):
            return lambda inputs, rows, columns: self.states(model, inputs, rows=rows, columns=columns)
        split = self._split(model, self._body)
        body = record(lambda inputs: split.hidden({**inputs, **self._options}))

        def states(inputs: Mapping[str, Any], rows: Tensor, columns: Tensor) -> PositionStates:
            vectors, head = split.states(inputs, rows, columns, body=body)
            return PositionStates(vectors, head, self._at_once(self._vocabulary))

        return states

    def _split(self, model: nn.Module, body: str) -> SplitProjection:
        inner = _without_adapters_wrapper(model)
        return SplitProjection(inner, inner.get_submodule(body), self._vocabulary)

    def _at_once(self, vocabulary: int) -> int:
        """Places in a chunk: their scores are computed in 32 bits."""
        return max(1, self._chunk_bytes // (4 * vocabulary))


def _without_adapters_wrapper(model: nn.Module) -> nn.Module:
    """The model inside peft's wrapper, which has the adapters' layers in place."""
    inner = getattr(model, "get_base_model", None)
    return inner() if callable(inner) else model
