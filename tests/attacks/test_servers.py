"""Servers of models that answer oddly or without end: an error in time, and no answer that was paid for is lost."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import api_server
import pytest
from api_server import MODEL, ApiServer

from evenhand.models.backends.api.client import ApiClient
from evenhand.models.backends.api.model import ApiModel
from evenhand.models.backends.api.options import ApiError, ApiOptions
from evenhand.models.references import ModelRef
from evenhand.models.requests import GenerationOptions
from evenhand.store.jobs import Parts

OPTIONS = GenerationOptions(max_new_tokens=3, samples=1)


@pytest.fixture
def server() -> Iterator[ApiServer]:
    with api_server.running() as running:
        yield running


def model_of(server: ApiServer, *, timeout: float = 5.0) -> ApiModel:
    options = ApiOptions(base_url=server.base_url, timeout=timeout, max_attempts=2, concurrency=1)
    return ApiModel(ModelRef(id=f"api:{MODEL}"), options, client=ApiClient(options, sleep=lambda _: None))


def test_half_a_surrogate_pair_is_a_sign_in_an_answer_that_is_kept(server: ApiServer, tmp_path: Path) -> None:
    server.faults = ["halved"]
    (text,) = model_of(server).generate(["It was"], OPTIONS, parts=Parts(tmp_path))
    assert text.text == " so \N{REPLACEMENT CHARACTER}"
    (again,) = model_of(server).generate(["It was"], OPTIONS, parts=Parts(tmp_path))
    assert again == text
    assert len(server.requests) == 1


def test_a_byte_that_is_no_text_is_a_sign_in_an_answer_that_is_kept(
    server: ApiServer, tmp_path: Path
) -> None:
    server.faults = ["bytes"]
    (text,) = model_of(server).generate(["It was"], OPTIONS, parts=Parts(tmp_path))
    assert text.text.startswith("\N{REPLACEMENT CHARACTER}")
    assert len(server.requests) == 1


def test_half_a_surrogate_pair_in_an_error_is_an_error(server: ApiServer) -> None:
    server.always = "halved-error"
    with pytest.raises(ApiError, match="over\N{REPLACEMENT CHARACTER}loaded"):
        list(model_of(server).generate(["It was"], OPTIONS))


def test_a_whole_pair_is_its_character(server: ApiServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(api_server.ODD_ANSWERS["halved"]["choices"][0], "text", " so \N{GRINNING FACE}")
    server.faults = ["halved"]
    (text,) = model_of(server).generate(["It was"], OPTIONS)
    assert text.text == " so \N{GRINNING FACE}"


def test_headers_that_trickle_are_given_up_when_time_is_up(server: ApiServer) -> None:
    server.always = "trickle"
    began = time.monotonic()
    with pytest.raises(ApiError, match=r"failed 2 times, the last time with: no answer within 0\.3 seconds"):
        list(model_of(server, timeout=0.3).generate(["It was"], OPTIONS))
    assert time.monotonic() - began < 10
    assert len(server.requests) == 2


def test_the_next_request_does_not_wait_for_one_that_was_given_up(server: ApiServer) -> None:
    server.faults = ["trickle"]
    (text,) = model_of(server, timeout=1.0).generate(["It was"], OPTIONS)
    assert text.text
    assert len(server.requests) == 2
