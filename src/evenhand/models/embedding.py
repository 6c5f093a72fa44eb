"""Contextual vectors of words: the mean of the hidden states of the tokens that stand for them.

Masked models and the encoders of encoder-decoders see the whole text. A decoder reads from left to right, so its
vector of a word knows only what comes before the word, and nothing of what comes after.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TypeAlias

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn

from evenhand.core.items import Span
from evenhand.models.capabilities import NotEmbedded
from evenhand.models.engine.memory import give_back_memory, is_out_of_memory
from evenhand.models.engine.requests import Tokens
from evenhand.models.engine.runners import padded
from evenhand.models.loading import MOST_TOKENS, Loaded, longest_input
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

    def __init__(self, loaded: Loaded, *, max_tokens: int) -> None:
        self.loaded = loaded
        self.max_tokens = max_tokens
        self.longest = longest_input(loaded) or MOST_TOKENS
        self._start = loaded.family.text_start(loaded)

    @cached_property
    def layers(self) -> int:
        """How many layers the model has above its embeddings."""
        size = self.loaded.model.get_input_embeddings().num_embeddings  # type: ignore[operator]
        try:
            states = self._hidden_states([(size // 3, size // 2)])
        except (TypeError, AttributeError, NotImplementedError) as problem:
            raise self._no_states(f": {problem}") from problem
        return len(states) - 1

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
        chosen = self.layer_number(layer)
        embedded: list[Vector | NotEmbedded] = [NotEmbedded(NOTHING_THERE)] * len(texts)
        places = []
        for number, place in enumerate(self._places(texts, spans)):
            if isinstance(place, NotEmbedded):
                embedded[number] = place
            else:
                places.append(place)
        for batch in self._batches(places):
            vectors = self._vectors_or_halves(batch, chosen)
            for place, vector in zip(batch, vectors, strict=True):
                embedded[place.number] = vector if np.isfinite(vector).all() else NotEmbedded(NOT_FINITE)
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
            if place.ids not in rows and rows and (len(rows) + 1) * len(current[0].ids) > self.max_tokens:
                yield current
                current, rows = [], set()
            current.append(place)
            rows.add(place.ids)
        if current:
            yield current

    def _vectors_or_halves(self, batch: Sequence[_WordPosition], layer: int) -> npt.NDArray[np.float32]:
        try:
            return self._vectors(batch, layer)
        except RuntimeError as problem:
            if len(batch) == 1 or not is_out_of_memory(problem):
                raise
            give_back_memory()
        middle = len(batch) // 2
        halves = [self._vectors_or_halves(part, layer) for part in (batch[:middle], batch[middle:])]
        return np.concatenate(halves)

    def _vectors(self, batch: Sequence[_WordPosition], layer: int) -> npt.NDArray[np.float32]:
        rows = {ids: row for row, ids in enumerate(dict.fromkeys(place.ids for place in batch))}
        with torch.inference_mode():
            hidden = self._hidden_states(list(rows))[layer]
            columns, real = padded([place.tokens for place in batch], hidden.device)
            chosen = torch.tensor([rows[place.ids] for place in batch], device=hidden.device)
            states = hidden[chosen[:, None], columns].float()
            # Not a product with the mask: beside a word, a state that is not finite must not spread.
            states = torch.where(real[..., None].bool(), states, 0.0)
            means = states.sum(dim=1) / real.sum(dim=1, keepdim=True)
            return means.cpu().numpy()

    def _hidden_states(self, rows: Sequence[Tokens]) -> Sequence[Tensor]:
        """Hidden states of every layer; the model's head has no part in them, so only its body runs."""
        ids, mask = padded(rows, self.loaded.device, fill=self.loaded.pad_id)
        with torch.inference_mode():
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
