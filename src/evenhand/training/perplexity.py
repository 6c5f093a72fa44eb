"""Held-out perplexity: how well a model still knows ordinary text.

What is hidden is chosen once, from a seed, so that a model in training and the model that it came from answer the same
questions, sentence by sentence.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import nn
from torch.nn import functional

from evenhand.core.errors import DatasetError
from evenhand.models.capabilities import Trains
from evenhand.models.objectives.held_out import HeldOutRow
from evenhand.models.objectives.objective import Batch, padded

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

BATCH_TOKENS = 4096


@dataclass(frozen=True, slots=True)
class HeldOutLoss:
    """How surprised a model is by each sentence."""

    nats: Floats
    """Sum over the scored tokens of each sentence."""
    tokens: Ints
    """Scored tokens of each sentence."""

    @property
    def perplexity(self) -> float:
        """Over all scored tokens."""
        return float(math.exp(self.nats.sum() / self.tokens.sum()))


class HeldOut:
    """Sentences that were kept back, as questions to one model.

    Masked models: 15% of the tokens of each sentence, at least one, are hidden behind the mask. Decoders: every token
    that has something before it. Models with sentinels: spans of 15% of the tokens, at least one, read where the
    decoder writes them; the sentinels themselves do not count.

    A sentence without any token counts 0 of 0 tokens; one too long for the model is cut.
    """

    def __init__(
        self,
        sentences: Sequence[str],
        model: Trains,
        *,
        seed: int = 0,
        max_tokens: int = BATCH_TOKENS,
    ) -> None:
        """Choose what is hidden.

        Args:
            sentences: The sentences.
            model: The model that will be asked, or the one that it came from.
            seed: Where the choice of hidden tokens comes from.
            max_tokens: Tokens in a batch.
        """
        held_out = model.held_out_rows(sentences, seed=seed)
        self.sentences = len(sentences)
        self.whole: npt.NDArray[np.bool_] = held_out.whole
        """Which sentences are scored from their first character to their last."""
        self.tokens: Ints = np.array([len(row.places) for row in held_out.rows], dtype=np.int64)
        if not self.tokens.any():
            raise DatasetError(
                "The held-out text has no word that the model could be asked for. Give other text."
            )
        fill = model.loaded.pad_id
        self._batches = [
            _batch(held_out.rows, chosen, fill) for chosen in _grouped(held_out.rows, self.tokens, max_tokens)
        ]

    def loss(self, model: nn.Module) -> HeldOutLoss:
        """The surprise of a model as it is now, on the device that it is on; its mode is left as it was."""
        device = next(model.parameters()).device
        nats = np.zeros(self.sentences)
        with _evaluating(model):
            for batch in self._batches:
                here = {name: part.to(device) for name, part in batch.inputs.items()}
                logits = model(**here, **batch.options).logits
                read = logits[batch.rows.to(device), batch.places.to(device)].float()
                lost = functional.cross_entropy(read, batch.targets.to(device), reduction="none")
                np.add.at(nats, batch.numbers, lost.double().cpu().numpy())
        return HeldOutLoss(nats, self.tokens)


@dataclass(frozen=True, slots=True)
class _HeldOutBatch:
    inputs: Batch
    options: dict[str, Any]
    rows: torch.Tensor
    places: torch.Tensor
    targets: torch.Tensor
    numbers: Ints
    """For each read the number of its sentence."""


def _grouped(rows: Sequence[HeldOutRow], tokens: Ints, max_tokens: int) -> Iterator[list[int]]:
    """Numbers of sentences of about one length, so many that a batch is full."""
    batch: list[int] = []
    for number in sorted(np.flatnonzero(tokens).tolist(), key=lambda number: -rows[number].length):
        if batch and rows[batch[0]].length * (len(batch) + 1) > max_tokens:
            yield batch
            batch = []
        batch.append(number)
    yield batch


def _batch(rows: Sequence[HeldOutRow], numbers: Sequence[int], fill: int) -> _HeldOutBatch:
    chosen = [rows[number] for number in numbers]
    reads = [len(row.places) for row in chosen]
    ids = padded([row.ids for row in chosen], fill)
    mask = padded([[1] * len(row.ids) for row in chosen], 0)
    if chosen[0].source:
        inputs = {
            "input_ids": padded([row.source for row in chosen], fill),
            "attention_mask": padded([[1] * len(row.source) for row in chosen], 0),
            "decoder_input_ids": ids,
        }
    else:
        inputs = {"input_ids": ids, "attention_mask": mask}
    return _HeldOutBatch(
        inputs=inputs,
        options={"use_cache": False} if chosen[0].remembers else {},
        rows=torch.from_numpy(np.repeat(np.arange(len(chosen)), reads)),
        places=torch.tensor([place for row in chosen for place in row.places]),
        targets=torch.tensor([token for row in chosen for token in row.targets]),
        numbers=np.repeat(np.array(numbers), reads),
    )


@contextmanager
def _evaluating(model: nn.Module) -> Iterator[None]:
    modes = [(module, module.training) for module in model.modules()]
    model.eval()
    try:
        with torch.no_grad():
            yield
    finally:
        for module, training in modes:
            module.training = training
