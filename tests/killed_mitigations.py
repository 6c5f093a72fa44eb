"""A small mitigation that is killed at the moment that it is told."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from fitting_runs import die

from evenhand.core.experiments import Experiment
from evenhand.core.recipes import Recipe
from evenhand.lab.items import lab_probes
from evenhand.mitigation import mitigate as mitigate_module
from evenhand.mitigation.equalising.equalise import EqualiseOptions
from evenhand.mitigation.mitigation import MitigationData
from evenhand.mitigation.texts import SentenceList
from evenhand.models.references import ModelRef
from evenhand.store.mitigation_records import LearningCurve

TEXT = SentenceList("text", ("At night he sleeps.", "She likes tea.", "My neighbour sings.", "They met."))
HELD_OUT = SentenceList("more", ("The sea is cold.", "A farmer sings at night."))
DATA = MitigationData((TEXT,), lab_probes("en").first(8), (Experiment.HE_SHE,), held_out=(HELD_OUT,))
RECIPE = Recipe(epochs=2, batch_size=2, learning_rate=1e-3, plateau=None)

AFTER_AN_EPOCH, IN_THE_SECOND_BALANCE, WHILE_WRITING = MOMENTS = (
    "after an epoch",
    "in the second balance",
    "while the model is written",
)


def small_mitigation(source: Path, out: Path, killed: str | None = None) -> None:
    """Equalise a model with two balances, on one thread."""
    torch.set_num_threads(1)
    epochs = iter(range(1, 100))
    deadly = {AFTER_AN_EPOCH: 1, IN_THE_SECOND_BALANCE: 3}.get(killed or "")

    def on_epoch(_: int, curve: LearningCurve) -> None:
        if curve.trained and next(epochs) == deadly:
            die()

    if killed == WHILE_WRITING:
        pytest.MonkeyPatch().setattr(mitigate_module, "write_model_folder", lambda *_, **__: die())
    options = EqualiseOptions(balances=(0.2, 0.9), replayed=2, recipe=RECIPE, on_epoch=on_epoch)
    ref = ModelRef(id=str(source), device="cpu")
    mitigate_module.mitigate(ref, "equalise", data=DATA, out=out, options=options)
