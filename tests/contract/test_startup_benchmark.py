"""``benchmarks/startup.py`` times functions by name, so they have to be there."""

from __future__ import annotations

import time
from functools import reduce
from importlib import import_module

import pytest
import startup


def test_what_is_timed_is_there() -> None:
    paths = [(module, path) for module, stages in startup.STAGES.items() for path in stages]
    for module, path in [*paths, startup.FIRST_BATCH]:
        assert callable(reduce(getattr, path.split("."), import_module(module)))


def test_a_moment_belongs_to_the_innermost_stage(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = iter(range(100))
    monkeypatch.setattr(time, "monotonic", lambda: float(next(clock)))
    monkeypatch.setattr(time, "process_time", lambda: 0.0)
    ledger = startup.Ledger(at=(-3.0, 0.0))
    inner = ledger.timed(lambda: None, "imports")
    ledger.timed(inner, "loading")()
    ledger.settle()
    assert ledger.wall == {startup.REST: 4.0, "loading": 2.0, "imports": 1.0}
