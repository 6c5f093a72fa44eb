"""The loss of triggers on a model, and which tokens would lower it: many triggers in a batch, within the memory budget.

The gradient is that of the very loss that triggers are scored with. The loss is first taken as a function of the
surprise at each text, which says how much each text counts; then texts are run batch after batch, weighted by that, and
what goes back adds up to the gradient of the whole. Nothing but the embeddings of the trigger gets a gradient.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor, nn

from evenhand.models.engine.halving import attempt
from evenhand.models.engine.modes import eval_mode
from evenhand.models.engine.positions import PositionStates, in_chunks
from evenhand.models.engine.requests import Tokens
from evenhand.models.language_model import LanguageModel
from evenhand.models.limits import attention_window, batch_tokens
from evenhand.models.references import ModelError
from evenhand.triggers.objective import TriggerObjective, TriggerSurprises
from evenhand.triggers.packing import (
    PackedRows,
    ReadTokens,
    read_alone,
    sentence_tokens,
    target_tokens,
)
from evenhand.triggers.recipes import ObjectiveWeights
from evenhand.triggers.targets import TargetPair
from evenhand.triggers.vocabulary import TriggerVocabulary

LARGE_BATCH = {"cuda": 65_536}
"""Tokens in a batch, by device: nothing is kept of a layer when the next one runs, so there may be more than usual, and
a GPU waits less for what it is told."""

MOST_PLACES = 128
"""Of all sentences together: each has a score for every entry of the vocabulary."""

REMEMBERED = 64
"""Triggers whose surprises are kept for a gradient: more than a search scores on all targets in a few steps."""


class TriggerScorer:
    """Scores triggers on some target pairs and ordinary sentences."""

    def __init__(
        self,
        model: LanguageModel,
        vocabulary: TriggerVocabulary,
        pairs: Sequence[TargetPair],
        *,
        sentences: Sequence[str] = (),
        slots: int,
        weights: ObjectiveWeights,
    ) -> None:
        """Lay texts out, and read the model without a trigger.

        Args:
            model: A decoder.
            vocabulary: Its tokens.
            pairs: The target pairs.
            sentences: Ordinary ones, whose continuation a trigger should not change.
            slots: Tokens of a trigger.
            weights: How much each component of the loss counts.

        Raises:
            ModelError: If a text with a trigger is longer than the model takes.
        """
        self._model = model
        self._network = model.loaded.model
        self._device = model.loaded.device
        self._slots = slots
        self._lead = vocabulary.lead
        self._known: dict[Tokens, TriggerSurprises] = {}
        self._joins = model.shares_prefixes and attention_window(model.loaded.config) is None
        texts = target_tokens(vocabulary, pairs)
        compared = sentences if weights.divergence else ()
        ordinary, alone = sentence_tokens(vocabulary, compared, most=self._most_places())
        before = len(self._lead) + slots
        refuse_long_texts(model, [text.ids for text in (*texts, *ordinary)], before=before)
        self._texts, self._sentences = len(texts), len(ordinary)
        self._places = torch.tensor([len(text.places) for text in ordinary], device=self._device).double()
        self._sentence_of = torch.repeat_interleave(
            torch.arange(len(ordinary), device=self._device), self._places.long()
        )
        with eval_mode(self._network), torch.no_grad():
            self._references = self._log_probabilities(alone)
            untriggered = self._untriggered(vocabulary, pairs, texts)
        self._packed = self._pack([*texts, *ordinary], slots=slots)
        tokens = torch.tensor([len(text.ids) - text.first for text in texts], device=self._device)
        self.objective = TriggerObjective(pairs, tokens=tokens, untriggered=untriggered, weights=weights)

    def losses(self, triggers: Sequence[Tokens]) -> list[float]:
        """The loss of each trigger."""
        surprises = self.surprises(triggers)
        self._remember(triggers, surprises)
        losses: list[float] = self.objective.loss(surprises).tolist()
        return losses

    def components(self, trigger: Tokens) -> dict[str, float]:
        """The components of a trigger's loss, before they are weighted."""
        components = self.objective.components(self.surprises([trigger]))
        return {name: float(values[0]) for name, values in components.items()}

    def surprises(self, triggers: Sequence[Tokens]) -> TriggerSurprises:
        """What the model makes of all texts after each trigger."""
        table = torch.tensor(triggers, device=self._device)
        surprises = self._nothing(len(triggers))
        with eval_mode(self._network), torch.no_grad():
            for cells in self._batches(len(triggers), self._tokens_at_once()):
                self._read_or_halve(cells, table, surprises)
            if self.objective.weights.fluency:
                surprises.fluency.copy_(self._fluency(table))
        return surprises

    def gradient(self, trigger: Tokens) -> Tensor:
        """By how much the loss would change with each token in each slot, as far as its gradient tells.

        Returns:
            One row per slot, one column per entry of the embeddings. The token in place has 0.
        """
        counts = self._counting(trigger)
        table: Tensor = self._embeddings.weight.detach()
        current = torch.tensor(trigger, device=self._device)
        leaf = table[current].clone().requires_grad_()
        trainable = [weight for weight in self._network.parameters() if weight.requires_grad]
        for weight in trainable:
            weight.requires_grad_(False)
        slope = torch.zeros_like(leaf)
        try:
            with eval_mode(self._network), self._embedded(leaf), torch.enable_grad():
                for cells in self._batches(1, self._tokens_with_gradients()):
                    slope += self._slope(cells, leaf, current[None], counts)
                if self.objective.weights.fluency:
                    lost = (self._fluency(current[None]) * counts.fluency).sum()
                    if lost.requires_grad:  # a single token with nothing before it has no surprise
                        slope += torch.autograd.grad(lost, leaf)[0]
        finally:
            for weight in trainable:
                weight.requires_grad_(True)
        changes = slope.float() @ table.float().T
        return changes - changes.gather(1, current[:, None])

    def _counting(self, trigger: Tokens) -> TriggerSurprises:
        """How much the loss changes with the surprise at each text, at a trigger."""
        now = self._known.get(trigger) or self.surprises([trigger])
        parts = [part.clone().requires_grad_() for part in (now.nats, now.divergence, now.fluency)]
        with torch.enable_grad():
            loss = self.objective.loss(TriggerSurprises(*parts)).sum()
            slopes = torch.autograd.grad(loss, parts, allow_unused=True)
        filled = [
            torch.zeros_like(part) if slope is None else slope
            for part, slope in zip(parts, slopes, strict=True)
        ]
        return TriggerSurprises(*filled)

    def _remember(self, triggers: Sequence[Tokens], surprises: TriggerSurprises) -> None:
        """Keep the surprises of the last triggers: a search takes the gradient at one that it has scored."""
        for number in range(max(0, len(triggers) - REMEMBERED), len(triggers)):
            row = slice(number, number + 1)
            self._known[triggers[number]] = TriggerSurprises(
                surprises.nats[row], surprises.divergence[row], surprises.fluency[row]
            )
        for trigger in list(self._known)[:-REMEMBERED]:
            del self._known[trigger]

    def _slope(self, cells: range, leaf: Tensor, table: Tensor, counts: TriggerSurprises) -> Tensor:
        """The gradient of a batch; in halves where memory does not suffice."""

        def run() -> Tensor:
            read = self._nothing(1)
            self._read(cells, table, read)
            lost = (read.nats * counts.nats).sum() + (read.divergence * counts.divergence).sum()
            return torch.autograd.grad(lost, leaf)[0]

        slope = attempt(run)
        if slope is None:
            first, second = self._halved(cells)
            return self._slope(first, leaf, table, counts) + self._slope(second, leaf, table, counts)
        return slope

    def _read_or_halve(self, cells: range, table: Tensor, into: TriggerSurprises) -> None:
        def run() -> TriggerSurprises:
            read = self._nothing(len(into.nats))
            self._read(cells, table, read)
            return read

        read = attempt(run)
        if read is None:
            for half in self._halved(cells):
                self._read_or_halve(half, table, into)
            return
        into.nats.add_(read.nats)
        into.divergence.add_(read.divergence)

    def _halved(self, cells: range) -> tuple[range, range]:
        if len(cells) == 1:
            raise ModelError(
                f"There is not enough memory to run {self._packed.width:,} tokens through {self._model.ref.id}. Use a "
                "larger device, or shorten the texts."
            )
        middle = math.ceil(len(cells) / 2)
        return cells[:middle], cells[middle:]

    def _read(self, cells: range, table: Tensor, into: TriggerSurprises) -> None:
        """Add what a batch reads to surprises that are 0 for its texts."""
        batch = self._packed.batch(cells, table, dtype=self._model.loaded.dtype)
        states = self._model.position_reader.states(
            self._network, batch.inputs, rows=batch.rows, columns=batch.columns
        )
        read, compared = states.split([batch.states, len(states) - batch.states])
        logs = read.token_logs(batch.reads, batch.tokens)
        into.nats.index_put_((batch.triggers, batch.texts), -logs.double(), accumulate=True)
        if len(compared):
            values = _divergences(compared, self._references, batch.references)
            sentences = self._sentence_of[batch.references]
            into.divergence.index_put_(
                (batch.compared_triggers, sentences), values / self._places[sentences], accumulate=True
            )

    def _fluency(self, table: Tensor) -> Tensor:
        """Mean surprise at the tokens of triggers, at those that have something before them."""
        lead = torch.tensor(self._lead, device=self._device).long().repeat(len(table), 1)
        ids = torch.cat([lead, table], dim=1)
        first = max(1, len(self._lead))
        scored = ids[:, first:]
        if not scored.numel():
            return torch.zeros(len(table), dtype=torch.float64, device=self._device)
        columns = torch.arange(first - 1, ids.shape[1] - 1, device=self._device)
        rows = torch.arange(len(ids), device=self._device).repeat_interleave(len(columns))
        inputs = {"input_ids": ids, "attention_mask": torch.ones_like(ids)}
        states = self._model.position_reader.states(
            self._network, inputs, rows=rows, columns=columns.repeat(len(ids))
        )
        logs = states.token_logs(torch.arange(len(states)), scored.flatten())
        return -logs.double().view(scored.shape).mean(dim=1)

    def _log_probabilities(self, sequences: Sequence[tuple[Tokens, tuple[int, ...]]]) -> Tensor:
        """What is expected next at places of sequences without a trigger, one row per place."""
        found = []
        for ids, places in sequences:
            columns = torch.tensor(places, device=self._device)
            tokens = torch.tensor([ids], device=self._device)
            inputs = {"input_ids": tokens, "attention_mask": torch.ones_like(tokens)}
            states = self._model.position_reader.states(
                self._network, inputs, rows=torch.zeros_like(columns), columns=columns
            )
            found.append(states.logits(slice(0, len(states))).log_softmax(dim=-1))
        return torch.cat(found) if found else torch.empty(0, device=self._device)

    def _untriggered(
        self, vocabulary: TriggerVocabulary, pairs: Sequence[TargetPair], texts: Sequence[ReadTokens]
    ) -> Tensor:
        """Surprise at the same tokens of every text without a trigger."""
        alone = vocabulary.tokens_alone([pair.whole(side) for pair in pairs for side in (0, 1)])
        self._packed = self._pack(
            [read_alone(ids, text, self._lead) for ids, text in zip(alone, texts, strict=True)], slots=0
        )
        nats = torch.zeros(1, len(texts), dtype=torch.float64, device=self._device)
        nothing = TriggerSurprises(nats, nats.new_zeros(1, 0), nats.new_zeros(1))
        table = torch.empty((1, 0), dtype=torch.long, device=self._device)
        for cells in self._batches(1, self._tokens_at_once()):
            self._read(cells, table, nothing)
        return nats[0]

    def _pack(self, texts: Sequence[ReadTokens], *, slots: int) -> PackedRows:
        return PackedRows(
            texts,
            lead=self._lead,
            slots=slots,
            device=self._device,
            joins=self._joins,
            pad=self._model.loaded.pad_id,
        )

    def _batches(self, triggers: int, most: int) -> Iterator[range]:
        """Cells in batches of at most so many tokens, those of one row together."""
        at_once = max(1, most // self._packed.width)
        cells = range(self._packed.count * triggers)
        for start in range(0, len(cells), at_once):
            yield cells[start : start + at_once]

    def _tokens_at_once(self, layers: int = 1) -> int:
        """Tokens in a batch, of which so many layers stand in memory together."""
        memory = self._model.batch_memory
        per_token = layers * memory.footprint.of_batch(1, width=self._packed.width)
        return min(self._most_tokens, memory.budget.bytes // per_token)

    @property
    def _most_tokens(self) -> int:
        return max(batch_tokens(self._device), LARGE_BATCH.get(self._device.type, 0))

    def _tokens_with_gradients(self) -> int:
        """What gradients go back through is kept of every layer."""
        return self._tokens_at_once(layers=_layers(self._network))

    def _most_places(self) -> int:
        vocabulary: int = self._embeddings.weight.shape[0]
        return min(MOST_PLACES, max(1, self._model.memory.bytes // (32 * vocabulary)))

    def _nothing(self, triggers: int) -> TriggerSurprises:
        def zeros(*shape: int) -> Tensor:
            return torch.zeros(shape, dtype=torch.float64, device=self._device)

        return TriggerSurprises(
            zeros(triggers, self._texts), zeros(triggers, self._sentences), zeros(triggers)
        )

    @property
    def _embeddings(self) -> Any:
        network: Any = self._network
        return network.get_input_embeddings()

    @contextmanager
    def _embedded(self, leaf: Tensor) -> Iterator[None]:
        """Put vectors in the place of the trigger's embeddings wherever a batch begins with a trigger."""
        columns = self._packed.slots if self._slots else slice(0, 0)

        def put(_module: nn.Module, _arguments: Any, output: Tensor) -> Tensor:
            if output.shape[1] < columns.stop:  # the head is run behind a body that is left out
                return output
            return torch.cat(
                [output[:, : columns.start], leaf.expand(len(output), -1, -1), output[:, columns.stop :]], 1
            )

        handle = self._embeddings.register_forward_hook(put)
        try:
            yield
        finally:
            handle.remove()


def refuse_long_texts(
    model: LanguageModel,
    texts: Sequence[Tokens],
    *,
    before: int,
    what: str = "A trigger",
    remedy: str = "fewer --slots",
) -> None:
    """Refuse texts that do not fit into the model behind a prefix, before anything is searched for.

    Args:
        model: The model.
        texts: As they are behind a prefix.
        before: Tokens that stand before them: the prefix, and what stands before it.
        what: The prefix.
        remedy: What to ask for in its place.

    Raises:
        ModelError: If one of them is too long.
    """
    longest = before + max(map(len, texts))
    if longest > model.longest_input:
        raise ModelError(
            f"{what} and the longest text behind it have {longest:,} tokens together; {model.ref.id} takes "
            f"{model.longest_input:,}. Ask for {remedy}, or shorten the texts."
        )


def _divergences(states: PositionStates, references: Tensor, numbers: Tensor) -> Tensor:
    """KL of a reference distribution from the one at each place."""

    def diverged(chunk: slice) -> Tensor:
        expected = references[numbers[chunk]]
        found = states.logits(chunk).log_softmax(dim=-1)
        return (expected.exp() * (expected - found)).sum(dim=-1).double()

    return torch.cat(in_chunks(diverged, len(states), max(1, states.at_once // 4)))


def _layers(network: nn.Module) -> int:
    config: Any = network.config
    layers = getattr(config.get_text_config(), "num_hidden_layers", None)
    return layers if isinstance(layers, int) else 32
