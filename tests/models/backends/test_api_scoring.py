"""Texts are scored by a server only if its echoed log-probabilities are right."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import api_server
import pytest
from api_server import START, ApiServer, PairModel, tokenise
from test_api_generation import model_of

from evenhand.core.errors import EvenhandError
from evenhand.models.backends.api import ApiError, Endpoint
from evenhand.models.backends.api.echo import EchoError, read_echo
from evenhand.models.backends.api.model import ApiModel
from evenhand.models.references import ModelError
from evenhand.models.requests import Continue, Part, Write
from evenhand.store.jobs import Parts

TEXTS = ("She opened the house.", "The children went home.", "It was cold")


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[ApiServer]:
    for name in ("EVENHAND_API_KEY", "OPENAI_API_KEY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    with api_server.running() as running:
        yield running


@pytest.mark.parametrize("manner", ["right", "refuses zero"])
def test_scores_of_a_right_server_are_the_log_probabilities_of_its_model(
    server: ApiServer, manner: str
) -> None:
    server.manner = manner
    model = model_of(server)

    scores = model.score_texts(TEXTS)

    assert model.capabilities == {Write, Continue}
    pairs = PairModel()
    for text, score in zip(TEXTS, scores, strict=True):
        tokens = tokenise(text)
        assert score.log_probs == pytest.approx(
            [pairs.log_probability(before, token) for before, token in pairwise(tokens)]
        )


@pytest.mark.parametrize(
    ("manner", "reason"),
    [
        ("echo ignored", "it does not repeat the prompt, so it ignores echo"),
        ("zeros", "all tokens have the same log-probability"),
        ("constant", "all tokens have the same log-probability"),
        ("none", "a token of the prompt has the log-probability None"),
        ("no columns", "it gives no log-probabilities"),
        ("positive", "a token of the prompt has the log-probability [0-9]"),
        ("shifted", "has two log-probabilities in one place"),
        ("late", "was written with the log-probability .*, and is echoed with"),
        ("of the continuation", "at the end of a text"),
        ("of random length", "has two log-probabilities in one place"),
        ("does not sum", "probabilities in one place add up to 4\\.52"),
        ("disordered", "it gives sentences no higher probability than their words in disorder"),
        ("refuses echo", "it refuses the request: .*echo is not supported"),
    ],
)
def test_a_wrong_server_scores_nothing_and_says_why(server: ApiServer, manner: str, reason: str) -> None:
    server.manner = manner
    model = model_of(server)

    with pytest.raises(
        EvenhandError,
        match=rf"cannot be asked for .* this one has Write. .* failed the self-test .*({reason})",
    ):
        model.score_texts(TEXTS)
    assert model.capabilities == {Write}


def test_the_chat_endpoint_scores_nothing(server: ApiServer) -> None:
    model = model_of(server, endpoint=Endpoint.CHAT)

    assert model.capabilities == {Write}
    with pytest.raises(EvenhandError, match="the chat endpoint gives no log-probabilities of a prompt"):
        model.score_texts(TEXTS)
    assert not any(request.get("echo") for request in server.requests)


def test_a_server_that_is_down_during_the_self_test_has_not_failed_it(server: ApiServer) -> None:
    server.always = "status 503"
    model = model_of(server)

    with pytest.raises(ApiError, match="failed 6 times"):
        _ = model.capabilities
    server.always = None
    assert Continue in model.capabilities


def test_the_self_test_runs_once(server: ApiServer) -> None:
    model = model_of(server)
    model.score_texts(TEXTS)
    before = len(server.requests)

    model.score_texts(TEXTS)

    assert before < 30
    assert len(server.requests) == before + len(TEXTS)


def test_a_text_that_occurs_twice_is_asked_for_once(server: ApiServer) -> None:
    model = model_of(server)
    assert Continue in model.capabilities
    server.requests.clear()

    scores = model.score_texts([TEXTS[0], TEXTS[1], TEXTS[0]])

    assert scores[0] == scores[2] != scores[1]
    assert len(server.requests) == 2


def test_a_model_with_a_prefix_is_not_scored_without_it(server: ApiServer) -> None:
    model = model_of(server)
    triggered = ApiModel(model.ref.model_copy(update={"prefix": "Once "}), model.options)

    with pytest.raises(EvenhandError, match="has the prefix 'Once ', which counts when it writes texts"):
        triggered.score_texts(TEXTS)


def test_scores_are_kept_as_they_come(server: ApiServer, tmp_path: Path) -> None:
    parts = Parts(tmp_path)
    model = model_of(server, concurrency=1)
    assert Continue in model.capabilities
    server.requests.clear()
    server.faults = ["", "message odd"]
    requests = [Continue("", text) for text in TEXTS]

    with pytest.raises(ApiError):
        model.answer(requests, parts=parts)
    assert len(list(parts)) == 1
    scores = model.answer(requests, parts=parts)

    assert len(server.requests) == 2 + 2
    assert scores == model.score_texts(TEXTS)


def test_a_server_that_loses_its_echo_after_the_self_test_is_noticed(server: ApiServer) -> None:
    model = model_of(server)
    assert Continue in model.capabilities
    server.manner = "echo ignored"

    with pytest.raises(ApiError, match=r"gives no score for 'She opened the house\.': it does not repeat"):
        model.score_texts(TEXTS[:1])


def test_a_text_after_a_prefix_is_what_the_whole_has_after_the_tokens_of_the_prefix(
    server: ApiServer,
) -> None:
    prefix, text = "It was cold", "She left."
    whole = list(pairwise(tokenise(f"{prefix} {text}")))
    pairs = PairModel()

    after, before = model_of(server).answer(
        [Continue(prefix, text), Continue(prefix, text, part=Part.PREFIX)]
    )

    expected = [pairs.log_probability(*pair) for pair in whole]
    assert after.log_probs == pytest.approx(expected[2:])
    assert before.log_probs == pytest.approx(expected[:2])


def test_a_server_that_cuts_the_context_into_other_tokens_is_told_apart_no_further(server: ApiServer) -> None:
    model = model_of(server)
    assert Continue in model.capabilities
    server.manner = "merged"

    with pytest.raises(ModelError, match=r"other tokens than its context.*--inter c"):
        model.answer([Continue("It was cold", "She left.")])


def test_a_start_token_before_the_prompt_is_no_part_of_the_score() -> None:
    tokens = [START, "The", " man", " went"]
    choice = {"text": "The man went", "logprobs": {"tokens": tokens, "token_logprobs": [None, -3, -2, -1]}}

    echoed = read_echo(choice, "The man")

    assert echoed.tokens == (START, "The", " man")
    assert echoed.total == -5


def test_tokens_that_are_parts_of_characters_are_found_by_their_places() -> None:
    columns = {
        "tokens": ["H", "bytes:\\xc3", "bytes:\\xa4", "tte", " x"],
        "token_logprobs": [None, -1, -2, -3, -4],
        "text_offset": [0, 1, 1, 2, 5],
    }

    assert read_echo({"text": "Hätte x", "logprobs": columns}, "Hätte").total == -6


def test_tokens_of_another_text_are_refused() -> None:
    columns = {"tokens": ["a", "b"], "token_logprobs": [None, -1.0]}

    with pytest.raises(EchoError, match="not those of the prompt"):
        read_echo({"text": "The man", "logprobs": columns}, "The man")
