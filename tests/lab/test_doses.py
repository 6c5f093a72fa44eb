"""A calibration that was stopped goes on with the models that are missing."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import pytest

from evenhand.lab import doses
from evenhand.lab.building import LabFamily, LabSpec
from evenhand.lab.doses import PROBES, RUNS, DosePlan, measure_doses, run_name

PLAN = DosePlan((LabFamily.DECODER,), doses=3, seeds=2)
NAMES = [f"decoder_en_{strength}_seed{seed}" for seed in (0, 1) for strength in ("-3", "+0", "+3")]

Measure = Callable[[Sequence[LabSpec], Path, int], Iterator[None]]


@pytest.fixture(autouse=True)
def runs_are_folders(monkeypatch: pytest.MonkeyPatch) -> None:
    for opened in ("open_run", "open_probe_run"):
        monkeypatch.setattr(doses, opened, lambda folder: folder)


def record(out: Path, kind: str, name: str) -> None:
    folder = out / kind / name
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "record.json").write_text("{}", encoding="utf-8")


def measuring(asked: list[str], *, stop_after: int) -> Measure:
    """Writes down what it is asked for, and is interrupted after so many models."""

    def measure(specs: Sequence[LabSpec], out: Path, _workers: int) -> Iterator[None]:
        for done, spec in enumerate(specs):
            if done == stop_after:
                raise KeyboardInterrupt
            asked.append(run_name(spec))
            for kind in (RUNS, PROBES):
                record(out, kind, run_name(spec))
            yield

    return measure


def test_finished_models_are_taken_over_and_half_finished_ones_are_not(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    first: list[str] = []
    monkeypatch.setattr(doses, "_in_parallel", measuring(first, stop_after=2))
    with pytest.raises(KeyboardInterrupt):
        measure_doses(PLAN, tmp_path)
    assert first == NAMES[:2]
    record(tmp_path, RUNS, NAMES[2])  # audited, but killed before it was probed

    rest: list[str] = []
    told: list[tuple[int, int]] = []
    monkeypatch.setattr(doses, "_in_parallel", measuring(rest, stop_after=len(NAMES)))
    measured = measure_doses(PLAN, tmp_path, progress=lambda done, total: told.append((done, total)))

    assert rest == NAMES[2:]
    assert told == [(2, 6), (3, 6), (4, 6), (5, 6), (6, 6)]
    assert [Path(str(run)).name for run in measured.probes] == NAMES


def test_what_a_killed_build_left_is_removed_before_the_model_is_built_again(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    spec = PLAN.specs()[0]
    left = tmp_path / f".{NAMES[0]}.model"
    left.mkdir()
    (left / "model.safetensors").write_bytes(b"half")
    seen: list[bool] = []

    def build(_spec: LabSpec, folder: Path) -> Path:
        seen.append(folder.exists())
        folder.mkdir()
        return folder

    monkeypatch.setattr(doses, "build_model", build)
    monkeypatch.setattr(doses, "measure_model", lambda *_: None)
    doses.measure_one(spec, tmp_path)

    assert seen == [False]
    assert list(tmp_path.iterdir()) == []
