"""Generated texts: how they are decoded, and how they are kept as they come."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from enum import StrEnum
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
from pydantic import BaseModel, ConfigDict, TypeAdapter

from evenhand.core.errors import EvenhandError
from evenhand.store.jobs import Parts


class GenerationOptionsError(EvenhandError):
    """Options or prompts that no text can be generated from."""


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
        _require_count("max_new_tokens", self.max_new_tokens)
        _require_count("samples", self.samples)
        if self.top_k is not None:
            _require_count("top_k", self.top_k)
        _require_int("seed", self.seed, lowest=0)
        temperature = _number("temperature", self.temperature)
        if temperature < 0:
            raise _refusal("temperature", self.temperature, "0 for greedy decoding, or a positive number")
        if not 0 < _number("top_p", self.top_p) <= 1:
            raise _refusal("top_p", self.top_p, "a number above 0 and up to 1, which samples from all tokens")
        if isinstance(self.stop, str) or not all(isinstance(end, str) and end for end in self.stop):
            raise _refusal("stop", self.stop, "a tuple of strings that are not empty, such as ('\\n',)")
        if not isinstance(self.prefix, str):
            raise _refusal("prefix", self.prefix, "a string")
        if self.samples > 1 and self.is_greedy:
            raise GenerationOptionsError(
                f"At temperature 0 every text of a prompt is the same, and {self.samples} texts per prompt were asked "
                "for. Ask for one, or give a temperature above 0."
            )

    @property
    def is_greedy(self) -> bool:
        """Whether the most probable token is taken at each step."""
        return self.temperature == 0

    def to_record(self) -> dict[str, Any]:
        """All options as JSON values, for records and fingerprints."""
        return {**asdict(self), "stop": list(self.stop)}

    def random_numbers(self, number: int, prompt: str, *, sample: int) -> npt.NDArray[np.float64]:
        """What decides each step of a sample: numbers from 0 up to, but not including, 1."""
        key = json.dumps([self.seed, number, prompt, sample]).encode()
        words = np.frombuffer(hashlib.sha256(key).digest(), dtype="<u4").tolist()
        return np.random.Generator(np.random.PCG64(words)).random(self.max_new_tokens)

    def cut(self, text: str) -> tuple[str, bool]:
        """A text up to its first stop string, and whether it has one."""
        places = [place for place in (text.find(end) for end in self.stop) if place >= 0]
        return (text[: min(places)], True) if places else (text, False)


def _refusal(name: str, value: object, needed: str) -> GenerationOptionsError:
    return GenerationOptionsError(f"{name} is {value!r}; needed is {needed}.")


def _require_int(name: str, value: object, *, lowest: int) -> None:
    if not isinstance(value, int) or isinstance(value, bool) or value < lowest:
        raise _refusal(name, value, f"a whole number of at least {lowest}")


def _require_count(name: str, value: object) -> None:
    _require_int(name, value, lowest=1)


def _number(name: str, value: object) -> float:
    if not isinstance(value, int | float) or isinstance(value, bool) or not math.isfinite(value):
        raise _refusal(name, value, "a finite number")
    return value


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
    """Number of the prompt, from 0."""
    sample: int = 0
    """Number among the texts of the prompt, from 0."""
    text: str
    """Without prompt and prefix."""
    tokens: int | None
    """Tokens that the model wrote, also those of a stop string; None where a server does not count them."""
    finish: Finish


TextProgress: TypeAlias = Callable[[int], None]
"""Called with the number of texts that were finished since the last call."""

_TEXTS = TypeAdapter(tuple[GeneratedText, ...])


def part_key(options: GenerationOptions, prompts: Sequence[tuple[int, str, int]]) -> str:
    """The key of the part that holds these texts: prompt numbers, prompts and sample numbers."""
    content = json.dumps([options.to_record(), prompts], sort_keys=True)
    return f"texts-{hashlib.sha256(content.encode()).hexdigest()[:32]}"


def read_texts(parts: Parts | None, key: str) -> tuple[GeneratedText, ...] | None:
    """The texts under a key; None if there are none yet."""
    content = parts.get(key) if parts is not None else None
    return None if content is None else _TEXTS.validate_json(content)


def keep_texts(parts: Parts | None, key: str, texts: Sequence[GeneratedText]) -> None:
    """Keep texts under a key."""
    if parts is not None:
        parts.put(key, _TEXTS.dump_json(tuple(texts)))
