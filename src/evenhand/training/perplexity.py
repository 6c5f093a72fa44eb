"""Held-out perplexity: how well a model still knows ordinary text.

What is hidden is chosen once, from a seed, so that a model in training and the model that it came from answer the same
questions, sentence by sentence.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial

import numpy as np
import numpy.typing as npt
import torch
from torch import nn

from evenhand.core.errors import DatasetError
from evenhand.models.engine.halving import attempt
from evenhand.models.engine.memory import BatchMemory
from evenhand.models.engine.modes import eval_mode
from evenhand.models.engine.positions import PositionStates
from evenhand.models.engine.transfer import on_device
from evenhand.models.language_model import LanguageModel
from evenhand.models.objectives.held_out import HeldOutRows
from evenhand.models.objectives.objective import TokenQuestions, TokenRow, model_inputs
from evenhand.models.references import ModelError
from evenhand.store.held_out_losses import HeldOutFigures, HeldOutLoss

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

BATCH_TOKENS = 4096


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
        model: LanguageModel,
        *,
        seed: int = 0,
        max_tokens: int = BATCH_TOKENS,
        rows: HeldOutRows | None = None,
    ) -> None:
        """Choose what is hidden.

        Args:
            sentences: The sentences.
            model: The model that will be asked, or the one that it came from.
            seed: Where the choice of hidden tokens comes from.
            max_tokens: Tokens in a batch; fewer where the memory of the model does not hold them.
            rows: What is asked, where that is chosen already.
        """
        held_out = model.held_out_rows(sentences, seed=seed) if rows is None else rows
        self.sentences = len(sentences)
        self.whole: npt.NDArray[np.bool_] = held_out.whole
        """Which sentences are scored from their first character to their last."""
        self.tokens: Ints = np.array([len(row.places) for row in held_out.rows], dtype=np.int64)
        if not self.tokens.any():
            raise DatasetError(
                "The held-out text has no word that the model could be asked for. Give other text."
            )
        self._rows = held_out.rows
        self._groups = list(_grouped(held_out.rows, self.tokens, max_tokens, model.batch_memory))
        self._reader = model.position_reader
        self._pad = model.loaded.pad_id
        self._products = model.loaded.products

    def loss(self, model: nn.Module) -> HeldOutLoss:
        """The surprise of a model as it is now, on the device that it is on; its mode is left as it was."""
        (logs,) = self._totals(model, _target_logs)
        return HeldOutLoss(-logs, self.tokens)

    def figures(self, model: nn.Module, *, text_tokens: Ints) -> HeldOutFigures:
        """The surprise, and the probability of all that is no token of a text, in one pass."""
        device = next(model.parameters()).device
        read = partial(_target_logs_and_other_mass, text_tokens=on_device(text_tokens, device))
        logs, special = self._totals(model, read)
        return HeldOutFigures(HeldOutLoss(-logs, self.tokens), special, self.whole)

    def _totals(self, model: nn.Module, read: _ReadStates) -> list[Floats]:
        """What is read at each scored token, added up over the tokens of each sentence."""
        waiting, fitting = self._groups[::-1], []
        values: list[Floats] = []
        with eval_mode(model), torch.no_grad(), self._products.in_use():
            while waiting:
                numbers = waiting.pop()
                found = attempt(lambda: self._values(model, numbers, read))  # noqa: B023 # it is called at once
                if found is None:
                    waiting += _halves(numbers, self._rows)
                    continue
                fitting.append(numbers)
                values.append(found)
        self._groups = fitting  # what did not fit once is not tried again after every epoch
        order = np.concatenate(fitting)
        sentences = np.repeat(order, self.tokens[order])
        totals = np.zeros((len(values[0]), self.sentences))
        for total, own in zip(totals, np.concatenate(values, axis=1), strict=True):
            np.add.at(total, sentences, own)
        return list(totals)

    def _values(self, model: nn.Module, numbers: list[int], read: _ReadStates) -> Floats:
        """What is read at every scored token of some sentences, one row for each kind of value."""
        device = next(model.parameters()).device
        rows = [self._rows[number] for number in numbers]
        asked = TokenQuestions.of(rows, device=device)
        inputs = model_inputs(rows, pad=self._pad, device=device)
        states = self._reader.states(model, inputs, rows=asked.rows, columns=asked.columns)
        values: Floats = torch.stack(read(states, asked.targets)).double().cpu().numpy()
        return values


_ReadStates = Callable[[PositionStates, torch.Tensor], tuple[torch.Tensor, ...]]
"""From the states at places, and the token that is asked for at each, to some values for each place."""


def _target_logs(states: PositionStates, targets: torch.Tensor) -> tuple[torch.Tensor]:
    return (states.token_logs(torch.arange(len(states)), targets),)


def _target_logs_and_other_mass(
    states: PositionStates, targets: torch.Tensor, *, text_tokens: torch.Tensor
) -> tuple[torch.Tensor, torch.Tensor]:
    return states.logs_and_other_mass(targets, text_tokens)


def _halves(numbers: list[int], rows: Sequence[TokenRow]) -> list[list[int]]:
    """Two parts of a group that did not fit into memory."""
    if len(numbers) == 1:
        raise ModelError(
            f"There is not enough memory for a held-out sentence of {rows[numbers[0]].length:,} tokens. Free some "
            "memory, or give shorter sentences."
        )
    middle = len(numbers) // 2
    return [numbers[middle:], numbers[:middle]]


def _grouped(
    rows: Sequence[TokenRow], tokens: Ints, max_tokens: int, memory: BatchMemory
) -> Iterator[list[int]]:
    """Numbers of sentences of about one length, so many that a batch is full."""
    batch: list[int] = []
    for number in sorted(np.flatnonzero(tokens).tolist(), key=lambda number: -rows[number].length):
        if batch:
            width = rows[batch[0]].length
            together = width * (len(batch) + 1)
            if together > max_tokens or not memory.holds(together, width=width):
                yield batch
                batch = []
        batch.append(number)
    yield batch
