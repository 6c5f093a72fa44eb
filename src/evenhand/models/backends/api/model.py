"""A model behind a server that speaks the protocol of OpenAI."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed, wait
from dataclasses import replace
from functools import cached_property
from itertools import chain
from threading import Event
from typing import TYPE_CHECKING, Any, TypeAlias, cast

from evenhand.models.backends.api.chat import CONTINUE, continuation_messages, continuation_of, is_refusal
from evenhand.models.backends.api.client import ApiClient, error_words
from evenhand.models.backends.api.echo import EchoError, EchoVerdict, echo_request, judge_echo, read_echo
from evenhand.models.backends.api.options import ApiError, ApiOptions, Endpoint, estimate_cost
from evenhand.models.model import (
    NO_CHAT_TEMPLATE,
    ItemCounter,
    Model,
    keep_answers,
    missing_capability,
    read_answers,
    require,
    spread_over_items,
    texts_key,
)
from evenhand.models.references import ModelError, ModelRef
from evenhand.models.requests import (
    Answer,
    Continue,
    Finish,
    GeneratedText,
    GenerationOptions,
    Part,
    Request,
    Write,
    with_prefix,
)
from evenhand.store.jobs import Parts
from evenhand.store.records import ModelRecord

if TYPE_CHECKING:
    from evenhand.core.progress import Progress

PREFIX = "api:"
UNKNOWN = "unknown"

_PATHS: Mapping[Endpoint, str] = {Endpoint.COMPLETIONS: "completions", Endpoint.CHAT: "chat/completions"}
_FINISHES = {"stop": Finish.END, "length": Finish.LENGTH, "content_filter": Finish.FILTERED}

TokenScores: TypeAlias = list[tuple[str, float]]
"""The tokens of a text with their natural log-probabilities; a first token that nothing stands before is left out."""

Text: TypeAlias = tuple[Write, int]
"""A text to be written: what asks for it, and its number among the texts of that request."""

Question: TypeAlias = str | Text
"""What one request to the server asks for: the scores of a text, or a text."""

Reply: TypeAlias = TokenScores | GeneratedText

NO_MESSAGES = (
    "the completions endpoint takes no messages; set EVENHAND_API_ENDPOINT to chat for models that reply"
)


class ApiModel(Model):
    """Writes texts; scores texts where a self-test shows that the server's log-probabilities are right."""

    def __init__(self, ref: ModelRef, options: ApiOptions, *, client: ApiClient | None = None) -> None:
        self.ref = ref
        self.options = options
        self.name = ref.id.removeprefix(PREFIX)
        self.takes_messages = options.endpoint is Endpoint.CHAT
        self._client = client or ApiClient(options)

    def __repr__(self) -> str:
        return f"ApiModel({self.name} at {self.options.host})"

    @cached_property
    def served_name(self) -> str:
        """What the server calls the model; it takes a request to know, which also tries key and name."""
        answer = self._post(
            self._generation_request(Write("Hello", GenerationOptions(max_new_tokens=1)), seed=0)
        )
        return str(answer.get("model") or self.name)

    @property
    def record(self) -> ModelRecord:
        """What identifies the model: a server shows no weights, so it is its name there."""
        return ModelRecord(
            id=self.ref.id,
            revision=None,
            weights=f"served by {self.options.host} as {self.served_name}",
            family="server",
            architecture=UNKNOWN,
            precision=UNKNOWN,
            device="server",
            prefix=self.ref.prefix,
            caveats=(f"A chat model, asked to go on from texts with the instruction: {CONTINUE}",)
            if self.options.endpoint is Endpoint.CHAT
            else (),
        )

    @property
    def capabilities(self) -> frozenset[type]:
        """What it can be asked. The first look at it runs the self-test, which takes about twenty requests."""
        return frozenset({Write} if self._echo.fault else {Write, Continue})

    def has_capability(self, capability: type) -> bool:
        """Whether it has a capability; no request is sent to know that it generates."""
        return capability is Write or capability in self.capabilities

    def describe_cost(self, requests: Iterable[Request], *, parts: Parts | None = None) -> str:
        """What it takes to answer requests, before the first is sent; texts that ``parts`` hold cost nothing.

        Raises:
            ApiError: If it takes more requests than are allowed.
        """
        left: list[Request] = []
        texts = kept = 0
        for request in requests:
            if not isinstance(request, Write):
                left.append(request)
                continue
            samples = request.decoding.samples
            missing = sum(self._kept((request, sample), parts) is None for sample in range(samples))
            texts, kept = texts + samples, kept + samples - missing
            if missing:
                prefix = self.ref.prefix + request.decoding.prefix
                decoding = replace(request.decoding, samples=missing, prefix=prefix)
                left.append(replace(request, decoding=decoding))
        if kept and not left:
            return f"All {kept:,} texts are kept from before and are not asked for again."
        estimate = estimate_cost(left, self.options)
        estimate.refuse_over(self.options.max_requests)
        before = f"{kept:,} of {texts:,} texts are kept from before and are not asked for again. Left: "
        return f"{before if kept else ''}{estimate.describe()}"

    def absence_reason(self, capability: type) -> str | None:
        """Why it lacks a capability, where it could have it."""
        if capability is not Continue or not self._echo.fault:
            return None
        return (
            f"The server {self.options.host} failed the self-test of its log-probabilities: {self._echo.fault}. "
            "Servers such as vLLM pass it"
        )

    def problems(self, requests: Sequence[Request]) -> list[str | None]:
        """See ``Model``; messages are what a chat endpoint takes, and it gives no probabilities."""
        return [
            NO_MESSAGES if problem == NO_CHAT_TEMPLATE else problem for problem in super().problems(requests)
        ]

    def answer(
        self,
        requests: Sequence[Request],
        *,
        items: Sequence[str] | None = None,
        whole_items: bool = False,
        known_words: bool = False,  # noqa: ARG002 # nothing is known here before a text is sent
        max_tokens: int | None = None,  # noqa: ARG002
        parts: Parts | None = None,
        progress: Progress | None = None,
    ) -> list[Answer]:
        """Answer requests; see ``Model``. Each text is kept when it comes, and so is each score of a whole text."""
        problems = self.problems(requests)
        if whole_items and items:
            problems = spread_over_items(problems, items)
        if not all(isinstance(request, Write) for request in requests):
            require(self, Continue, purpose="be asked for the probability of a text")
            if self.ref.prefix:
                raise ModelError(
                    f"{self.ref.id} has the prefix {self.ref.prefix!r}, which counts when it writes texts. Leave it "
                    "out to score texts."
                )
        asked = {
            place: self._questions(request)
            for place, (request, problem) in enumerate(zip(requests, problems, strict=True))
            if problem is None
        }
        counter = ItemCounter(
            (items[place] if items else (place, own if isinstance(own, tuple) else ""), own)
            for place, questions in asked.items()
            for own in questions
        )
        replies: dict[Question, Reply] = {}

        def count(given: Mapping[Question, Reply]) -> None:
            replies.update(given)
            if progress and given:
                progress(*counter.add(given))

        self._ask_all(dict.fromkeys(chain.from_iterable(asked.values())), parts, count)
        answers = [Answer(problem=problem) for problem in problems]
        for place, questions in asked.items():
            answers[place] = self._answer(questions, [replies[question] for question in questions])
        return answers

    def _questions(self, request: Request) -> Sequence[Question]:
        match request:
            case Write():
                return [(request, sample) for sample in range(request.decoding.samples)]
            case Continue(part=Part.PREFIX):
                return (request.prefix,)
            case Continue(prefix=""):
                return (request.text,)
            case Continue():
                return request.prefix, request.joined
        raise missing_capability(self, type(request), purpose=f"answer {type(request).__name__} requests")

    def _answer(self, questions: Sequence[Question], replies: Sequence[Reply]) -> Answer:
        """Texts; or the scores of the tokens after those of the prefix, where the prefix's tokens are the first."""
        if isinstance(replies[0], GeneratedText):
            return Answer(texts=cast("tuple[GeneratedText, ...]", tuple(replies)))
        *before, whole = cast("Sequence[TokenScores]", replies)
        first = len(before[0]) if before else 0
        tokens = [token for token, _ in whole]
        if before and (tokens[:first] != [token for token, _ in before[0]] or len(tokens) == first):
            raise ModelError(
                f"{self.ref.id} cuts {str(questions[-1])[:60]!r} into other tokens than its context, so the two cannot "
                "be told apart. Score it with --inter c, which takes context and candidate together."
            )
        return Answer(tuple(value for _, value in whole[first:]))

    @cached_property
    def _echo(self) -> EchoVerdict:
        if self.options.endpoint is Endpoint.CHAT:
            return EchoVerdict(fault="the chat endpoint gives no log-probabilities of a prompt")
        return judge_echo(self._complete)

    def _ask_all(
        self,
        questions: Iterable[Question],
        parts: Parts | None,
        use: Callable[[Mapping[Question, Reply]], None],
    ) -> None:
        """Ask several questions at a time, and keep each reply when it comes, also when another one fails.

        After the first failure no other question is asked.

        Args:
            questions: All different.
            parts: Where replies are kept; what they hold is not asked again.
            use: Given what is kept, and then each reply.
        """
        stored = {question: self._kept(question, parts) for question in questions}
        use({question: reply for question, reply in stored.items() if reply is not None})
        missing = [question for question, reply in stored.items() if reply is None]
        failed = Event()

        def ask_unless_failed(question: Question) -> Reply | None:
            if failed.is_set():
                return None
            try:
                return self._score(question) if isinstance(question, str) else self._written(*question)
            except BaseException:
                failed.set()
                raise

        def keep(question: Question, reply: Reply) -> None:
            self._keep(question, reply, parts)
            use({question: reply})

        with ThreadPoolExecutor(max_workers=self.options.concurrency) as pool:
            pending = {pool.submit(ask_unless_failed, question): question for question in missing}
            try:
                for future in as_completed(list(pending)):
                    reply = future.result()
                    question = pending.pop(future)
                    if reply is not None:
                        keep(question, reply)
            except BaseException:
                failed.set()
                wait(pending)
                for future, question in pending.items():
                    if future.exception() is None and (reply := future.result()) is not None:
                        keep(question, reply)
                raise

    def _kept(self, question: Question, parts: Parts | None) -> Reply | None:
        key = self._key(question)
        if not isinstance(question, str):
            answers = read_answers(parts, key)
            return answers[0].texts[0] if answers else None
        content = parts.get(key) if parts is not None else None
        return None if content is None else [(token, value) for token, value in json.loads(content)]

    def _keep(self, question: Question, reply: Reply, parts: Parts | None) -> None:
        key = self._key(question)
        if isinstance(reply, GeneratedText):
            keep_answers(parts, key, [Answer(texts=(reply,))])
        elif parts is not None:
            parts.put(key, json.dumps(reply).encode())

    def _key(self, question: Question) -> str:
        if isinstance(question, str):
            return f"score-{hashlib.sha256(question.encode()).hexdigest()[:32]}"
        return texts_key(self.ref.prefix, question[0].decoding, [question])

    def _written(self, request: Write, sample: int) -> GeneratedText:
        options = request.decoding
        seed = int(options.random_numbers(request.number, request.start, sample=sample)[0] * 2**31)
        answer = self._post(self._generation_request(request, seed=seed))
        choice = answer["choices"][0]
        reply = _text_of(choice) or ""
        if self.takes_messages and not request.messages:
            reply = continuation_of(reply, self._prefix(request) + request.prompt)
        text, has_stop = options.cut(reply)
        usage = answer.get("usage")
        tokens = usage.get("completion_tokens") if isinstance(usage, dict) else None
        stopped = has_stop or choice.get("stop_reason") in options.stop
        return GeneratedText(
            prompt=request.number,
            sample=sample,
            text=text,
            tokens=tokens if type(tokens) is int else None,
            finish=_finish(choice, stopped=stopped),
        )

    def _prefix(self, request: Write) -> str:
        return self.ref.prefix + request.decoding.prefix

    def _generation_request(self, request: Write, *, seed: int) -> dict[str, Any]:
        options = request.decoding
        asked: dict[str, Any] = {"prompt": self._prefix(request) + request.prompt}
        if request.messages:
            messages = with_prefix(request.messages, self._prefix(request))
            asked = {"messages": [{"role": role, "content": content} for role, content in messages]}
        elif self.takes_messages:
            asked = {"messages": continuation_messages(asked["prompt"])}
        return {
            **asked,
            "max_tokens": options.max_new_tokens,
            "temperature": options.temperature,
            "top_p": options.top_p,
            "seed": seed,
            **({"top_k": options.top_k} if options.top_k is not None else {}),
            **({"stop": list(options.stop)} if options.stop else {}),
        }

    def _score(self, text: str) -> TokenScores:
        try:
            request = echo_request(text, new_tokens=self._echo.new_tokens)
            echoed = read_echo(self._complete(request), text)
        except EchoError as fault:
            raise ApiError(f"{self.options.host} gives no score for {text[:80]!r}: {fault}.") from None
        return [
            (token, value)
            for token, value in zip(echoed.tokens, echoed.log_probabilities, strict=True)
            if value is not None
        ]

    def _complete(self, request: dict[str, Any]) -> Any:
        return self._post(request)["choices"][0]

    def _post(self, request: dict[str, Any]) -> Any:
        path = _PATHS[self.options.endpoint]
        return self._client.post(path, {"model": self.name, **request}, check=_lack_of)


def _finish(choice: dict[str, Any], *, stopped: bool) -> Finish:
    if is_refusal(choice):
        return Finish.FILTERED
    return Finish.STOP if stopped else _FINISHES.get(str(choice.get("finish_reason")), Finish.END)


def _lack_of(answer: Any) -> str | None:
    """What an answer lacks; None if it has one choice with a text."""
    if isinstance(answer, dict) and answer.get("error"):
        return f"the error {error_words(answer['error'])!r}"
    choices = answer.get("choices") if isinstance(answer, dict) else None
    if not isinstance(choices, list) or not choices or not isinstance(choices[0], dict):
        return "it has no choices"
    if _text_of(choices[0]) is None and choices[0].get("finish_reason") not in ("length", "content_filter"):
        return "its choice has no text"
    return None


def _text_of(choice: dict[str, Any]) -> str | None:
    """The text of a completion, or of a reply; a refusal is a reply too."""
    message = choice.get("message")
    text = choice.get("text")
    if isinstance(message, dict):
        text = message.get("content")
        text = message.get("refusal") if text is None else text
    return text if isinstance(text, str) else None
