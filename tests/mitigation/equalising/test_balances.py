"""Several balances, one of which is kept."""

from __future__ import annotations

from pathlib import Path

import pytest
from zoo_fixtures import Zoo

from evenhand.core.errors import EvenhandError
from evenhand.core.experiments import Experiment
from evenhand.core.recipes import Recipe
from evenhand.lab.items import lab_probes
from evenhand.mitigation import training_mitigation
from evenhand.mitigation.equalising.equalise import EqualiseOptions
from evenhand.mitigation.mitigate import mitigate
from evenhand.mitigation.mitigation import MitigatedModel, MitigationData
from evenhand.mitigation.texts import SentenceList
from evenhand.models.references import ModelRef
from evenhand.store.mitigation_records import LearningCurve

TEXT = SentenceList(
    "a small corpus", ("At night he sleeps.", "She likes tea.", "My neighbour sings.", "They met at a mill.")
)
HELD_OUT = SentenceList("some more", ("The sea is cold.", "A farmer sings at night."))
DATA = MitigationData((TEXT,), lab_probes("en").first(8), (Experiment.HE_SHE,), held_out=(HELD_OUT,))
RECIPE = Recipe(epochs=1, batch_size=2, learning_rate=1e-4, plateau=None)


def equalised(ref: ModelRef, out: Path, *balances: float, stop_at: int = 0) -> MitigatedModel:
    """Equalise, and stop after so many epochs of all trainings."""
    epochs = iter(range(1, 100))

    def stop(_: int, curve: LearningCurve) -> None:
        if curve.trained and next(epochs) == stop_at:
            raise KeyboardInterrupt

    options = EqualiseOptions(balances=balances, replayed=2, recipe=RECIPE, on_epoch=stop)
    return mitigate(ref, "equalise", data=DATA, options=options, out=out)


def test_a_finished_sweep_is_opened_by_the_same_reference(
    menagerie: Zoo, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    original = ModelRef(id=str(menagerie.folder("bert")), device="cpu", allow_pickle_weights=True)
    first = equalised(original, tmp_path / "out", 0.2, 0.9)
    assert first.ref == ModelRef(id=str(tmp_path / "out"), device="cpu")
    assert {point.weight for point in first.record.frontier} == {0.2, 0.9}

    def refuse(*_: object, **__: object) -> None:
        raise AssertionError("a balance is tried again")

    monkeypatch.setattr(training_mitigation, "fit_seeds", refuse)
    assert equalised(original, tmp_path / "out", 0.2, 0.9) == first


def test_the_folder_has_the_weights_of_the_balance_that_was_kept(menagerie: Zoo, tmp_path: Path) -> None:
    original = ModelRef(id=str(menagerie.folder("bert")), device="cpu")
    swept = equalised(original, tmp_path / "swept", 0.2, 0.9)
    (chosen,) = (point.weight for point in swept.record.frontier if point.chosen)
    assert swept.record.settings["weight"] == chosen
    equalised(original, tmp_path / "alone", chosen)
    other = 0.2 if chosen == 0.9 else 0.9
    equalised(original, tmp_path / "reversed", chosen, other)
    weights = [
        (tmp_path / name / "model.safetensors").read_bytes() for name in ("swept", "alone", "reversed")
    ]
    assert weights[0] == weights[1] == weights[2]


def test_a_stopped_sweep_does_not_train_what_is_trained(menagerie: Zoo, tmp_path: Path) -> None:
    original = ModelRef(id=str(menagerie.folder("bert")), device="cpu")
    whole = equalised(original, tmp_path / "whole", 0.2, 0.9)
    with pytest.raises(KeyboardInterrupt):
        equalised(original, tmp_path / "parts", 0.2, 0.9, stop_at=2)
    parts = equalised(original, tmp_path / "parts", 0.2, 0.9)
    assert parts.record.frontier == whole.record.frontier
    assert {path.name for path in tmp_path.iterdir()} == {"whole", "parts"}


@pytest.mark.parametrize("balances", [(), (0.5, 0.5)])
def test_balances_must_be_some_and_different(balances: tuple[float, ...]) -> None:
    with pytest.raises(EvenhandError, match="at least one, all different"):
        EqualiseOptions(balances=balances)
