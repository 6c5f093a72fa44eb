"""Lists of words, written as text."""

from __future__ import annotations

from collections.abc import Iterator


def word_set(text: str) -> frozenset[str]:
    """The words of a text."""
    return frozenset(text.split())


def word_pairs(text: str) -> Iterator[tuple[str, str]]:
    """The words of a text by two."""
    words = text.split()
    return zip(words[::2], words[1::2], strict=True)
