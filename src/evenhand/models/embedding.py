"""Contextual vectors of words: the mean of the hidden states of the tokens that stand for them.

Masked models and the encoders of encoder-decoders see the whole text. A decoder reads from left to right, so its
vector of a word knows only what comes before the word, and nothing of what comes after.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import groupby

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn

from evenhand.models.engine.halving import NOT_ENOUGH_MEMORY, attempt
from evenhand.models.engine.memory import BatchMemory, Footprint, MemoryBudget
from evenhand.models.engine.requests import Tokens
from evenhand.models.engine.runners import padded
from evenhand.models.limits import CPU_TOKENS, MOST_TOKENS, batch_tokens, longest_input
from evenhand.models.loading import Loaded
from evenhand.models.model import NOT_FINITE, keep_answers, read_answers
from evenhand.models.references import ModelError
from evenhand.models.requests import Answer, Embed
from evenhand.models.tokenised_text import LONGEST_TEXT, prepare, tokenise
from evenhand.store.jobs import Parts

UNKNOWN_WORD = "the tokenizer does not know the word"
NOTHING_THERE = "no token stands for the word"


@dataclass(frozen=True, slots=True)
class WordPosition:
    """The tokens of a text, which of them stand for a word, and the layer that is read."""

    ids: Tokens
    tokens: tuple[int, ...]
    layer: int


class WordEmbedder:
    """Puts texts through a model in batches and reads words off a layer."""

    def __init__(
        self, loaded: Loaded, budget: MemoryBudget | None = None, *, max_tokens: int | None = None
    ) -> None:
        """Prepare to read vectors.

        Args:
            loaded: The model.
            budget: What a batch may take beside the weights; if not given, a share of what is free.
            max_tokens: Most tokens in a batch; the default suits the device.
        """
        self.loaded = loaded
        self.budget = budget or MemoryBudget.on(loaded.device, loaded.ref.memory)
        # All layers of a batch are in memory at once, so there is room for fewer tokens than usual.
        self.max_tokens = max_tokens or max(CPU_TOKENS, batch_tokens(loaded.device) // 4)
        self.longest = longest_input(loaded) or MOST_TOKENS
        self._start = loaded.family.text_start(loaded)

    @cached_property
    def _sample(self) -> Sequence[Tensor]:
        """Hidden states of two tokens."""
        size = self.loaded.model.get_input_embeddings().num_embeddings  # type: ignore[operator]
        try:
            return self._hidden_states([(size // 3, size // 2)])
        except (TypeError, AttributeError, NotImplementedError) as problem:
            raise self._no_states(f": {problem}") from problem

    @cached_property
    def layers(self) -> int:
        """How many layers the model has above its embeddings."""
        return len(self._sample) - 1

    @cached_property
    def _memory(self) -> BatchMemory:
        """What fits into a batch whose hidden states are all kept."""
        footprint = Footprint.of_model(self.loaded.model, projects_all=False)
        kept = sum(states.shape[-1] * states.element_size() for states in self._sample)
        return BatchMemory(self.budget, replace(footprint, per_token=footprint.per_token + kept))

    def layer_number(self, layer: int) -> int:
        """A layer counted from the embeddings, which are 0; a negative one is counted from the last, which is -1."""
        if not -self.layers - 1 <= layer <= self.layers:
            raise ModelError(
                f"Layer {layer} was asked for, but {self.loaded.ref.id} has the layers 0 (the embeddings) to "
                f"{self.layers}. Choose one of them, or count from the last: -1 to {-self.layers - 1}."
            )
        return layer if layer >= 0 else self.layers + 1 + layer

    def positions(self, requests: Sequence[Embed]) -> list[WordPosition | str]:
        """Where to read the vector of each request; or why it has none."""
        tokenizer, special = self.loaded.tokenizer, self.loaded.family.adds_special_tokens
        texts = [text for text in dict.fromkeys(own.text for own in requests) if len(text) <= LONGEST_TEXT]
        prepare(tokenizer, texts, special=special)
        tokenised = {text: tokenise(tokenizer, text, special=special) for text in texts}
        begin = () if self._start is None else (self._start,)
        found: list[WordPosition | str] = []
        for request in requests:
            layer = self.layer_number(request.layer)
            if request.text not in tokenised:
                found.append(f"the text is longer than {LONGEST_TEXT:,} characters")
                continue
            text = tokenised[request.text]
            ids = (*begin, *text.ids)
            tokens = tuple(place + len(begin) for place in text.overlapping(request.span))
            if len(ids) > self.longest:
                found.append(f"the text is longer than the {self.longest:,} tokens that the model takes")
            elif not tokens:
                found.append(NOTHING_THERE)
            elif tokenizer.unk_token_id in [ids[token] for token in tokens]:
                found.append(UNKNOWN_WORD)
            else:
                found.append(WordPosition(ids, tokens, layer))
        return found

    def vectors(
        self,
        positions: Iterable[WordPosition],
        *,
        parts: Parts | None = None,
        done: Callable[[Sequence[WordPosition]], None] | None = None,
    ) -> dict[WordPosition, Answer]:
        """The vector at each position.

        Args:
            positions: Those of one text go through the model together, and equal ones once.
            parts: Where finished batches are kept.
            done: Told which positions are finished.
        """
        answers: dict[WordPosition, Answer] = {}
        for batch in self._batches(set(positions)):
            key = f"vectors-{hashlib.sha256(repr(batch).encode()).hexdigest()[:32]}"
            given = read_answers(parts, key)
            if given is None:
                given = self._vectors_or_halves(batch)
                if not any(answer.problem == NOT_ENOUGH_MEMORY for answer in given):
                    keep_answers(parts, key, given)
            answers.update(zip(batch, given, strict=True))
            if done:
                done(batch)
        return answers

    def _batches(self, positions: Iterable[WordPosition]) -> Iterator[list[WordPosition]]:
        """Positions in texts of about equal length, so many that the texts fit into the budget."""
        current: list[WordPosition] = []
        rows: set[Tokens] = set()
        for position in sorted(positions, key=lambda own: (-len(own.ids), own.ids, own.tokens, own.layer)):
            if position.ids not in rows and rows and not self._fits(len(rows) + 1, len(current[0].ids)):
                yield current
                current, rows = [], set()
            current.append(position)
            rows.add(position.ids)
        if current:
            yield current

    def _fits(self, rows: int, width: int) -> bool:
        return rows * width <= self.max_tokens and self._memory.holds(rows * width, width=width)

    def _vectors_or_halves(self, batch: Sequence[WordPosition]) -> list[Answer]:
        """The vectors at positions, all together or in halves where memory does not suffice."""
        vectors = attempt(lambda: self._vectors(batch))
        if vectors is not None:
            return [
                Answer(vector=one) if np.isfinite(one).all() else Answer(problem=NOT_FINITE)
                for one in vectors
            ]
        if len(batch) == 1:
            return [Answer(problem=NOT_ENOUGH_MEMORY)]
        middle = len(batch) // 2
        return [*self._vectors_or_halves(batch[:middle]), *self._vectors_or_halves(batch[middle:])]

    def _vectors(self, batch: Sequence[WordPosition]) -> list[npt.NDArray[np.float32]]:
        rows = {ids: row for row, ids in enumerate(dict.fromkeys(own.ids for own in batch))}
        found: dict[WordPosition, npt.NDArray[np.float32]] = {}
        with torch.inference_mode():
            layers = self._hidden_states(list(rows))
            for layer, own in groupby(sorted(batch, key=lambda own: own.layer), key=lambda own: own.layer):
                positions = list(own)
                columns, real = padded([position.tokens for position in positions], layers[layer].device)
                chosen = torch.tensor([rows[position.ids] for position in positions], device=columns.device)
                states = layers[layer][chosen[:, None], columns].float()
                # Not a product with the mask: beside a word, a state that is not finite must not spread.
                states = torch.where(real[..., None].bool(), states, 0.0)
                means = states.sum(dim=1) / real.sum(dim=1, keepdim=True)
                found.update(zip(positions, means.cpu().numpy(), strict=True))
        return [found[position] for position in batch]

    def _hidden_states(self, rows: Sequence[Tokens]) -> Sequence[Tensor]:
        """Hidden states of every layer; the model's head has no part in them, so only its body runs."""
        ids, mask = padded(rows, self.loaded.device, fill=self.loaded.pad_id)
        with torch.inference_mode(), self.loaded.products.in_use():
            output = self._body(
                input_ids=ids,
                attention_mask=mask,
                output_hidden_states=True,
                return_dict=True,
                **self.loaded.family.forward_options,
            )
        states: Sequence[Tensor] | None = getattr(output, "hidden_states", None)
        if not states:
            raise self._no_states("")
        return states

    @property
    def _body(self) -> nn.Module:
        return self.loaded.family.body(self.loaded.model)

    def _no_states(self, problem: str) -> ModelError:
        return ModelError(
            f"{self.loaded.ref.id} ({type(self.loaded.model).__name__}) gives no hidden states{problem}, so words "
            "have no contextual vectors in it. Measure it by probabilities instead."
        )
