"""Names of methods in records, and the options that they stand for."""

from __future__ import annotations

import pytest

from evenhand.instruments.association.ways import choice_of


@pytest.mark.parametrize(
    ("method", "choice"),
    [
        ("stepwise-blank, mean-prob", "mean-prob"),
        ("own sentence, sum-log", "sum-log"),
        ("pll", "pll"),
        ("next-sentence", "next-sentence"),
        ("next-sentence in text", "next-sentence"),
        ("continuation orig", "orig"),
        ("continuation c in text", "c"),
        ("pseudo-log-likelihood after the context", "pll"),
        ("stepwise-blank, as text", None),
        ("own sentence, first token apart", None),
    ],
)
def test_the_option_behind_the_name_of_a_method(method: str, choice: str | None) -> None:
    assert choice_of(method) == choice
