"""Requests: what a model can be asked, at the level of text, and its answers. Plain values, no torch.

A request names no item and no instrument; any model that can answers it, and says by its capabilities which those are.
Published protocols that ask in a way of their own are variants of these requests.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Any, TypeAlias

from pydantic import BaseModel, ConfigDict

from evenhand.core.errors import EvenhandError
from evenhand.core.items import BLANK, Span
from evenhand.models.references import UnscorableError

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

HIDDEN = "[MASK]"
"""Stands in a text for a token that the model is not shown."""

Messages: TypeAlias = tuple[tuple[str, str], ...]
"""What was said in a chat so far: pairs of a role, such as system, user or assistant, and what it said."""


class Request:
    """What a model can be asked. Equal requests have equal answers."""

    __slots__ = ()


class ScoringRequest(Request):
    """A request that is answered by log-probabilities of tokens."""

    __slots__ = ()


@dataclass(frozen=True, slots=True)
class Fill(ScoringRequest):
    """The log-probabilities of a word's tokens in the ``BLANK`` of a text; other words may be ``HIDDEN``.

    Models that read from left to right answer with those of the whole sentence, which compare only with each other.
    """

    text: str
    word: str
    variant: str = ""


class Part(StrEnum):
    """Which tokens of a continuation are asked for."""

    TEXT = "text"
    PREFIX = "prefix"
    """Those of the prefix, as they are cut where the text follows."""


@dataclass(frozen=True, slots=True)
class Continue(ScoringRequest):
    """The log-probabilities of a text's tokens after a prefix; from its start where the prefix is empty.

    A space is put between the two. Where there are messages instead of a prefix, the text is what the model itself
    would say next.
    """

    prefix: str
    text: str
    part: Part = Part.TEXT
    variant: str = ""
    messages: Messages = ()

    @property
    def joined(self) -> str:
        """Prefix and text."""
        return f"{self.prefix} {self.text}" if self.prefix else self.text


@dataclass(frozen=True, slots=True)
class Recover(ScoringRequest):
    """The log-probabilities of a text's tokens, each hidden in turn while all others stand.

    Models that read from left to right answer about a text that shares tokens with another by the whole text.

    Attributes:
        text: The text.
        span: The characters whose tokens are asked for; all if None.
        shared_with: Another text: then the tokens that both share are asked for.
        comes_first: Whether the two are aligned with this text first, which can matter where several alignments are
            equally long.
        within_words: Whether the later tokens of a word are hidden with the earlier ones.
    """

    text: str
    span: Span | None = None
    shared_with: str | None = None
    comes_first: bool = True
    within_words: bool = False


@dataclass(frozen=True, slots=True)
class Follow(ScoringRequest):
    """The log-probability that the second sentence follows the first."""

    first: str
    second: str


@dataclass(frozen=True, slots=True)
class Embed(Request):
    """The contextual vector of a span of characters, which is the mean over its tokens.

    Layers are counted from the embeddings before any context, which are 0; a negative number counts from the last
    layer, which is -1. In a model that reads from left to right, the vector knows only what comes before the span.
    """

    text: str
    span: Span
    layer: int = -1


class GenerationOptionsError(EvenhandError):
    """Options that no text can be generated with."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GenerationOptions:
    """How texts are decoded.

    A sample depends on the seed, on its prompt and the prompt's number, and on its own number: not on the other
    prompts, not on the size of batches. (In half precision, rounding depends on them.) The same random numbers serve
    every model, so two models, or a model with and without a prefix, are compared on equal terms.
    """

    max_new_tokens: int = 40
    """Most tokens in a text; those of the prompt do not count."""
    samples: int = 1
    """Texts per prompt."""
    temperature: float = 1.0
    """Logits are divided by this. 0 is greedy: always the most probable token."""
    top_p: float = 1.0
    """Sample from the smallest set of most probable tokens whose probabilities add up to at least this."""
    top_k: int | None = None
    """Sample from this many of the most probable tokens."""
    stop: tuple[str, ...] = ()
    """A text ends before the first of these strings."""
    prefix: str = ""
    """Put before every prompt as it is, without a space of its own; no part of the text."""
    seed: int = 1

    def __post_init__(self) -> None:
        """Refuse values outside their range."""
        for name in ("max_new_tokens", "samples", "top_k", "seed"):
            value, lowest = getattr(self, name), 0 if name == "seed" else 1
            is_open = name == "top_k" and value is None
            if not is_open and (not isinstance(value, int) or isinstance(value, bool) or value < lowest):
                raise self._out_of_range(name, f"a whole number of at least {lowest}")
        for name in ("temperature", "top_p"):
            value = getattr(self, name)
            if not isinstance(value, int | float) or isinstance(value, bool) or not math.isfinite(value):
                raise self._out_of_range(name, "a finite number")
        if self.temperature < 0:
            raise self._out_of_range("temperature", "0 for greedy decoding, or a positive number")
        if not 0 < self.top_p <= 1:
            raise self._out_of_range("top_p", "a number above 0 and up to 1, which samples from all tokens")
        if isinstance(self.stop, str) or not all(isinstance(end, str) and end for end in self.stop):
            raise self._out_of_range("stop", "a tuple of strings that are not empty, such as ('\\n',)")
        if not isinstance(self.prefix, str):
            raise self._out_of_range("prefix", "a string")
        if self.samples > 1 and self.is_greedy:
            raise GenerationOptionsError(
                f"At temperature 0 every text of a prompt is the same, and {self.samples} texts per prompt were asked "
                "for. Ask for one, or give a temperature above 0."
            )

    def _out_of_range(self, name: str, needed: str) -> GenerationOptionsError:
        return GenerationOptionsError(f"{name} is {getattr(self, name)!r}; needed is {needed}.")

    @property
    def is_greedy(self) -> bool:
        """Whether the most probable token is taken at each step."""
        return self.temperature == 0

    def to_record(self) -> dict[str, Any]:
        """All options as JSON values, for records and fingerprints."""
        return {**asdict(self), "stop": list(self.stop)}

    def random_numbers(self, number: int, prompt: str | Messages, *, sample: int) -> npt.NDArray[np.float64]:
        """What decides each step of a sample: numbers from 0 up to, but not including, 1."""
        import numpy as np

        key = json.dumps([self.seed, number, prompt, sample]).encode()
        words = np.frombuffer(hashlib.sha256(key).digest(), dtype="<u4").tolist()
        return np.random.Generator(np.random.PCG64(words)).random(self.max_new_tokens)

    def cut(self, text: str) -> tuple[str, bool]:
        """A text up to its first stop string, and whether it has one."""
        places = [place for place in (text.find(end) for end in self.stop) if place >= 0]
        return (text[: min(places)], True) if places else (text, False)


@dataclass(frozen=True, slots=True)
class Write(Request):
    """Texts that go on from a prompt, or replies to messages.

    Equal prompts get other samples where they have other numbers.
    """

    prompt: str = ""
    decoding: GenerationOptions = GenerationOptions()
    number: int = 0
    messages: Messages = ()

    @property
    def start(self) -> str | Messages:
        """What the model goes on from, without the prefix of the decoding."""
        return self.messages or self.prompt


class Train:
    """Weights in this process that go on learning."""


class Finish(StrEnum):
    """Why a text ends."""

    END = "end"
    """The model ended it."""
    STOP = "stop"
    """A stop string came up; the text ends before it."""
    LENGTH = "length"
    """It reached the most tokens that it may have."""
    FILTERED = "filtered"
    """The server of the model withheld the rest."""


class GeneratedText(BaseModel):
    """What a model wrote after a prompt."""

    model_config = ConfigDict(frozen=True)

    prompt: int
    """Number of the prompt."""
    sample: int = 0
    """Number among the texts of the prompt, from 0."""
    text: str
    """Without prompt and prefix."""
    tokens: int | None
    """Tokens that the model wrote, also those of a stop string; None where a server does not count them."""
    finish: Finish


@dataclass(frozen=True, slots=True, eq=False)
class Answer:
    """What a model says to a request, or why it says nothing of use."""

    log_probs: tuple[float, ...] = ()
    """Natural logarithms, one for each token that a ``ScoringRequest`` asks for."""
    problem: str | None = None
    is_whole: bool = True
    """Whether their product is the probability of what was asked for; each token given all others makes none."""
    vector: npt.NDArray[np.float32] | None = None
    """For ``Embed``."""
    texts: tuple[GeneratedText, ...] = ()
    """For ``Write``: one for each sample."""

    @property
    def total(self) -> float:
        """The sum: the log-probability of all tokens together."""
        return math.fsum(self.log_probs)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Answer) and self._values == other._values

    def __hash__(self) -> int:
        return hash(self._values)

    @property
    def _values(self) -> tuple[object, ...]:
        vector = None if self.vector is None else tuple(self.vector.tolist())
        return self.log_probs, self.problem, self.is_whole, vector, self.texts


def filled_text(text: str, word: str) -> tuple[str, list[Span]]:
    """A text with every blank filled, and where the words stand.

    Raises:
        UnscorableError: If it has no blank.
    """
    pieces = text.split(BLANK)
    if len(pieces) < 2:
        raise UnscorableError("the context has no blank")
    filled = pieces[0]
    spans = []
    for piece in pieces[1:]:
        spans.append(Span(len(filled), len(filled) + len(word)))
        filled += word + piece
    return filled, spans


def texts_of(request: Request) -> Sequence[str]:
    """The texts that a request shows, as far as costs are counted by them."""
    match request:
        case Fill():
            return (filled_text(request.text, request.word)[0],)
        case Continue() | Recover():
            return (request.text,)
        case Follow():
            return (request.first, request.second)
        case Embed():
            return (request.text,)
        case Write():
            return (
                request.decoding.prefix + request.prompt,
                *(content for _, content in request.messages),
            )
    raise TypeError(f"{request!r} is no request")


def with_prefix(messages: Messages, prefix: str) -> Messages:
    """Messages with a prefix before the last of them, which is what the model replies to."""
    *before, (role, content) = messages
    return (*before, (role, prefix + content))


FINAL_PUNCTUATION = ".!?…\"'”’»)"


def with_final_punctuation(text: str, marks: str = FINAL_PUNCTUATION) -> str:
    """A text that ends like a sentence."""
    return text if text[-1] in marks else f"{text}."
