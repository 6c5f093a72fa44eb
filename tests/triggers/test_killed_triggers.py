"""A search for a trigger that is killed with SIGKILL at random moments ends with the same trigger and the same log."""

from __future__ import annotations

import random
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from fitting_runs import die
from forking import exit_code
from slow_triggers import PAIRS
from transformers import GPT2Model
from zoo_fixtures import Zoo

from evenhand.data.probes import load_probes
from evenhand.mitigation.mitigate import mitigate
from evenhand.mitigation.mitigation import MitigationData
from evenhand.models.references import ModelRef
from evenhand.stats.resampling import Resampling
from evenhand.store.mitigation_records import MitigationRecord
from evenhand.triggers.recipes import GCG_V1
from evenhand.triggers.targets import TargetSet
from evenhand.triggers.trigger import TriggerOptions

pytestmark = pytest.mark.torch

RECIPE = GCG_V1.model_copy(
    update={"slots": 2, "tokens": 8, "flips": 6, "finalists": 2, "starts": 4, "steps": 4, "seeds": (0, 1)}
)
KILLS = 2
"""In a row, before the search is left to finish."""


def search(source: Path, out: Path, before_pass: Callable[[int], None]) -> None:
    """Search on one thread; ``before_pass`` is told before every forward pass how many there were."""
    torch.set_num_threads(1)
    forward, passes = GPT2Model.forward, 0

    def watched(self: GPT2Model, *arguments: Any, **named: Any) -> Any:
        nonlocal passes
        before_pass(passes)
        passes += 1
        return forward(self, *arguments, **named)

    GPT2Model.forward = watched
    options = TriggerOptions(
        targets=TargetSet("small", PAIRS), recipe=RECIPE, resampling=Resampling(resamples=100)
    )
    data = MitigationData((), load_probes("en"), ())
    mitigate(ModelRef(id=str(source), device="cpu"), "trigger", data=data, out=out, options=options)


def search_and_count(source: Path, out: Path, count: Path) -> None:
    def note(passes: int) -> None:
        count.write_text(str(passes + 1))

    search(source, out, note)


def search_until(source: Path, out: Path, last: int) -> None:
    search(source, out, lambda passes: die() if passes == last else None)


def record_of(out: Path) -> MitigationRecord:
    return MitigationRecord.model_validate_json((out / "mitigation.json").read_bytes())


def test_a_search_that_is_killed_at_random_moments_ends_with_the_same_trigger_and_log(
    menagerie: Zoo, tmp_path: Path
) -> None:
    source, count = menagerie.folder("gpt2"), tmp_path / "count"
    whole, killed = tmp_path / "whole" / "model", tmp_path / "killed" / "model"
    assert exit_code(search_and_count, source, whole, count) == 0
    # A kill costs the passes since the step before, so there are enough left for the next one.
    passes = int(count.read_text()) // KILLS
    moments = [random.randrange(passes) for _ in range(KILLS)]  # noqa: S311 # any moment must do

    for moment in moments:
        assert exit_code(search_until, source, killed, moment) == -signal.SIGKILL, moments
        assert not killed.exists()
    assert exit_code(search_and_count, source, killed, count) == 0, moments

    undisturbed, resumed = record_of(whole), record_of(killed)
    assert undisturbed.trigger is not None
    assert [len(own.losses) for own in undisturbed.trigger.seeds] == [5, 5]
    assert resumed.trigger == undisturbed.trigger, moments
    assert resumed.fingerprint == undisturbed.fingerprint
    assert (killed / "README.md").read_text() == (whole / "README.md").read_text()
    assert [path.name for path in killed.parent.iterdir()] == ["model"]
