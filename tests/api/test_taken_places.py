"""Two audits of a model lie side by side; where they cannot, what differs is said before a model is loaded."""

from __future__ import annotations

import shutil
import sys
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import evenhand as eh
from evenhand.cli import main
from evenhand.core.errors import EvenhandError
from evenhand.core.items import Task
from evenhand.instruments.association.instrument import ASSOCIATION
from evenhand.stats.resampling import Resampling
from evenhand.store.run import open_run, run_name

QUICK = Resampling(resamples=100)
SMALL = eh.AuditOptions(data="starter", limit=4, resampling=QUICK)


def forbid_loading(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: Any, **__: Any) -> None:
        raise AssertionError("the model was loaded")

    monkeypatch.setattr("evenhand.api.models.load_model", refuse)


@pytest.mark.parametrize(
    ("dataset", "limit", "name"),
    [
        ("stereoset", None, "gpt2_association_stereoset_en"),
        ("stereoset", 30, "gpt2_association_stereoset_en_limit-30"),
        ("association", None, "gpt2_association_en"),
        ("association-en", None, "gpt2_association_en"),
        ("my data (new)", 3, "gpt2_association_my-data-new_en_limit-3"),
    ],
)
def test_the_name_of_a_run_has_its_instrument_dataset_language_and_limit(
    dataset: str, limit: int | None, name: str
) -> None:
    assert run_name("gpt2", instrument="association", dataset=dataset, language="en", limit=limit) == name


def test_audits_of_a_model_on_other_data_or_samples_lie_side_by_side(tmp_path: Path) -> None:
    jobs = [
        replace(SMALL, limit=4),
        replace(SMALL, limit=5),
        replace(SMALL, limit=4, data="lab"),
        replace(SMALL, limit=4, data="lab", language="de"),
    ]
    runs = [eh.audit("fake:tiny", options=options, out=tmp_path) for options in jobs]

    names = [
        "fake-tiny_association_starter_en_limit-4",
        "fake-tiny_association_starter_en_limit-5",
        "fake-tiny_association_lab_en_limit-4",
        "fake-tiny_association_lab_de_limit-4",
    ]
    assert [run.name for run in runs] == names
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted(names)


@pytest.mark.parametrize(
    ("model", "changes", "difference"),
    [
        (
            "fake:tiny",
            {"limit": 5},
            "the sample (sample of 8 of 96 items there, sample of 10 of 96 items now)",
        ),
        ("fake:tiny", {"limit": None}, "the sample (sample of 8 of 96 items there, all items now)"),
        ("fake:tiny", {"data": "lab"}, "the data (starter there, lab now)"),
        (
            "fake:tiny",
            {"protocol": "multilingual-2023"},
            "the protocol (evenhand.v2 there, multilingual-2023 now)",
        ),
        (
            "fake:tiny",
            {"resampling": Resampling(resamples=200, seed=7)},
            "the number of resamples (100 there, 200 now); the seed (20210801 there, 7 now)",
        ),
        (
            "lab:masked",
            {"score": "pll"},
            "the scoring of intrasentence (stepwise-blank, mean-prob there, pll now)",
        ),
        ("lab:masked", {"inter": "pll"}, "the scoring of intersentence (next-sentence there, pll now)"),
        (
            "lab:masked",
            {"tasks": (Task.INTRASENTENCE,)},
            "the scoring of intersentence (next-sentence there, none now)",
        ),
        ("lab:decoder", {"inter": "c"}, "the scoring of intersentence (continuation d there, c now)"),
    ],
)
def test_what_differs_is_said_before_a_model_is_loaded(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, model: str, changes: Any, difference: str
) -> None:
    first = eh.audit(model, options=SMALL, name="mine", out=tmp_path)
    forbid_loading(monkeypatch)
    options = replace(SMALL, **changes)
    for measure in (
        lambda: eh.audit(model, options=options, name="mine", out=tmp_path),
        lambda: eh.measure_all([eh.MeasurementJob(model=model, options=options, name="mine")], out=tmp_path),
    ):
        with pytest.raises(EvenhandError) as refused:
            measure()
        assert difference in str(refused.value)
        assert "with --name" in str(refused.value)
    assert open_run(tmp_path / "mine").record.fingerprint == first.record.fingerprint


@pytest.mark.parametrize(
    ("ref", "difference"),
    [
        (eh.ModelRef(id="lab:decoder"), "It differs in the model (lab:masked there, lab:decoder now). Keep"),
        (
            eh.ModelRef(id="lab:masked", precision="bf16"),
            "It differs in the precision (fp32 there, bf16 now). Keep",
        ),
    ],
)
def test_another_model_is_told_by_its_files(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, ref: eh.ModelRef, difference: str
) -> None:
    eh.audit("lab:masked", options=SMALL, name="mine", out=tmp_path)
    forbid_loading(monkeypatch)
    with pytest.raises(EvenhandError) as refused:
        eh.audit(ref, options=SMALL, name="mine", out=tmp_path)
    assert difference in str(refused.value)


def test_defaults_that_are_given_by_name_are_the_same_run(tmp_path: Path) -> None:
    first = eh.audit("lab:masked", options=SMALL, name="mine", out=tmp_path)
    named = replace(SMALL, score="mean-prob", inter="next-sentence", tasks=tuple(Task))
    again = eh.audit("lab:masked", options=named, name="mine", out=tmp_path)
    assert again.record.fingerprint == first.record.fingerprint


def test_a_way_after_a_context_that_a_method_does_not_name_is_left_to_the_model() -> None:
    methods = dict.fromkeys(map(str, Task), "denoising, mean-prob")
    present: Any = SimpleNamespace(scoring=SimpleNamespace(methods=methods))
    assert ASSOCIATION.other_scoring(present, replace(SMALL, inter="d", score="mean-prob")) == {}
    assert ASSOCIATION.other_scoring(present, replace(SMALL, score="sum-log")) == {"intrasentence": "sum-log"}


def test_a_task_that_a_run_lacks_is_said_before_a_model_is_loaded(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    only = replace(SMALL, tasks=(Task.INTRASENTENCE,))
    eh.audit("lab:masked", options=only, name="mine", out=tmp_path)
    forbid_loading(monkeypatch)
    with pytest.raises(EvenhandError, match=r"scoring of intersentence \(none there, asked for now\)\."):
        eh.audit("lab:masked", options=replace(SMALL, tasks=tuple(Task)), name="mine", out=tmp_path)


def test_what_only_the_loaded_model_tells_is_said_then(tmp_path: Path) -> None:
    eh.audit("fake:tiny", options=SMALL, name="mine", out=tmp_path)
    with pytest.raises(EvenhandError, match=r"It differs in the model \(fake:tiny there, fake:other now\)\."):
        eh.audit("fake:other", options=SMALL, name="mine", out=tmp_path)


def test_the_same_weights_under_another_path_are_the_same_run(tmp_path: Path) -> None:
    folder = tmp_path / "copies" / "lab-masked"
    shutil.copytree(eh.ModelRef(id="lab:masked").location, folder)
    first = eh.audit("lab:masked", options=SMALL, name="mine", out=tmp_path / "runs")
    again = eh.audit(str(folder), options=SMALL, name="mine", out=tmp_path / "runs")
    assert again.record.fingerprint == first.record.fingerprint


def test_runs_of_one_name_in_one_call_are_refused_at_once(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    forbid_loading(monkeypatch)
    models = [eh.ModelRef(id="fake:tiny"), eh.ModelRef(id="fake:tiny", precision="bf16")]
    with pytest.raises(
        EvenhandError, match="Two runs would be called fake-tiny_association_starter_en_limit-4"
    ):
        eh.measure_all([eh.MeasurementJob(model=model, options=SMALL) for model in models], out=tmp_path)


def test_scores_evaluated_on_other_terms_say_what_differs(tmp_path: Path) -> None:
    scores = eh.example_scores("leaning")
    eh.evaluate(scores, name="mine", out=tmp_path)
    with pytest.raises(
        EvenhandError, match=r"It differs in the number of resamples \(10,000 there, 100 now\)\."
    ):
        eh.evaluate(scores, resampling=QUICK, name="mine", out=tmp_path)
    with pytest.raises(
        EvenhandError, match=r"It differs in the scores \(.*leaning.* there, .*neutral.* now\)\."
    ):
        eh.evaluate(eh.example_scores("neutral"), name="mine", out=tmp_path)


@pytest.mark.parametrize("command", [("audit",), ("probe",), ("regard", "audit")])
def test_a_name_is_for_one_run(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], command: tuple[str, ...]
) -> None:
    monkeypatch.setattr(sys, "argv", ["evenhand", *command, "lab:masked", "lab:decoder", "--name", "mine"])
    with pytest.raises(SystemExit) as stopped:
        main()
    assert stopped.value.code == 2
    assert "--name is for one run, and this command makes 2" in capsys.readouterr().err


def test_the_second_audit_of_a_model_needs_no_option(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    for arguments in (
        ("--limit", "3"),
        ("--data", "starter", "--limit", "3"),
        ("--limit", "3", "--name", "mine"),
    ):
        monkeypatch.setattr(
            sys, "argv", ["evenhand", "audit", "lab:masked", "--resamples", "100", *arguments]
        )
        with pytest.raises(SystemExit) as stopped:
            main()
        assert not stopped.value.code
    assert sorted(path.name for path in (tmp_path / "runs").iterdir()) == [
        "lab-masked_association_lab_en_limit-3",
        "lab-masked_association_starter_en_limit-3",
        "mine",
    ]
