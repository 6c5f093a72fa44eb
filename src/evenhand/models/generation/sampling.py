"""From logits to tokens: temperature, top-k, top-p, and one random number per row."""

from __future__ import annotations

import torch
from torch import Tensor

from evenhand.models.generation.options import GenerationOptions


def sampling_probabilities(logits: Tensor, options: GenerationOptions) -> Tensor:
    """The distribution that tokens are sampled from: one row per row of logits, in float64.

    Temperature comes first, then top-k, then top-p on what is left, as in Transformers. Top-p is the nucleus of
    Holtzman et al. (2020): the smallest set of most probable tokens with a total of at least p, so the token that
    crosses p belongs to it. Of equally probable tokens, those with the lower number come first.
    """
    scaled = logits.double() / options.temperature
    if options.top_k is None and options.top_p >= 1:
        return scaled.softmax(dim=-1)
    ordered, tokens = scaled.sort(dim=-1, descending=True, stable=True)
    if options.top_k is not None:
        ordered, tokens = ordered[:, : options.top_k], tokens[:, : options.top_k]
    probabilities = ordered.softmax(dim=-1)
    before = probabilities.cumsum(dim=-1) - probabilities
    kept = probabilities * (before < options.top_p)
    kept = kept / kept.sum(dim=-1, keepdim=True)
    return torch.zeros_like(scaled).scatter(-1, tokens, kept)


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
