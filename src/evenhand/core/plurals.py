"""Counts with their nouns, for messages."""

from __future__ import annotations


def plural(count: int, singular: str, several: str | None = None) -> str:
    """A count with its noun."""
    return f"{count:,} {singular if count == 1 else several or singular + 's'}"
