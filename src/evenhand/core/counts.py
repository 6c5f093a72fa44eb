"""Counts as people write them."""

from __future__ import annotations


def plural(count: int, singular: str, several: str | None = None) -> str:
    """A count with its noun, or with noun and verb: ``plural(1, "row has", "rows have")``."""
    return f"{count:,} {singular if count == 1 else several or singular + 's'}"
