"""Executing a plan: too little memory, interrupted runs, damaged files and values that are no numbers."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import Tensor

from evenhand.models.engine.execution import execute
from evenhand.models.engine.halving import NOT_ENOUGH_MEMORY
from evenhand.models.engine.plan import (
    ForwardInput,
    ForwardInputs,
    ForwardPlan,
    MaskedInput,
    make_plan,
    merge_requests,
)
from evenhand.models.engine.requests import MaskedRequest
from evenhand.models.references import ModelError
from evenhand.store.jobs import Parts

REQUESTS = [MaskedRequest((number, 1, 2), place, number) for number in range(10) for place in (0, 2)]


def value_of(ids: Sequence[int], position: int, token: int) -> float:
    return -(100.0 * ids[0] + 10.0 * position + token)


EXPECTED = [[value_of(request.ids, request.position, request.token)] for request in REQUESTS]


class CountingRunner:
    """Gives each read a value of its own, and remembers how many inputs it ran at a time."""

    def __init__(self, most: int = 1000, problem: Callable[[], Exception] = torch.OutOfMemoryError) -> None:
        self.most = most
        self.problem = problem
        self.sizes: list[int] = []

    def start(self, inputs: Sequence[ForwardInput]) -> Tensor:
        if len(inputs) > self.most:
            raise self.problem()
        self.sizes.append(len(inputs))
        masked = [entry for entry in inputs if isinstance(entry, MaskedInput)]
        return torch.tensor(
            [value_of(entry.ids, position, token) for entry in masked for position, token in entry.reads]
        )


@pytest.fixture
def forward() -> ForwardInputs:
    return merge_requests(REQUESTS)


@pytest.fixture
def plan(forward: ForwardInputs) -> ForwardPlan:
    return make_plan(forward, max_tokens=12)


def executed(
    plan: ForwardPlan, forward: ForwardInputs, runner: CountingRunner, parts: Parts | None = None
) -> list[list[float]]:
    answers = execute(plan, forward, {MaskedInput: runner}, parts=parts)
    return [answers.of(number) for number in range(len(REQUESTS))]


def no_memory_on_the_processor() -> Exception:
    return RuntimeError("[enforce fail at alloc_cpu.cpp] DefaultCPUAllocator: can't allocate memory: 9 bytes")


def test_each_request_gets_its_own_values(plan: ForwardPlan, forward: ForwardInputs) -> None:
    runner = CountingRunner()
    assert executed(plan, forward, runner) == EXPECTED
    assert runner.sizes == [4, 4, 2]


@pytest.mark.parametrize("problem", [torch.OutOfMemoryError, no_memory_on_the_processor], ids=["gpu", "cpu"])
def test_a_batch_that_does_not_fit_is_halved(
    plan: ForwardPlan, forward: ForwardInputs, problem: Callable[[], Exception]
) -> None:
    runner = CountingRunner(most=1, problem=problem)
    assert executed(plan, forward, runner) == EXPECTED
    assert runner.sizes == [1] * 10


def test_a_single_input_that_does_not_fit_has_no_values_and_a_reason(
    plan: ForwardPlan, forward: ForwardInputs, tmp_path: Path
) -> None:
    class Picky(CountingRunner):
        def start(self, inputs: Sequence[ForwardInput]) -> Tensor:
            if any(entry.ids[0] == 7 for entry in inputs if isinstance(entry, MaskedInput)):
                raise torch.OutOfMemoryError
            return super().start(inputs)

    answers = execute(plan, forward, {MaskedInput: Picky()}, parts=Parts(tmp_path))
    for number, (request, expected) in enumerate(zip(REQUESTS, EXPECTED, strict=True)):
        if request.ids[0] == 7:
            assert answers.problem(number) == NOT_ENOUGH_MEMORY
            with pytest.raises(ModelError, match="not enough memory"):
                answers.of(number)
        else:
            assert answers.problem(number) is None
            assert answers.of(number) == expected
    resumed = CountingRunner()
    assert executed(plan, forward, resumed, Parts(tmp_path)) == EXPECTED
    assert resumed.sizes == [4]


def test_other_errors_are_not_taken_for_lack_of_memory(plan: ForwardPlan, forward: ForwardInputs) -> None:
    runner = CountingRunner(most=2, problem=lambda: RuntimeError("shapes do not fit"))
    with pytest.raises(RuntimeError, match="shapes"):
        executed(plan, forward, runner)
    assert runner.sizes == []


def test_finished_batches_do_not_run_again(plan: ForwardPlan, forward: ForwardInputs, tmp_path: Path) -> None:
    class Interrupted(CountingRunner):
        def start(self, inputs: Sequence[ForwardInput]) -> Tensor:
            if len(self.sizes) == 2:
                raise KeyboardInterrupt
            return super().start(inputs)

    with pytest.raises(KeyboardInterrupt):
        executed(plan, forward, Interrupted(), Parts(tmp_path))
    resumed = CountingRunner()
    assert executed(plan, forward, resumed, Parts(tmp_path)) == EXPECTED
    assert resumed.sizes == [4, 2]
    again = CountingRunner()
    assert executed(plan, forward, again, Parts(tmp_path)) == EXPECTED
    assert again.sizes == []


def test_the_values_of_another_plan_are_not_taken_for_its_own(
    plan: ForwardPlan, forward: ForwardInputs, tmp_path: Path
) -> None:
    executed(plan, forward, CountingRunner(), Parts(tmp_path))
    runner = CountingRunner()
    assert executed(make_plan(forward, max_tokens=6), forward, runner, Parts(tmp_path)) == EXPECTED
    assert sum(runner.sizes) == len(plan.inputs)


@pytest.mark.parametrize("kept", [0, 5, 60, 130, -1], ids=lambda kept: f"first {kept} bytes")
def test_a_truncated_file_is_computed_again(
    plan: ForwardPlan, forward: ForwardInputs, tmp_path: Path, kept: int
) -> None:
    executed(plan, forward, CountingRunner(), Parts(tmp_path))
    damaged = sorted(tmp_path.iterdir())[1]
    damaged.write_bytes(damaged.read_bytes()[:kept])
    runner = CountingRunner()
    assert executed(plan, forward, runner, Parts(tmp_path)) == EXPECTED
    assert runner.sizes == [4]


def test_a_file_with_too_few_values_is_computed_again(
    plan: ForwardPlan, forward: ForwardInputs, tmp_path: Path
) -> None:
    parts = Parts(tmp_path)
    parts.put_array(f"{plan.fingerprint[:16]}-000000", np.zeros(3))
    runner = CountingRunner()
    assert executed(plan, forward, runner, parts) == EXPECTED
    assert runner.sizes == [4, 4, 2]


def test_what_is_no_number_reaches_the_caller(
    plan: ForwardPlan, forward: ForwardInputs, tmp_path: Path
) -> None:
    class Undefined(CountingRunner):
        def start(self, inputs: Sequence[ForwardInput]) -> Tensor:
            return torch.full_like(super().start(inputs), math.nan)

    parts = Parts(tmp_path)
    for runner in (Undefined(), CountingRunner(most=0)):  # the second has everything among its parts
        found = executed(plan, forward, runner, parts)
        assert all(math.isnan(value) for values in found for value in values)


def test_progress_counts_every_input_once(plan: ForwardPlan, forward: ForwardInputs) -> None:
    finished: list[int] = []
    execute(plan, forward, {MaskedInput: CountingRunner()}, progress=finished.extend)
    assert sorted(finished) == list(range(len(plan.inputs)))
