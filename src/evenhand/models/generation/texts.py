"""Generated texts, and how they are kept as they come."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Sequence
from enum import StrEnum
from typing import TypeAlias

from pydantic import BaseModel, ConfigDict, TypeAdapter

from evenhand.models.generation.options import GenerationOptions
from evenhand.runs.store import Parts


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
