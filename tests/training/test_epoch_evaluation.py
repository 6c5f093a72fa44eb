"""What is read off a model after every epoch: MALoR quickly, any other instrument by measuring afresh."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from zoo_fixtures import Zoo

from evenhand.core.experiments import Experiment
from evenhand.core.recipes import Recipe
from evenhand.data.layouts import load_dataset
from evenhand.instruments.association.instrument import AuditOptions
from evenhand.instruments.malor.prepared import MalorReader
from evenhand.lab.items import lab_probes
from evenhand.mitigation.equalising.equalise import EqualiseOptions
from evenhand.mitigation.mitigate import mitigate
from evenhand.mitigation.mitigation import MitigationData
from evenhand.mitigation.texts import SentenceList
from evenhand.models.language_model import load_language_model
from evenhand.models.references import ModelRef
from evenhand.stats.resampling import Resampling
from evenhand.store.run import INSTRUMENTS
from evenhand.training.fitting import ModelEvaluator
from evenhand.training.perplexity import HeldOut

HELD_OUT = ("The sea is cold.", "A farmer sings at night.")


def test_malor_and_perplexity_have_names(menagerie: Zoo) -> None:
    model = load_language_model(str(menagerie.folder("bert")), device="cpu")
    reader = MalorReader(model, lab_probes("en").first(2), experiments=(Experiment.HE_SHE, Experiment.NAMES))
    evaluator = ModelEvaluator(model, [reader], held_out={"perplexity": HeldOut(HELD_OUT, model)})
    metrics = evaluator.evaluate(3)
    assert metrics.epoch == 3
    assert set(metrics.bias) == {"he-she.MALoR", "names.MALoR"}
    assert metrics.quality == {"perplexity": HeldOut(HELD_OUT, model).loss(model.loaded.model).perplexity}
    estimates = evaluator.estimates()
    assert {key: estimates[key].value for key in metrics.bias} == pytest.approx(metrics.bias)
    parts = {
        f"{experiment}.{part}" for experiment in ("he-she", "names") for part in ("signed_mean", "spread")
    }
    assert set(estimates) == {*metrics.bias, *parts}
    assert metrics.parts == pytest.approx({key: estimates[key].value for key in parts})
    assert evaluator.neutral == {}


def audit_options() -> AuditOptions:
    return AuditOptions(
        data=load_dataset("lab", language="en"), limit=8, resampling=Resampling(resamples=100)
    )


def test_any_instrument_can_be_read_again_and_again(menagerie: Zoo) -> None:
    model = load_language_model(str(menagerie.folder("bert")), device="cpu")
    reader = INSTRUMENTS.get("association").reader(model, audit_options())
    first = reader.values()
    assert reader.values() == first
    assert reader.neutral["overall.SS"] == 50.0
    with torch.no_grad():
        for weight in model.loaded.model.parameters():
            weight.fill_(torch.nan)  # Any number might by chance prefer the same candidates.
    assert reader.values() != first


def test_another_instrument_watches_a_training(menagerie: Zoo, tmp_path: Path) -> None:
    text = SentenceList("text", ("At night he sleeps.", "She likes tea.", "My neighbour sings."))
    data = MitigationData(
        (text,),
        lab_probes("en").first(8),
        (Experiment.HE_SHE,),
        held_out=(SentenceList("more", HELD_OUT),),
        instruments={"association": audit_options()},
    )
    recipe = Recipe(epochs=1, batch_size=2, learning_rate=1e-4, plateau=None)
    ref = ModelRef(id=str(menagerie.folder("bert")), device="cpu")
    options = EqualiseOptions(recipe=recipe, replayed=2)
    done = mitigate(ref, "equalise", data=data, out=tmp_path / "out", options=options)
    training = done.record.chosen
    assert training is not None
    assert "overall.SS" in training.best.bias
    assert training.curve.neutral["overall.SS"] == 50.0
    assert set(done.record.before) == set(done.record.after) == set(training.best.bias)
