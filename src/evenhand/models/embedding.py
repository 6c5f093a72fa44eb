"""Contextual vectors of words: the mean of the hidden states of the tokens that stand for them.

Masked models and the encoders of encoder-decoders see the whole text. A decoder reads from left to right, so its
vector of a word knows only what comes before the word, and nothing of what comes after.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TypeAlias

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn

from evenhand.core.items import Span
from evenhand.models.engine.halving import NOT_ENOUGH_MEMORY, attempt
from evenhand.models.engine.memory import BatchMemory, Footprint, MemoryBudget
from evenhand.models.engine.requests import Tokens
from evenhand.models.engine.runners import padded
from evenhand.models.limits import CPU_TOKENS, MOST_TOKENS, batch_tokens, longest_input
from evenhand.models.loading import Loaded
from evenhand.models.model import NotEmbedded
from evenhand.models.references import ModelError
from evenhand.models.tokenised_text import LONGEST_TEXT, prepare, tokenise

Vector: TypeAlias = npt.NDArray[np.float32]

UNKNOWN_WORD = "the tokenizer does not know the word"
NOTHING_THERE = "no token stands for the word"
NOT_FINITE = "the model gave NaN or infinite values"


@dataclass(frozen=True, slots=True)
class _WordPosition:
    """Where the tokens of a word stand, and which word it is of those asked for."""

    number: int
    ids: Tokens
    tokens: tuple[int, ...]


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

    def embed(
        self, texts: Sequence[str], spans: Sequence[Span], *, layer: int = -1
    ) -> list[Vector | NotEmbedded]:
        """The vector of a span of characters in each text.

        Args:
            texts: The texts. One that occurs several times goes through the model once.
            spans: For each text, the characters of the word.
            layer: Of the model: 0 is the embeddings before any context, -1 the last layer.

        Returns:
            A vector for each word in 32-bit floats, or why there is none: its text is longer than the model takes, no
            token stands for it, the tokenizer does not know it, or the model gave NaN.
        """
        if len(texts) != len(spans):
            raise ModelError(
                f"There are {len(texts):,} texts and {len(spans):,} spans. Give one span for each text."
            )
        chosen = self.layer_number(layer)
        embedded: list[Vector | NotEmbedded] = [NotEmbedded(NOTHING_THERE)] * len(texts)
        places = []
        for number, place in enumerate(self._places(texts, spans)):
            if isinstance(place, NotEmbedded):
                embedded[number] = place
            else:
                places.append(place)
        for batch in self._batches(places):
            for place, vector in zip(batch, self._vectors_or_halves(batch, chosen), strict=True):
                embedded[place.number] = vector
        return embedded

    def _places(self, texts: Sequence[str], spans: Sequence[Span]) -> Iterator[_WordPosition | NotEmbedded]:
        tokenizer = self.loaded.tokenizer
        special = self.loaded.family.adds_special_tokens
        prepare(tokenizer, texts, special=special)
        tokenised = {
            text: tokenise(tokenizer, text, special=special)
            for text in dict.fromkeys(texts)
            if len(text) <= LONGEST_TEXT
        }
        begin = () if self._start is None else (self._start,)
        for number, (text, span) in enumerate(zip(texts, spans, strict=True)):
            if not 0 <= span.start < span.end <= len(text):
                raise ValueError(
                    f"the text has {len(text)} characters, and no word at {span.start} to {span.end}"
                )
            if text not in tokenised:
                yield NotEmbedded(f"the text is longer than {LONGEST_TEXT:,} characters")
                continue
            ids = (*begin, *tokenised[text].ids)
            tokens = tuple(place + len(begin) for place in tokenised[text].overlapping(span))
            if len(ids) > self.longest:
                yield NotEmbedded(f"the text is longer than the {self.longest:,} tokens that the model takes")
            elif not tokens:
                yield NotEmbedded(NOTHING_THERE)
            elif tokenizer.unk_token_id in [ids[token] for token in tokens]:
                yield NotEmbedded(UNKNOWN_WORD)
            else:
                yield _WordPosition(number, ids, tokens)

    def _batches(self, places: Sequence[_WordPosition]) -> Iterator[list[_WordPosition]]:
        """Words of texts of about equal length, so many that the texts fit into the budget."""
        current: list[_WordPosition] = []
        rows: set[Tokens] = set()
        for place in sorted(places, key=lambda place: (-len(place.ids), place.ids, place.number)):
            if place.ids not in rows and rows and not self._fits(len(rows) + 1, len(current[0].ids)):
                yield current
                current, rows = [], set()
            current.append(place)
            rows.add(place.ids)
        if current:
            yield current

    def _fits(self, rows: int, width: int) -> bool:
        return rows * width <= self.max_tokens and self._memory.holds(rows * width, width=width)

    def _vectors_or_halves(
        self, batch: Sequence[_WordPosition], layer: int
    ) -> Sequence[Vector | NotEmbedded]:
        """The vectors of words, all together or in halves where memory does not suffice."""
        vectors = attempt(lambda: self._vectors(batch, layer))
        if vectors is not None:
            found = vectors.cpu().numpy()
            return [one if np.isfinite(one).all() else NotEmbedded(NOT_FINITE) for one in found]
        if len(batch) == 1:
            return [NotEmbedded(NOT_ENOUGH_MEMORY)]
        middle = len(batch) // 2
        return [
            vector
            for part in (batch[:middle], batch[middle:])
            for vector in self._vectors_or_halves(part, layer)
        ]

    def _vectors(self, batch: Sequence[_WordPosition], layer: int) -> Tensor:
        rows = {ids: row for row, ids in enumerate(dict.fromkeys(place.ids for place in batch))}
        with torch.inference_mode():
            hidden = self._hidden_states(list(rows))[layer]
            columns, real = padded([place.tokens for place in batch], hidden.device)
            chosen = torch.tensor([rows[place.ids] for place in batch], device=hidden.device)
            states = hidden[chosen[:, None], columns].float()
            # Not a product with the mask: beside a word, a state that is not finite must not spread.
            states = torch.where(real[..., None].bool(), states, 0.0)
            return states.sum(dim=1) / real.sum(dim=1, keepdim=True)

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
