"""The budget of a batch: what was asked for, or a share of what is free."""

from __future__ import annotations

import pytest
import torch

from evenhand.models.engine import memory
from evenhand.models.engine.memory import LEAST, MOST, MemoryBudget, is_out_of_memory

CPU = torch.device("cpu")


def test_what_was_asked_for_is_the_budget() -> None:
    assert MemoryBudget.on(CPU, 123_456_789).bytes == 123_456_789


@pytest.mark.parametrize(
    ("free", "budget"),
    [(0, LEAST), (2**30, 2**28), (2**30 + 2**29, 2**28), (2**40, MOST["cpu"])],
)
def test_a_share_of_what_is_free_is_a_power_of_two(
    monkeypatch: pytest.MonkeyPatch, free: int, budget: int
) -> None:
    monkeypatch.setattr(memory, "free_memory", lambda: free)
    assert MemoryBudget.on(CPU).bytes == budget


@pytest.mark.parametrize(
    ("problem", "expected"),
    [
        (torch.OutOfMemoryError("CUDA out of memory"), True),
        (MemoryError(), True),
        (RuntimeError("[enforce fail at alloc_cpu.cpp] DefaultCPUAllocator: can't allocate memory"), True),
        (RuntimeError("shapes do not fit"), False),
        (ValueError("can't allocate memory"), False),
    ],
)
def test_lack_of_memory_is_told_from_other_errors(problem: BaseException, expected: bool) -> None:
    assert is_out_of_memory(problem) is expected
