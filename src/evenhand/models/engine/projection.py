"""Only the positions that are asked for are projected to the vocabulary.

Any Transformers model is a body that makes hidden states and a head that turns each of them into scores over
the vocabulary. The body runs once over the batch. For the head, the model's own ``forward`` runs again on the
hidden states that are needed, in chunks, with the body replaced by one that hands those states back: so
whatever the model does behind its body (transforms, biases, scaling, capping) is done by its own code.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, TypeAlias

import torch
from torch import Tensor, nn

from evenhand.models.engine.memory import SCORE_COPIES, MemoryBudget
from evenhand.models.engine.recording import Body

CHUNK_BYTES = {"cpu": 256 * 2**20, "cuda": 2**30}
"""Largest block of vocabulary scores in 32-bit floats, by device: the one saves memory, the other launches."""


def bodies_of(model: nn.Module) -> Iterator[nn.Module]:
    """Modules that may be the body, the likeliest first."""
    seen: list[nn.Module] = [model]
    for candidate in (_decoder(model), getattr(model, "base_model", None)):
        if isinstance(candidate, nn.Module) and not any(candidate is known for known in seen):
            seen.append(candidate)
            yield candidate


def _decoder(model: nn.Module) -> nn.Module | None:
    getter = getattr(model, "get_decoder", None)
    try:
        decoder = getter() if callable(getter) else None
    except (AttributeError, NotImplementedError):
        return None
    return decoder if isinstance(decoder, nn.Module) else None


class SplitProjection:
    """The fast way: body once, head on the needed positions, in chunks."""

    def __init__(
        self, model: nn.Module, body: nn.Module, vocabulary: int, *, budget: MemoryBudget | None = None
    ) -> None:
        self.model = model
        self.body = body
        self.vocabulary = vocabulary
        self.budget = budget

    def log_probabilities(
        self, inputs: Mapping[str, Any], rows: Tensor, columns: Tensor, reads: Tensor, tokens: Tensor
    ) -> Tensor:
        """Log-probabilities of tokens, left on the device so that nobody has to wait for them yet.

        Args:
            inputs: What the model's ``forward`` takes.
            rows: For each needed position, its row in the batch.
            columns: For each needed position, its column.
            reads: For each token, which of the needed positions it is read at.
            tokens: The tokens.
        """
        output, hidden = self.hidden(inputs)
        needed = hidden[rows, columns]
        rows_at_once = self._rows_at_once(hidden.device)
        if len(needed) <= rows_at_once:
            return normalised(self._head(needed, output, inputs), reads, tokens)
        values = torch.empty(len(tokens), dtype=torch.float32, device=hidden.device)
        for start in range(0, len(needed), rows_at_once):
            chunk = needed[start : start + rows_at_once]
            here = (reads >= start) & (reads < start + len(chunk))
            # Every read is looked up in every chunk and kept where it belongs: picking out those that belong
            # would make the processor wait for the device.
            places = (reads - start).clamp(0, len(chunk) - 1)
            values = torch.where(here, normalised(self._head(chunk, output, inputs), places, tokens), values)
        return values

    def _rows_at_once(self, device: torch.device) -> int:
        """Positions whose scores over the vocabulary may stand in memory together."""
        most = CHUNK_BYTES.get(device.type, CHUNK_BYTES["cpu"])
        if self.budget is not None:
            # The mask and the body's output stand beside the scores, so they may have half of the budget.
            most = min(most, self.budget.bytes // (2 * SCORE_COPIES))
        return max(1, most // (4 * self.vocabulary))

    def states(
        self, inputs: Mapping[str, Any], rows: Tensor, columns: Tensor, *, body: Body | None = None
    ) -> tuple[Tensor, Callable[[Tensor], Tensor]]:
        """The hidden states at needed positions, and what makes scores over the vocabulary of some of them.

        Args:
            inputs: What the model's ``forward`` takes.
            rows: For each needed position, its row in the batch.
            columns: For each needed position, its column.
            body: Runs the body in another way than ``hidden``.
        """
        output, hidden = (body or self.hidden)(inputs)
        shell, head_inputs = _with_hidden(output, hidden[:1, :1].detach()), _head_inputs(inputs)
        return hidden[rows, columns], lambda vectors: self._head(vectors, shell, head_inputs)

    def hidden(self, inputs: Mapping[str, Any]) -> tuple[Any, Tensor]:
        """Run the model up to its body's output: the head sees one position only."""
        kept: dict[str, Any] = {}

        def keep(_module: nn.Module, _arguments: Any, output: Any) -> Any:
            kept["output"] = output
            kept["hidden"] = output[0]
            return _with_hidden(output, output[0][:1, :1])

        handle = self.body.register_forward_hook(keep)
        try:
            self.model(**inputs)
        finally:
            handle.remove()
        return kept["output"], kept["hidden"]

    def _head(self, chunk: Tensor, output: Any, inputs: Mapping[str, Any]) -> Tensor:
        with _replaced_forward(self.body, _with_hidden(output, chunk[:, None])):
            logits: Tensor = self.model(**_head_inputs(inputs))[0]
        return logits.reshape(len(chunk), logits.shape[-1])


class WholeProjection:
    """The plain way, for models that cannot be split: every position over the whole vocabulary."""

    def __init__(self, model: nn.Module) -> None:
        self.model = model

    def log_probabilities(
        self, inputs: Mapping[str, Any], rows: Tensor, columns: Tensor, reads: Tensor, tokens: Tensor
    ) -> Tensor:
        """Log-probabilities of tokens; see ``SplitProjection``."""
        logits: Tensor = self.model(**inputs)[0]
        return normalised(logits[rows, columns], reads, tokens)


def normalised(logits: Tensor, reads: Tensor, tokens: Tensor) -> Tensor:
    """Log-probabilities from logits, normalised in 32 bits whatever the precision of the model."""
    wide = logits.float()
    return wide[reads, tokens] - torch.logsumexp(wide, dim=-1)[reads]


def _with_hidden(output: Any, hidden: Tensor) -> Any:
    """A body's output with other hidden states."""
    if isinstance(output, tuple):
        return (hidden, *output[1:])
    changed = type(output)(**output)
    changed[next(iter(output.keys()))] = hidden
    return changed


def _head_inputs(inputs: Mapping[str, Any]) -> dict[str, Any]:
    """Inputs that make the least work in front of the replaced body."""
    kept = dict(inputs)
    for name in ("input_ids", "decoder_input_ids"):
        if name in kept:
            kept[name] = kept[name][:1, :1]
    for name in ("attention_mask", "decoder_attention_mask", "token_type_ids", "position_ids"):
        kept.pop(name, None)
    return kept


@contextmanager
def _replaced_forward(module: nn.Module, output: Any) -> Iterator[None]:
    module.forward = lambda *_arguments, **_options: output
    try:
        yield
    finally:
        del module.forward


Projection: TypeAlias = SplitProjection | WholeProjection
