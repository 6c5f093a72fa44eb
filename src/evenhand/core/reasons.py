"""Reasons why items are skipped that differ in a number only, and what they have in common."""

from __future__ import annotations

import re

_TOO_LONG = re.compile(r"the input has [\d,]+ tokens, the model takes (?P<longest>[\d,]+)")


def too_long_reason(needed: int, longest: int) -> str:
    """Why an input is not given to a model, with its length."""
    return f"the input has {needed:,} tokens, the model takes {longest:,}"


def common_reason(reason: str) -> str:
    """The reason without what is particular to one item, so that many items count under one."""
    found = _TOO_LONG.match(reason)
    return f"the input is longer than {found['longest']} tokens" if found else reason
