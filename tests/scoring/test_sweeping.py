"""Several balances, one of which is kept."""

from __future__ import annotations

from pathlib import Path

import pytest
from zoo_fixtures import Zoo

from evenhand.core.probes import Experiment
from evenhand.core.recipes import Recipe
from evenhand.lab.items import lab_probes
from evenhand.mitigation import sweep as sweeping
from evenhand.mitigation.equalising.objective import Balance
from evenhand.mitigation.mitigate import Material, Mitigated
from evenhand.mitigation.sweep import sweep
from evenhand.mitigation.texts import SentenceList
from evenhand.models.references import ModelRef

TEXT = SentenceList(
    "a small corpus", ("At night he sleeps.", "She likes tea.", "My neighbour sings.", "They met at a mill.")
)
HELD_OUT = SentenceList("some more", ("The sea is cold.", "A farmer sings at night."))
MATERIAL = Material((TEXT,), lab_probes("en"), (Experiment.HE_SHE,), held_out=(HELD_OUT,))
BALANCES = (Balance(0.2, replayed=2), Balance(0.9, replayed=2))


def swept(ref: ModelRef, out: Path) -> Mitigated:
    recipe = Recipe(epochs=1, batch_size=2, learning_rate=1e-4, plateau=None)
    return sweep(ref, BALANCES, material=MATERIAL, recipe=recipe, out=out)


def test_a_finished_sweep_is_found_again_by_the_same_reference(
    menagerie: Zoo, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    original = ModelRef(id=str(menagerie.folder("bert")), device="cpu", allow_pickle_weights=True)
    first = swept(original, tmp_path / "out")
    assert first.ref == ModelRef(id=str(tmp_path / "out"), device="cpu")
    assert {point.weight for point in first.record.frontier} == {0.2, 0.9}

    def refuse(*_: object, **__: object) -> None:
        raise AssertionError("a balance is tried again")

    monkeypatch.setattr(sweeping, "mitigate", refuse)
    assert swept(original, tmp_path / "out") == first
