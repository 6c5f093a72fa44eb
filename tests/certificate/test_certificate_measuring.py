"""Figures that are kept serve for the very model, text and version that they were found with, and for no other."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import certificates
import numpy as np
import pytest
from certificate_runs import LABELLED, SENTENCES, small_plan

from evenhand.certificate import Finetuning, HeldOutText, measuring
from evenhand.certificate.measuring import ModelMeasurer
from evenhand.certificate.plan import CertificatePlan
from evenhand.data.labelled import LabelledText
from evenhand.store.held_out_losses import HeldOutFigures, HeldOutLoss
from evenhand.store.records import ModelRecord
from evenhand.store.run import INSTRUMENTS

TEXT = HeldOutText(SENTENCES)
PLAN = small_plan(labelled=LABELLED, finetuning=Finetuning(seeds=2))
MODEL = certificates.model("bert-small")
OTHER_MODELS = [
    pytest.param({"weights": "sha256 1"}, id="weights"),
    pytest.param({"precision": "bf16"}, id="precision"),
    pytest.param({"prefix": "Be fair. "}, id="prefix"),
]


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """A model that is asked without being there, and how often it was."""
    times: list[str] = []
    sizes: list[int] = []

    def figures(*_: Any, **__: Any) -> HeldOutFigures:
        times.append("held-out text")
        nats = np.full(sizes[-1], float(len(times)))
        loss = HeldOutLoss(nats, np.ones(sizes[-1], dtype=np.int64))
        return HeldOutFigures(loss, np.zeros(sizes[-1]), np.ones(sizes[-1], dtype=np.bool_))

    def answers(*_: Any, seed: int, **__: Any) -> Any:
        times.append(f"seed {seed}")
        return np.full(len(LABELLED.judged), float(len(times)))

    def questions(texts: Sequence[str], *_: Any, **__: Any) -> SimpleNamespace:
        sizes.append(len(texts))
        return SimpleNamespace(figures=figures)

    monkeypatch.setattr(measuring, "HeldOut", questions)
    monkeypatch.setattr(measuring, "text_tokens", lambda *_: np.arange(9))
    monkeypatch.setattr(measuring, "refuse_other_losses", lambda *_, **__: 0)
    monkeypatch.setattr(measuring, "finetuned_answers", answers)
    return times


@pytest.fixture
def measurer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., ModelMeasurer]:
    """Measures a model of this record in the same folder each time."""

    def made(record: ModelRecord = MODEL, plan: CertificatePlan = PLAN) -> ModelMeasurer:
        monkeypatch.setattr(measuring, "record_of", lambda _: record)
        monkeypatch.setattr(INSTRUMENTS.get("malor"), "prepare", lambda *_, **__: None, raising=False)
        monkeypatch.setattr(INSTRUMENTS.get("association"), "prepare", lambda *_, **__: None, raising=False)
        nothing: Any = SimpleNamespace(
            loaded=SimpleNamespace(model=None), held_out_rows=lambda *_, **__: None
        )
        return ModelMeasurer(nothing, plan, folder=tmp_path)

    return made


def test_figures_are_kept_for_the_same_model(
    asked: list[str], measurer: Callable[..., ModelMeasurer]
) -> None:
    figures = [
        (measurer().held_out(TEXT).loss.nats[0], measurer().answers(LABELLED)[:, 0].tolist())
        for _ in range(2)
    ]
    assert figures == [(1.0, [2.0, 3.0])] * 2
    assert asked == ["held-out text", "seed 0", "seed 1"]


@pytest.mark.parametrize("changes", OTHER_MODELS)
def test_another_model_is_asked_itself(
    asked: list[str], measurer: Callable[..., ModelMeasurer], changes: dict[str, str]
) -> None:
    for record in (MODEL, MODEL.model_copy(update=changes)):
        measurer(record).held_out(TEXT)
        measurer(record).answers(LABELLED)
    assert asked == ["held-out text", "seed 0", "seed 1"] * 2


def test_another_version_asks_again(
    asked: list[str], measurer: Callable[..., ModelMeasurer], monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in ("1.0", "1.1"):
        monkeypatch.setattr(measuring, "version", lambda _, number=number: number)
        measurer().held_out(TEXT)
        measurer().answers(LABELLED)
    assert asked == ["held-out text", "seed 0", "seed 1"] * 2


@pytest.mark.parametrize(
    "other", [HeldOutText(SENTENCES[1:]), HeldOutText(SENTENCES, seed=1)], ids=["text", "seed"]
)
def test_other_text_is_asked_anew(
    asked: list[str], measurer: Callable[..., ModelMeasurer], other: HeldOutText
) -> None:
    found = [measurer().held_out(text).loss.nats[0] for text in (TEXT, other)]
    assert found == [1.0, 2.0]
    assert len(asked) == 2


@pytest.mark.parametrize(
    ("data", "plan"),
    [
        pytest.param(replace(LABELLED, sha256="1" * 64), PLAN, id="labelled text"),
        pytest.param(LABELLED, replace(PLAN, finetuning=Finetuning(seeds=2, steps=7)), id="fine-tuning"),
    ],
)
def test_other_classifiers_are_trained_anew(
    asked: list[str], measurer: Callable[..., ModelMeasurer], data: LabelledText, plan: CertificatePlan
) -> None:
    found = [
        own.answers(given)[:, 0].tolist()
        for own, given in ((measurer(), LABELLED), (measurer(plan=plan), data))
    ]
    assert found == [[1.0, 2.0], [3.0, 4.0]]
    assert asked == ["seed 0", "seed 1"] * 2


def test_a_damaged_figure_is_found_again(
    asked: list[str], measurer: Callable[..., ModelMeasurer], tmp_path: Path
) -> None:
    measurer().held_out(TEXT)
    (kept,) = (tmp_path / "figures").iterdir()
    kept.write_bytes(kept.read_bytes()[:-8])
    assert measurer().held_out(TEXT).loss.nats[0] == 2.0
    assert len(asked) == 2
