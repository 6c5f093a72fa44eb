"""A calibration that was stopped goes on with the models that are missing."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import pytest
from lab_recipes import with_few_steps

from evenhand.lab import doses
from evenhand.lab.building import LabFamily, LabSpec
from evenhand.lab.doses import DOSE_FILE, DosePlan, dose_name, measure_dose, measure_doses
from evenhand.lab.items import probe_part
from evenhand.store.run import open_run

PLAN = DosePlan((LabFamily.DECODER,), doses=3, seeds=2)
NAMES = [f"decoder_en_{strength}_seed{seed}" for seed in (0, 1) for strength in ("-3", "+0", "+3")]

Measure = Callable[[Sequence[LabSpec], Path, int], Iterator[None]]


def keep(out: Path, spec: LabSpec) -> None:
    folder = out / dose_name(spec)
    folder.mkdir(parents=True, exist_ok=True)
    content = json.dumps({"fingerprint": doses._fingerprint(spec)})
    (folder / DOSE_FILE).write_text(content, encoding="utf-8")


def measuring(asked: list[str], *, stop_after: int) -> Measure:
    """Writes down what it is asked for, and is interrupted after so many models."""

    def measure(specs: Sequence[LabSpec], out: Path, _workers: int) -> Iterator[None]:
        for done, spec in enumerate(specs):
            if done == stop_after:
                raise KeyboardInterrupt
            asked.append(dose_name(spec))
            keep(out, spec)
            yield

    return measure


def test_finished_models_are_taken_over_and_those_of_another_version_are_not(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(doses, "open_run", lambda folder: folder)
    first: list[str] = []
    monkeypatch.setattr(doses, "_in_parallel", measuring(first, stop_after=3))
    with pytest.raises(KeyboardInterrupt):
        measure_doses(PLAN, tmp_path)
    assert first == NAMES[:3]
    (tmp_path / NAMES[2] / DOSE_FILE).write_text('{"fingerprint": "of last year"}', encoding="utf-8")

    rest: list[str] = []
    steps: list[tuple[int, int]] = []
    monkeypatch.setattr(doses, "_in_parallel", measuring(rest, stop_after=len(NAMES)))
    measured = measure_doses(PLAN, tmp_path, progress=lambda done, total: steps.append((done, total)))

    assert rest == NAMES[2:]
    assert steps == [(2, 6), (3, 6), (4, 6), (5, 6), (6, 6)]
    for runs in (measured.audits, *measured.probes.values()):
        assert [Path(str(run)).parent.name for run in runs] == NAMES


def test_a_model_that_was_built_before_the_process_was_killed_is_not_built_again(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    with_few_steps(monkeypatch)
    monkeypatch.setattr(doses, "probe_part", lambda part, language: probe_part(part, language).first(1))
    spec = PLAN.specs()[0]

    def killed(*_: object) -> None:
        raise KeyboardInterrupt

    measure = doses.measure_model
    monkeypatch.setattr(doses, "measure_model", killed)
    with pytest.raises(KeyboardInterrupt):
        measure_dose(spec, tmp_path)
    assert not (tmp_path / NAMES[0]).exists()

    monkeypatch.setattr(doses, "measure_model", measure)
    monkeypatch.setattr(
        "evenhand.lab.building.train_model", lambda *_, **__: pytest.fail("it was built again")
    )
    measure_dose(spec, tmp_path)

    assert [path.name for path in tmp_path.iterdir()] == [NAMES[0]]
    runs = [open_run(tmp_path / NAMES[0] / name) for name in ("association", "malor-taught")]
    assert [run.record.model.planted.strength for run in runs if run.record.model and run.record.model.planted] == [
        -3.0, -3.0,
    ]  # fmt: skip
    measure_dose(spec, tmp_path)  # done, so nothing is asked of any model
