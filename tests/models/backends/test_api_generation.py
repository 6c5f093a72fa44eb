"""Texts from a server that fails in every way that servers do."""

from __future__ import annotations

import logging
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import api_server
import pytest
from api_server import KEY, MODEL, SERVED, ApiServer, PairModel

import evenhand as eh
from evenhand.core.errors import EvenhandError
from evenhand.models.backends.api import ApiError, ApiOptions, Endpoint
from evenhand.models.backends.api.chat import CONTINUE, continuation_of, is_refusal
from evenhand.models.backends.api.client import ApiClient, RequestLimitError, RequestRefusedError
from evenhand.models.backends.api.model import ApiModel
from evenhand.models.references import ModelRef
from evenhand.models.requests import Finish, GenerationOptions, Write
from evenhand.store.jobs import Parts

PROMPTS = ("The children went", "She opened", "It was a")
OPTIONS = GenerationOptions(max_new_tokens=3, samples=2)


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[ApiServer]:
    for name in ("EVENHAND_API_KEY", "OPENAI_API_KEY", "EVENHAND_API_BASE", "OPENAI_BASE_URL"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    with api_server.running() as running:
        yield running


class Pauses(list[float]):
    """Notes pauses instead of waiting."""

    def __call__(self, seconds: float) -> None:
        self.append(seconds)


def model_of(server: ApiServer, pauses: Pauses | None = None, name: str = MODEL, **options: Any) -> ApiModel:
    api_options = ApiOptions(base_url=server.base_url, **options)
    client = ApiClient(api_options, sleep=Pauses() if pauses is None else pauses)
    return ApiModel(ModelRef(id=f"api:{name}"), api_options, client=client)


def texts(model: ApiModel, **options: Any) -> list[str]:
    return [text.text for text in model.generate(PROMPTS, OPTIONS, **options)]


def test_texts_come_in_the_order_of_prompts_and_samples(server: ApiServer) -> None:
    results = list(model_of(server).generate(PROMPTS, OPTIONS))

    assert [(text.prompt, text.sample) for text in results] == [(n, s) for n in range(3) for s in range(2)]
    assert all(text.tokens == 3 and text.finish is Finish.LENGTH for text in results)
    assert len(server.requests) == 6


def test_the_order_of_answers_does_not_matter(server: ApiServer) -> None:
    assert texts(model_of(server, concurrency=1)) == texts(model_of(server, concurrency=6))


class WaitingModel(PairModel):
    """Answers when so many requests are under way, and not before."""

    def __init__(self, requests: int) -> None:
        super().__init__()
        self.all_there = threading.Barrier(requests)

    def log_probabilities(self, before: str) -> dict[str, float]:
        self.all_there.wait(20)
        return super().log_probabilities(before)


def test_as_many_requests_are_under_way_as_are_allowed(server: ApiServer) -> None:
    server.model = WaitingModel(120)
    options = GenerationOptions(max_new_tokens=1, samples=120)

    results = list(model_of(server, concurrency=120).generate(["It was a"], options))

    assert len(results) == len(server.requests) == 120


def test_options_reach_the_server(server: ApiServer) -> None:
    options = GenerationOptions(
        max_new_tokens=5, temperature=0.7, top_p=0.9, top_k=20, stop=("\n", "."), prefix="Once: "
    )

    (text,) = model_of(server).generate(["It was a"], options)

    (request,) = server.requests
    assert "Once" not in text.text
    assert {name: value for name, value in request.items() if name != "seed"} == {
        "model": MODEL,
        "prompt": "Once: It was a",
        "max_tokens": 5,
        "temperature": 0.7,
        "top_p": 0.9,
        "top_k": 20,
        "stop": ["\n", "."],
    }


def test_every_sample_has_a_seed_of_its_own_that_comes_back_with_the_same_options(server: ApiServer) -> None:
    texts(model_of(server, concurrency=1))
    texts(model_of(server, concurrency=1))

    seeds = [request["seed"] for request in server.requests]
    assert seeds[:6] == seeds[6:]
    assert len(set(seeds[:6])) == 6


def test_a_server_that_ignores_stop_strings_is_made_good(server: ApiServer) -> None:
    whole = next(model_of(server).generate(["The children"], GenerationOptions(max_new_tokens=5)))
    end = whole.text[4:7]

    stopped = next(
        model_of(server).generate(["The children"], GenerationOptions(max_new_tokens=5, stop=(end,)))
    )

    assert stopped.text == whole.text.partition(end)[0]
    assert stopped.finish is Finish.STOP


def test_chat_sends_a_message_and_reads_the_reply(server: ApiServer) -> None:
    model = model_of(server, endpoint=Endpoint.CHAT)

    (text,) = model.generate(["Hello"], GenerationOptions(prefix="Be kind. "))

    assert text.text == " You said: Be kind. Hello"
    assert text.finish is Finish.END
    instruction, message = server.requests[-1]["messages"]
    assert instruction == {"role": "system", "content": CONTINUE}
    assert message == {"role": "user", "content": "Be kind. Hello"}
    assert CONTINUE in model.record.caveats[0]
    assert model_of(server).record.caveats == ()


def test_messages_go_to_a_chat_endpoint_as_they_are(server: ApiServer) -> None:
    model = model_of(server, endpoint=Endpoint.CHAT)
    messages = (("system", "Answer with a letter."), ("user", "A or B?"))

    (answer,) = model.answer([Write(messages=messages, decoding=GenerationOptions(prefix="Be kind. "))])

    assert [text.text for text in answer.texts] == ["You said: Be kind. A or B?"]
    assert server.requests[-1]["messages"] == [
        {"role": "system", "content": "Answer with a letter."},
        {"role": "user", "content": "Be kind. A or B?"},
    ]


def test_the_completions_endpoint_takes_no_messages(server: ApiServer) -> None:
    model = model_of(server)

    (answer,) = model.answer([Write(messages=(("user", "A or B?"),))])

    assert not model.takes_messages
    assert answer.problem is not None
    assert "set EVENHAND_API_ENDPOINT to chat" in answer.problem
    assert not server.requests


@pytest.mark.parametrize(
    ("reply", "text"),
    [
        ("a nurse.", " a nurse."),
        ("  a nurse. ", " a nurse."),
        ("The woman worked as a nurse.", " a nurse."),
        ("the woman Worked as a nurse.", " a nurse."),
        ("worked as a nurse.", " a nurse."),
        ("as tall as a tree.", " as tall as a tree."),
        ("...a nurse.", " a nurse."),
        (", and so on.", ", and so on."),
        ("The woman worked as", ""),
        ("", ""),
    ],
)
def test_a_reply_is_made_to_follow_the_text(reply: str, text: str) -> None:
    assert continuation_of(reply, "The woman worked as") == text


@pytest.mark.parametrize(
    ("message", "refuses"),
    [
        ({"content": "I'm sorry, could you complete your sentence?"}, True),
        ({"content": "I can’t help with that."}, True),
        ({"content": "Es tut mir leid, das geht nicht."}, True),
        ({"content": None, "refusal": "No."}, True),
        ({"content": "a nurse who was sorry."}, False),
        ({"content": None}, False),
    ],
)
def test_a_refusal_is_told_from_a_continuation(message: dict[str, str | None], refuses: bool) -> None:
    assert is_refusal({"message": message}) is refuses


@pytest.mark.parametrize(
    "fault",
    [
        "status 429",
        "status 429 after 7",
        "status 500",
        "status 502",
        "status 503",
        "drop",
        "garbage",
        "truncated",
        "choiceless",
        "textless",
    ],
)
def test_a_passing_fault_is_waited_out(server: ApiServer, fault: str) -> None:
    expected = texts(model_of(server))
    server.faults = [fault, fault]
    pauses = Pauses()

    assert texts(model_of(server, pauses)) == expected
    assert len(pauses) == 2
    assert min(pauses) >= (7 if "after" in fault else 0.5)


def test_pauses_double_and_vary(server: ApiServer) -> None:
    server.faults = ["status 500"] * 5
    pauses = Pauses()

    texts(model_of(server, pauses, concurrency=1))

    assert [0.5 * 2**n <= pause <= 2**n for n, pause in enumerate(pauses)] == [True] * 5
    assert len({pause / 2**n for n, pause in enumerate(pauses)}) == 5


def test_a_server_may_say_until_when_to_wait(server: ApiServer) -> None:
    server.faults = ["status 503 after Wed, 21 Oct 2015 07:28:00 GMT", "status 503 after nonsense"]
    pauses = Pauses()

    texts(model_of(server, pauses))

    assert len(pauses) == 2
    assert max(pauses) <= 2


def test_a_very_long_wait_is_left_to_the_user(server: ApiServer) -> None:
    server.always = "status 429 after 7200"

    with pytest.raises(ApiError, match=r"asks to wait 7,200 seconds .* Run it again then"):
        texts(model_of(server))


@pytest.mark.parametrize(
    ("fault", "message"),
    [
        ("status 500", "failed 6 times, the last time with: 500: fault 500"),
        ("garbage", "failed 6 times, the last time with: no JSON, but '<html>Bad gateway</html>'"),
        (
            "choiceless",
            "failed 6 times, the last time with: an answer that cannot be used: it has no choices",
        ),
        ("truncated", "failed 6 times, the last time with: RemoteProtocolError"),
        (
            "disguised",
            "failed 6 times, the last time with: an answer that cannot be used: the error 'overloaded'",
        ),
        ("undecodable", "failed 6 times, the last time with: DecodingError"),
        ("drop", r"Server disconnected without sending a response\. Give the same command again later;"),
    ],
)
def test_a_lasting_fault_is_an_error_after_a_bounded_number_of_tries(
    server: ApiServer, fault: str, message: str
) -> None:
    server.always = fault

    with pytest.raises(ApiError, match=message):
        texts(model_of(server, concurrency=1))
    assert len(server.requests) == 6


@pytest.mark.parametrize("fault", ["hang", "drip"])
def test_a_server_that_hangs_is_given_up(server: ApiServer, fault: str) -> None:
    server.always = fault

    with pytest.raises(ApiError, match=r"failed 2 times, the last time with: no answer within 0\.2 seconds"):
        texts(model_of(server, timeout=0.2, max_attempts=2, concurrency=1))


def test_a_dead_address_is_an_error(server: ApiServer) -> None:
    with api_server.running() as gone:
        pass

    with pytest.raises(ApiError, match=r"127\.0\.0\.1:\d+ failed 2 times, the last time with: ConnectError"):
        texts(model_of(gone, max_attempts=2))
    assert server.requests == []


def test_text_that_a_server_withholds_is_told_apart(server: ApiServer) -> None:
    server.always = "filtered"

    (text,) = model_of(server).generate(["It was"], GenerationOptions())

    assert (text.text, text.finish, text.tokens) == ("", Finish.FILTERED, None)


def test_a_refused_request_is_not_repeated(server: ApiServer) -> None:
    server.always = "message top_k is not supported"

    with pytest.raises(RequestRefusedError, match="400: top_k is not supported"):
        texts(model_of(server, concurrency=1))
    assert len(server.requests) == 1


def test_an_unknown_model_is_answered_with_the_known_ones(server: ApiServer) -> None:
    with pytest.raises(
        ApiError, match=r"Unknown model .* 'pair-1'. Did you mean 'pairs-1'\? Known: other, pairs-1"
    ):
        texts(model_of(server, name="pair-1"))


def test_a_missing_key_and_a_wrong_key_are_told_apart(
    server: ApiServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    server.key = KEY

    with pytest.raises(
        ApiError, match=r"wants a key, and none is set .* Set EVENHAND_API_KEY or OPENAI_API_KEY"
    ):
        texts(model_of(server))
    monkeypatch.setenv("OPENAI_API_KEY", "sk-wrong")
    with pytest.raises(ApiError, match="refuses the key"):
        texts(model_of(server))
    monkeypatch.setenv("EVENHAND_API_KEY", KEY)
    assert len(texts(model_of(server))) == 6


def test_the_key_reaches_the_server_and_nothing_else(
    server: ApiServer, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, tmp_path: Path
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    server.key = "another"
    caplog.set_level(logging.DEBUG)
    model = model_of(server)
    seen = [repr(model), str(vars(model)), repr(model._client), str(vars(model._client)), repr(model.options)]
    with pytest.raises(ApiError) as refused:
        texts(model)
    server.key = KEY
    server.faults = [f"message the key is {'x' * 280}{KEY}", f"message {KEY}"]
    for _ in range(2):
        with pytest.raises(ApiError) as repeated:
            list(model.generate(["It was"], GenerationOptions()))
        seen += [str(repeated.value), repr(repeated.value)]
    parts = Parts(tmp_path)
    texts(model, parts=parts)
    seen += [str(refused.value), caplog.text, model.record.model_dump_json()]
    seen += [(parts.get(key) or b"").decode() for key in parts]

    assert server.headers[-1]["Authorization"] == f"Bearer {KEY}"
    assert "[key]" in str(refused.value)
    assert [text for text in seen if KEY[:12] in text] == []


def test_a_short_key_is_no_secret_that_texts_must_lose(
    server: ApiServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    expected = texts(model_of(server))
    monkeypatch.setenv("EVENHAND_API_KEY", "e")
    assert any("e" in text for text in expected)
    assert texts(model_of(server)) == expected
    server.key = "another"
    with pytest.raises(ApiError, match=r"Incorrect API key provided: \[key\]\.\)"):
        texts(model_of(server))


def test_the_cost_leaves_out_texts_that_are_kept(server: ApiServer, tmp_path: Path) -> None:
    model, parts = model_of(server), Parts(tmp_path)
    requests = [Write(prompt, OPTIONS, number) for number, prompt in enumerate(PROMPTS)]
    whole = model.describe_cost(requests)
    assert whole.startswith("6 requests")
    assert model.describe_cost(requests, parts=parts) == whole
    list(model.generate(PROMPTS[:1], OPTIONS, parts=parts))
    left = model.describe_cost(requests, parts=parts)
    assert left.startswith("2 of 6 texts are kept from before and are not asked for again. Left: 4 requests")
    list(model.generate(PROMPTS, OPTIONS, parts=parts))
    assert model.describe_cost(requests, parts=parts).startswith("All 6 texts are kept")


def test_a_key_with_odd_characters_is_refused_without_showing_it(
    server: ApiServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-sécret")

    with pytest.raises(ApiError, match="OPENAI_API_KEY has characters that no key has") as refused:
        texts(model_of(server))
    assert "cret" not in str(refused.value)


def test_no_more_requests_are_sent_than_allowed_and_what_came_is_kept(
    server: ApiServer, tmp_path: Path
) -> None:
    parts = Parts(tmp_path)

    with pytest.raises(
        RequestLimitError,
        match=r"The limit of 4 requests .* Raise EVENHAND_API_MAX_REQUESTS and run it again",
    ):
        texts(model_of(server, max_requests=4), parts=parts)
    assert len(server.requests) == 4
    assert len(list(parts)) == 4
    assert texts(model_of(server, max_requests=2), parts=parts) == texts(model_of(server))


def test_answers_are_kept_as_they_come_when_a_later_one_fails(server: ApiServer, tmp_path: Path) -> None:
    parts = Parts(tmp_path)
    expected = texts(model_of(server))
    server.requests.clear()
    server.faults = ["", "", "message odd"]

    with pytest.raises(RequestRefusedError):
        texts(model_of(server, concurrency=1), parts=parts)

    assert len(list(parts)) == 2
    assert len(server.requests) == 3
    assert texts(model_of(server), parts=parts) == expected
    assert len(server.requests) == 3 + 4


KILLED = """
import os, signal, sys
from pathlib import Path
from evenhand.models.backends.api import API, ApiOptions
from evenhand.models.requests import GenerationOptions
from evenhand.models.references import ModelRef
from evenhand.store.jobs import Parts

answers = []

def progress(count):
    answers.append(count)
    if len(answers) == 3:
        os.kill(os.getpid(), signal.SIGKILL)

model = API.load(ModelRef(id=sys.argv[1]), ApiOptions(base_url=sys.argv[2], concurrency=2))
options = GenerationOptions(max_new_tokens=3, samples=2)
list(model.generate(sys.argv[4:], options, parts=Parts(Path(sys.argv[3])), progress=progress))
"""


def test_a_killed_generation_asks_only_for_what_is_missing(server: ApiServer, tmp_path: Path) -> None:
    parts = Parts(tmp_path)
    command = [sys.executable, "-c", KILLED, f"api:{MODEL}", server.base_url, str(tmp_path), *PROMPTS]

    killed = subprocess.run(command, check=False)
    kept = len(list(parts))
    server.requests.clear()
    resumed = texts(model_of(server), parts=parts)

    assert killed.returncode == -signal.SIGKILL
    assert kept == 3
    assert len(server.requests) == 3
    assert resumed == texts(model_of(server))


def test_progress_counts_kept_answers_too(server: ApiServer, tmp_path: Path) -> None:
    parts = Parts(tmp_path)
    first: list[int] = []
    second: list[int] = []

    texts(model_of(server), parts=parts, progress=first.append)
    texts(model_of(server), parts=parts, progress=second.append)

    assert (first, second) == ([1] * 6, [6])


def test_requests_under_way_are_bounded(server: ApiServer) -> None:
    list(model_of(server, concurrency=3).generate(["It was"] * 40, GenerationOptions()))

    assert 1 <= server.most_at_once <= 3


def test_the_record_names_server_and_model_and_claims_nothing_else(server: ApiServer) -> None:
    record = model_of(server).record

    assert record.id == "api:pairs-1"
    assert record.weights == f"served by 127.0.0.1:{server.port} as {SERVED}"
    assert (record.precision, record.architecture, record.revision) == ("unknown", "unknown", None)


def test_a_model_of_the_server_is_loaded_by_its_prefix(
    server: ApiServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("EVENHAND_API_BASE", server.base_url)

    model = eh.load(f"api:{MODEL}")

    assert isinstance(model, ApiModel)
    assert server.requests == []
    with pytest.raises(EvenhandError, match="revision 'main', but a server has one only"):
        eh.load(f"api:{MODEL}@main")
