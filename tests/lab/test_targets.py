"""Targets: what measures should read, against the planted world and against the model without weights."""

from __future__ import annotations

import pytest

import evenhand as eh
from evenhand.core.items import Task
from evenhand.core.planted_bias import ProbePart
from evenhand.lab.items import lab_benchmark, lab_items, probe_part
from evenhand.lab.targets import ItemTarget, association_targets, item_targets, malor_targets
from evenhand.lab.world import World
from evenhand.stats.resampling import Resampling
from evenhand.testing import AnalyticModel

STRENGTH = 1.3


@pytest.mark.parametrize("tag", ["en", "de"])
def test_the_bits_of_an_item_are_those_that_were_planted_in_it(tag: str) -> None:
    world = World(tag, STRENGTH)
    targets = item_targets(world)
    planted = {entry.item.id: entry.planted(world) for entry in lab_items(tag)}

    assert {name: target.bits for name, target in targets.items()} == pytest.approx(planted, abs=1e-9)
    assert {target.unrelated for target in targets.values()} == {0.0}


@pytest.mark.parametrize("strength", [-2.0, 0.0, STRENGTH])
def test_targets_are_what_the_measures_read_on_the_model_without_weights(
    strength: float, quick: Resampling
) -> None:
    items = lab_benchmark()
    run = eh.evaluate(AnalyticModel(strength).scores(items), data=items, resampling=quick)
    targets = association_targets(World("en", strength))

    assert set(targets) == set(run.result.tasks)
    for task, result in run.result.tasks.items():
        for measure, estimate in result.estimates():
            if estimate.defined and measure != "macro_ICAT_corrected":
                assert targets[task][measure] == pytest.approx(estimate.value, abs=1e-9), (task, measure)
        assert targets[task]["log_ratio"] == pytest.approx(strength, abs=1e-9)


@pytest.mark.parametrize("part", ProbePart)
@pytest.mark.parametrize("tag", ["en", "de"])
def test_leans_are_those_that_were_planted_in_every_part_of_the_probes(tag: str, part: ProbePart) -> None:
    world = World(tag, STRENGTH)
    probes = probe_part(part, tag)
    targets = malor_targets(world, probes)

    assert set(targets) == set(probes.experiments)
    for target in targets.values():
        wanted = {occupation.name: world.lean(occupation.name) for occupation in probes.occupations}
        assert target.leans == pytest.approx(wanted, abs=1e-9)
        assert target.malor == pytest.approx(STRENGTH, abs=1e-9)


def test_preferences_count_ties_as_halves() -> None:
    tie = ItemTarget(Task.INTRASENTENCE.value, "x", stereotype=0.1, anti_stereotype=0.1, unrelated=0.05)
    lost = ItemTarget(Task.INTRASENTENCE.value, "x", stereotype=0.1, anti_stereotype=0.4, unrelated=0.2)

    assert (tie.prefers_stereotype, tie.prefers_meaning) == (0.5, 1.0)
    assert (lost.prefers_stereotype, lost.prefers_meaning, lost.bits) == (0.0, 0.5, -2.0)
    assert tie.bits == 0
