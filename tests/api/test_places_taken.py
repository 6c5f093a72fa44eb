"""A place that another process works on is told before a model is loaded for it."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from pair_builders import pair, pair_set
from store_jobs import ONE, fingerprint_at

import evenhand as eh
from evenhand.cli import main
from evenhand.core.errors import EvenhandError
from evenhand.core.items import Span
from evenhand.data.winogender import PronounPair, PronounPairs
from evenhand.instruments.cosine import CosineOptions
from evenhand.instruments.direct_bias.instrument import DirectBiasOptions
from evenhand.instruments.instrument import Instrument, InstrumentOptions
from evenhand.instruments.knowledge.instrument import KnowledgeOptions
from evenhand.models.references import ModelRef
from evenhand.stats.resampling import Resampling
from evenhand.store.claims import BusyError
from evenhand.store.jobs import open_job
from evenhand.store.records import RECORD_FILE
from evenhand.store.run import INSTRUMENTS, run_place
from evenhand.store.run_differences import refuse_other_run
from evenhand.testing import FakeModel

MODEL = "fake:a-model-that-must-not-be-loaded"

LOADERS = ("evenhand.api.models.load_model", "evenhand.mitigation.mitigate.load_language_model")


@pytest.fixture
def no_loading(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: Any, **__: Any) -> None:
        raise AssertionError("the model was loaded")

    for loader in LOADERS:
        monkeypatch.setattr(loader, refuse)


@pytest.fixture(params=["association", "malor", "crows-pairs", "cosine", "direct-bias", "knowledge"])
def instrument(request: pytest.FixtureRequest) -> Instrument[Any]:
    known: Instrument[Any] = INSTRUMENTS.get(request.param)
    return known


@pytest.fixture
def options(instrument: Instrument[Any], tmp_path: Path) -> InstrumentOptions:
    """What the instrument can be measured with, not all of it in English."""
    corpus = tmp_path / "corpus.txt"
    corpus.write_text("The doctor said that she was ill.", encoding="utf-8")
    sentences = ("The nurse said he left.", "The nurse said she left.")
    pronouns = PronounPair("nurse", "patron", "0", *sentences, Span(4, 9), Span(4, 9))
    choices: dict[str, InstrumentOptions] = {
        "association": eh.AuditOptions(language="de"),
        "malor": eh.MalorOptions(language="de"),
        "crows-pairs": InstrumentOptions(data=pair_set(pair(), language="fr")),
        "cosine": CosineOptions(data=PronounPairs("tiny", (pronouns,), "0" * 64)),
        "direct-bias": DirectBiasOptions(corpus=(corpus,)),
        "knowledge": KnowledgeOptions(limit=6),
    }
    return choices[instrument.name]


def test_the_name_of_a_run_is_known_before_its_model_is_loaded(
    instrument: Instrument[Any], options: InstrumentOptions
) -> None:
    model = FakeModel(lambda _: 0.1)
    preparation = instrument.prepare(model, options)
    assert instrument.run_name(model.ref, options) == preparation.record.name


def test_a_finished_run_is_opened_whatever_its_record_learnt_from_the_model(
    instrument: Instrument[Any], options: InstrumentOptions, tmp_path: Path
) -> None:
    preparation = instrument.prepare(FakeModel(lambda _: 0.1), options)
    place = run_place(tmp_path, preparation.record.name)
    place.mkdir()
    (place / RECORD_FILE).write_text(preparation.record.model_dump_json(), encoding="utf-8")
    planned = instrument.planned_record(ModelRef(id=MODEL), options, name=place.name)
    assert planned is not None

    refuse_other_run(place, planned, is_planned=True)
    other = replace(options, resampling=Resampling(resamples=123))
    planned = instrument.planned_record(ModelRef(id=MODEL), other, name=place.name)
    assert planned is not None
    with pytest.raises(EvenhandError, match="differs in the number of resamples"):
        refuse_other_run(place, planned, is_planned=True)


@pytest.mark.usefixtures("no_loading")
def test_a_run_that_another_process_makes_is_told_before_a_model_is_loaded(
    instrument: Instrument[Any], options: InstrumentOptions, tmp_path: Path
) -> None:
    out = tmp_path / "runs"
    name = instrument.run_name(ModelRef(id=MODEL), options)
    assert name is not None
    job = eh.MeasurementJob(model=MODEL, instrument=instrument, options=options)
    named = eh.MeasurementJob(model=MODEL, instrument=instrument, options=options, name="mine")
    with open_job(out / name, ONE, fingerprint_at=fingerprint_at):
        for fresh in (False, True):
            with pytest.raises(BusyError, match=f"{name} is being made by another process"):
                eh.probe(MODEL, instrument, options=options, out=out, fresh=fresh)
            with pytest.raises(BusyError, match=f"{name} is being made by another process"):
                eh.measure_all([job], out=out, fresh=fresh)
        with pytest.raises(AssertionError, match="the model was loaded"):
            eh.measure_all([named], out=out)
    assert not out.exists()


def test_a_place_is_held_while_its_model_is_loaded(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def load(_: object) -> FakeModel:
        with (
            pytest.raises(BusyError, match="tiny_en is being made by another process"),
            open_job(tmp_path / "tiny_en", ONE, fingerprint_at=fingerprint_at),
        ):
            pass
        return FakeModel(lambda _: 0.1, name="tiny")

    monkeypatch.setattr(LOADERS[0], load)
    run = eh.audit("fake:tiny", options=eh.AuditOptions(limit=2), name="tiny_en", out=tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == [run.name]


@pytest.mark.usefixtures("no_loading")
@pytest.mark.parametrize(
    ("place", "arguments"),
    [
        ("lab-masked_association_lab_en", ("audit", "lab:masked", "--out", ".")),
        ("lab-masked_malor_probes_en", ("probe", "lab:masked", "--out", ".")),
        ("model", ("mitigate", "equalise", "lab:masked", "--out", "model")),
        ("model", ("mitigate", "counterfactual", "lab:masked", "--out", "model", "--fresh")),
    ],
)
def test_a_command_for_a_place_that_is_taken_loads_no_model(
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    place: str,
    arguments: tuple[str, ...],
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "argv", ["evenhand", *arguments])
    with (
        open_job(tmp_path / place, ONE, fingerprint_at=fingerprint_at),
        pytest.raises(SystemExit) as stopped,
    ):
        main()
    assert stopped.value.code == 2
    said = capsys.readouterr().err
    assert f"{place} is being made by another process" in said
    assert "Loading" not in said
    assert list(tmp_path.iterdir()) == []
