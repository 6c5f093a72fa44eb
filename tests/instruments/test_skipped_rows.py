"""What a probe skipped, by reason."""

from __future__ import annotations

import polars as pl

from evenhand.instruments.instrument import Skipped, skipped_rows


def test_a_rarer_reason_that_comes_first_stands_behind_a_more_frequent_one() -> None:
    frame = pl.DataFrame(
        {
            "pair": ["a", "b", "c", "d", "e", "f"],
            "skipped_reason": ["empty", None, "too long", "too long", "odd", "too long"],
        }
    )
    assert skipped_rows(frame, "pair") == (
        Skipped(reason="too long", count=3, examples=("c", "d", "f")),
        Skipped(reason="empty", count=1, examples=("a",)),
        Skipped(reason="odd", count=1, examples=("e",)),
    )
