"""Which server is asked, how, and what a job will cost: everything but the key, which stays in the environment."""

from __future__ import annotations

import math
import os
from collections.abc import Iterable
from dataclasses import dataclass, fields
from enum import StrEnum

import httpx

from evenhand.core.errors import UnknownNameError
from evenhand.models.references import ModelError
from evenhand.models.requests import Request, Write, texts_of

KEY_VARIABLES = ("EVENHAND_API_KEY", "OPENAI_API_KEY")

BASE_VARIABLES = ("EVENHAND_API_BASE", "OPENAI_BASE_URL")


class ApiError(ModelError):
    """A server that cannot be asked, or whose answer cannot be used."""


class Endpoint(StrEnum):
    """What a server is asked through."""

    COMPLETIONS = "completions"
    """Goes on from a text."""
    CHAT = "chat"
    """Replies to a message."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ApiOptions:
    """A server that speaks the protocol of OpenAI, and how it is asked."""

    base_url: str
    """Address up to the version, such as ``http://localhost:8000/v1``."""
    endpoint: Endpoint = Endpoint.COMPLETIONS
    timeout: float = 120.0
    """Seconds until a request counts as failed."""
    max_attempts: int = 6
    """Most tries per request."""
    max_requests: int | None = None
    """Most requests that are sent in all, tries included."""
    concurrency: int = 4
    """Requests that are under way at a time."""
    input_price: float | None = None
    """Price of a million prompt tokens, in any currency."""
    output_price: float | None = None
    """Price of a million generated tokens."""

    def __post_init__(self) -> None:
        """Refuse values that make no sense."""
        object.__setattr__(self, "base_url", _checked_address(self.base_url))
        for name in ("max_attempts", "max_requests", "concurrency"):
            value = getattr(self, name)
            if value is not None and (not isinstance(value, int) or isinstance(value, bool) or value < 1):
                raise ApiError(f"{name} is {value!r}; needed is a whole number of at least 1.")
        if not (math.isfinite(self.timeout) and self.timeout > 0):
            raise ApiError(f"timeout is {self.timeout!r}; needed is a positive number of seconds.")
        for name in ("input_price", "output_price"):
            value = getattr(self, name)
            if value is not None and not (math.isfinite(value) and value >= 0):
                raise ApiError(f"{name} is {value!r}; needed is the price of a million tokens.")

    @property
    def host(self) -> str:
        """Host and port, for records and messages."""
        url = httpx.URL(self.base_url)
        return url.host if url.port is None else f"{url.host}:{url.port}"

    @classmethod
    def from_environment(cls) -> ApiOptions:
        """The options of the environment: ``EVENHAND_API_BASE``, and ``EVENHAND_API_MAX_REQUESTS`` or any other name.

        Raises:
            ApiError: If no address is set, or a value is none.
        """
        base = next((os.environ[name] for name in BASE_VARIABLES if os.environ.get(name)), None)
        if base is None:
            raise ApiError(
                f"No server is named. Set {BASE_VARIABLES[0]} to the address of one, such as http://localhost:8000/v1."
            )
        values: dict[str, object] = {"base_url": base}
        for field in fields(cls):
            text = os.environ.get(f"EVENHAND_API_{field.name.upper()}")
            if text and field.name != "base_url":
                values[field.name] = _parsed(field.name, text)
        return cls(**values)  # type: ignore[arg-type] # every value was parsed for its field


def key_from_environment() -> str | None:
    """The key to show to the server; None if there is none, which many local servers are content with."""
    for name in KEY_VARIABLES:
        key = os.environ.get(name, "").strip()
        if key:
            if not key.isascii() or not key.isprintable():
                raise ApiError(f"The key in {name} has characters that no key has. Copy it again.")
            return key
    return None


def _parsed(name: str, text: str) -> object:
    if name == "endpoint":
        if text not in set(Endpoint):
            raise UnknownNameError("API endpoint", text, [endpoint.value for endpoint in Endpoint])
        return Endpoint(text)
    try:
        return float(text) if name in ("timeout", "input_price", "output_price") else int(text)
    except ValueError:
        raise ApiError(f"EVENHAND_API_{name.upper()} is {text!r}; needed is a number.") from None


def _checked_address(address: str) -> str:
    """The address in one form; whatever looks like a secret is refused without being repeated."""
    example = "such as http://localhost:8000/v1"
    try:
        url = httpx.URL(address.strip().rstrip("/"))
    except httpx.InvalidURL:
        raise ApiError(f"The address of the server is no URL. Give one {example}.") from None
    if url.userinfo or url.query or url.fragment:
        raise ApiError(
            "The address of the server has a password or a query in it, which would end up in records. Give one "
            f"{example}, and the key in {KEY_VARIABLES[0]}."
        )
    if url.scheme not in ("http", "https") or not url.host:
        raise ApiError(
            f"The address of the server is {address!r}; needed is one with http or https, {example}."
        )
    return str(url.copy_with(path="/v1") if url.path in ("", "/") else url)


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
            return (
                f"{tokens}. Set EVENHAND_API_INPUT_PRICE and EVENHAND_API_OUTPUT_PRICE to see what they cost."
            )
        return f"{tokens}: about {self.price:,.2f} at the given prices."

    def refuse_over(self, max_requests: int | None) -> None:
        """Refuse a job that has more requests than are allowed.

        Raises:
            ApiError: If it has.
        """
        if max_requests is not None and self.requests > max_requests:
            raise ApiError(
                f"The job needs {self.requests:,} requests, and {max_requests:,} are allowed. Raise "
                "EVENHAND_API_MAX_REQUESTS, or ask for fewer texts."
            )


def estimate_cost(requests: Iterable[Request], api_options: ApiOptions) -> CostEstimate:
    """What it costs to answer requests; to score a text, one token is generated where a server does not do without."""
    count = prompt_tokens = completion_tokens = 0
    for request in requests:
        samples, new, texts = 1, 1, list(texts_of(request))
        if isinstance(request, Write):
            samples, new, texts = request.decoding.samples, request.decoding.max_new_tokens, ["".join(texts)]
        count += samples * len(texts)
        prompt_tokens += samples * sum(map(tokens_in, texts))
        completion_tokens += samples * len(texts) * new
    prices = (api_options.input_price, api_options.output_price)
    price = None
    if prices != (None, None):
        input_price, output_price = (value or 0.0 for value in prices)
        price = (prompt_tokens * input_price + completion_tokens * output_price) / _MILLION
    return CostEstimate(
        requests=count, prompt_tokens=prompt_tokens, completion_tokens=completion_tokens, price=price
    )


def tokens_in(text: str) -> int:
    """About how many tokens a text has."""
    return max(1, math.ceil(len(text.encode()) / BYTES_PER_TOKEN))
