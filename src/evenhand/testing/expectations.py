"""Expectations: an ``AssertionError`` that says what was expected and what was given."""

from __future__ import annotations

import numpy as np


def require(condition: bool, message: str) -> None:
    """Raise the message unless the condition holds."""
    if not condition:
        raise AssertionError(message)


def require_equal(first: float, second: float, what: str) -> None:
    """Raise unless two numbers are the same but for rounding."""
    require(bool(np.isclose(first, second, rtol=1e-9, atol=1e-9)), f"{what}: {first} is not {second}")
