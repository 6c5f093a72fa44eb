"""Servers on this machine that stand for paid translators: they answer, throttle and fail on demand."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

Answer = tuple[int, dict[str, Any]]
"""Status and body."""


@dataclass
class FakeService:
    """What a server answers, and what it was asked."""

    answer: Callable[[str, dict[str, Any]], Answer]
    """From the operation and the request to the answer."""
    faults: list[Answer] = field(default_factory=list)
    """Answers to the next requests, whatever they ask."""
    requests: list[tuple[str, dict[str, Any]]] = field(default_factory=list)
    port: int = 0
    lock: threading.Lock = field(default_factory=threading.Lock)

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def respond(self, operation: str, request: dict[str, Any]) -> Answer:
        with self.lock:
            self.requests.append((operation, request))
            if self.faults:
                return self.faults.pop(0)
        return self.answer(operation, request)

    def asked(self, operation: str) -> list[dict[str, Any]]:
        return [request for name, request in self.requests if name == operation]


@contextmanager
def serving(service: FakeService) -> Iterator[FakeService]:
    """Serve until the block ends."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            operation = self.headers.get("X-Amz-Target", self.path).rpartition(".")[2]
            status, body = service.respond(operation, request)
            content = json.dumps(body).encode()
            self.send_response(status)
            self.send_header("Content-Type", "application/x-amz-json-1.1")
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    service.port = server.server_port
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield service
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def spell_backwards(text: str) -> str:
    """A language of its own, in which BLANK is a word like any other unless somebody protects it."""
    return " ".join(word if word.strip(".") == "BLANK" else word[::-1] for word in text.split())


def amazon_answer(operation: str, request: dict[str, Any]) -> Answer:
    """Amazon Translate's answers."""
    if operation == "ImportTerminology":
        return 200, {"TerminologyProperties": {"Name": request["Name"]}}
    if request["TargetLanguageCode"] == "xx":
        return 400, amazon_fault("UnsupportedLanguagePairException", "no such pair")
    return 200, {
        "TranslatedText": spell_backwards(request["Text"]),
        "SourceLanguageCode": request["SourceLanguageCode"],
        "TargetLanguageCode": request["TargetLanguageCode"],
    }


@contextmanager
def serving_amazon(monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeService]:
    """Amazon Translate on this machine, with credentials, until the block ends."""
    with serving(FakeService(amazon_answer)) as service:
        monkeypatch.setenv("AWS_ENDPOINT_URL", service.address)
        monkeypatch.setenv("AWS_ACCESS_KEY_ID", "example")
        monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "example")
        yield service


def amazon_fault(code: str, message: str = "") -> dict[str, Any]:
    """The body of a fault."""
    return {"__type": code, "message": message}


def chat_answer(_operation: str, request: dict[str, Any]) -> Answer:
    """A chat model's answers, in the form that was asked for."""
    texts = json.loads(request["messages"][1]["content"])
    return chat_message({number: spell_backwards(text) for number, text in reversed(texts.items())})


def chat_message(translations: object) -> Answer:
    """An answer with these translations as its message."""
    return 200, {"choices": [{"message": {"content": json.dumps({"translations": translations})}}]}
