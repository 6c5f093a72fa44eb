"""A library's panic is an exception, and nothing on the terminal."""

from __future__ import annotations

import os

import polars as pl
import pytest

from evenhand.core.errors import fault
from evenhand.core.tables import panics_kept_quiet

NOISE = b"thread '<unnamed>' panicked at crates/parquet: called `Result::unwrap()` on an `Err` value\n"


def warn_and_fail(noise: bytes, error: BaseException) -> None:
    os.write(2, noise)
    raise error


def test_what_a_panic_prints_is_not_seen(capfd: pytest.CaptureFixture[str]) -> None:
    error = pl.exceptions.PanicException("called `Result::unwrap()` on an `Err` value: JoinError::Panic(...)")
    with pytest.raises(pl.exceptions.PanicException), panics_kept_quiet():
        warn_and_fail(NOISE, error)

    assert capfd.readouterr().err == ""
    assert fault(error) == "its parts do not fit together"


def test_anything_else_that_is_printed_is_seen_afterwards(capfd: pytest.CaptureFixture[str]) -> None:
    with panics_kept_quiet():
        os.write(2, b"a warning\n")
        assert capfd.readouterr().err == ""
    os.write(2, b"then the rest\n")

    assert capfd.readouterr().err == "a warning\nthen the rest\n"


def test_another_failure_hides_nothing(capfd: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(OSError, match="gone"), panics_kept_quiet():
        warn_and_fail(b"a warning\n", OSError("gone"))

    assert capfd.readouterr().err == "a warning\n"
