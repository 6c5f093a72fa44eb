"""Models: what can be asked, wherever it lives. Another package derives its own from ``Model``.

An instrument or a mitigation names the requests that it needs; a model says by its capabilities which it answers.
Nobody else asks how a model is built.
"""

from __future__ import annotations

import hashlib
import json
import math
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain, islice
from textwrap import shorten
from typing import TYPE_CHECKING, Any, TypeAlias, TypeGuard

from evenhand.core.items import BLANK
from evenhand.models.references import ModelError, ModelRef
from evenhand.models.requests import (
    Answer,
    Continue,
    Embed,
    Fill,
    Follow,
    GeneratedText,
    GenerationOptions,
    Recover,
    Request,
    ScoringRequest,
    Train,
    Write,
)
from evenhand.store.records import ModelRecord

if TYPE_CHECKING:
    from evenhand.core.progress import Progress
    from evenhand.store.jobs import Parts

NOT_FINITE = "the model gave NaN or infinite values"
NO_CHAT_TEMPLATE = "the model has no chat template, so it takes no messages"

REQUESTS_AT_ONCE = 64
"""Requests whose answers are kept together."""

TEXTS_AT_ONCE = 4096
"""Texts that are asked for together by ``generate``."""

TextProgress: TypeAlias = Callable[[int], None]
"""Called with the number of texts that were finished since the last call."""


@dataclass(frozen=True, slots=True)
class ScoringFacts:
    """How answers are computed, for records."""

    max_tokens: int | None = None
    """Tokens in a batch, unless another number is asked for."""
    memory: int | None = None
    """Most bytes that a batch takes beside the weights."""
    only_needed_positions: bool = False
    shared_prefixes: bool = False


class Model(ABC):
    """A model that can be asked.

    A model in another process or on a server gives its ``ref``, ``record`` and ``capabilities``, and answers requests
    in batches: ``answer`` asks equal requests once, keeps answers as they come, and resumes.
    """

    ref: ModelRef
    """What it was loaded from."""
    also_answers: frozenset[type] = frozenset()
    """Requests that it answers in a way of its own, which only some instruments can use."""
    tokenizer: Any = None
    """What cuts its texts into tokens; None where it is asked about plain text."""
    longest_input: int | None = None
    """The most tokens that it takes; None where nothing limits it, or where the model itself refuses longer texts."""
    hides_words: bool = False
    """Whether it can be shown a text with ``HIDDEN`` words."""
    reads_left_to_right: bool = False
    """Whether a token is never given what comes after it."""
    takes_messages: bool = False
    """Whether it has a way to be asked with messages."""

    @property
    @abstractmethod
    def record(self) -> ModelRecord:
        """What identifies it in records and fingerprints."""

    @property
    @abstractmethod
    def capabilities(self) -> frozenset[type]:
        """The requests that it answers as they are meant, and ``Train``."""

    def has_capability(self, capability: type) -> bool:
        """Whether it has a capability; a model may have to load more to know all of them."""
        return capability in self.capabilities

    @property
    def fills_by_sentence(self) -> bool:
        """Whether a word in a blank is answered by the whole sentence, so that answers compare only with each other."""
        return Fill not in self.capabilities

    @property
    def libraries(self) -> Mapping[str, str]:
        """Versions of the libraries that its answers depend on."""
        return {}

    @property
    def scoring_facts(self) -> ScoringFacts:
        """How answers are computed."""
        return ScoringFacts()

    def way_of(self, request: type, variant: str = "") -> tuple[str, str] | None:  # noqa: ARG002 # for those that override it
        """A short name and a description of how requests of a type are answered, where there is more to say."""
        return None

    def language_warnings(self, texts: Sequence[str], *, name: str, language: str) -> tuple[str, ...]:  # noqa: ARG002
        """Reasons to doubt that it knows the language of texts; ``name`` is what they are called."""
        return ()

    def absence_reason(self, capability: type) -> str | None:  # noqa: ARG002
        """Why it lacks a capability that others of its kind have, as a sentence without its full stop."""
        return None

    def describe_cost(self, requests: Iterable[Request], *, parts: Parts | None = None) -> str | None:  # noqa: ARG002
        """What it costs to answer requests, without texts that ``parts`` hold, in a sentence; None where nothing.

        Raises:
            EvenhandError: If it is more than is allowed.
        """
        return None

    def problems(self, requests: Sequence[Request]) -> list[str | None]:
        """Why requests cannot be answered, as far as that is known before they are asked."""
        check_requests(requests)
        return [
            NO_CHAT_TEMPLATE if has_messages(request) and not self.takes_messages else None
            for request in requests
        ]

    def answer(
        self,
        requests: Sequence[Request],
        *,
        items: Sequence[str] | None = None,
        whole_items: bool = False,
        known_words: bool = False,  # noqa: ARG002 # nothing is known here of a tokenizer
        max_tokens: int | None = None,  # noqa: ARG002
        parts: Parts | None = None,
        progress: Progress | None = None,
    ) -> list[Answer]:
        """Answer requests; equal ones are asked once.

        Args:
            requests: What is asked.
            items: For each request the item that it is about; progress is counted in items, without them in answers.
            whole_items: Ask nothing of an item of which one request cannot be asked.
            known_words: Do not ask what shows a word that the tokenizer does not know.
            max_tokens: Most tokens in a batch.
            parts: Where answers are kept as they come, so that an interrupted job resumes.
            progress: Told how many items are done.
        """
        problems = self.problems(requests)
        if whole_items and items:
            problems = spread_over_items(problems, items)
        requests = [self._as_sentence(request) for request in requests]
        asked = [place for place, problem in enumerate(problems) if problem is None]
        counter = ItemCounter.of_requests([(place, requests[place]) for place in asked], items)
        distinct = sorted({requests[place]: None for place in asked}, key=lambda own: type(own).__name__)
        answers: dict[Request, Answer] = {}
        for first in range(0, len(distinct), REQUESTS_AT_ONCE):
            batch = distinct[first : first + REQUESTS_AT_ONCE]
            given = self._stored_or_asked(batch, parts)
            answers.update(zip(batch, given, strict=True))
            for own in chain.from_iterable(map(answers_of, batch)) if progress else ():
                progress(*counter.add([own]))  # type: ignore[misc] # there is one
        return [
            answers[request] if problem is None else Answer(problem=problem)
            for request, problem in zip(requests, problems, strict=True)
        ]

    def _stored_or_asked(self, batch: Sequence[Request], parts: Parts | None) -> list[Answer]:
        key = f"answers-{hashlib.sha256(repr(batch).encode()).hexdigest()[:32]}"
        given = read_answers(parts, key)
        if given is None or len(given) != len(batch):
            given = [_finite(answer) for answer in self.answer_batch(batch)]
            if len(given) != len(batch):
                raise ModelError(
                    f"{self.ref.id} gave {len(given)} answers to {len(batch)} requests. It needs to give one for each."
                )
            keep_answers(parts, key, given)
        return given

    def _as_sentence(self, request: Request) -> Request:
        """A text of which some tokens are asked for is asked for as a whole where they cannot be hidden."""
        if (
            isinstance(request, Recover)
            and request.shared_with is not None
            and not self.has_capability(Recover)
        ):
            return Continue("", request.text)
        return request

    def answer_batch(self, requests: Sequence[Request]) -> list[Answer]:
        """An answer for each of a few requests, all different; equal types stand together."""
        for kind in dict.fromkeys(map(type, requests)):
            raise missing_capability(self, kind, purpose=f"answer {kind.__name__} requests")
        return []

    def score_fills(self, context: str, fills: Sequence[str]) -> list[Answer]:
        """Token by token, each word in the ``BLANK`` of a context."""
        require(self, Fill, purpose="be asked for a word in a blank")
        check_texts([context], argument="context")
        check_texts(fills, argument="fills")
        if BLANK not in context:
            raise ModelError(f"The context has no {BLANK}: {context!r}.")
        return self._answered({fill: Fill(context, fill) for fill in fills}, fills)

    def score_texts(self, texts: Sequence[str]) -> list[Answer]:
        """Token by token, each text: from left to right, or each token hidden in turn by a masked model."""
        if not (self.has_capability(Continue) or self.has_capability(Recover)):
            raise missing_capability(
                self, Continue, Recover, purpose="be asked for the probability of a text"
            )
        check_texts(texts, argument="texts")
        by_sides = not self.has_capability(Continue)
        return self._answered(
            {text: Recover(text) if by_sides else Continue("", text) for text in texts}, texts
        )

    def score_followers(self, first: str, seconds: Sequence[str]) -> list[float]:
        """The probability that each second sentence follows the first."""
        require(self, Follow, purpose="judge next sentences")
        check_texts([first], argument="first")
        check_texts(seconds, argument="seconds")
        answers = self._answered({second: Follow(first, second) for second in seconds}, seconds)
        return [math.exp(answer.total) for answer in answers]

    def _answered(self, requests: Mapping[str, ScoringRequest], texts: Sequence[str]) -> list[Answer]:
        """Answers about each text; what cannot be asked is an error here, and no reason to skip."""
        answers = dict(zip(requests, self.answer(list(requests.values())), strict=True))
        for text, answer in answers.items():
            if answer.problem and not answer.log_probs:
                raise ModelError(f"{self.ref.id} cannot be asked about {text[:60]!r}: {answer.problem}.")
        return [answers[text] for text in texts]

    def layer_number(self, layer: int) -> int:  # noqa: ARG002
        """A layer counted from the embeddings, which are 0; a negative one is counted from the last, which is -1.

        Raises:
            ModelError: If there is no such layer.
        """
        raise missing_capability(self, Embed, purpose="give vectors of words")

    def generate(
        self,
        prompts: Iterable[str],
        options: GenerationOptions | None = None,
        *,
        parts: Parts | None = None,
        progress: TextProgress | None = None,
        max_tokens: int | None = None,
    ) -> Iterator[GeneratedText]:
        """The texts of each prompt, in the order of the prompts; nothing runs before the first is asked for.

        Args:
            prompts: Read as they are needed, so there may be any number.
            options: How texts are decoded; the defaults if not given.
            parts: Where texts are kept as they come; what they hold already is not generated again.
            progress: Called when texts are done.
            max_tokens: Most tokens in a batch: padded prompts and new tokens of all texts.
        """
        require(self, Write, purpose="write texts")
        numbered = enumerate(checked_texts(prompts, argument="prompts"))
        return self._generated(numbered, options or GenerationOptions(), parts, progress, max_tokens)

    def _generated(
        self,
        numbered: Iterator[tuple[int, str]],
        options: GenerationOptions,
        parts: Parts | None,
        progress: TextProgress | None,
        max_tokens: int | None,
    ) -> Iterator[GeneratedText]:
        while window := list(islice(numbered, max(1, TEXTS_AT_ONCE // options.samples))):
            requests = [Write(prompt, options, number) for number, prompt in window]
            self._refuse_problems(requests, self.problems(requests))
            before = 0

            def count(done: int, _total: int) -> None:
                nonlocal before
                if progress and done > before:
                    progress(done - before)
                before = done

            answers = self.answer(requests, max_tokens=max_tokens, parts=parts, progress=count)
            self._refuse_problems(requests, [answer.problem for answer in answers])
            for answer in answers:
                yield from answer.texts

    def _refuse_problems(self, requests: Sequence[Write], problems: Sequence[str | None]) -> None:
        for request, problem in zip(requests, problems, strict=True):
            if problem is not None:
                raise ModelError(
                    f"{self.ref.id} cannot go on from prompt {request.number}, "
                    f"{shorten(request.prompt, 60, placeholder=' …')!r}: {problem}."
                )


@dataclass(frozen=True, slots=True)
class _Capability:
    meaning: str
    models: str


CAPABILITIES: Mapping[type, _Capability] = {
    Fill: _Capability(
        "gives the probability of words in a blank", "masked models and T5-style models, such as lab:masked"
    ),
    Continue: _Capability("gives the probability of a text", "decoders, such as lab:decoder"),
    Recover: _Capability("gives the probability of hidden tokens", "masked models, such as lab:masked"),
    Follow: _Capability(
        "says whether a sentence follows another", "BERT with its next-sentence head, such as bert-base-cased"
    ),
    Embed: _Capability(
        "gives the contextual vectors of words", "models that are loaded from a folder or the hub"
    ),
    Write: _Capability("writes texts", "decoders and encoder-decoders, such as lab:decoder"),
    Train: _Capability(
        "goes on learning from sentences",
        "masked models, decoders and T5-style models that are loaded from a folder or the hub",
    ),
}


def missing_capability(model: Model, *capabilities: type, purpose: str) -> ModelError:
    """The error for a model that lacks what a purpose needs.

    Args:
        model: The model.
        capabilities: Requests of which one would do.
        purpose: What it was to do, after "cannot".
    """
    own = ", ".join(known.__name__ for known in CAPABILITIES if known in model.capabilities) or "nothing"
    needed = " or ".join(f"{CAPABILITIES[known].meaning} ({known.__name__})" for known in capabilities)
    others = "; or ".join(CAPABILITIES[known].models for known in capabilities)
    reasons = [f"{reason}. " for known in capabilities if (reason := model.absence_reason(known))]
    return ModelError(
        f"{model.ref.id} ({model.record.family}) cannot {purpose}. That needs a model that {needed}; this one has "
        f"{own}. {''.join(reasons)}Use {others}."
    )


def require(model: Model, capability: type, *, purpose: str) -> None:
    """Refuse a model without a capability.

    Raises:
        ModelError: If the model lacks it.
    """
    if not model.has_capability(capability):
        raise missing_capability(model, capability, purpose=purpose)


def check_not_single_text(texts: Iterable[str], *, argument: str) -> None:
    """Refuse a text where several are needed, for taken one by one they would be its letters, and what is no list.

    Args:
        texts: What was given.
        argument: Its name, for the message.

    Raises:
        ModelError: If it is a single text, or nothing that holds texts.
    """
    if isinstance(texts, str):
        raise ModelError(
            f"{argument} is the text {texts[:40]!r}; a list of texts is needed. Put it into one: [...]."
        )
    if not isinstance(texts, Iterable):
        raise ModelError(f"{argument} is {texts!r}; a list of texts is needed.")


def check_texts(texts: Sequence[str], *, argument: str) -> None:
    """Refuse a text where several are needed, and in their list what is no text or cannot be written down.

    Raises:
        ModelError: With the place in the list.
    """
    check_not_single_text(texts, argument=argument)
    for _ in checked_texts(texts, argument=argument):
        pass


def checked_texts(texts: Iterable[str], *, argument: str) -> Iterator[str]:
    """The texts one by one, as they are needed; what is no text or cannot be written down is refused at its place."""
    check_not_single_text(texts, argument=argument)
    return _checked_texts(texts, argument)


def _checked_texts(texts: Iterable[str], argument: str) -> Iterator[str]:
    for place, text in enumerate(texts):
        check_text(text, argument=f"{argument}[{place}]")
        yield text


def check_text(text: str, *, argument: str) -> None:
    """Refuse what is no text or cannot be written down.

    Raises:
        ModelError: With the name of the argument.
    """
    if not isinstance(text, str):
        raise ModelError(f"{argument} is {text!r}; a text is needed.")
    try:
        text.encode()
    except UnicodeEncodeError as problem:
        raise ModelError(
            f"{argument} has half of a surrogate pair at character {problem.start}, which is no character. Remove it, "
            "or read the text with the right encoding."
        ) from None


def check_requests(requests: Sequence[Request]) -> None:
    """Refuse what is no list of requests, and requests whose texts are none or cannot be written down.

    Raises:
        ModelError: With the place in the list.
    """
    for place, request in enumerate(requests):
        match request:
            case Fill():
                texts = {"text": request.text, "word": request.word}
            case Continue():
                texts = {"prefix": request.prefix, "text": request.text}
            case Recover():
                texts = {"text": request.text, "shared_with": request.shared_with or ""}
            case Follow():
                texts = {"first": request.first, "second": request.second}
            case Embed():
                texts = {"text": request.text}
            case Write():
                texts = {"prompt": request.prompt}
            case _:
                kinds = "a Fill, Continue, Recover, Follow, Embed or Write"
                raise ModelError(f"requests[{place}] is {request!r}; {kinds} is needed.")
        for name, text in texts.items():
            check_text(text, argument=f"requests[{place}].{name}")
        if isinstance(request, Embed):
            _check_span(request)
        elif has_messages(request):
            _check_messages(request, argument=f"requests[{place}]")


def _check_span(request: Embed) -> None:
    span, length = request.span, len(request.text)
    if not 0 <= span.start < span.end <= length:
        raise ValueError(f"the text has {length} characters, and no word at {span.start} to {span.end}")


def has_messages(request: Request) -> TypeGuard[Continue | Write]:
    """Whether a request comes with messages."""
    return isinstance(request, Continue | Write) and bool(request.messages)


def _check_messages(request: Continue | Write, *, argument: str) -> None:
    before = request.prefix if isinstance(request, Continue) else request.prompt
    if before:
        raise ModelError(
            f"{argument} has messages and the text {before[:40]!r} before them; give one of the two."
        )
    for place, message in enumerate(request.messages):
        if not isinstance(message, tuple) or len(message) != 2:
            raise ModelError(
                f"{argument}.messages[{place}] is {message!r}; a pair of a role and a text is needed, such as "
                "('user', 'Hello')."
            )
        check_texts(message, argument=f"{argument}.messages[{place}]")


def _finite(answer: Answer) -> Answer:
    numbers = answer.log_probs if answer.vector is None else answer.vector.tolist()
    return answer if all(map(math.isfinite, numbers)) else replace(answer, problem=NOT_FINITE, vector=None)


def keep_answers(parts: Parts | None, key: str, answers: Sequence[Answer]) -> None:
    """Keep answers under a key."""
    if parts is not None:
        rows = [
            [
                answer.log_probs,
                answer.problem,
                answer.is_whole,
                None if answer.vector is None else answer.vector.tolist(),
                [text.model_dump() for text in answer.texts],
            ]
            for answer in answers
        ]
        parts.put(key, json.dumps(rows).encode())


def read_answers(parts: Parts | None, key: str) -> list[Answer] | None:
    """The answers under a key; None if there are none yet."""
    piece = parts.get(key) if parts is not None else None
    if piece is None:
        return None
    return [
        Answer(
            tuple(logs),
            problem,
            is_whole,
            _as_vector(vector),
            tuple(map(GeneratedText.model_validate, texts)),
        )
        for logs, problem, is_whole, vector, texts in json.loads(piece)
    ]


def texts_key(prefix: str, options: GenerationOptions, rows: Sequence[tuple[Write, int]]) -> str:
    """The key under which texts are kept.

    Args:
        prefix: Of the model.
        options: How they are decoded.
        rows: For each text its request and its number among the texts of that request.
    """
    prompts = [(request.number, request.start, sample) for request, sample in rows]
    content = json.dumps(
        [{**options.to_record(), "prefix": prefix + options.prefix}, prompts], sort_keys=True
    )
    return f"texts-{hashlib.sha256(content.encode()).hexdigest()[:32]}"


def _as_vector(numbers: Sequence[float] | None) -> Any:
    if numbers is None:
        return None
    import numpy as np

    return np.array(numbers, dtype=np.float32)


def spread_over_items(problems: Sequence[str | None], items: Sequence[str]) -> list[str | None]:
    """For each request the first problem of its item."""
    of_item: dict[str, str] = {}
    for item, problem in zip(items, problems, strict=True):
        if problem is not None:
            of_item.setdefault(item, problem)
    return [of_item.get(item) for item in items]


def answers_of(request: Request) -> list[Hashable]:
    """What progress counts of a request: each text that is written, anything else once."""
    if isinstance(request, Write):
        return [(request, sample) for sample in range(request.decoding.samples)]
    return [request]


class ItemCounter:
    """Counts items of which all that was asked is answered."""

    def __init__(self, asked: Iterable[tuple[Hashable, Hashable]]) -> None:
        """Of each item what is asked."""
        self._items: dict[Hashable, set[Hashable]] = {}
        for item, own in asked:
            self._items.setdefault(own, set()).add(item)
        self._missing = Counter(chain.from_iterable(self._items.values()))
        self._total, self._done = len(self._missing), 0

    @classmethod
    def of_requests(cls, requests: Iterable[tuple[int, Request]], items: Sequence[str] | None) -> ItemCounter:
        """Of requests, each with its place: in items, or in answers where there are no items."""
        return cls(
            (items[place] if items else (place, own), own)
            for place, request in requests
            for own in answers_of(request)
        )

    def add(self, answered: Iterable[Hashable]) -> tuple[int, int]:
        """How many items are done, of how many, after some more answers."""
        for own in answered:
            for item in self._items.pop(own, ()):
                self._missing[item] -= 1
                self._done += self._missing[item] == 0
        return self._done, self._total
