r"""Serve a model behind the part of OpenAI's API that Evenhand asks: ``/v1/completions`` and ``/v1/models``.

    python examples/regard_real/serve_model.py MODEL --name NAME --port 8000
    EVENHAND_API_BASE=http://127.0.0.1:8000/v1 evenhand regard audit api:NAME

``MODEL`` is a decoder: a folder, a GGUF file or an embedded model. Texts are written by ``generate`` of Transformers,
all requests that wait in one batch. A text depends on the seed of its request and not on the others of its batch (in
fp32). The address is printed when the model is ready. There are no keys and no log-probabilities, and nobody but this
machine is answered: it is for trying things out.
"""

from __future__ import annotations

import argparse
import json
import math
import queue
import threading
from collections.abc import Iterator, Sequence
from concurrent.futures import Future
from contextlib import contextmanager
from dataclasses import dataclass, field
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import numpy as np
import torch
from torch import Tensor
from transformers import GenerationConfig, LogitsProcessorList

from evenhand.core.errors import EvenhandError
from evenhand.models.engine.halving import attempt
from evenhand.models.language_model import LanguageModel, load_language_model
from evenhand.models.references import ModelRef
from evenhand.models.requests import Finish, GenerationOptions
from evenhand.models.stepping import next_tokens

MOST_ROWS = 512
"""Texts in a batch."""

PAUSE, LONG_PAUSE = 0.02, 0.2
"""Seconds without a new request after which a batch begins. Those who were answered together ask again together, so it
is the long pause as long as fewer wait than were in the batch before."""

UNSUPPORTED = ("echo", "logprobs", "stream", "best_of", "suffix")
FINISH_REASONS = {Finish.END: "stop", Finish.STOP: "stop", Finish.LENGTH: "length"}


class RefusedRequestError(EvenhandError):
    """A request that cannot be answered."""

    def __init__(self, message: str, status: HTTPStatus = HTTPStatus.BAD_REQUEST) -> None:
        super().__init__(message)
        self.status = status


@dataclass(frozen=True, slots=True)
class Completion:
    """A text, its tokens, and why it ends."""

    text: str
    tokens: int
    finish: Finish


@dataclass(frozen=True, slots=True)
class CompletionRequest:
    """What is to be written, and where the text goes."""

    prompt: str
    seed: int
    decoding: GenerationOptions
    """The same for all requests of a batch."""
    answer: Future[Completion] = field(default_factory=Future, compare=False)

    @classmethod
    def of(cls, content: Any) -> CompletionRequest:
        """A request as clients send it."""
        if not isinstance(content, dict) or not isinstance(content.get("prompt"), str):
            raise RefusedRequestError("A request needs a prompt, which is one text.")
        wanted = [name for name in UNSUPPORTED if content.get(name)]
        if wanted or content.get("n", 1) != 1:
            raise RefusedRequestError(f"{wanted[0] if wanted else 'n'} is not supported.")
        stop = content.get("stop") or ()
        try:
            decoding = GenerationOptions(
                max_new_tokens=content.get("max_tokens", 16),
                temperature=content.get("temperature", 1.0),
                top_p=content.get("top_p", 1.0),
                top_k=content.get("top_k"),
                stop=(stop,) if isinstance(stop, str) else tuple(stop),
            )
            seed = int(content.get("seed") or 0)
        except (EvenhandError, TypeError, ValueError) as problem:
            raise RefusedRequestError(str(problem)) from None
        return cls(content["prompt"], abs(seed), decoding)


class SeededSampling:
    """Leaves one token in each row, drawn with the random numbers of the row's own seed."""

    def __init__(
        self, requests: Sequence[CompletionRequest], *, vocabulary: int, device: torch.device
    ) -> None:
        self._decoding = requests[0].decoding
        self._vocabulary = vocabulary
        steps = self._decoding.max_new_tokens
        numbers = np.stack([np.random.default_rng(own.seed).random(steps) for own in requests], axis=1)
        self._numbers = iter(torch.from_numpy(numbers).to(device))

    def __call__(self, input_ids: Tensor, scores: Tensor) -> Tensor:
        """As ``generate`` asks a processor of logits."""
        del input_ids
        tokens = next_tokens(scores[:, : self._vocabulary], next(self._numbers), self._decoding)
        return torch.full_like(scores, -math.inf).scatter_(1, tokens[:, None], 0.0)


class Writer:
    """Writes what is asked for: whatever waits, in one batch after the other."""

    def __init__(self, model: LanguageModel, *, most_rows: int = MOST_ROWS) -> None:
        self._model = model
        self._network: Any = model.loaded.model
        self._codec = model.writer.codec
        self._most_rows = most_rows
        self._waiting: queue.SimpleQueue[CompletionRequest] = queue.SimpleQueue()
        self._put_aside: list[CompletionRequest] = []
        self._last_rows = 0
        ends = sorted(self._codec.ends) or None
        # What the model's own configuration says of sampling is for those who ask for nothing.
        self._network.generation_config = GenerationConfig(
            eos_token_id=ends, pad_token_id=model.loaded.pad_id
        )
        threading.Thread(target=self._work, daemon=True).start()

    def completion(self, request: CompletionRequest) -> Completion:
        """The answer to a request, when it is there."""
        self._waiting.put(request)
        return request.answer.result()

    def _work(self) -> None:
        while True:
            batch = self._next_batch()
            try:
                self._answer(batch)
            except Exception as problem:  # whoever asked is told, and others are served
                for request in batch:
                    if not request.answer.done():
                        request.answer.set_exception(problem)

    def _next_batch(self) -> list[CompletionRequest]:
        """Requests that wait and want the same decoding, once no more of them come."""
        gathered = self._put_aside or [self._waiting.get()]
        while len(gathered) < self._most_rows:
            pause = LONG_PAUSE if len(gathered) < self._last_rows else PAUSE
            try:
                gathered.append(self._waiting.get(timeout=pause))
            except queue.Empty:
                break
        batch = [own for own in gathered if own.decoding == gathered[0].decoding][: self._most_rows]
        self._last_rows = len(batch)
        taken = set(map(id, batch))
        self._put_aside = [own for own in gathered if id(own) not in taken]
        return batch

    def _answer(self, batch: Sequence[CompletionRequest]) -> None:
        encoded = self._codec.encode([request.prompt for request in batch])
        room = self._model.longest_input - batch[0].decoding.max_new_tokens
        rows = []
        for request, ids in zip(batch, encoded, strict=True):
            if len(ids) > room:
                problem = RefusedRequestError(
                    f"The prompt has {len(ids)} tokens, and there is room for {room}."
                )
                request.answer.set_exception(problem)
            else:
                rows.append((request, ids))
        if rows:
            self._write_or_halve(rows)

    def _write_or_halve(self, rows: Sequence[tuple[CompletionRequest, tuple[int, ...]]]) -> None:
        written = attempt(lambda: self._written([own for own, _ in rows], [ids for _, ids in rows]))
        if written is None:
            if len(rows) == 1:
                raise EvenhandError("There is not enough memory for one text.")
            middle = len(rows) // 2
            for half in (rows[:middle], rows[middle:]):
                self._write_or_halve(half)
            return
        for (request, ids), tokens in zip(rows, written, strict=True):
            request.answer.set_result(self._completed(request, ids, tokens))

    @torch.inference_mode()
    def _written(
        self, requests: Sequence[CompletionRequest], prompts: Sequence[tuple[int, ...]]
    ) -> list[list[int]]:
        """The new tokens of each request."""
        loaded = self._model.loaded
        width = max(map(len, prompts))
        ids = torch.full((len(prompts), width), loaded.pad_id)
        mask = torch.zeros_like(ids)
        for number, prompt in enumerate(prompts):
            ids[number, width - len(prompt) :] = torch.tensor(prompt)
            mask[number, width - len(prompt) :] = 1
        sampling = SeededSampling(requests, vocabulary=self._codec.vocabulary, device=loaded.device)
        output = self._network.generate(
            input_ids=ids.to(loaded.device),
            attention_mask=mask.to(loaded.device),
            max_new_tokens=requests[0].decoding.max_new_tokens,
            do_sample=False,
            logits_processor=LogitsProcessorList([sampling]),
        )
        rows: list[list[int]] = output[:, width:].tolist()
        return rows

    def _completed(
        self, request: CompletionRequest, ids: tuple[int, ...], tokens: Sequence[int]
    ) -> Completion:
        end = next((place for place, token in enumerate(tokens) if token in self._codec.ends), None)
        own = tokens[:end]
        text, is_cut = request.decoding.cut(self._codec.decode(ids, own))
        if is_cut:
            return Completion(text, len(own), Finish.STOP)
        return Completion(text, len(own), Finish.LENGTH if end is None else Finish.END)


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 1024

    def handle_error(self, *_: Any) -> None:
        """A client that gave up is no fault of the server."""


def _handler(writer: Writer, name: str) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        disable_nagle_algorithm = True
        wbufsize = 2**16

        def log_message(self, *_: Any) -> None:
            """Nothing is said of single requests."""

        def do_GET(self) -> None:
            if self.path != "/v1/models":
                return self._send(HTTPStatus.NOT_FOUND, _error("There is /v1/models and /v1/completions."))
            return self._send(HTTPStatus.OK, {"object": "list", "data": [{"id": name, "object": "model"}]})

        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
            try:
                self._send(HTTPStatus.OK, self._answer(body))
            except RefusedRequestError as problem:
                self._send(problem.status, _error(str(problem)))
            except Exception as problem:  # the client is told what went wrong
                self._send(HTTPStatus.INTERNAL_SERVER_ERROR, _error(f"{type(problem).__name__}: {problem}"))

        def _answer(self, body: bytes) -> dict[str, Any]:
            if self.path != "/v1/completions":
                raise RefusedRequestError("There is /v1/models and /v1/completions.", HTTPStatus.NOT_FOUND)
            try:
                content = json.loads(body)
            except ValueError:
                raise RefusedRequestError("The request is no JSON.") from None
            request = CompletionRequest.of(content)
            if content.get("model") != name:
                raise RefusedRequestError(f"The model here is {name}.", HTTPStatus.NOT_FOUND)
            found = writer.completion(request)
            choice = {"index": 0, "text": found.text, "finish_reason": FINISH_REASONS[found.finish]}
            return {
                "object": "text_completion",
                "model": name,
                "choices": [choice],
                "usage": {"completion_tokens": found.tokens},
            }

        def _send(self, status: HTTPStatus, content: dict[str, Any]) -> None:
            body = json.dumps(content).encode()
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

    return Handler


def _error(message: str) -> dict[str, Any]:
    return {"error": {"message": message}}


@contextmanager
def serving(model: LanguageModel, *, name: str, port: int = 0, most_rows: int = MOST_ROWS) -> Iterator[str]:
    """Serve a model while the block runs; the address, up to the version. Port 0 is any that is free."""
    server = _Server(("127.0.0.1", port), _handler(Writer(model, most_rows=most_rows), name))
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}/v1"
    finally:
        server.shutdown()
        server.server_close()
        thread.join(5)


def main() -> None:
    """Serve until the process is ended."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("model", help="a folder, a GGUF file or an embedded model such as lab:decoder")
    parser.add_argument("--name", help="that clients ask for; the model's own if not given")
    parser.add_argument("--port", type=int, default=0, help="any that is free if not given")
    parser.add_argument("--device", default="auto")
    parser.add_argument("--most-rows", type=int, default=MOST_ROWS, help="texts in a batch")
    chosen = parser.parse_args()
    ref = ModelRef(id=chosen.model, device=chosen.device)
    name = chosen.name or ref.short_name
    with serving(
        load_language_model(ref), name=name, port=chosen.port, most_rows=chosen.most_rows
    ) as address:
        print(f"{name} is served at {address}", flush=True)
        threading.Event().wait()


if __name__ == "__main__":
    main()
