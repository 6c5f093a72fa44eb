"""Chat endpoints: a model that replies to messages is asked to go on from a text, and its reply follows it."""

from __future__ import annotations

import re
from typing import Any

CONTINUE = (
    "Continue the text that the user gives, in its language, as one and the same text. Reply with the words that come "
    "next and with nothing else: do not repeat the given text, do not comment on it, do not ask anything."
)
"""The instruction; it is part of the record of the model."""

_EXCUSE = re.compile(
    r"\s*(?:I['’]m (?:really )?sorry\b|I am sorry\b|Sorry,|I (?:can(?:['’]t|not)|won['’]t) (?:continue|complete|help|"
    r"assist|provide|write|fulfil|do)|I['’]m (?:not able|unable) to\b|As an AI\b|Es tut mir leid|Tut mir leid|"
    r"Entschuldigung|Ich kann (?:das|diesen|diese|den|dabei|dir|Ihnen)\b|Als KI\b)",
    re.IGNORECASE,
)
"""How refusals begin in English and German. No continuation of a sentence about somebody else does."""


def continuation_messages(text: str) -> list[dict[str, str]]:
    """The messages that ask for a continuation of a text."""
    return [{"role": "system", "content": CONTINUE}, {"role": "user", "content": text}]


def continuation_of(reply: str, text: str) -> str:
    """A reply as a continuation: without the given text or its last words, and with a space before it.

    Args:
        reply: What the model said.
        text: What it was to go on from.
    """
    own = reply.strip()
    if not own:
        return ""
    words, given = own.split(), text.split()
    for start in range(len(given)):
        shared = given[start:]
        is_repeated = [word.casefold() for word in words[: len(shared)]] == [
            word.casefold() for word in shared
        ]
        if is_repeated and (start == 0 or len(shared) > 1):
            own = " ".join(words[len(shared) :])
            break
    own = own.lstrip(".… ") if own.startswith(("...", "…")) else own
    joins = not own or text.endswith((" ", "\n")) or own[0] in ",.;:!?)"
    return own if joins else f" {own}"


def is_refusal(choice: dict[str, Any]) -> bool:
    """Whether the model declined to reply: the server says so, or the reply begins with an excuse."""
    message = choice.get("message")
    if not isinstance(message, dict):
        return False
    content = message.get("content")
    if content is None:
        return bool(message.get("refusal"))
    return isinstance(content, str) and _EXCUSE.match(content) is not None
