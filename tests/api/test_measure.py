"""Wrong options are told before a model is loaded, here and on any executor."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import evenhand as eh
from evenhand.core.errors import EvenhandError
from evenhand.core.experiments import TRAINED_EXPERIMENTS
from evenhand.data.probes import load_probes
from evenhand.instruments.cosine import CosineOptions
from evenhand.instruments.direct_bias.instrument import DirectBiasOptions

NO_MODEL = "fake:a-model-that-cannot-be-loaded"


@pytest.mark.parametrize(
    ("instrument", "options", "message"),
    [
        ("association", eh.AuditOptions(language="xx"), "xx"),
        ("association", eh.AuditOptions(data="stareoset"), "Did you mean 'stereoset'"),
        ("association", eh.AuditOptions(protocol="evenhand.v9"), "Unknown protocol"),
        ("association", eh.AuditOptions(inter="z"), "Unknown way to score the inter-sentence task"),
        ("association", eh.AuditOptions(score="medium"), "Unknown score"),
        ("malor", eh.MalorOptions(language="xx"), "xx"),
        ("malor", eh.MalorOptions(experiment="she-he"), "Unknown experiment"),
        ("malor", eh.MalorOptions(direction="up"), "Unknown direction"),
        ("malor", eh.MalorOptions(structures=Path("missing.csv")), "missing.csv"),
        ("crows-pairs", eh.InstrumentOptions(data="missing.csv"), "missing.csv"),
        ("direct-bias", DirectBiasOptions(), "needs a corpus"),
        ("direct-bias", DirectBiasOptions(corpus=("missing.txt",)), "missing.txt"),
        ("malor", eh.MalorOptions(data="nowhere"), "not a dataset such as 'nowhere'"),
        (
            "cosine",
            CosineOptions(language="de"),
            "Cosine test has no use for the option language, which is 'de'",
        ),
        ("cosine", CosineOptions(max_tokens=9), "no use for the option max_tokens"),
        ("direct-bias", DirectBiasOptions(data="starter"), "no use for the option data"),
    ],
)
def test_wrong_options_are_told_before_a_model_is_loaded(
    tmp_path: Path, instrument: str, options: Any, message: str
) -> None:
    with pytest.raises(EvenhandError, match=message):
        eh.probe(NO_MODEL, instrument, options=options)
    job = eh.MeasurementJob(model=NO_MODEL, instrument=instrument, options=options)
    with pytest.raises(EvenhandError, match=message):
        eh.measure_all([job], out=tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_a_language_that_the_labs_items_lack_is_told_before_a_model_is_loaded(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def refuse_loading(*_: Any) -> None:
        raise AssertionError("the model was loaded")

    monkeypatch.setattr("evenhand.api.models.load_model", refuse_loading)
    with pytest.raises(EvenhandError, match="Unknown language of lab 'fr'"):
        eh.audit("lab:masked", language="fr")
    job = eh.MeasurementJob(model="lab:masked", options=eh.AuditOptions(language="fr"))
    with pytest.raises(EvenhandError, match="Unknown language of lab 'fr'"):
        eh.measure_all([job], out=tmp_path)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"structures": Path("mine.csv")}, "a set of probes, and structures besides"),
        ({"language": "de"}, "probes in 'en' and the language 'de'"),
    ],
)
def test_probes_come_from_one_place(options: dict[str, Any], message: str) -> None:
    with pytest.raises(EvenhandError, match=message):
        eh.probe(NO_MODEL, options=eh.MalorOptions(data=load_probes("en"), **options))


def test_a_limit_takes_as_many_structures_of_each_experiment() -> None:
    probes = load_probes("en")

    limited = probes.sampled(3)

    assert limited.experiments == TRAINED_EXPERIMENTS
    for experiment in TRAINED_EXPERIMENTS:
        own = limited.of(experiment)
        assert len(own) == 3
        assert own == tuple(structure for structure in probes.of(experiment) if structure in own)
    assert probes.sampled(None) is probes


@pytest.mark.parametrize("name", ["..json", "...json", ".json", ".hidden.json"])
def test_a_score_file_whose_name_leads_elsewhere_makes_no_run(tmp_path: Path, name: str) -> None:
    out = tmp_path / "runs"
    sibling = eh.evaluate(eh.example_scores("neutral"), name="sibling", out=out)
    scores = tmp_path / name
    scores.write_bytes(eh.example_scores("leaning").read_bytes())
    for fresh in (False, True):
        with pytest.raises(EvenhandError, match="cannot be the name of a run folder"):
            eh.evaluate(scores, out=out, fresh=fresh)
    assert [path.name for path in out.iterdir()] == [sibling.name]
    assert {path.name for path in tmp_path.iterdir()} == {"runs", name}


def test_the_names_of_runs_stay_in_their_folder(tmp_path: Path) -> None:
    for name in ("..", ".", "", "a/b", "../other"):
        with pytest.raises(EvenhandError, match="cannot be the name of a run folder"):
            eh.evaluate(eh.example_scores("leaning"), name=name or ".", out=tmp_path / "runs")
    assert not (tmp_path / "runs").exists()
