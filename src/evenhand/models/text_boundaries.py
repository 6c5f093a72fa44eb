"""How texts begin and end for a model."""

from __future__ import annotations

from typing import Any

FINAL_PUNCTUATION = ".!?…\"'”’»)"
PUBLISHED_FINAL_PUNCTUATION = ".!?"


def start_token(tokenizer: Any, config: Any) -> int | None:
    """What stands before the first token of a text: the start token, or the end of the text before.

    A number in the configuration counts only if the tokenizer has a special token there: models made from
    another's configuration keep a number that is some word of their own vocabulary.
    """
    configured = getattr(config, "bos_token_id", None)
    for candidate in (
        tokenizer.bos_token_id,
        configured if configured in tokenizer.all_special_ids else None,
        tokenizer.eos_token_id,
    ):
        if isinstance(candidate, int) and 0 <= candidate < config.vocab_size:
            return candidate
    return None


def with_final_punctuation(context: str, marks: str = FINAL_PUNCTUATION) -> str:
    """A context that ends like a sentence."""
    return context if context[-1] in marks else f"{context}."
