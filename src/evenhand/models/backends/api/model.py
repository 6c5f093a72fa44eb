"""A model behind a server that speaks the protocol of OpenAI."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed, wait
from dataclasses import replace
from functools import cached_property
from threading import Event
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

from evenhand.models.backends.api.chat import CONTINUE, continuation_messages, continuation_of, is_refusal
from evenhand.models.backends.api.client import ApiClient, error_words
from evenhand.models.backends.api.echo import EchoError, EchoVerdict, echo_request, judge_echo, read_echo
from evenhand.models.backends.api.options import (
    ApiError,
    ApiOptions,
    Endpoint,
    estimate_generation,
    estimate_scoring,
)
from evenhand.models.generation import Finish, GeneratedText, GenerationOptions, TextProgress
from evenhand.models.generation.batches import Row, windows
from evenhand.models.generation.texts import keep_texts, part_key, read_texts
from evenhand.models.model import (
    ItemCounter,
    Model,
    check_not_single_text,
    check_requests,
    missing_capability,
    require,
)
from evenhand.models.references import ModelError, ModelRef
from evenhand.models.requests import Answer, Continue, Part, ScoringRequest, Write
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

Question = TypeVar("Question")
Given = TypeVar("Given")


class ApiModel(Model):
    """Writes texts; scores texts where a self-test shows that the server's log-probabilities are right."""

    def __init__(self, ref: ModelRef, options: ApiOptions, *, client: ApiClient | None = None) -> None:
        self.ref = ref
        self.options = options
        self.name = ref.id.removeprefix(PREFIX)
        self._client = client or ApiClient(options)

    def __repr__(self) -> str:
        return f"ApiModel({self.name} at {self.options.host})"

    @cached_property
    def served_name(self) -> str:
        """What the server calls the model; it takes a request to know, which also tries key and name."""
        answer = self._post(self._generation_request("Hello", GenerationOptions(max_new_tokens=1), seed=0))
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

    def describe_cost(self, texts: Iterable[str]) -> str:
        """What it takes to score texts, before the first is sent.

        Raises:
            ApiError: If it takes more requests than are allowed.
        """
        estimate = estimate_scoring(texts, self.options)
        estimate.refuse_over(self.options.max_requests)
        return estimate.describe()

    def describe_generation_cost(
        self, prompts: Iterable[str], options: GenerationOptions, *, parts: Parts | None = None
    ) -> str:
        """What it takes to write texts, before the first is asked for; texts that ``parts`` hold cost nothing.

        Raises:
            ApiError: If it takes more requests than are allowed.
        """
        own = replace(options, prefix=self.ref.prefix + options.prefix)
        texts = [
            (number, prompt, sample) for number, prompt in enumerate(prompts) for sample in range(own.samples)
        ]
        left = [text for text in texts if read_texts(parts, part_key(own, [text])) is None]
        kept = len(texts) - len(left)
        if kept and not left:
            return f"All {kept:,} texts are kept from before and are not asked for again."
        estimate = estimate_generation(
            (prompt for _, prompt, _ in left), replace(own, samples=1), self.options
        )
        estimate.refuse_over(self.options.max_requests)
        before = f"{kept:,} of {len(texts):,} texts are kept from before and are not asked for again. Left: "
        return f"{before if kept else ''}{estimate.describe()}"

    def absence_reason(self, capability: type) -> str | None:
        """Why it lacks a capability, where it could have it."""
        if capability is not Continue or not self._echo.fault:
            return None
        return (
            f"The server {self.options.host} failed the self-test of its log-probabilities: {self._echo.fault}. "
            "Servers such as vLLM pass it"
        )

    def generate(
        self,
        prompts: Iterable[str],
        options: GenerationOptions | None = None,
        *,
        parts: Parts | None = None,
        progress: TextProgress | None = None,
    ) -> Iterator[GeneratedText]:
        """The texts of each prompt, in the order of the prompts; nothing is sent before the first is asked for.

        Args:
            prompts: Read as they are needed.
            options: How texts are decoded. Whether the seed is heeded is up to the server.
            parts: Keep every answer; what they hold already is not asked for again.
            progress: Called after every answer.
        """
        check_not_single_text(prompts, argument="prompts")
        options = options or GenerationOptions()
        options = replace(options, prefix=self.ref.prefix + options.prefix)
        for window in windows(prompts, options):
            rows = [
                Row(number, prompt, sample, ())
                for number, prompt in window
                for sample in range(options.samples)
            ]
            yield from self._texts(rows, options, parts, progress)

    def answer(
        self,
        requests: Sequence[ScoringRequest],
        *,
        items: Sequence[str] | None = None,
        whole_items: bool = False,  # noqa: ARG002 # nothing is known here before a text is sent
        known_words: bool = False,  # noqa: ARG002
        max_tokens: int | None = None,  # noqa: ARG002
        parts: Parts | None = None,
        progress: Progress | None = None,
    ) -> list[Answer]:
        """Answer requests from the scores of whole texts; see ``Model``. Each score is kept when it comes."""
        check_requests(requests)
        require(self, Continue, purpose="be asked for the probability of a text")
        if self.ref.prefix:
            raise ModelError(
                f"{self.ref.id} has the prefix {self.ref.prefix!r}, which counts when it writes texts. Leave it out to "
                "score texts."
            )
        asked = [self._texts_of(request) for request in requests]
        counter = ItemCounter(
            (items[place] if items else str(place), text) for place, own in enumerate(asked) for text in own
        )
        scores = self._scores(dict.fromkeys(text for own in asked for text in own), parts, counter, progress)
        return [self._answer(own, [scores[text] for text in own]) for own in asked]

    def _texts_of(self, request: ScoringRequest) -> tuple[str, ...]:
        match request:
            case Continue(part=Part.PREFIX):
                return (request.prefix,)
            case Continue(prefix=""):
                return (request.text,)
            case Continue():
                return request.prefix, request.joined
        raise missing_capability(self, type(request), purpose=f"answer {type(request).__name__} requests")

    def _scores(
        self, texts: Iterable[str], parts: Parts | None, counter: ItemCounter, progress: Progress | None
    ) -> dict[str, TokenScores]:
        scores: dict[str, TokenScores] = {}

        def count(text: str) -> None:
            if progress:
                progress(*counter.add([text]))

        def keep(text: str, score: TokenScores) -> None:
            scores[text] = score
            if parts is not None:
                parts.put(_score_key(text), json.dumps(score).encode())
            count(text)

        missing = []
        for text in texts:
            content = parts.get(_score_key(text)) if parts is not None else None
            if content is None:
                missing.append(text)
            else:
                scores[text] = [(token, value) for token, value in json.loads(content)]
                count(text)
        self._ask_all(missing, self._score, keep)
        return scores

    def _answer(self, texts: Sequence[str], scores: Sequence[TokenScores]) -> Answer:
        """The tokens after those of the prefix, where the prefix's tokens are the text's first."""
        *before, whole = scores
        first = len(before[0]) if before else 0
        tokens = [token for token, _ in whole]
        if before and (tokens[:first] != [token for token, _ in before[0]] or len(tokens) == first):
            raise ModelError(
                f"{self.ref.id} cuts {texts[-1][:60]!r} into other tokens than its context, so the two cannot be "
                "told apart. Score it with --inter c, which takes context and candidate together."
            )
        return Answer(tuple(value for _, value in whole[first:]))

    @cached_property
    def _echo(self) -> EchoVerdict:
        if self.options.endpoint is Endpoint.CHAT:
            return EchoVerdict(fault="the chat endpoint gives no log-probabilities of a prompt")
        return judge_echo(self._complete)

    def _texts(
        self,
        rows: Sequence[Row],
        options: GenerationOptions,
        parts: Parts | None,
        progress: TextProgress | None,
    ) -> list[GeneratedText]:
        keys = {row: part_key(options, [(row.number, row.prompt, row.sample)]) for row in rows}
        texts = {row: kept[0] for row in rows if (kept := read_texts(parts, keys[row])) is not None}
        if progress and texts:
            progress(len(texts))

        def keep(row: Row, text: GeneratedText) -> None:
            keep_texts(parts, keys[row], [text])
            texts[row] = text
            if progress:
                progress(1)

        self._ask_all(
            [row for row in rows if row not in texts], lambda row: self._generated(row, options), keep
        )
        return [texts[row] for row in rows]

    def _ask_all(
        self,
        questions: Sequence[Question],
        ask: Callable[[Question], Given],
        keep: Callable[[Question, Given], None],
    ) -> None:
        """Ask several questions at a time, and keep each answer when it comes, also when another one fails.

        After the first failure no other question is asked.
        """
        failed = Event()

        def ask_unless_failed(question: Question) -> Given | None:
            if failed.is_set():
                return None
            try:
                return ask(question)
            except BaseException:
                failed.set()
                raise

        with ThreadPoolExecutor(max_workers=self.options.concurrency) as pool:
            pending = {pool.submit(ask_unless_failed, question): question for question in questions}
            try:
                for future in as_completed(list(pending)):
                    answer = future.result()
                    question = pending.pop(future)
                    if answer is not None:
                        keep(question, answer)
            except BaseException:
                failed.set()
                wait(pending)
                for future, question in pending.items():
                    if future.exception() is None and (answer := future.result()) is not None:
                        keep(question, answer)
                raise

    def _generated(self, row: Row, options: GenerationOptions) -> GeneratedText:
        seed = int(options.random_numbers(row.number, row.prompt, sample=row.sample)[0] * 2**31)
        prompt = options.prefix + row.prompt
        answer = self._post(self._generation_request(prompt, options, seed=seed))
        choice = answer["choices"][0]
        reply = _text_of(choice) or ""
        if self.options.endpoint is Endpoint.CHAT:
            reply = continuation_of(reply, prompt)
        text, has_stop = options.cut(reply)
        usage = answer.get("usage")
        tokens = usage.get("completion_tokens") if isinstance(usage, dict) else None
        stopped = has_stop or choice.get("stop_reason") in options.stop
        return GeneratedText(
            prompt=row.number,
            sample=row.sample,
            text=text,
            tokens=tokens if type(tokens) is int else None,
            finish=_finish(choice, stopped=stopped),
        )

    def _generation_request(self, text: str, options: GenerationOptions, *, seed: int) -> dict[str, Any]:
        prompt: dict[str, Any] = {"prompt": text}
        if self.options.endpoint is Endpoint.CHAT:
            prompt = {"messages": continuation_messages(text)}
        return {
            **prompt,
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


def _score_key(text: str) -> str:
    return f"score-{hashlib.sha256(text.encode()).hexdigest()[:32]}"


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
