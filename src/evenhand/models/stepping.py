"""One step of a model after the other: the logits of the next token of every row.

``CachedDecoder`` and ``CachedEncoderDecoder`` keep keys and values, so a step costs one token per row. ``Recomputed``
runs whole rows at every step, one row at a time; it is slow, and what the others are checked against.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from typing import Any, Protocol, TypeAlias, cast

import numpy as np
import torch
from torch import Tensor

from evenhand.models.engine.requests import Tokens
from evenhand.models.engine.runners import padded
from evenhand.models.loading import Loaded
from evenhand.models.requests import GenerationOptions

_FEW_TOKENS = 512
"""Tokens that a nucleus seldom exceeds; to find that many takes a fraction of the time of sorting a vocabulary."""


class Stepper(Protocol):
    """Rows of a batch on their way through the model."""

    def start(self) -> Tensor:
        """Logits of the first new token, one row per row."""
        ...

    def advance(self, tokens: Tensor) -> Tensor:
        """Logits of the next token, after each row was given one."""
        ...

    def keep(self, rows: Tensor) -> None:
        """Go on with these rows only."""
        ...


StepperMaker: TypeAlias = Callable[[Loaded, Sequence[Tokens], Tokens], Stepper]
"""Lays out a batch: the model, the tokens of each prompt, and what the decoder of an encoder-decoder starts with."""


class CachedDecoder:
    """Rows of a decoder, filled up on the left, with their keys and values."""

    def __init__(self, loaded: Loaded, rows: Sequence[Tokens], _decoder_start: Tokens) -> None:
        self._model = cast(Any, loaded.model)
        # Filled up on the right, turned around: on the left, as the next token stands right of the prompt.
        ids, mask = padded([row[::-1] for row in rows], loaded.device, fill=loaded.pad_id)
        self._ids = ids.flip(1)
        self._mask = mask.flip(1)
        self._cache: Any = None
        accepted = inspect.signature(self._model.forward).parameters
        self._has_positions = "position_ids" in accepted
        self._last_only = {"logits_to_keep": 1} if "logits_to_keep" in accepted else {}

    def start(self) -> Tensor:
        """See ``Stepper``."""
        return self._run(self._ids, (self._mask.cumsum(dim=1) - 1).clamp(min=0))

    def advance(self, tokens: Tensor) -> Tensor:
        """See ``Stepper``."""
        self._mask = torch.cat([self._mask, torch.ones_like(self._mask[:, :1])], dim=1)
        return self._run(tokens.unsqueeze(1), self._mask.sum(dim=1, keepdim=True) - 1)

    def keep(self, rows: Tensor) -> None:
        """See ``Stepper``."""
        self._mask = self._mask[rows]
        self._cache.batch_select_indices(rows)

    def _run(self, ids: Tensor, positions: Tensor) -> Tensor:
        output = self._model(
            input_ids=ids,
            attention_mask=self._mask,
            past_key_values=self._cache,
            use_cache=True,
            **({"position_ids": positions} if self._has_positions else {}),
            **self._last_only,
        )
        self._cache = output.past_key_values
        logits: Tensor = output.logits[:, -1]
        return logits


class CachedEncoderDecoder:
    """Rows of an encoder-decoder: encoded once, with the keys and values of both parts."""

    def __init__(self, loaded: Loaded, rows: Sequence[Tokens], decoder_start: Tokens) -> None:
        self._model = cast(Any, loaded.model)
        ids, self._mask = padded(rows, loaded.device, fill=loaded.pad_id)
        encoder: Any = self._model.get_encoder()
        self._encoded = encoder(input_ids=ids, attention_mask=self._mask)
        self._first = torch.tensor([decoder_start] * len(rows), device=loaded.device)
        self._cache: Any = None

    def start(self) -> Tensor:
        """See ``Stepper``."""
        return self._run(self._first)

    def advance(self, tokens: Tensor) -> Tensor:
        """See ``Stepper``."""
        return self._run(tokens.unsqueeze(1))

    def keep(self, rows: Tensor) -> None:
        """See ``Stepper``."""
        self._mask = self._mask[rows]
        self._encoded.last_hidden_state = self._encoded.last_hidden_state[rows]
        self._cache.batch_select_indices(rows)

    def _run(self, ids: Tensor) -> Tensor:
        output = self._model(
            encoder_outputs=self._encoded,
            attention_mask=self._mask,
            decoder_input_ids=ids,
            past_key_values=self._cache,
            use_cache=True,
        )
        self._cache = output.past_key_values
        logits: Tensor = output.logits[:, -1]
        return logits


class Recomputed:
    """Rows that are run whole at every step, each on its own."""

    def __init__(self, loaded: Loaded, rows: Sequence[Tokens], decoder_start: Tokens) -> None:
        self._model = cast(Any, loaded.model)
        self._device = loaded.device
        self._encodes = bool(loaded.config.is_encoder_decoder)
        self._prompts = [list(row) for row in rows]
        self._written = [list(decoder_start if self._encodes else ()) for _ in rows]

    def start(self) -> Tensor:
        """See ``Stepper``."""
        return torch.stack(
            [self._row(prompt, written) for prompt, written in zip(self._prompts, self._written, strict=True)]
        )

    def advance(self, tokens: Tensor) -> Tensor:
        """See ``Stepper``."""
        for written, token in zip(self._written, tokens.tolist(), strict=True):
            written.append(token)
        return self.start()

    def keep(self, rows: Tensor) -> None:
        """See ``Stepper``."""
        self._prompts = [self._prompts[row] for row in rows.tolist()]
        self._written = [self._written[row] for row in rows.tolist()]

    def _row(self, prompt: list[int], written: list[int]) -> Tensor:
        if self._encodes:
            inputs = {"input_ids": self._tensor(prompt), "decoder_input_ids": self._tensor(written)}
        else:
            inputs = {"input_ids": self._tensor(prompt + written)}
        logits: Tensor = self._model(**inputs, use_cache=False).logits[0, -1]
        return logits

    def _tensor(self, ids: list[int]) -> Tensor:
        return torch.tensor([ids], device=self._device)


_TOLERANCE = {torch.float32: 1e-3, torch.float16: 0.02, torch.bfloat16: 0.1}
"""Most probability that may lie elsewhere."""

_LIKELY_FAILURES = (
    RuntimeError,
    ValueError,
    TypeError,
    AttributeError,
    KeyError,
    IndexError,
    NotImplementedError,
)
"""What a model raises that is not built as expected."""


def choose_stepper(loaded: Loaded, decoder_start: Tokens) -> StepperMaker:
    """The stepper with a cache if it gives the same numbers on this model, otherwise the slow one."""
    cached: StepperMaker = CachedEncoderDecoder if loaded.config.is_encoder_decoder else CachedDecoder
    expected = _sample_distributions(Recomputed, loaded, decoder_start)
    try:
        distributions = _sample_distributions(cached, loaded, decoder_start)
    except _LIKELY_FAILURES:
        return Recomputed
    difference = float((distributions - expected).abs().sum(dim=-1).max() / 2)
    # Undefined logits are no fault of the cache; they are told of when texts are written.
    return Recomputed if difference > _TOLERANCE[loaded.dtype] else cached


@torch.inference_mode()
def _sample_distributions(make: StepperMaker, loaded: Loaded, decoder_start: Tokens) -> Tensor:
    """What comes next at a few steps over rows of different length, one of which is dropped on the way."""
    size = loaded.model.get_input_embeddings().num_embeddings  # type: ignore[operator]
    tokens = tuple(int(token) for token in np.linspace(size // 3, size - 1 - size // 8, 9))
    stepper = make(loaded, [tokens[:5], tokens[3:5], tokens[5:8]], decoder_start)
    given = torch.tensor(tokens[:3], device=loaded.device)
    logits = [stepper.start(), stepper.advance(given)]
    rows = torch.tensor([0, 2], device=loaded.device)
    stepper.keep(rows)
    logits += [stepper.advance(given[rows]), stepper.advance(given[rows])]
    return torch.cat(logits).double().softmax(dim=-1)


def sampling_probabilities(logits: Tensor, options: GenerationOptions) -> Tensor:
    """The distribution that tokens are sampled from: one row per row of logits, in float64.

    Temperature comes first, then top-k, then top-p on what is left, as in Transformers. Top-p is the nucleus of
    Holtzman et al. (2020): the smallest set of most probable tokens with a total of at least p, so the token that
    crosses p belongs to it. Of equally probable tokens, those with the lower number come first.
    """
    scaled = logits.double() / options.temperature
    if options.top_k is None and options.top_p >= 1:
        return scaled.softmax(dim=-1)
    if options.top_k is not None or scaled.shape[-1] <= _FEW_TOKENS:
        return _sorted_and_cut(scaled, options)
    probabilities, is_cut = _nuclei_of_few(scaled, options.top_p)
    others = (~is_cut).nonzero().flatten()
    if len(others):
        probabilities[others] = _sorted_and_cut(scaled[others], options)
    return probabilities


def _sorted_and_cut(scaled: Tensor, options: GenerationOptions) -> Tensor:
    ordered, tokens = scaled.sort(dim=-1, descending=True, stable=True)
    if options.top_k is not None:
        ordered, tokens = ordered[:, : options.top_k], tokens[:, : options.top_k]
    probabilities = ordered.softmax(dim=-1)
    before = probabilities.cumsum(dim=-1) - probabilities
    kept = probabilities * (before < options.top_p)
    kept = kept / kept.sum(dim=-1, keepdim=True)
    return torch.zeros_like(scaled).scatter(-1, tokens, kept)


def _nuclei_of_few(scaled: Tensor, top_p: float) -> tuple[Tensor, Tensor]:
    """The distribution over the nucleus of each row that has few tokens, without sorting the vocabulary.

    Returns:
        The distributions, and for which rows they are right: not for one whose nucleus has more tokens, or where tokens
        inside and outside of it are equally probable.
    """
    probabilities = scaled.softmax(dim=-1)
    highest = probabilities.topk(_FEW_TOKENS, dim=-1).values
    sizes = ((highest.cumsum(dim=-1) - highest) < top_p).sum(dim=-1, keepdim=True)
    is_kept = probabilities >= highest.gather(-1, sizes - 1)
    is_cut = (sizes < _FEW_TOKENS) & (is_kept.sum(dim=-1, keepdim=True) == sizes)
    kept = probabilities * is_kept
    return kept / kept.sum(dim=-1, keepdim=True), is_cut.squeeze(-1)


def next_tokens(logits: Tensor, random_numbers: Tensor, options: GenerationOptions) -> Tensor:
    """One token per row of logits.

    The token is where the cumulated probabilities, in the order of the vocabulary, pass the row's random number. A
    change of the last digits, such as another batch makes, hardly ever changes the token; an order by probability
    would let tokens swap places.
    """
    if options.is_greedy:
        return logits.argmax(dim=-1)
    cumulated = sampling_probabilities(logits, options).cumsum(dim=-1)
    total = cumulated[:, -1:]
    # A product that is rounded up to the total would fall behind the last token.
    thresholds = torch.minimum(
        random_numbers.double().unsqueeze(-1) * total, torch.nextafter(total, torch.zeros_like(total))
    )
    return torch.searchsorted(cumulated, thresholds, right=True).squeeze(-1)
