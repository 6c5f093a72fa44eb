"""Texts about groups of people: what a model writes after each prompt, as it is and cleaned.

Cleaned is the first sentence, prompt included. What is left of it behind the prompt has to have a few characters;
otherwise the text is skipped and counted, as is one in which the model wrote nothing.
"""

from __future__ import annotations

from typing import Any

import polars as pl

from evenhand.core.errors import EvenhandError
from evenhand.core.progress import Progress, no_progress
from evenhand.data.regard_prompts import PromptSet, RegardPrompt
from evenhand.models.model import Model
from evenhand.models.requests import Finish, GeneratedText, GenerationOptions
from evenhand.store.jobs import Parts
from evenhand.text.sentence_splitting import first_sentence

PUBLISHED_DECODING = GenerationOptions(max_new_tokens=30, samples=100, temperature=0.7, top_p=0.92)
"""As published, but for the tokens: 40 with prompt and trigger would make texts with a long trigger shorter."""

SHORTEST_REMAINDER = 5
"""Characters behind the prompt."""

NOTHING_WRITTEN = "the model wrote nothing"
REFUSED = "the server or the model refused to write"
TOO_SHORT = f"the first sentence has fewer than {SHORTEST_REMAINDER} characters behind the prompt"

TEXTS_SCHEMA: dict[str, pl.DataType] = {
    "prompt": pl.Int64(),
    "sample": pl.Int64(),
    "group": pl.String(),
    "context": pl.String(),
    "kind": pl.String(),
    "raw": pl.String(),
    "text": pl.String(),
    "finish": pl.String(),
    "skipped_reason": pl.String(),
}
"""One row per text. ``raw`` is what the model wrote, ``text`` the cleaned text with its prompt."""


def write_texts(
    model: Model,
    prompts: PromptSet,
    options: GenerationOptions = PUBLISHED_DECODING,
    *,
    parts: Parts | None = None,
    progress: Progress | None = None,
) -> pl.DataFrame:
    """Let a model write texts after every prompt, in the columns of ``TEXTS_SCHEMA``, whether or not they can be used.

    Args:
        model: What writes.
        prompts: Groups and contexts.
        options: How texts are decoded; ``samples`` is the number of texts per prompt.
        parts: Keep texts as they come; those that are there are not written again.
        progress: Told how many texts are written.
    """
    tell, total, done = progress or no_progress, len(prompts.prompts) * options.samples, 0

    def count(texts: int) -> None:
        nonlocal done
        done += texts
        tell(done, total)

    written = model.generate(
        [prompt.text for prompt in prompts.prompts], options, parts=parts, progress=count
    )
    rows = [_row(prompts.prompts[text.prompt], text) for text in written]
    return pl.DataFrame(rows, schema=TEXTS_SCHEMA)


def _row(prompt: RegardPrompt, text: GeneratedText) -> dict[str, Any]:
    cleaned = first_sentence(prompt.text + text.text, start=len(prompt.text))
    return {
        "prompt": text.prompt,
        "sample": text.sample,
        "group": prompt.group.name,
        "context": prompt.context.words,
        "kind": prompt.context.kind,
        "raw": text.text,
        "text": cleaned,
        "finish": text.finish.value,
        "skipped_reason": _reason_to_skip(text, cleaned.removeprefix(prompt.text)),
    }


def _reason_to_skip(text: GeneratedText, remainder: str) -> str | None:
    if text.finish is Finish.FILTERED:
        return REFUSED
    if not text.text.strip():
        return NOTHING_WRITTEN
    return TOO_SHORT if len(remainder.strip()) < SHORTEST_REMAINDER else None


def refuse_lack_of_texts(frame: pl.DataFrame, prompts: PromptSet) -> None:
    """Raise an EvenhandError if a group has no text that can be used."""
    lack = lack_of_texts(frame, prompts)
    if lack:
        remedy = (
            "Use other --groups or --contexts, or a model that goes on from them"
            if REFUSED in lack
            else "Allow more --new-tokens, or use --contexts that the model goes on from"
        )
        raise EvenhandError(f"{lack} {remedy}.")


def lack_of_texts(frame: pl.DataFrame, prompts: PromptSet) -> str | None:
    """Which group has no text that can be used, and why, in a sentence; None if all have some."""
    left = set(frame.filter(pl.col("skipped_reason").is_null())["group"])
    empty = [group.name for group in prompts.groups if group.name not in left]
    if not empty:
        return None
    reasons = frame.filter(pl.col("group") == empty[0])["skipped_reason"].value_counts(sort=True)
    reason, count = reasons.row(0)
    return f"No text about {empty[0]} can be used: {count:,} times {reason}."
