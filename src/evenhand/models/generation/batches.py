"""Rows that are generated together: sorted by length and packed into a budget of tokens, before anything runs.

A batch counts what it will hold when its longest text is written: for each row the padded prompt and all new tokens,
which is also what the cache of keys and values holds.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice

from evenhand.models.engine.requests import Tokens
from evenhand.models.generation.texts import GenerationOptions, GenerationOptionsError

WINDOW_ROWS = 4096
"""Rows that are sorted and held in memory at a time."""


@dataclass(frozen=True, slots=True)
class Row:
    """One text to be written."""

    number: int
    """Of the prompt."""
    prompt: str
    """Without prefix."""
    sample: int
    ids: Tokens
    """Of prefix and prompt."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchLimits:
    """What fits into a batch."""

    max_tokens: int
    """Most tokens, padding and new tokens included. A longer row makes a batch of its own."""
    max_rows: int
    """Most rows: there is a number for every row and every token of the vocabulary."""


def windows(prompts: Iterable[str], options: GenerationOptions) -> Iterator[list[tuple[int, str]]]:
    """Numbered prompts, as many at a time as may be held in memory."""
    if isinstance(prompts, str):
        raise GenerationOptionsError(f"The prompts are one string, {prompts[:60]!r}. Put it into a list.")
    numbered = enumerate(prompts)
    size = max(1, WINDOW_ROWS // options.samples)
    while window := list(islice(numbered, size)):
        for number, prompt in window:
            if not isinstance(prompt, str):
                raise GenerationOptionsError(f"Prompt {number} is {prompt!r}; needed is a string.")
        yield window


def pack(rows: Sequence[Row], options: GenerationOptions, limits: BatchLimits) -> Iterator[list[Row]]:
    """Batches, longest prompts first, so that a lack of memory shows at once."""
    order = sorted(rows, key=lambda row: (-len(row.ids), row.number, row.sample))
    batch: list[Row] = []
    for row in order:
        width = len(batch[0].ids if batch else row.ids) + options.max_new_tokens
        if batch and (width * (len(batch) + 1) > limits.max_tokens or len(batch) == limits.max_rows):
            yield batch
            batch = []
        batch.append(row)
    if batch:
        yield batch
