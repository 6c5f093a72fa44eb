"""What a job will cost, before it starts."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

from evenhand.models.backends.api.options import ApiError, ApiOptions
from evenhand.models.generation import GenerationOptions

BYTES_PER_TOKEN = 4
"""Of English text in common tokenizers. Other languages have fewer, so they cost more than estimated."""

_MILLION = 1_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class CostEstimate:
    """Requests, tokens and price of a job, if no request has to be repeated."""

    requests: int
    prompt_tokens: int
    """Estimated from the length of the texts."""
    completion_tokens: int
    """If every text is as long as it may be."""
    price: float | None
    """In the currency of the prices; None where the options give none."""

    def describe(self) -> str:
        """The estimate in a sentence."""
        tokens = (
            f"{self.requests:,} requests with about {self.prompt_tokens:,} prompt tokens, and up to "
            f"{self.completion_tokens:,} generated ones"
        )
        if self.price is None:
            return f"{tokens}. Set input_price and output_price to see what they cost."
        return f"{tokens}: about {self.price:,.2f} at the given prices."

    def refuse_over(self, max_requests: int | None) -> None:
        """Refuse a job that has more requests than are allowed.

        Raises:
            ApiError: If it has.
        """
        if max_requests is not None and self.requests > max_requests:
            raise ApiError(
                f"The job needs {self.requests:,} requests, and {max_requests:,} are allowed. Raise max_requests, or "
                "use fewer prompts or samples."
            )


def estimate_generation(
    prompts: Iterable[str], options: GenerationOptions, api_options: ApiOptions
) -> CostEstimate:
    """What it costs to generate texts."""
    requests = prompt_tokens = 0
    for prompt in prompts:
        requests += options.samples
        prompt_tokens += options.samples * tokens_in(options.prefix + prompt)
    return _estimate(requests, prompt_tokens, requests * options.max_new_tokens, api_options)


def estimate_scoring(texts: Iterable[str], api_options: ApiOptions) -> CostEstimate:
    """What it costs to score texts; one token per text is generated where a server does not do without."""
    tokens = [tokens_in(text) for text in texts]
    return _estimate(len(tokens), sum(tokens), len(tokens), api_options)


def tokens_in(text: str) -> int:
    """About how many tokens a text has."""
    return max(1, math.ceil(len(text.encode()) / BYTES_PER_TOKEN))


def _estimate(
    requests: int, prompt_tokens: int, completion_tokens: int, api_options: ApiOptions
) -> CostEstimate:
    prices = (api_options.input_price, api_options.output_price)
    price = None
    if prices != (None, None):
        input_price, output_price = (value or 0.0 for value in prices)
        price = (prompt_tokens * input_price + completion_tokens * output_price) / _MILLION
    return CostEstimate(
        requests=requests, prompt_tokens=prompt_tokens, completion_tokens=completion_tokens, price=price
    )
