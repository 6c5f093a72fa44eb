"""A small server with the protocol of OpenAI, on this machine, with a model of word pairs and faults on demand."""

from __future__ import annotations

import json
import math
import random
import re
import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from evenhand.models.backends.api.echo import SENTENCES

MODEL = "pairs-1"
SERVED = "pairs-1-2024-05"
KEY = "sk-test-0123456789-secret"
START = "<s>"

ODD_ANSWERS: dict[str, Any] = {
    "choiceless": {"model": SERVED, "choices": []},
    "textless": {"choices": [{"finish_reason": "stop"}]},
    "filtered": {"choices": [{"text": None, "finish_reason": "content_filter"}]},
    "disguised": {"error": {"message": "overloaded"}},
    "halved": {"model": SERVED, "choices": [{"text": " so \ud83d", "finish_reason": "length"}]},
    "halved-error": {"error": {"message": "over\ude00loaded"}},
}
"""Answers with status 200 that are none."""

_TOKEN = re.compile(r"\s?[^\s]+|\s")


def tokenise(text: str) -> list[str]:
    return _TOKEN.findall(text)


class PairModel:
    """Probabilities of a word after a word, from the sentences of the self-test, smoothed."""

    def __init__(self) -> None:
        rows = [tokenise(sentence) for sentence, _ in SENTENCES]
        shuffled = [tokenise(text) for _, text in SENTENCES]
        self.vocabulary = sorted({token for row in rows + shuffled for token in row} | {" unknown"})
        pairs = [pair for row in rows for pair in zip([START, *row], row, strict=False)]
        self.counts = Counter(pairs)

    def log_probabilities(self, before: str) -> dict[str, float]:
        weights = {token: self.counts[before, token] + 0.02 for token in self.vocabulary}
        total = math.fsum(weights.values())
        return {token: math.log(weight / total) for token, weight in weights.items()}

    def log_probability(self, before: str, token: str) -> float:
        known = self.log_probabilities(before)
        return known.get(token, known[" unknown"])


@dataclass
class ApiServer:
    """What the server does, and what it has seen."""

    port: int = 0
    key: str | None = None
    """The key it wants."""
    manner: str = "right"
    """How it echoes."""
    faults: list[str] = field(default_factory=list)
    """What happens to the next requests, one after the other, an empty string being nothing; then all goes well."""
    always: str | None = None
    """What happens to every request."""
    requests: list[dict[str, Any]] = field(default_factory=list)
    headers: list[dict[str, str]] = field(default_factory=list)
    most_at_once: int = 0
    model: PairModel = field(default_factory=PairModel)
    release: threading.Event = field(default_factory=threading.Event)
    lock: threading.Lock = field(default_factory=threading.Lock)
    under_way: int = 0

    @property
    def base_url(self) -> str:
        return f"http://127.0.0.1:{self.port}/v1"

    def next_fault(self) -> str | None:
        with self.lock:
            return self.faults.pop(0) if self.faults else self.always

    def choice(self, request: dict[str, Any]) -> dict[str, Any]:
        """One choice of an answer."""
        if "messages" in request:
            reply = f"You said: {request['messages'][-1]['content']}"
            return {"message": {"role": "assistant", "content": reply}, "finish_reason": "stop"}
        prompt = tokenise(request["prompt"])
        if self.manner == "merged":
            prompt = ["".join(prompt[first : first + 2]) for first in range(0, len(prompt), 2)]
        written = self.write(prompt, request)
        if "logprobs" not in request:
            return {"text": "".join(written), "finish_reason": "length"}
        echo = bool(request.get("echo")) and self.manner != "echo ignored"
        tokens = [*prompt, *written] if echo else written
        columns = self.columns(prompt, written, request["logprobs"])
        if not echo:
            columns = {name: column[len(prompt) :] for name, column in columns.items()}
        return {"text": "".join(tokens), "finish_reason": "length", "logprobs": self.spoiled(columns, prompt)}

    def write(self, prompt: list[str], request: dict[str, Any]) -> list[str]:
        chooser = random.Random(request.get("seed", 0))  # noqa: S311
        row = list(prompt)
        for _ in range(request["max_tokens"]):
            known = self.model.log_probabilities(row[-1] if row else START)
            row += chooser.choices(list(known), [math.exp(value) for value in known.values()])
        return row[len(prompt) :]

    def columns(self, prompt: list[str], written: list[str], count: int) -> dict[str, list[Any]]:
        tokens = [*prompt, *written]
        before = [START, *tokens[:-1]]
        tops = [
            dict(sorted(self.model.log_probabilities(word).items(), key=lambda entry: -entry[1])[:count])
            for word in before
        ]
        values: list[float | None] = [
            self.model.log_probability(word, token) for word, token in zip(before, tokens, strict=True)
        ]
        values[0] = None
        return {"tokens": tokens, "token_logprobs": values, "top_logprobs": [None, *tops[1:]]}

    def spoiled(self, columns: dict[str, list[Any]], prompt: list[str]) -> dict[str, Any] | None:
        """Columns as a faulty server gives them."""
        tokens, values = columns["tokens"], columns["token_logprobs"]
        match self.manner:
            case "zeros":
                values = [None, *[0.0] * (len(tokens) - 1)]
            case "constant":
                values = [None, *[-2.5] * (len(tokens) - 1)]
            case "none":
                values = [None] * len(tokens)
            case "no columns":
                return None
            case "positive":
                values = [None if value is None else -value for value in values]
            case "shifted":
                values = [None, *values[2:], -1.0]
            case "late" if len(tokens) > 1:
                return {"tokens": tokens, "token_logprobs": [None, -1.0, *values[1:-1]]}
            case "of the continuation" if len(tokens) > 1:
                written = self.write(prompt, {"max_tokens": len(tokens)})
                own = self.columns(prompt, written, 1)
                values = [None, *own["token_logprobs"][len(prompt) :]][: len(tokens)]
                return {"tokens": tokens, "token_logprobs": values}
            case "of random length":
                noise = random.Random(len(tokens))  # noqa: S311
                values = [None, *[-noise.random() for _ in tokens[1:]]]
            case "does not sum":
                tops = [None if top is None else dict.fromkeys(top, -0.1) for top in columns["top_logprobs"]]
                return {**columns, "top_logprobs": tops}
            case "disordered":
                values = [None if value is None else -10 - value for value in values]
                return {"tokens": tokens, "token_logprobs": values}
        return {**columns, "token_logprobs": values}


def _handler(server: ApiServer) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        timeout = 5
        disable_nagle_algorithm = True

        def log_message(self, *_: Any) -> None:
            pass

        def do_GET(self) -> None:
            self.send(200, {"data": [{"id": MODEL}, {"id": "other"}]})

        def do_POST(self) -> None:
            with server.lock:
                server.under_way += 1
                server.most_at_once = max(server.most_at_once, server.under_way)
            try:
                self.answer()
            finally:
                with server.lock:
                    server.under_way -= 1

        def answer(self) -> None:
            request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            with server.lock:
                server.requests.append(request)
                server.headers.append(dict(self.headers))
            given = self.headers.get("Authorization", "").removeprefix("Bearer ")
            if server.key is not None and given != server.key:
                message = f"Incorrect API key provided: {given}."
                return self.send(401, {"error": {"message": message, "code": "invalid_api_key"}})
            if request["model"] != MODEL:
                return self.send(404, {"error": {"message": "The model does not exist"}})
            fault = server.next_fault()
            if fault:
                return self.fail(fault, request)
            if request.get("echo") and server.manner == "refuses echo":
                return self.send(400, {"error": {"message": "echo is not supported"}})
            if request.get("max_tokens") == 0 and server.manner == "refuses zero":
                return self.send(400, {"error": {"message": "max_tokens must be at least 1"}})
            return self.send(200, self.body(request))

        def body(self, request: dict[str, Any]) -> dict[str, Any]:
            usage = {"prompt_tokens": 5, "completion_tokens": request["max_tokens"]}
            return {"model": SERVED, "choices": [server.choice(request)], "usage": usage}

        def fail(self, fault: str, request: dict[str, Any]) -> None:
            kind, _, value = fault.partition(" ")
            match kind:
                case "status":
                    status, _, pause = value.partition(" after ")
                    headers = {"Retry-After": pause} if pause else {}
                    self.send(int(status), {"error": {"message": f"fault {status}"}}, headers)
                case "message":
                    self.send(400, {"error": {"message": value}})
                case "hang":
                    server.release.wait(5)
                case "drip":
                    self.drip()
                case "drop":
                    self.close_connection = True
                case "trickle":
                    self.trickle()
                case "bytes":
                    self.send_bytes(
                        200, json.dumps(self.body(request)).encode().replace(b'"text": "', b'"text": "\xff')
                    )
                case "garbage":
                    self.send_bytes(200, b"<html>Bad gateway</html>")
                case "truncated":
                    content = json.dumps(self.body(request)).encode()
                    self.send_bytes(200, content[: len(content) // 2], length=len(content))
                    self.close_connection = True
                case "undecodable":
                    self.send(200, {"choices": []}, {"Content-Encoding": "gzip"})
                case _:
                    self.send(200, ODD_ANSWERS[fault])

        def drip(self) -> None:
            self.send_response(200)
            self.send_header("Content-Length", "1000")
            self.end_headers()
            while not server.release.wait(0.02):
                self.wfile.write(b" ")
                self.wfile.flush()

        def trickle(self) -> None:
            """A status, and then headers without end."""
            self.wfile.write(b"HTTP/1.1 200 OK\r\nX-Slow: ")
            while not server.release.wait(0.02):
                self.wfile.write(b"a")
                self.wfile.flush()

        def send(self, status: int, content: Any, headers: dict[str, str] | None = None) -> None:
            self.send_bytes(status, json.dumps(content).encode(), headers)

        def send_bytes(
            self,
            status: int,
            content: bytes,
            headers: dict[str, str] | None = None,
            *,
            length: int | None = None,
        ) -> None:
            self.send_response(status)
            for name, value in (headers or {}).items():
                self.send_header(name, value)
            self.send_header("Content-Length", str(length or len(content)))
            self.end_headers()
            self.wfile.write(content)

    return Handler


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 256

    def handle_error(self, *_: Any) -> None:
        """A client that gave up is no fault of the server."""


@contextmanager
def running(**settings: Any) -> Iterator[ApiServer]:
    """A server on a free port of this machine, stopped at the end."""
    state = ApiServer(**settings)
    server = _Server(("127.0.0.1", 0), _handler(state))
    state.port = server.server_address[1]
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
    thread.start()
    try:
        yield state
    finally:
        state.release.set()
        server.shutdown()
        server.server_close()
        thread.join(5)
