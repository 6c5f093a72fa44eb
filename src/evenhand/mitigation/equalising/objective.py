"""The equalising objective: even where only the gendered term decides, unchanged everywhere else.

At the gaps the loss is KL(target || model). The target is the original's distribution with the share of the two sides
made equal. For one pair of single tokens, each of the two gets half of what both had. For groups, such as names, each
group gets half of what both had, and the shape within a group is kept. The probability of a word of several tokens is
the product over its steps: whole words are scaled, and each step's distribution follows from the scaled words and from
everything else that shares the step, which keeps its probability.

A pair that is unlikely in a gap hardly counts there, although MALoR reads it all the same; so the shares of the two
sides within each pair are compared once more by themselves, KL(half and half || model). Behind a decoder's gap the
target is the mean of what the original expects after a man and after a woman. Beside all that, on ordinary sentences,
KL(original || model) keeps everything else where it was.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from evenhand.core.errors import EvenhandError
from evenhand.mitigation.equalising.gaps import GapCollector, SentenceGap
from evenhand.mitigation.equalising.term_trees import TermTree
from evenhand.models.engine.projection import PositionReader
from evenhand.models.language_model import LanguageModel
from evenhand.models.objectives.gap_contexts import GapRows, Position
from evenhand.models.objectives.objective import IGNORED, Batch, Objective, padded

SETTLED_BITS = 8.0
"""Beyond this the context has settled the matter, by grammar or by what it tells; a stereotype is not that sure."""


@dataclass(frozen=True, slots=True)
class EqualisedTargets:
    """The target distribution at each node of each gap."""

    probabilities: Tensor
    """(sentences, nodes, vocabulary)"""
    weights: Tensor
    """How much each node counts, (sentences, nodes): the original's probability to get there, and 0 where the context
    has settled all matters."""
    is_open: Tensor
    """Whether a group is to be even, (sentences, groups), as 1 or 0."""


def equalised_targets(logs: Tensor, tree: TermTree) -> EqualisedTargets:
    """The targets from the original's log-probabilities, (sentences, nodes, vocabulary)."""
    words, reached = tree.word_logs(logs), tree.node_logs(logs)
    sides = tree.side_logs(words)
    is_open = (sides[:, :, 0] - sides[:, :, 1]).abs() <= SETTLED_BITS * math.log(2)
    shift = sides.logsumexp(dim=2, keepdim=True) - math.log(2) - sides
    shift = torch.where(is_open[:, :, None], shift, 0.0).flatten(start_dim=1)
    change = (words + shift[:, tree.side_of_word.to(logs.device)]).exp() - words.exp()
    joint = logs.exp() * reached.exp()[:, :, None]
    nodes, tokens, of_word = tree.steps.to(logs.device)
    flat = joint.flatten(start_dim=1).index_add(1, nodes * logs.shape[-1] + tokens, change[:, of_word])
    scaled = flat.reshape(joint.shape).clamp_min(0.0)
    return EqualisedTargets(
        scaled / scaled.sum(dim=-1, keepdim=True).clamp_min(torch.finfo(logs.dtype).tiny),
        reached.exp() * is_open.any(dim=1, keepdim=True).to(logs.dtype),
        is_open.to(logs.dtype),
    )


_INPUTS = ("input_ids", "attention_mask", "decoder_input_ids")


@dataclass(frozen=True, slots=True)
class Balance:
    """How much evening out counts beside staying the same, and how many ordinary sentences go with a batch."""

    weight: float = 0.5
    replayed: int = 256

    def __post_init__(self) -> None:
        if not 0 <= self.weight < math.inf:
            raise EvenhandError(
                f"The balance is {self.weight:g}; it must be 0 or more. 0.5 is usual; more lowers bias further and "
                "costs more perplexity."
            )


class EqualisingObjective:
    """See the module. ``replay`` is the model's own pre-training objective over ordinary sentences."""

    name = "equalise"

    def __init__(
        self,
        model: LanguageModel,
        collector: GapCollector,
        *,
        replay: Objective,
        balance: Balance | None = None,
    ) -> None:
        self.balance = balance or Balance()
        self.trees = tuple(collector.trees)
        self._gaps = collector.gaps
        self._replay = replay
        self._contexts = model.gap_contexts()
        self._expects_next = model.reads_left_to_right
        self._pad = model.loaded.pad_id
        self._reader = PositionReader(model.projection)
        self._original = _frozen_copy(model.loaded.model)

    @property
    def examples(self) -> Sequence[SentenceGap]:
        """The gaps."""
        return self._gaps

    def collate(self, examples: Sequence[SentenceGap], generator: np.random.Generator) -> Batch:
        """The gaps as rows, below them ordinary sentences with tokens hidden as in pre-training."""
        gaps = sorted(examples, key=lambda gap: gap.tree)
        rows = self._contexts.lay_out(gaps, self.trees, generator)
        pool = self._replay.examples
        chosen = generator.integers(len(pool), size=self.balance.replayed)
        replayed = dict(self._replay.collate([pool[place] for place in chosen], generator))
        labels = replayed.pop("labels")
        if self._contexts.decoder_row:
            replayed["decoder_input_ids"] = self._shifted(labels)
        # What a decoder expects at a place is the token behind it; other models answer in place.
        asked = torch.nonzero((labels[:, 1:] if self._expects_next else labels) != IGNORED)
        return {
            **self._below(self._inputs(rows), replayed),
            "trees": torch.tensor([gap.tree for gap in gaps]),
            "nodes": _position_tensor(rows.nodes),
            "after_male": _position_tensor(rows.after_male),
            "after_female": _position_tensor(rows.after_female),
            "ordinary": (asked + torch.tensor([len(rows.rows), 0])).T,
        }

    def loss(self, model: Any, batch: Batch) -> Tensor:
        """What is to be lowered."""
        inputs = {name: batch[name] for name in _INPUTS if name in batch}
        parts = [batch[name] for name in ("nodes", "after_male", "after_female", "ordinary")]
        places, sizes = torch.cat(parts, dim=1), [part.shape[1] for part in parts]
        original_logs = torch.split(self._original_logs(inputs, places), sizes)
        model_logs = torch.split(self._logs(model, inputs, places), sizes)
        at_gaps = self._loss_at_gaps(original_logs[0], model_logs[0], batch["trees"])
        uneven = at_gaps + _loss_behind_gaps(original_logs[1:3], model_logs[1:3])
        changed = _divergence(original_logs[3].exp(), model_logs[3]).sum() / max(1, sizes[3])
        return self.balance.weight * uneven / len(batch["trees"]) + changed

    def _loss_at_gaps(self, original_logs: Tensor, model_logs: Tensor, trees: Tensor) -> Tensor:
        """Summed over gaps; those of one tree are together."""
        total = model_logs.new_zeros(())
        start = 0
        numbers, counts = torch.unique_consecutive(trees.cpu(), return_counts=True)
        for number, count in zip(numbers.tolist(), counts.tolist(), strict=True):
            tree = self.trees[number]
            end = start + count * len(tree.nodes)
            shape = (count, len(tree.nodes), -1)
            targets = equalised_targets(original_logs[start:end].reshape(shape), tree)
            logs = model_logs[start:end].reshape(shape)
            total = total + (_divergence(targets.probabilities, logs) * targets.weights).sum()
            shares = functional.log_softmax(tree.side_logs(tree.word_logs(logs)), dim=-1)
            total = total + ((-math.log(2) - shares.mean(dim=-1)) * targets.is_open).sum()
            start = end
        return total

    def _shifted(self, labels: Tensor) -> Tensor:
        """What the decoder of an encoder-decoder has written before each label."""
        written = labels.masked_fill(labels == IGNORED, self._pad)
        first = torch.full_like(labels[:, :1], self._contexts.decoder_row[0])
        return torch.cat([first, written[:, :-1]], dim=1)

    def _inputs(self, rows: GapRows) -> Batch:
        ids = padded(rows.rows, self._pad)
        lengths = torch.tensor([len(row) for row in rows.rows])
        inputs = {
            "input_ids": ids,
            "attention_mask": (torch.arange(ids.shape[1]) < lengths[:, None]).long(),
        }
        if self._contexts.decoder_row:
            inputs["decoder_input_ids"] = torch.tensor([self._contexts.decoder_row] * len(rows.rows))
        return inputs

    def _below(self, upper: Batch, lower: Batch) -> Batch:
        """Rows under rows, filled up to one width: the model runs once over both."""
        joined = {}
        for name, above in upper.items():
            width = max(above.shape[1], lower[name].shape[1])
            filler = 0 if name == "attention_mask" else self._pad
            joined[name] = torch.cat(
                [
                    functional.pad(part, (0, width - part.shape[1]), value=filler)
                    for part in (above, lower[name])
                ]
            )
        return joined

    def _original_logs(self, inputs: Mapping[str, Tensor], places: Tensor) -> Tensor:
        if next(self._original.parameters()).device != places.device:
            self._original.to(places.device)
        with torch.no_grad():
            return self._logs(self._original, inputs, places)

    def _logs(self, model: nn.Module, inputs: Mapping[str, Tensor], places: Tensor) -> Tensor:
        return functional.log_softmax(self._reader.logits(model, inputs, places[0], places[1]), dim=-1)


def _divergence(target: Tensor, logs: Tensor) -> Tensor:
    """KL(target || model) of each distribution in the last dimension."""
    return (torch.xlogy(target, target) - target * logs).sum(dim=-1)


def _loss_behind_gaps(original_logs: Sequence[Tensor], model_logs: Sequence[Tensor]) -> Tensor:
    """After a man and after a woman the model is to expect what the original expects on average."""
    middle = (original_logs[0].exp() + original_logs[1].exp()) / 2
    return (
        sum((_divergence(middle, logs).sum() for logs in model_logs), start=model_logs[0].new_zeros(())) / 2
    )


def _position_tensor(positions: Sequence[Position]) -> Tensor:
    """Rows and columns, (2, places)."""
    return torch.tensor(positions, dtype=torch.long).reshape(-1, 2).T


def _frozen_copy(model: nn.Module) -> nn.Module:
    """The model as it is now, for good."""
    return copy.deepcopy(model).eval().requires_grad_(False)
