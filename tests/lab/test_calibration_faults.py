"""Faults that were shipped elsewhere for years, injected one by one: the calibration must notice each."""

from __future__ import annotations

import json
import math
import shutil
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from measuring import audit

from evenhand.core.items import Association, Benchmark, Candidate, Label, Task
from evenhand.data.predictions import Score
from evenhand.instruments.association import scoring
from evenhand.instruments.association.instrument import AuditOptions
from evenhand.instruments.association.ways import Method
from evenhand.lab import power
from evenhand.lab.calibration import calibrate
from evenhand.lab.items import lab_benchmark
from evenhand.models.backends.lab import embedded_folder
from evenhand.models.engine import projection
from evenhand.models.language_model import LanguageModel, load_language_model
from evenhand.models.requests import Answer
from evenhand.stats.resampling import Resampling
from evenhand.store.calibration import Calibration
from evenhand.store.run import Run

MASKED = ("lab:masked-neutral", "lab:masked")
OTHERS = ("lab:decoder", "lab:encoder-decoder")
AT_THE_START = "share of the items' differences read at a sentence's start"


@pytest.fixture(autouse=True)
def few_item_sets(monkeypatch: pytest.MonkeyPatch) -> None:
    """How little bias would be found is not what these tests are about, and takes long."""
    monkeypatch.setattr(power, "ITEM_COUNTS", (96,))
    monkeypatch.setattr(power, "_SETS", 20)


def audited(
    models: Sequence[str | LanguageModel],
    benchmark: Benchmark | None = None,
    *,
    tasks: tuple[Task, ...] | None = None,
) -> list[Run]:
    options = AuditOptions(resampling=Resampling(resamples=200), tasks=tasks)
    return [audit(model, benchmark or lab_benchmark(), options=options) for model in models]


def failed(calibration: Calibration, task: str | None = None) -> set[tuple[str, str]]:
    """Measures with the checks that they failed."""
    return {
        (entry.measure, check.name)
        for entry, check in calibration.failures
        if task is None or entry.task == task
    }


def swapped(benchmark: Benchmark) -> Benchmark:
    """The same items with stereotype and anti-stereotype mixed up."""
    other = {
        Label.STEREOTYPE: Label.ANTI_STEREOTYPE,
        Label.ANTI_STEREOTYPE: Label.STEREOTYPE,
        Label.UNRELATED: Label.UNRELATED,
    }

    def mixed_up(item: Association) -> Association:
        first, second, third = (
            Candidate(candidate.id, candidate.text, other[candidate.label], candidate.word)
            for candidate in item.candidates
        )
        return replace(item, candidates=(first, second, third))

    return replace(benchmark, items=tuple(mixed_up(item) for item in benchmark))


def without_first_token(method: Method, answers: Sequence[Answer]) -> Score:
    """A score that never sees the first token of what it scores."""
    rest = [value for answer in answers for value in answer.log_probs][1:]
    total = math.fsum(rest)
    return Score(
        method.combine([rest]) if rest else 1.0,
        token_log_probabilities=tuple(rest),
        log2_probability=total / math.log(2),
    )


def normalised_over_rows(logits: torch.Tensor, reads: torch.Tensor, tokens: torch.Tensor) -> torch.Tensor:
    """Probabilities that add up to one over a batch instead of over the vocabulary."""
    return logits[reads, tokens] - torch.logsumexp(logits, dim=0)[tokens]


def test_faultless_models_pass_every_check() -> None:
    calibration = calibrate(audited(MASKED))
    assert calibration.failures == ()
    assert {entry.measure for entry in calibration.measures} >= {"LMS", "SS", "ICAT", "log_ratio"}


@pytest.mark.parametrize("model", OTHERS)
def test_one_faultless_model_passes_the_checks_that_need_no_second(model: str) -> None:
    assert (
        failed(calibrate(audited([model])))
        & {
            ("LMS", "lowest value at any dose"),
            ("log_ratio", "mean absolute error, in bits"),
        }
        == set()
    )


def test_swapped_stereotype_and_anti_stereotype_are_noticed() -> None:
    found = failed(calibrate(audited(MASKED, swapped(lab_benchmark())), measures=("SS", "log_ratio")))
    assert ("SS", "Spearman correlation") in found
    assert ("log_ratio", "mean absolute error, in bits") in found


def test_reversed_polarity_of_the_next_sentence_head_is_noticed(tmp_path: Path) -> None:
    models = []
    for name in MASKED:
        folder = tmp_path / name.replace(":", "-")
        shutil.copytree(embedded_folder(name), folder)
        (folder / "next_sentence.json").write_text(json.dumps({"follows_class": 1}), encoding="utf-8")
        models.append(str(folder))
    calibration = calibrate(audited(models), measures=("LMS", "SS"))
    inter = failed(calibration, "intersentence")
    assert ("LMS", "lowest value at any dose") in inter
    assert ("SS", "Spearman correlation") in inter
    assert failed(calibration, "intrasentence") == set()


@pytest.mark.parametrize("models", [MASKED, (OTHERS[0],), (OTHERS[1],)], ids=["masked", *OTHERS])
def test_a_softmax_over_the_wrong_axis_is_noticed(
    models: Sequence[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    loaded = [load_language_model(model) for model in models]
    # The engine's own check of a model would refuse it with this fault, so it comes in after that.
    assert all(model.is_split or model.projection for model in loaded)
    assert [model.shares_prefixes for model in loaded]
    monkeypatch.setattr(projection, "normalised", normalised_over_rows)
    calibration = calibrate(audited(loaded, tasks=(Task.INTRASENTENCE,)), measures=("log_ratio",))
    assert ("log_ratio", "mean absolute error, in bits") in failed(calibration)


@pytest.mark.parametrize("models", [MASKED, (OTHERS[0],), (OTHERS[1],)], ids=["masked", *OTHERS])
def test_a_dropped_first_token_is_noticed(models: Sequence[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scoring, "_score", without_first_token)
    calibration = calibrate(audited(models, tasks=(Task.INTRASENTENCE,)), measures=("log_ratio",))
    assert failed(calibration) & {
        ("log_ratio", "mean absolute error, in bits"),
        ("log_ratio", AT_THE_START),
    }
