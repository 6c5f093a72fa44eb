"""Answers of another model, put beside a certificate under the right fingerprint, are not believed."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from certificate_runs import nudged, probes_alone, small_plan, with_pairs

import evenhand as eh
from evenhand.certificate import CertificatePlan, Measurement, certify, kept_answers, measuring
from evenhand.certificate.measuring import ModelMeasurer
from evenhand.certificate.verification import read_certificate
from evenhand.core.errors import RunError
from evenhand.core.files import sha256_of
from evenhand.data.settled import load_settled
from evenhand.instruments.instrument import ANSWERS, drawn
from evenhand.instruments.knowledge.instrument import KnowledgeOptions
from evenhand.models.language_model import load_language_model
from evenhand.models.references import ModelError
from evenhand.store.jobs import kept_parts
from evenhand.store.run import Run, open_run

OTHER = "does not hold the answers of"
INSTRUMENTS = ("malor", "association", "crows-pairs", "knowledge")


@pytest.fixture(scope="module")
def plan() -> CertificatePlan:
    made = with_pairs(small_plan(trained=("he-she",)))
    settled = KnowledgeOptions(data=load_settled("en").first(20))
    return replace(made, measurements=(*made.measurements, Measurement("knowledge", settled)))


@pytest.fixture(scope="module")
def before(menagerie: Any) -> Path:
    return Path(menagerie.folder("bert"))


@pytest.fixture(scope="module")
def good(before: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model that is nearly the original."""
    return nudged(before, tmp_path_factory.mktemp("models") / "good", by=0.002)


@pytest.fixture(scope="module")
def bad(before: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return nudged(before, tmp_path_factory.mktemp("models") / "bad", by=0.2)


@pytest.fixture(scope="module")
def honest(before: Path, good: Path, plan: CertificatePlan, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A certificate of the good model, with all that lies beside it."""
    place = tmp_path_factory.mktemp("honest") / "certificate.json"
    made = certify(str(before), str(good), plan, place=place)
    assert made.taken_over == ()
    return place


def forge(honest: Path, bad: Path, plan: CertificatePlan, place: Path, *names: str) -> None:
    """Put answers of the good model where those of the bad one go, as if the bad one had given them."""
    shutil.copytree(honest.with_suffix("") / "before", place.with_suffix("") / "before")
    folder = place.with_suffix("") / "after"
    model = load_language_model(str(bad))
    measurer = ModelMeasurer(model, plan, folder=folder)
    for name in names:
        if name == "held-out":
            assert plan.held_out
            measurer.held_out(plan.held_out)
            (own,) = (folder / "figures").iterdir()
            (others,) = (honest.with_suffix("") / "after" / "figures").iterdir()
            shutil.copyfile(others, own)
        else:
            run = open_run(honest.with_suffix("") / "after" / name)
            record = run.record.model_copy(update={"model": measurer.record})
            assert record.fingerprint == measurer.fingerprints[name]
            Run(record, run.results, run.scores).save(folder / name)


@pytest.mark.parametrize("name", [*INSTRUMENTS, "held-out"])
def test_answers_of_another_model_are_refused(
    honest: Path, before: Path, bad: Path, plan: CertificatePlan, tmp_path: Path, name: str
) -> None:
    place = tmp_path / "certificate.json"
    forge(honest, bad, plan, place, name)
    with pytest.raises(RunError, match=OTHER) as refused:
        certify(str(before), str(bad), plan, place=place)
    assert f"after/{'figures' if name == 'held-out' else name}" in str(refused.value)
    assert "--fresh" in str(refused.value)
    assert not place.exists()


@pytest.mark.parametrize(
    ("run", "change"),
    [
        pytest.param(
            "before/knowledge", lambda own: own["share_right"].update(low=40.0), id="nothing to lose"
        ),
        pytest.param("after/malor", lambda own: own[0]["MALoR"].update(value=0.0), id="no lean"),
    ],
)
def test_estimates_that_the_scores_do_not_give_are_refused(
    honest: Path,
    before: Path,
    good: Path,
    plan: CertificatePlan,
    tmp_path: Path,
    run: str,
    change: Callable[[Any], None],
) -> None:
    """Every answer is the model's own; what is said of them is not."""
    shutil.copytree(honest.with_suffix(""), tmp_path / "certificate")
    folder = tmp_path / "certificate" / run
    estimates = json.loads((folder / "estimates.json").read_bytes())
    change(estimates)
    (folder / "estimates.json").write_text(json.dumps(estimates), encoding="utf-8")
    record = json.loads((folder / "record.json").read_bytes())
    record["files"]["estimates.json"] = sha256_of((folder / "estimates.json").read_bytes())
    (folder / "record.json").write_text(json.dumps(record), encoding="utf-8")
    with pytest.raises(RunError, match=r"estimates\.json says .* and the scores beside it give"):
        certify(str(before), str(good), plan, place=tmp_path / "certificate.json")
    assert not (tmp_path / "certificate.json").exists()


def test_answers_of_another_model_that_was_stopped_are_refused(
    honest: Path, before: Path, good: Path, bad: Path, plan: CertificatePlan, tmp_path: Path
) -> None:
    """What an interrupted measurement kept is taken over too."""
    place = tmp_path / "certificate.json"
    forge(honest, bad, plan, place)
    folder = tmp_path / "certificate" / "after"
    fingerprint = ModelMeasurer(load_language_model(str(bad)), plan, folder=folder).fingerprints["malor"]
    malor = plan.measurements[0]
    options = replace(malor.options, resampling=plan.resampling)
    parts = kept_parts(folder / "malor", fingerprint, ANSWERS)
    malor.instrument.prepare(load_language_model(str(good)), options).measure(parts=parts)
    assert list(parts)
    with pytest.raises(RunError, match=OTHER):
        certify(str(before), str(bad), plan, place=place)


def test_a_finished_certificate_of_another_model_is_refused_and_made_anew_with_fresh(
    honest: Path,
    before: Path,
    bad: Path,
    plan: CertificatePlan,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Consistent in itself: every figure and sentence follows from runs that another model made."""
    place = tmp_path / "certificate.json"
    forge(honest, bad, plan, place, *INSTRUMENTS, "held-out")
    with monkeypatch.context() as patched:
        for check in ("refuse_other_answers", "refuse_other_losses"):
            patched.setattr(measuring, check, lambda *_, **__: 1)
        false = certify(str(before), str(bad), plan, place=place)
    assert read_certificate(place).verdict == false.verdict

    with pytest.raises(RunError, match=OTHER):
        certify(str(before), str(bad), plan, place=place)

    page = tmp_path / "certificate.html"
    anew = eh.certify(str(before), str(bad), options=plan, out=page, fresh=True)
    truth = eh.certify(str(before), str(bad), options=plan, out=tmp_path / "other" / "page.html")
    assert anew.taken_over == ()
    moments = {name: getattr(truth, name) for name in ("created", "runs", "sha256")}
    assert anew.model_copy(update=moments) == truth
    assert anew.quality != false.quality


def test_fresh_measures_what_a_finished_certificate_has(
    honest: Path, before: Path, good: Path, plan: CertificatePlan, tmp_path: Path
) -> None:
    shutil.copytree(honest.parent, tmp_path / "copy")
    place = tmp_path / "copy" / honest.name
    run = place.with_suffix("") / "after" / "malor" / "record.json"
    was = run.stat().st_mtime_ns
    made = eh.certify(str(before), str(good), options=plan, out=place.with_suffix(".html"), fresh=True)
    assert made.taken_over == ()
    assert run.stat().st_mtime_ns > was


def test_what_is_taken_over_is_named_with_its_date_and_how_much_of_it_was_asked_again(
    honest: Path, before: Path, good: Path, plan: CertificatePlan, tmp_path: Path
) -> None:
    shutil.copytree(honest.parent, tmp_path / "copy")
    place = tmp_path / "copy" / honest.name
    place.unlink()
    shutil.rmtree(place.with_suffix("") / "after" / "association")
    made = certify(str(before), str(good), plan, place=place)

    taken = {own.figures: own for own in made.taken_over}
    sides = {f"{side}/{name}" for side in ("before", "after") for name in (*INSTRUMENTS, "held-out")}
    assert taken.keys() - {"baseline/malor", "baseline/held-out"} == sides - {"after/association"}
    # Two of six occupations in three structures of three experiments; 16 items of three candidates; all seven pairs;
    # 16 of 20 settled sentences; 16 of 24 held-out ones.
    expected = {"malor": 2 * 9, "association": 16 * 3, "crows-pairs": 7, "knowledge": 16, "held-out": 16}
    assert {name: own.asked_again for name, own in taken.items() if name.startswith("before/")} == {
        f"before/{name}": count for name, count in expected.items()
    }
    run = open_run(place.with_suffix("") / "before" / "malor")
    assert taken["before/malor"].measured == run.record.created
    assert abs(taken["before/held-out"].measured - datetime.now(UTC)) < timedelta(hours=1)
    (caveat,) = (text for text in made.caveats if "taken over" in text)
    assert f"before/malor ({run.record.created:%d %B %Y, %H:%M} UTC)" in caveat
    assert "--fresh" in caveat
    assert "after/association" not in caveat
    assert read_certificate(place) == made


def test_weights_that_differ_without_an_answer_that_does_are_refused(
    before: Path, plan: CertificatePlan, tmp_path: Path
) -> None:
    """The second kind of token stands in no question of a probe, so its vector is never read."""
    from safetensors.torch import load_file, save_file

    after = tmp_path / "after"
    shutil.copytree(before, after)
    weights = load_file(after / "model.safetensors")
    weights["bert.embeddings.token_type_embeddings.weight"][1] += 1
    save_file(weights, after / "model.safetensors", metadata={"format": "pt"})
    with pytest.raises(ModelError, match=r"weights of .* differ, but not one answer does"):
        certify(str(before), str(after), probes_alone(plan), place=tmp_path / "certificate.json")
    assert not (tmp_path / "certificate.json").exists()


def test_answers_of_the_original_in_the_place_of_one_run_are_refused(
    honest: Path,
    before: Path,
    good: Path,
    plan: CertificatePlan,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Also where the sample is too alike to tell: the same answers to the last bit are not two models'."""
    monkeypatch.setattr(measuring, "refuse_other_answers", lambda *_, **__: 1)
    place = tmp_path / "certificate.json"
    shutil.copytree(honest.with_suffix(""), place.with_suffix(""))
    kept = open_run(place.with_suffix("") / "after" / "knowledge")
    originals = open_run(place.with_suffix("") / "before" / "knowledge")
    shutil.rmtree(place.with_suffix("") / "after" / "knowledge")
    Run(kept.record, originals.results, originals.scores).save(place.with_suffix("") / "after" / "knowledge")
    with pytest.raises(
        RunError, match=r"after/knowledge was taken over .* same answers there to the last bit"
    ):
        certify(str(before), str(good), plan, place=place)


@pytest.mark.parametrize(
    ("kept", "is_refused"),
    [
        pytest.param([0.0] * 20, False, id="the same"),
        pytest.param([0.0009] * 20, False, id="rounding"),
        pytest.param([5.0] * 2 + [0.0] * 18, False, id="two of twenty"),
        pytest.param([5.0] * 3 + [0.0] * 17, True, id="three of twenty"),
        pytest.param([0.0011] * 20, True, id="beyond rounding"),
        pytest.param([np.nan] * 3 + [0.0] * 17, True, id="missing"),
    ],
)
def test_answers_may_differ_by_rounding_and_one_in_ten_by_more(
    before: Path, tmp_path: Path, kept: list[float], *, is_refused: bool
) -> None:
    model = load_language_model(str(before))
    assert model.loaded.dtype == torch.float32
    arrays = np.array(kept), np.zeros(20)
    if not is_refused:
        kept_answers._refuse_apart(*arrays, model, place=tmp_path, about="gap")
        return
    with pytest.raises(RunError, match=OTHER):
        kept_answers._refuse_apart(*arrays, model, place=tmp_path, about="gap")


def test_items_are_drawn_without_favour() -> None:
    """Each of ten items is among three in 30% of draws; 4,000 draws stay within four deviations of that."""
    generator = np.random.default_rng(5)
    counts = np.zeros(10)
    for _ in range(4_000):
        chosen = drawn(range(10), 3, generator)
        assert list(chosen) == sorted(set(chosen))
        counts[list(chosen)] += 1
    assert np.all(np.abs(counts - 1_200) < 4 * np.sqrt(4_000 * 0.3 * 0.7))
    assert drawn(range(2), 3, generator) == (0, 1)
