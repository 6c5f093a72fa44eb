"""Carrying out a plan: too little memory, interrupted runs, damaged files and values that are no numbers."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import Tensor

from evenhand.core.errors import RunError
from evenhand.models.engine.batch_store import BatchStore
from evenhand.models.engine.execution import carry_out
from evenhand.models.engine.forward_inputs import Gathered, MaskedWork, Work, gather
from evenhand.models.engine.plan import Plan, make_plan
from evenhand.models.engine.requests import MaskedRequest

REQUESTS = [MaskedRequest((number, 1, 2), place, number) for number in range(10) for place in (0, 2)]


def value_of(ids: Sequence[int], position: int, token: int) -> float:
    return -(100.0 * ids[0] + 10.0 * position + token)


EXPECTED = [[value_of(request.ids, request.position, request.token)] for request in REQUESTS]


class CountingRunner:
    """Gives each read a value of its own, and remembers how many works it ran at a time."""

    def __init__(self, most: int = 1000, problem: Callable[[], Exception] = torch.OutOfMemoryError) -> None:
        self.most = most
        self.problem = problem
        self.sizes: list[int] = []

    def start(self, works: Sequence[Work]) -> Tensor:
        if len(works) > self.most:
            raise self.problem()
        self.sizes.append(len(works))
        inputs = [work for work in works if isinstance(work, MaskedWork)]
        return torch.tensor(
            [value_of(work.ids, position, token) for work in inputs for position, token in work.reads]
        )


@pytest.fixture
def gathered() -> Gathered:
    return gather(REQUESTS)


@pytest.fixture
def plan(gathered: Gathered) -> Plan:
    return make_plan(gathered, max_tokens=12)


def carried_out(
    plan: Plan, gathered: Gathered, runner: CountingRunner, store: BatchStore | None = None
) -> list[list[float]]:
    answers = carry_out(plan, gathered, {MaskedWork: runner}, store=store)
    return [answers.of(number) for number in range(len(REQUESTS))]


def opened(folder: Path, plan: Plan) -> BatchStore:
    store = BatchStore(folder / "scores", plan.fingerprint)
    store.open()
    return store


def no_memory_on_the_processor() -> Exception:
    return RuntimeError("[enforce fail at alloc_cpu.cpp] DefaultCPUAllocator: can't allocate memory: 9 bytes")


def test_each_request_gets_its_own_values(plan: Plan, gathered: Gathered) -> None:
    runner = CountingRunner()
    assert carried_out(plan, gathered, runner) == EXPECTED
    assert runner.sizes == [4, 4, 2]


@pytest.mark.parametrize("problem", [torch.OutOfMemoryError, no_memory_on_the_processor], ids=["gpu", "cpu"])
def test_a_batch_that_does_not_fit_is_halved(
    plan: Plan, gathered: Gathered, problem: Callable[[], Exception]
) -> None:
    runner = CountingRunner(most=1, problem=problem)
    assert carried_out(plan, gathered, runner) == EXPECTED
    assert runner.sizes == [1] * 10


def test_a_single_input_that_does_not_fit_is_an_error(plan: Plan, gathered: Gathered) -> None:
    with pytest.raises(torch.OutOfMemoryError):
        carried_out(plan, gathered, CountingRunner(most=0))


def test_other_errors_are_not_taken_for_lack_of_memory(plan: Plan, gathered: Gathered) -> None:
    runner = CountingRunner(most=2, problem=lambda: RuntimeError("shapes do not fit"))
    with pytest.raises(RuntimeError, match="shapes"):
        carried_out(plan, gathered, runner)
    assert runner.sizes == []


def test_finished_batches_do_not_run_again(plan: Plan, gathered: Gathered, tmp_path: Path) -> None:
    class Interrupted(CountingRunner):
        def start(self, works: Sequence[Work]) -> Tensor:
            if len(self.sizes) == 2:
                raise KeyboardInterrupt
            return super().start(works)

    with pytest.raises(KeyboardInterrupt):
        carried_out(plan, gathered, Interrupted(), opened(tmp_path, plan))
    resumed = CountingRunner()
    assert carried_out(plan, gathered, resumed, opened(tmp_path, plan)) == EXPECTED
    assert resumed.sizes == [4, 2]
    again = CountingRunner()
    assert carried_out(plan, gathered, again, opened(tmp_path, plan)) == EXPECTED
    assert again.sizes == []


def test_the_values_of_another_plan_are_refused(plan: Plan, gathered: Gathered, tmp_path: Path) -> None:
    carried_out(plan, gathered, CountingRunner(), opened(tmp_path, plan))
    with pytest.raises(RunError, match="--fresh"):
        opened(tmp_path, make_plan(gathered, max_tokens=6))


@pytest.mark.parametrize("kept", [0, 5, 60, 130, -1], ids=lambda kept: f"first {kept} bytes")
def test_a_truncated_file_is_computed_again(
    plan: Plan, gathered: Gathered, tmp_path: Path, kept: int
) -> None:
    store = opened(tmp_path, plan)
    carried_out(plan, gathered, CountingRunner(), store)
    damaged = sorted(store.folder.glob("*.npy"))[1]
    damaged.write_bytes(damaged.read_bytes()[:kept])
    runner = CountingRunner()
    assert carried_out(plan, gathered, runner, opened(tmp_path, plan)) == EXPECTED
    assert runner.sizes == [4]


def test_a_file_with_too_few_values_is_computed_again(plan: Plan, gathered: Gathered, tmp_path: Path) -> None:
    store = opened(tmp_path, plan)
    store.save(0, np.zeros(3))
    runner = CountingRunner()
    assert carried_out(plan, gathered, runner, store) == EXPECTED
    assert runner.sizes == [4, 4, 2]


def test_what_is_no_number_reaches_the_caller(plan: Plan, gathered: Gathered, tmp_path: Path) -> None:
    class Undefined(CountingRunner):
        def start(self, works: Sequence[Work]) -> Tensor:
            return torch.full_like(super().start(works), math.nan)

    store = opened(tmp_path, plan)
    for runner in (Undefined(), CountingRunner(most=0)):
        found = carried_out(plan, gathered, runner, store)
        assert all(math.isnan(value) for values in found for value in values)


def test_progress_counts_every_work_once(plan: Plan, gathered: Gathered) -> None:
    told: list[int] = []
    carry_out(plan, gathered, {MaskedWork: CountingRunner()}, progress=told.extend)
    assert sorted(told) == list(range(len(plan.works)))
