"""Audits of regard: interruptions, prefixes, decoding that differs, and models and classifiers that do not suit."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import api_server
import polars as pl
import pytest
from api_server import MODEL
from recording_monitor import RecordingMonitor
from regard_training import NEEDS_REGARD

from evenhand.api.regard_audit import TOY_CLASSIFIER, audit_regard
from evenhand.api.regard_evaluation import RegardEvaluationOptions, evaluate_regard
from evenhand.core.errors import ComparisonError, EvenhandError
from evenhand.core.progress import Progress
from evenhand.data.group_text_files import GroupTextColumns, read_group_texts
from evenhand.instruments.regard.audit import TEXTS_FILE, RegardOptions
from evenhand.instruments.regard.content import MATCHES_FILE, shifts_between
from evenhand.instruments.regard.results import ErrorTreatment
from evenhand.models.references import ModelError, ModelRef
from evenhand.models.requests import Fill
from evenhand.regard.texts import RegardTexts, read_regard_texts
from evenhand.stats.resampling import Resampling
from evenhand.store.comparison import compare
from evenhand.store.jobs import leftovers
from evenhand.store.run import Run, open_run
from evenhand.testing import FakeModel

pytestmark = [NEEDS_REGARD, pytest.mark.torch]
pytest.importorskip("simplemma")

DECODER = ModelRef(id="lab:decoder", device="cpu")


@pytest.fixture
def options(trained_folder: Path) -> RegardOptions:
    """Six texts in each of 20 prompts: three batches."""
    return RegardOptions(
        texts=6, new_tokens=12, classifier=trained_folder, resampling=Resampling(resamples=200)
    )


class StoppingMonitor(RecordingMonitor):
    """Interrupts as soon as some texts are written."""

    @contextmanager
    def stage(self, title: str, unit: str = "items") -> Iterator[Progress]:
        del title, unit

        def stop(done: int, _total: int) -> None:
            if done:
                raise KeyboardInterrupt

        yield stop


def audited(options: RegardOptions, out: Path, model: ModelRef = DECODER) -> Run:
    return audit_regard([model], options, out=out)[0]


def test_a_run_has_raw_and_clean_texts_labels_and_content(options: RegardOptions, tmp_path: Path) -> None:
    run = audited(options, tmp_path)
    kept = open_run(tmp_path / "lab-decoder_regard_prompts_en")
    assert kept.scores.equals(run.scores)
    assert len(run.scores) + sum(run.record.skipped.values()) == 120
    for row in run.scores.iter_rows(named=True):
        assert row["text"].startswith(("The woman ", "The man "))
        assert row["raw"].strip()
        assert row["label"] in (-1, 0, 1)
    assert {own.category for own in run.result.lexicons.categories} >= {"caregiving"}
    assert set(run.result.occupations.top) == {"female", "male"}
    assert (tmp_path / run.name / MATCHES_FILE).read_text(encoding="utf-8").startswith("group,category,match")
    assert run.figure("all.gap").estimate.defined
    again = evaluate_regard(
        read_group_texts(
            [tmp_path / run.name / TEXTS_FILE], columns=GroupTextColumns(group="group", context="context")
        ),
        RegardEvaluationOptions(resampling=options.resampling),
    )
    assert again.result.all == run.result.all


def write_sample(path: Path, texts: Sequence[str], labels: Sequence[int]) -> Path:
    rows = [{"text": text, "label": label} for text, label in zip(texts, labels, strict=True)]
    pl.DataFrame(rows).write_csv(path)
    return path


def test_a_labelled_sample_carries_the_error_through_as_in_an_evaluation(
    options: RegardOptions, tmp_path: Path
) -> None:
    plain = audited(options, tmp_path / "plain")
    half = plain.scores.unique("text", maintain_order=True)[::2]
    people = [min(1, label + 1) if number % 3 else label for number, label in enumerate(half["label"])]
    sample = write_sample(tmp_path / "sample.csv", half["text"].to_list(), people)
    run = audited(replace(options, labelled=(sample,)), tmp_path / "labelled")
    assert run.result.all.figures.treatment is ErrorTreatment.PREDICTION_POWERED
    assert run.record.fingerprint != plain.record.fingerprint
    assert not any("No texts were given that people labelled" in own for own in run.record.warnings)
    again = evaluate_regard(
        read_group_texts(
            [tmp_path / "plain" / plain.name / TEXTS_FILE],
            columns=GroupTextColumns(group="group", context="context"),
        ),
        RegardEvaluationOptions(labelled=read_regard_texts([sample]), resampling=options.resampling),
    )
    evaluated, measured = (own.result.all.figures for own in (again, run))
    assert evaluated.groups == measured.groups
    assert evaluated.widest_gap == measured.widest_gap
    assert again.result.labelled_sample == run.result.labelled_sample
    as_labelled = {own.treatment: own for own in run.result.all.others}[ErrorTreatment.NONE]
    assert as_labelled.groups == plain.result.all.figures.groups


def test_a_sample_of_other_texts_gives_the_confusion_matrix(
    options: RegardOptions, planted: RegardTexts, tmp_path: Path
) -> None:
    sample = write_sample(
        tmp_path / "sample.csv", planted.rows.texts, [int(planted.classes[own]) for own in planted.labels]
    )
    run = audited(replace(options, texts=2, labelled=(sample,)), tmp_path)
    assert run.result.all.figures.treatment is ErrorTreatment.CONFUSION_MATRIX
    assert run.result.labelled_sample.texts == len(planted)
    assert any("make the same mistakes on both" in own for own in run.record.warnings)


def test_a_sample_with_other_labels_is_refused_before_a_model_is_loaded(
    options: RegardOptions, tmp_path: Path
) -> None:
    sample = write_sample(tmp_path / "sample.csv", ["The woman worked.", "The man worked."], [4, 5])
    with pytest.raises(EvenhandError, match="'4' is not a label of the scheme regard"):
        audit_regard(["no/such-model"], replace(options, labelled=(sample,)), out=tmp_path)


def test_groups_stay_in_the_order_of_their_file(options: RegardOptions, tmp_path: Path) -> None:
    groups = tmp_path / "groups.csv"
    groups.write_text("group,words\nzebras,The nurse\nants,The cook\n", encoding="utf-8")
    run = audited(replace(options, texts=2, limit=3, groups=groups), tmp_path)
    assert run.result.groups == ("zebras", "ants")
    assert run.scores["group"].unique(maintain_order=True).to_list() == ["zebras", "ants"]
    assert run.scores["group"].is_sorted(descending=True)


def test_an_interrupted_audit_goes_on_and_gives_the_same(options: RegardOptions, tmp_path: Path) -> None:
    with pytest.raises(KeyboardInterrupt):
        audit_regard([DECODER], options, out=tmp_path / "stopped", monitor=StoppingMonitor())
    (left,) = leftovers(tmp_path / "stopped" / "lab-decoder_regard_prompts_en")
    kept = sorted(path.name for path in (left / "answers").iterdir())
    assert 0 < len(kept) < 3
    resumed, whole = (audited(options, tmp_path / name) for name in ("stopped", "whole"))
    assert resumed.scores.equals(whole.scores)
    assert resumed.results == whole.results
    assert not leftovers(tmp_path / "stopped" / "lab-decoder_regard_prompts_en")


def test_a_prefix_has_a_run_of_its_own_that_is_compared_with_that_without(
    options: RegardOptions, tmp_path: Path
) -> None:
    plain = audited(options, tmp_path)
    prefixed = audited(options, tmp_path, DECODER.model_copy(update={"prefix": "The nurse sat. "}))
    assert prefixed.name.startswith("lab-decoder_regard_prompts_en-prefix-the-nurse-sat-")
    assert prefixed.record.model is not None
    assert prefixed.record.model.prefix == "The nurse sat. "
    assert not any("nurse sat" in text for text in prefixed.scores["text"])
    assert compare(plain, prefixed).differences
    page = (tmp_path / prefixed.name / "report.html").read_text(encoding="utf-8")
    assert "“The nurse sat.”" in page
    shifts = shifts_between(plain, prefixed, resampling=options.resampling)
    assert {own.group for own in shifts} == {"female", "male"}
    shares = {own.occupation: own.shares.groups for own in prefixed.result.occupations.shares}
    largest = next(own for own in shifts if own.occupation in shares)
    assert largest.after.value == pytest.approx(shares[largest.occupation][largest.group].value)


@pytest.mark.parametrize("change", [{"new_tokens": 8}, {"temperature": 1.0}, {"top_p": 1.0}])
def test_texts_that_were_decoded_otherwise_are_not_compared(
    options: RegardOptions, tmp_path: Path, change: dict[str, float]
) -> None:
    few = replace(options, texts=2, limit=3)
    plain = audited(few, tmp_path / "plain")
    other = audited(replace(few, **change), tmp_path / "other")  # type: ignore[arg-type]
    with pytest.raises(ComparisonError, match="decoded in different ways"):
        compare(plain, other)


def test_more_texts_and_another_seed_are_compared(options: RegardOptions, tmp_path: Path) -> None:
    few = replace(options, texts=2, limit=3)
    other = audited(replace(few, texts=3, text_seed=2), tmp_path / "other")
    assert compare(audited(few, tmp_path / "plain"), other).differences


def test_without_a_classifier_one_is_trained_on_the_starter_set(tmp_path: Path) -> None:
    monitor = RecordingMonitor()
    options = RegardOptions(texts=2, limit=3, resampling=Resampling(resamples=200))
    (run,) = audit_regard([DECODER], options, out=tmp_path, monitor=monitor)
    assert TOY_CLASSIFIER in monitor.warnings
    assert run.result.classifier.name == "starter-classifier-en"
    assert any("was not checked for a bias" in warning for warning in run.record.warnings)
    assert any("2 texts per prompt" in warning for warning in monitor.warnings)


def test_a_model_that_cannot_write_is_refused(options: RegardOptions, tmp_path: Path) -> None:
    model = FakeModel({}, otherwise=0.5, capabilities={Fill})
    with pytest.raises(ModelError, match=r"cannot be measured with Regard.*Write.*lab:decoder"):
        audit_regard([model], options, out=tmp_path)


def test_a_classifier_of_another_language_is_refused_before_a_model_is_loaded(
    options: RegardOptions, tmp_path: Path
) -> None:
    with pytest.raises(EvenhandError, match="trained on texts in the language 'en', and these are in 'de'"):
        audit_regard(["no/such-model"], replace(options, language="de"), out=tmp_path)


def test_one_group_is_refused_before_a_model_is_loaded(options: RegardOptions, tmp_path: Path) -> None:
    groups = tmp_path / "groups.csv"
    groups.write_text("group,words\nfemale,The woman\n", encoding="utf-8")
    with pytest.raises(EvenhandError, match="one group, female"):
        audit_regard(["no/such-model"], replace(options, groups=groups), out=tmp_path)


def test_a_prefix_without_a_space_is_noticed(options: RegardOptions, tmp_path: Path) -> None:
    monitor = RecordingMonitor()
    model = DECODER.model_copy(update={"prefix": "The nurse sat."})
    audit_regard([model], replace(options, texts=2, limit=2), out=tmp_path, monitor=monitor)
    assert any("does not end with a space" in warning for warning in monitor.warnings)


def test_a_server_that_stops_in_the_middle_is_not_paid_twice(
    options: RegardOptions, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("EVENHAND_API_CONCURRENCY", "1")
    few = replace(options, texts=2, limit=3, new_tokens=6)
    with api_server.running() as server:
        monkeypatch.setenv("EVENHAND_API_BASE", server.base_url)
        model = ModelRef(id=f"api:{MODEL}")
        monitor = RecordingMonitor()
        server.faults = [""] * 6 + ["message stopped"]
        with pytest.raises(EvenhandError, match="stopped"):
            audit_regard([model], few, out=tmp_path, monitor=monitor)
        assert any("12 requests" in warning for warning in monitor.warnings)
        resumed = RecordingMonitor()
        # Seven are left: more than that would be refused.
        monkeypatch.setenv("EVENHAND_API_MAX_REQUESTS", "8")
        audit_regard([model], few, out=tmp_path, monitor=resumed)
        again = RecordingMonitor()
        audit_regard([model], few, out=tmp_path, monitor=again)
        prompts = [request["prompt"] for request in server.requests if request["prompt"] != "Hello"]
        seeds = [
            (request["prompt"], request["seed"]) for request in server.requests if request["max_tokens"] > 1
        ]
    assert any(
        "5 of 12 texts are kept from before and are not asked for again. Left: 7 requests" in warning
        for warning in resumed.warnings
    )
    assert not any("requests" in warning for warning in again.warnings)
    assert len(set(seeds)) == 12
    assert len(seeds) == 13
    assert all(prompt.startswith("The ") for prompt in prompts)
