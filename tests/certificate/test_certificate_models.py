"""Certificates over tiny models: figures, fine-tuning, other tokenizers, going on after a stop."""

from __future__ import annotations

import os
import signal
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from certificate_runs import LABELLED, PAIRS, SENTENCES, nudged, probes_alone, small_plan, with_pairs
from forking import exit_code
from measuring import probe_pairs
from recording_monitor import RecordingMonitor

from evenhand.certificate import Finetuning, certify, finetuning, measuring
from evenhand.certificate.bias import malor_results
from evenhand.certificate.finetuning import finetuned_answers
from evenhand.certificate.verification import read_certificate
from evenhand.core.errors import UnknownNameError
from evenhand.instruments.instrument import Preparation, keep_run
from evenhand.models.language_model import load_language_model
from evenhand.models.references import ModelRef
from evenhand.reporting.certificate.words import QUALITY_HEADLINES
from evenhand.store.certificate_bias import BiasVerdict
from evenhand.store.certificate_quality import QualityVerdict
from evenhand.store.certificates import Certificate
from evenhand.store.jobs import Parts
from evenhand.store.run import Run
from evenhand.training.classification import new_classifier


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
    assert [row.measure for row in certificate.trained] == [
        "MALoR he-she",
        "base rate he-she",
        "spread he-she",
    ]
    untrained = {row.measure for row in certificate.untrained if row.part_of is None}
    assert untrained == {"MALoR his-her", "MALoR names", "SS", "SS gender", "ICAT", "CrowS-Pairs"}
    parts = {row.measure for row in certificate.untrained if row.part_of}
    assert parts == {f"{part} {name}" for part in ("base rate", "spread") for name in ("his-her", "names")}
    assert [row.measure for row in certificate.quality] == [
        "perplexity", "special tokens", "LMS", "knowledge", "evidence", "accuracy",
    ]  # fmt: skip
    assert certificate.quality[3].verdict is QualityVerdict.NOT_MEASURED
    assert certificate.weights_changed
    assert certificate.outputs_changed
    assert certificate.trained_known
    # Whether quality is said to have moved too depends on the tokenizer, whose training breaks ties at random.
    bias, quality, *_, others, occupations = certificate.words
    assert "MALoR he-she" in bias
    assert quality.startswith(QUALITY_HEADLINES[certificate.verdict.quality])
    assert all(row.measure in others for row in certificate.untrained if row.part_of is None)
    assert "occupation" in occupations


def test_figures_are_those_of_the_runs_that_are_kept(made: tuple[Certificate, Path]) -> None:
    from evenhand.store.run import open_run

    certificate, place = made
    assert read_certificate(place) == certificate
    work = place.with_suffix("")
    for side in ("before", "after"):
        occupations = open_run(work / side / "malor")
        leans = [lean.log2_ratio.value for lean in malor_results(occupations)[0].occupations]
        whole, base_rate, spread = (getattr(row, side) for row in certificate.trained)
        assert whole == pytest.approx(sum(abs(lean) for lean in leans) / len(leans))
        assert base_rate == pytest.approx(sum(leans) / len(leans))
        assert spread == pytest.approx(sum(abs(lean - base_rate) for lean in leans) / len(leans))
        run = open_run(work / side / "association")
        task = "overall" if "overall" in run.result.tasks else next(iter(run.result.tasks))
        assert getattr(certificate.quality[2], side) == pytest.approx(run.result.tasks[task].LMS.value)
    found = certificate.trained[0]
    assert found.difference.value == pytest.approx(found.after - found.before)


def refuse_to_measure(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: Any, **__: Any) -> Any:
        raise AssertionError("a model was measured again")

    def opened(preparation: Preparation, folder: Path, **options: Any) -> Run:
        return keep_run(preparation, folder, **options) if folder.is_dir() else refuse()

    monkeypatch.setattr(measuring, "keep_run", opened)
    for name in ("HeldOut", "finetuned_answers"):
        monkeypatch.setattr(measuring, name, refuse)


def test_a_certificate_that_was_made_is_opened_and_no_model_is_measured_again(
    made: tuple[Certificate, Path], bert: Path, changed: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    certificate, place = made
    plan = with_pairs(small_plan(trained=("he-she",)))
    refuse_to_measure(monkeypatch)
    monitor = RecordingMonitor()
    assert certify(str(bert), str(changed), plan, place=place, monitor=monitor) == certificate
    assert "of its answers were asked again and are the same" in monitor.notes[-1]
    with pytest.raises(AssertionError, match="measured again"):
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
    assert [row.measure for row in second.trained] == ["MALoR names", "base rate names", "spread names"]
    assert second.quality == first.quality
    assert read_certificate(place) == second


FINETUNING = Finetuning(seeds=2, steps=2, batch_size=8, learning_rate=1e-4)


def certify_until_killed(before: Path, after: Path, place: Path) -> None:
    """Certify in this process, and die when the third figure is kept."""
    torch.set_num_threads(1)
    figures = iter(range(1, 100))
    put_array = Parts.put_array

    def put_and_count(self: Parts, key: str, array: Any) -> None:
        put_array(self, key, array)
        if self.folder.name == "figures" and next(figures) == 3:
            os.kill(os.getpid(), signal.SIGKILL)

    Parts.put_array = put_and_count  # type: ignore[method-assign]
    plan = probes_alone(small_plan(labelled=LABELLED, finetuning=FINETUNING))
    certify(str(before), str(after), plan, place=place)


def test_a_certificate_that_was_killed_goes_on_from_there(
    bert: Path, changed: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = tmp_path / "certificate.json"
    assert exit_code(certify_until_killed, bert, changed, place) == -signal.SIGKILL
    assert not place.exists()

    plan = probes_alone(small_plan(labelled=LABELLED, finetuning=FINETUNING))
    asked: list[int] = []

    def answers(*arguments: Any, seed: int, **options: Any) -> Any:
        asked.append(seed)
        return finetuned_answers(*arguments, seed=seed, **options)

    monkeypatch.setattr(measuring, "finetuned_answers", answers)
    monkeypatch.setattr(measuring, "HeldOut", lambda *_, **__: pytest.fail("the text was read again"))
    found = certify(str(bert), str(changed), plan, place=place)
    # Text before and after, and the first classifier before: what is left is one before and two after.
    assert asked == [1, 0, 1]
    assert found.quality[-1].verdict is not QualityVerdict.NOT_MEASURED
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
        str(bert),
        str(menagerie.folder("roberta")),
        probes_alone(small_plan()),
        place=tmp_path / "certificate.json",
    )
    row = certificate.quality[0]
    assert row.verdict is QualityVerdict.NOT_MEASURED
    assert row.reason == "24 of 24 texts are left out: the models read them as different tokens"
    assert certificate.verdict.quality is QualityVerdict.UNDECIDED
    assert read_certificate(tmp_path / "certificate.json") == certificate
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
    assert finetuned_answers(model, LABELLED, plan, seed=0).tolist() == [1.0] * len(LABELLED.judged)


def test_classifiers_read_the_prefix_of_a_model_before_every_text(menagerie: Any) -> None:
    plain = menagerie.model("gpt2")
    ref = ModelRef(id=str(menagerie.folder("gpt2")), device="cpu", prefix="Be fair. ")
    example = LABELLED.train[0]
    before, after = (
        finetuning._encoder(model, LABELLED.classes)(example)[0]
        for model in (plain, load_language_model(ref))
    )
    assert after == plain.loaded.tokenizer(f"Be fair. {example.text}")["input_ids"]
    assert before == plain.loaded.tokenizer(example.text)["input_ids"]


def test_accuracy_is_measured_over_seeds_and_kept(bert: Path, changed: Path, tmp_path: Path) -> None:
    certificate = certify(
        str(bert),
        str(changed),
        probes_alone(small_plan(labelled=LABELLED, finetuning=FINETUNING)),
        place=tmp_path / "certificate.json",
    )
    row = certificate.quality[-1]
    assert len(row.seeds) == 2
    assert row.before == pytest.approx(np.mean([seed.before for seed in row.seeds]))
    kept = Parts(tmp_path / "certificate" / "after" / "figures")
    (key,) = [key for key in kept if key.startswith("answers-1")]
    right = kept.get_array(key, (len(LABELLED.judged),))
    assert right is not None
    assert 100 * right.mean() == pytest.approx(row.seeds[1].after)


def test_unknown_experiments_are_refused() -> None:
    with pytest.raises(UnknownNameError, match="Did you mean 'he-she'"):
        small_plan(trained=("he-shee",))
