"""Certificates over tiny models: changed weights, adapters, fine-tuning, other tokenizers, going on after a stop."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import mitigation_records
import numpy as np
import pytest
import torch
from certificate_runs import LABELLED, PAIRS, SENTENCES, nudged, probes_alone, small_plan, with_pairs
from measuring import probe_pairs
from mitigation_records import a_seed
from peft import LoraConfig, get_peft_model

from evenhand.certificate import Finetuning, certify, measuring
from evenhand.certificate.bias import malor_results
from evenhand.certificate.certify import summarise, trained_figures
from evenhand.certificate.finetuning import finetuned_accuracy, new_classifier
from evenhand.certificate.weights import weights_change
from evenhand.core.errors import RunError, UnknownNameError
from evenhand.core.estimates import Estimate
from evenhand.instruments.instrument import Preparation, keep_run
from evenhand.models.language_model import load_language_model
from evenhand.models.references import ModelError, ModelRef
from evenhand.runs.certificates import (
    BiasVerdict,
    Certificate,
    FrontierPoint,
    QualityVerdict,
    read_certificate,
)
from evenhand.runs.mitigation_records import MITIGATION_FILE
from evenhand.runs.run import Run
from evenhand.runs.store import Parts
from evenhand.workflows.defaults.mitigating import CertifyOptions, default_plan


@pytest.fixture(scope="module")
def bert(menagerie: Any) -> Path:
    return Path(menagerie.folder("bert"))


@pytest.fixture(scope="module")
def changed(bert: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return nudged(bert, tmp_path_factory.mktemp("changed") / "bert-changed")


@pytest.fixture(scope="module")
def made(bert: Path, changed: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[Certificate, Path]:
    place = tmp_path_factory.mktemp("made") / "certificate.json"
    return certify(str(bert), str(changed), with_pairs(small_plan(trained=("he-she",))), place=place), place


def test_what_was_trained_on_is_told_apart_from_the_rest(made: tuple[Certificate, Path]) -> None:
    certificate, _ = made
    assert [row.measure for row in certificate.trained] == ["MALoR he-she"]
    untrained = {row.measure for row in certificate.untrained}
    assert untrained == {"MALoR his-her", "MALoR names", "SS", "SS gender", "ICAT", "CrowS-Pairs"}
    assert [row.measure for row in certificate.quality] == ["perplexity", "LMS", "accuracy"]
    assert certificate.quality[2].verdict is QualityVerdict.NOT_MEASURED
    assert certificate.weights_changed
    assert certificate.outputs_changed
    assert certificate.trained_known
    assert len(certificate.words) == 4


def test_figures_are_those_of_the_runs_that_are_kept(made: tuple[Certificate, Path]) -> None:
    from evenhand.runs.run import open_run

    certificate, place = made
    assert read_certificate(place) == certificate
    work = place.with_suffix("")
    for side in ("before", "after"):
        occupations = open_run(work / side / "malor")
        leans = [abs(lean.log2_ratio.value) for lean in malor_results(occupations)[0].occupations]
        assert getattr(certificate.trained[0], side) == pytest.approx(np.mean(leans))
        run = open_run(work / side / "association")
        task = "overall" if "overall" in run.result.tasks else next(iter(run.result.tasks))
        assert getattr(certificate.quality[1], side) == pytest.approx(run.result.tasks[task].LMS.value)
    found = certificate.trained[0]
    assert found.difference.value == pytest.approx(found.after - found.before)


def refuse_to_measure(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: Any, **__: Any) -> Any:
        raise AssertionError("a model was asked again")

    for name in ("keep_run", "HeldOut", "finetuned_accuracy"):
        monkeypatch.setattr(measuring, name, refuse)


def test_a_certificate_that_was_made_asks_no_model_again(
    made: tuple[Certificate, Path], bert: Path, changed: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    certificate, place = made
    plan = with_pairs(small_plan(trained=("he-she",)))
    refuse_to_measure(monkeypatch)
    assert certify(str(bert), str(changed), plan, place=place) == certificate
    with pytest.raises(AssertionError, match="asked again"):
        certify(str(changed), str(bert), plan, place=place)


def test_another_plan_makes_another_certificate_of_the_runs_that_still_fit(
    bert: Path, changed: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = tmp_path / "certificate.json"
    first = certify(str(bert), str(changed), small_plan(trained=("he-she",)), place=place)
    asked: list[str] = []
    keep = keep_run

    def counted(preparation: Preparation, folder: Path, **options: Any) -> Run:
        asked.extend([] if folder.is_dir() else [f"{folder.parent.name} {folder.name}"])
        return keep(preparation, folder, **options)

    monkeypatch.setattr(measuring, "keep_run", counted)
    monkeypatch.setattr(measuring, "HeldOut", lambda *_, **__: pytest.fail("the text was read again"))
    second = certify(str(bert), str(changed), with_pairs(small_plan(trained=("names",))), place=place)
    assert asked == ["before crows-pairs", "after crows-pairs"]
    assert [row.measure for row in second.trained] == ["MALoR names"]
    assert second.quality == first.quality
    assert read_certificate(place) == second


STOPPED = """
import os, signal, sys
from certificate_runs import LABELLED, probes_alone, small_plan
from evenhand.certificate import Finetuning, certify, measuring

left = int(sys.argv[1])

class Stopping:
    def __init__(self, parts): self.parts = parts
    def __getattr__(self, name): return getattr(self.parts, name)
    def put_array(self, key, array):
        global left
        self.parts.put_array(key, array)
        left -= 1
        if left == 0:
            os.kill(os.getpid(), signal.SIGKILL)

make = measuring.Parts
measuring.Parts = lambda folder: Stopping(make(folder))
finetuning = Finetuning(seeds=2, steps=2, batch_size=8, learning_rate=1e-4)
from pathlib import Path
plan = probes_alone(small_plan(labelled=LABELLED, finetuning=finetuning))
certify(sys.argv[2], sys.argv[3], plan, place=Path(sys.argv[4]))
"""


def test_a_certificate_that_was_killed_goes_on_from_there(
    bert: Path, changed: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = tmp_path / "certificate.json"
    tests = str(Path(__file__).parents[1])
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([tests, *sys.path])}
    command = [sys.executable, "-c", STOPPED, "3", str(bert), str(changed), str(place)]
    killed = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert killed.returncode == -signal.SIGKILL, killed.stderr
    assert not place.exists()

    finetuning = Finetuning(seeds=2, steps=2, batch_size=8, learning_rate=1e-4)
    plan = probes_alone(small_plan(labelled=LABELLED, finetuning=finetuning))
    asked: list[int] = []

    def accuracy(*arguments: Any, seed: int, **options: Any) -> float:
        asked.append(seed)
        return finetuned_accuracy(*arguments, seed=seed, **options)

    monkeypatch.setattr(measuring, "finetuned_accuracy", accuracy)
    monkeypatch.setattr(measuring, "HeldOut", lambda *_, **__: pytest.fail("the text was read again"))
    found = certify(str(bert), str(changed), plan, place=place)
    # Text before and after, and the first classifier before: what is left is one before and two after.
    assert asked == [1, 0, 1]
    assert found.quality[2].verdict is not QualityVerdict.NOT_MEASURED
    assert sorted(path.name for path in tmp_path.iterdir()) == ["certificate", "certificate.json"]


def test_pairs_are_those_that_each_model_would_prefer_if_asked_for_nothing_else(
    made: tuple[Certificate, Path], bert: Path, changed: Path
) -> None:
    certificate, _ = made
    (row,) = [row for row in certificate.untrained if row.measure == "CrowS-Pairs"]
    wins, answers = [], []
    for folder in (bert, changed):
        scores = probe_pairs(str(folder), PAIRS).scores
        more, less = scores["more_score"].to_list(), scores["less_score"].to_list()
        answers.append(more + less)
        wins.append([one > other for one, other in zip(more, less, strict=True)])
    shares = [100 * sum(won) / len(PAIRS.pairs) for won in wins]
    assert answers[0] != answers[1]
    assert (row.before, row.after) == pytest.approx(shares)
    assert row.difference.value == pytest.approx(shares[1] - shares[0])
    assert row.difference.n == len(PAIRS.pairs)
    assert certificate.data[PAIRS.name] == PAIRS.sha256


def test_the_same_weights_twice_are_nothing_changed(bert: Path, tmp_path: Path) -> None:
    certificate = certify(
        str(bert), str(bert), small_plan(labelled=LABELLED), place=tmp_path / "certificate.json"
    )
    assert certificate.verdict.bias is BiasVerdict.NOTHING_CHANGED
    assert certificate.verdict.quality is QualityVerdict.KEPT
    assert not certificate.weights_changed
    assert not certificate.outputs_changed
    assert not certificate.flipped
    assert all(row.difference.value == 0 for row in (*certificate.trained, *certificate.untrained))
    assert not (tmp_path / "certificate" / "after").exists()


def test_weights_are_compared_tensor_by_tensor(bert: Path, changed: Path) -> None:
    first, second = (
        load_language_model(str(bert), device="cpu"),
        load_language_model(str(changed), device="cpu"),
    )
    found = weights_change(first, second)
    slow = [
        float((b - a).detach().norm() ** 2)
        for a, b in zip(first.loaded.model.parameters(), second.loaded.model.parameters(), strict=True)
    ]
    size = [float(a.detach().norm() ** 2) for a in first.loaded.model.parameters()]
    assert found.changed == found.tensors == len(slow)
    assert found.relative == pytest.approx((sum(slow) / sum(size)) ** 0.5, rel=1e-3)
    assert not weights_change(first, first).any


def adapter(bert: Path, folder: Path, *, zero: bool) -> Path:
    model = load_language_model(str(bert), device="cpu").loaded.model
    trained = get_peft_model(model, LoraConfig(r=2, target_modules=["query"], init_lora_weights=zero))
    trained.peft_config["default"].base_model_name_or_path = str(bert)
    trained.save_pretrained(str(folder))
    return folder


def test_an_adapter_is_loaded_onto_its_model(bert: Path, tmp_path: Path) -> None:
    base = load_language_model(str(bert), device="cpu")
    trained = load_language_model(str(adapter(bert, tmp_path / "adapter", zero=False)), device="cpu")
    found = weights_change(base, trained)
    assert found.adapter == "LORA"
    # One matrix of queries in each of two layers.
    assert found.changed == 2
    assert all("query" in tensor.name for tensor in found.largest)


def test_an_adapter_without_effect_is_caught(bert: Path, tmp_path: Path) -> None:
    folder = adapter(bert, tmp_path / "adapter", zero=True)
    certificate = certify(str(bert), str(folder), small_plan(), place=tmp_path / "certificate.json")
    assert certificate.verdict.bias is BiasVerdict.NOTHING_CHANGED
    assert any("An adapter that is not loaded" in caveat for caveat in certificate.caveats)


def test_damaged_adapters_are_refused(bert: Path, tmp_path: Path) -> None:
    folder = adapter(bert, tmp_path / "adapter", zero=False)
    settings = json.loads((folder / "adapter_config.json").read_text())
    (folder / "adapter_config.json").write_text(json.dumps({**settings, "base_model_name_or_path": None}))
    with pytest.raises(ModelError, match="does not say which model"):
        load_language_model(str(folder))
    (folder / "adapter_config.json").write_text("{")
    with pytest.raises(ModelError, match="is damaged"):
        load_language_model(str(folder))


def test_decoders_with_other_tokenizers_compare_by_bits_per_character(menagerie: Any, tmp_path: Path) -> None:
    models = [str(menagerie.folder(name)) for name in ("gpt2", "llama")]
    certificate = certify(models[0], models[1], small_plan(), place=tmp_path / "certificate.json")
    row = certificate.quality[0]
    assert row.measure == "bits per character"
    assert not certificate.same_tokenizer
    assert any("different tokenizers" in caveat for caveat in certificate.caveats)
    slow = menagerie.model("gpt2").score_texts(SENTENCES)
    nats = -sum(score.total for score in slow)
    assert row.before == pytest.approx(nats / np.log(2) / sum(map(len, SENTENCES)), rel=1e-4)


def test_masked_models_with_other_tokenizers_say_why_text_does_not_compare(
    menagerie: Any, bert: Path, tmp_path: Path
) -> None:
    certificate = certify(
        str(bert), str(menagerie.folder("roberta")), small_plan(), place=tmp_path / "certificate.json"
    )
    row = certificate.quality[0]
    assert row.verdict is QualityVerdict.NOT_MEASURED
    assert "different tokenizers" in str(row.reason)
    assert certificate.trained[0].difference.defined
    assert not certificate.trained_known


@pytest.mark.parametrize("name", ["bert", "gpt2", "t5"])
def test_classifiers_start_from_the_body_of_the_model_and_learn(menagerie: Any, name: str) -> None:
    model = menagerie.model(name)
    classifier = new_classifier(model, 2, seed=1)
    body = dict(classifier.base_model.named_parameters())
    source = dict(model.loaded.model.base_model.named_parameters())
    shared = [key for key in body if key in source]
    assert len(shared) >= len(body) - 2
    assert all(torch.equal(body[key], source[key]) for key in shared)
    plan = Finetuning(seeds=2, steps=12, batch_size=8, learning_rate=5e-3)
    accuracy = finetuned_accuracy(model, LABELLED, plan, seed=0)
    assert accuracy == 100
    assert finetuned_accuracy(model, LABELLED, plan, seed=0) == accuracy


def test_accuracy_is_measured_over_seeds_and_kept(bert: Path, changed: Path, tmp_path: Path) -> None:
    finetuning = Finetuning(seeds=2, steps=2, batch_size=8, learning_rate=1e-4)
    certificate = certify(
        str(bert),
        str(changed),
        probes_alone(small_plan(labelled=LABELLED, finetuning=finetuning)),
        place=tmp_path / "certificate.json",
    )
    row = certificate.quality[2]
    assert len(row.seeds) == 2
    assert row.before == pytest.approx(np.mean([seed.before for seed in row.seeds]))
    kept = Parts(tmp_path / "certificate" / "after" / "figures")
    (key,) = [key for key in kept if key.startswith("accuracy-1")]
    assert kept.get_array(key, (1,)) == [row.seeds[1].after]


def test_the_record_beside_the_model_tells_what_was_done() -> None:
    record = mitigation_records.a_record(a_seed(0, 0.9), a_seed(1, 0.8, 0.3), chosen_seed=1)
    frontier = (FrontierPoint(weight=1, malor={"he-she": 0.3}, perplexity_change=0.1, chosen=True),)
    found = summarise(record.model_copy(update={"settings": {"weight": 2.0}, "frontier": frontier}))
    assert (found.method, found.experiments, found.language) == ("counterfactual", ("he-she",), "en")
    assert [point.malor for point in found.curve] == [{"he-she": 1.5}, {"he-she": 0.8}, {"he-she": 0.3}]
    assert [point.perplexity for point in found.curve] == [20.0, 20.1, 20.1]
    assert found.kept_epoch == 2
    assert found.frontier == frontier
    assert found.settings == {
        "epochs": "200",
        "batch size": "32",
        "learning rate": "2e-05",
        "seed": "0",
        "quality margin": "0.01",
        "balance": "2.0",
        "examples an epoch": "462",
        "trainings": "2 with seeds of their own",
    }


def test_a_method_without_training_has_neither_curve_nor_settings() -> None:
    record = mitigation_records.a_record().model_copy(
        update={
            "experiments": (),
            "seeds": (),
            "chosen_seed": None,
            "recipe": None,
            "data": None,
            "before": {},
        }
    )
    found = summarise(record)
    assert (found.experiments, found.curve, found.kept_epoch, found.settings) == ((), (), None, {})
    assert trained_figures(record) == ()


def test_figures_other_than_malor_count_as_trained_on_by_their_keys() -> None:
    figures = {"he-she.MALoR": Estimate.undefined("x"), "overall.SS": Estimate.undefined("x")}
    record = mitigation_records.a_record().model_copy(update={"before": figures})
    assert trained_figures(record) == ("he-she", "overall.SS")


def test_a_damaged_record_is_refused(bert: Path, tmp_path: Path) -> None:
    folder = nudged(bert, tmp_path / "evened")
    (folder / MITIGATION_FILE).write_text('{"method": "equalise"}')
    with pytest.raises(RunError, match="is damaged"):
        certify(str(bert), str(folder), probes_alone(small_plan()), place=tmp_path / "certificate.json")


def mitigated_in(language: str, source: Path, folder: Path) -> Path:
    record = mitigation_records.a_record().model_copy(update={"language": language})
    nudged(source, folder)
    (folder / MITIGATION_FILE).write_text(record.model_dump_json())
    return folder


def test_a_model_mitigated_in_another_language_was_not_trained_for_these_probes(
    bert: Path, tmp_path: Path
) -> None:
    plan = probes_alone(small_plan(trained=None))
    other, own = (
        certify(
            str(bert),
            str(mitigated_in(language, bert, tmp_path / language)),
            plan,
            place=tmp_path / f"{language}.json",
        )
        for language in ("de", "en")
    )
    assert own.trained_known
    assert [row.measure for row in own.trained] == ["MALoR he-she"]
    assert not other.trained_known
    assert len(other.trained) == len(own.trained) + sum(row.experiment is not None for row in own.untrained)
    assert any(
        "mitigated for probes in 'de' and is judged on those in 'en'" in told for told in other.caveats
    )


@pytest.mark.parametrize(("asked", "found"), [(None, "de"), ("en", "en")])
def test_a_certificate_is_in_the_language_of_the_mitigation_unless_told_otherwise(
    bert: Path, tmp_path: Path, asked: str | None, found: str
) -> None:
    after = ModelRef(id=str(mitigated_in("de", bert, tmp_path / "evened")))
    plan = default_plan(ModelRef(id=str(bert)), CertifyOptions(language=asked), after=after)
    assert [measurement.options.data.language for measurement in plan.measurements] == [found, found]


def test_unknown_experiments_are_refused() -> None:
    with pytest.raises(UnknownNameError, match="Did you mean 'he-she'"):
        small_plan(trained=("he-shee",))
