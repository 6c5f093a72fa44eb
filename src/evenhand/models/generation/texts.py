"""Generated texts, the capability that gives them, and where they are kept as they come."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from enum import StrEnum
from typing import Protocol, TypeAlias, runtime_checkable

from pydantic import BaseModel, ConfigDict, TypeAdapter, ValidationError

from evenhand.models.generation.options import GenerationOptions


class Finish(StrEnum):
    """Why a text ends."""

    END = "end"
    """The model ended it."""
    STOP = "stop"
    """A stop string came up; the text ends before it."""
    LENGTH = "length"
    """It reached the most tokens that it may have."""


class GeneratedText(BaseModel):
    """What a model wrote after a prompt."""

    model_config = ConfigDict(frozen=True)

    prompt: int
    """Number of the prompt, from 0."""
    sample: int = 0
    """Number among the texts of the prompt, from 0."""
    text: str
    """Without prompt and prefix."""
    tokens: int
    """Tokens that the model wrote, also those of a stop string."""
    finish: Finish


TextProgress: TypeAlias = Callable[[int], None]
"""Called with the number of texts that were finished since the last call."""


class PartStore(Protocol):
    """Keeps parts of a long job by key; a part is there whole or not at all."""

    def get(self, key: str) -> bytes | None:
        """What was put under the key, or None."""
        ...

    def put(self, key: str, content: bytes) -> None:
        """Keep a part."""
        ...


@runtime_checkable
class Generates(Protocol):
    """Writes texts after prompts."""

    def generate(
        self,
        prompts: Iterable[str],
        options: GenerationOptions,
        *,
        store: PartStore | None = None,
        progress: TextProgress | None = None,
    ) -> Iterator[GeneratedText]:
        """The texts of each prompt, in the order of the prompts; nothing runs before the first is asked for.

        Args:
            prompts: Read as they are needed, so there may be any number.
            options: How texts are decoded.
            store: Keeps texts as they come, for one model; what it has already is not generated again.
            progress: Called after every batch.
        """
        ...


_TEXTS = TypeAdapter(tuple[GeneratedText, ...])


def part_key(options: GenerationOptions, prompts: Sequence[tuple[int, str, int]]) -> str:
    """The key of the part that holds these texts: prompt numbers, prompts and sample numbers."""
    content = json.dumps([options.to_record(), prompts], sort_keys=True)
    return f"texts-{hashlib.sha256(content.encode()).hexdigest()[:32]}"


def kept_texts(store: PartStore | None, key: str, *, count: int) -> tuple[GeneratedText, ...] | None:
    """The texts under a key; None if there are none, or a part that cannot be read."""
    content = store.get(key) if store is not None else None
    if content is None:
        return None
    try:
        texts = _TEXTS.validate_json(content)
    except ValidationError:
        return None
    return texts if len(texts) == count else None


def keep_texts(store: PartStore | None, key: str, texts: Sequence[GeneratedText]) -> None:
    """Keep texts under a key."""
    if store is not None:
        store.put(key, _TEXTS.dump_json(tuple(texts)))
