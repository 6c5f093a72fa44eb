"""Which server is asked, and what a job will cost."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import pytest

from evenhand.core.errors import EvenhandError
from evenhand.models.backends.api import (
    ApiError,
    ApiOptions,
    Endpoint,
    estimate_cost,
)
from evenhand.models.requests import Continue, GenerationOptions, Write

BASE = "http://localhost:8000/v1"


@pytest.fixture(autouse=True)
def _empty_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("EVENHAND_API_BASE", "OPENAI_BASE_URL", "EVENHAND_API_ENDPOINT"):
        monkeypatch.delenv(name, raising=False)


@pytest.mark.parametrize(
    ("address", "base_url", "host"),
    [
        ("http://localhost:8000", "http://localhost:8000/v1", "localhost:8000"),
        ("http://localhost:8000/v1/", "http://localhost:8000/v1", "localhost:8000"),
        ("https://example.org/serve/v1", "https://example.org/serve/v1", "example.org"),
    ],
)
def test_an_address_has_one_form(address: str, base_url: str, host: str) -> None:
    options = ApiOptions(base_url=address)

    assert (options.base_url, options.host) == (base_url, host)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"base_url": "localhost:8000"}, "needed is one with http or https, such as http://localhost"),
        ({"base_url": "ftp://example.org"}, "needed is one with http or https"),
        ({"base_url": ""}, "needed is one with http or https"),
        ({"base_url": "http://[::1"}, "is no URL"),
        ({"base_url": BASE, "max_requests": 0}, "max_requests is 0"),
        ({"base_url": BASE, "concurrency": 1.5}, "concurrency is 1.5"),
        ({"base_url": BASE, "max_attempts": -1}, "max_attempts is -1"),
        ({"base_url": BASE, "timeout": 0}, "timeout is 0"),
        ({"base_url": BASE, "timeout": float("nan")}, "timeout is nan"),
        ({"base_url": BASE, "input_price": -1}, "input_price is -1"),
    ],
)
def test_an_option_that_makes_no_sense_is_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ApiError, match=message):
        ApiOptions(**options)


@pytest.mark.parametrize(
    "address", ["https://me:hunter2@example.org/v1", "https://example.org/v1?key=hunter2"]
)
def test_an_address_with_a_secret_is_refused_without_showing_it(address: str) -> None:
    with pytest.raises(ApiError, match="has a password or a query in it") as refused:
        ApiOptions(base_url=address)
    assert "hunter2" not in str(refused.value)


def test_the_environment_names_the_server(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ApiError, match=r"No server is named\. Set EVENHAND_API_BASE"):
        ApiOptions.from_environment()
    monkeypatch.setenv("OPENAI_BASE_URL", "https://example.org/v1")
    assert ApiOptions.from_environment().host == "example.org"
    monkeypatch.setenv("EVENHAND_API_BASE", BASE)
    monkeypatch.setenv("EVENHAND_API_ENDPOINT", "chat")
    monkeypatch.setenv("EVENHAND_API_MAX_REQUESTS", "50")
    monkeypatch.setenv("EVENHAND_API_TIMEOUT", "7.5")
    assert ApiOptions.from_environment() == ApiOptions(
        base_url=BASE, endpoint=Endpoint.CHAT, max_requests=50, timeout=7.5
    )


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("ENDPOINT", "chats", "Did you mean 'chat'"),
        ("MAX_REQUESTS", "many", "EVENHAND_API_MAX_REQUESTS is 'many'; needed is a number"),
    ],
)
def test_a_wrong_value_in_the_environment_is_refused(
    monkeypatch: pytest.MonkeyPatch, name: str, value: str, message: str
) -> None:
    monkeypatch.setenv("EVENHAND_API_BASE", BASE)
    monkeypatch.setenv(f"EVENHAND_API_{name}", value)

    with pytest.raises(EvenhandError, match=message):
        ApiOptions.from_environment()


def test_the_cost_of_a_generation_is_known_before_it_starts() -> None:
    options = GenerationOptions(samples=10, max_new_tokens=50, prefix="1234")
    prices = ApiOptions(base_url=BASE, input_price=2.0, output_price=8.0)

    estimate = estimate_cost([Write(prompt, options) for prompt in ["12345678", "1"] * 1000], prices)

    assert (estimate.requests, estimate.prompt_tokens) == (20_000, 50_000)
    assert estimate.completion_tokens == 1_000_000
    assert estimate.price == pytest.approx(8.1)
    assert estimate.describe() == (
        "20,000 requests with about 50,000 prompt tokens, and up to 1,000,000 generated ones: about 8.10 at the given "
        "prices."
    )


def test_without_prices_the_estimate_says_how_to_give_them() -> None:
    estimate = estimate_cost([Continue("", "12345678")] * 3, ApiOptions(base_url=BASE))

    assert (estimate.requests, estimate.prompt_tokens, estimate.completion_tokens) == (3, 6, 3)
    assert estimate.price is None
    assert "Set EVENHAND_API_INPUT_PRICE and EVENHAND_API_OUTPUT_PRICE" in estimate.describe()


def test_a_job_over_the_limit_is_refused_before_it_starts() -> None:
    estimate = estimate_cost([Continue("", "a")] * 3, ApiOptions(base_url=BASE))

    estimate.refuse_over(None)
    estimate.refuse_over(3)
    with pytest.raises(
        ApiError, match=r"needs 3 requests, and 2 are allowed\. Raise EVENHAND_API_MAX_REQUESTS"
    ):
        estimate.refuse_over(2)


def test_a_model_behind_a_server_needs_no_torch() -> None:
    program = "import evenhand.models.backends.api.model, sys; sys.exit('torch' in sys.modules)"

    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0
