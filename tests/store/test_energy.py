"""Energy of runs: counted where a GPU counts, and a reason where none does."""

from __future__ import annotations

import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import probe_runs
import pytest

from evenhand.instruments import instrument as instruments
from evenhand.reporting import render_page
from evenhand.store.energy import NO_GPU, NO_LIBRARY, EnergyRecord, energy_meter
from evenhand.store.run import Run, open_run


class NvmlError(Exception):
    """What the library raises."""


class Counter:
    """A GPU that takes 1.8 MJ between two readings."""

    def __init__(self, *, fails_at: int | None = None) -> None:
        self.readings = 0
        self.open = 0
        self.fails_at = fails_at

    def read(self, handle: int) -> int:
        self.readings += 1
        if self.readings == self.fails_at:
            raise NvmlError("Not Supported")
        return 1_000_000 + 1_800_000_000 * (self.readings - 1) + handle

    def begin(self) -> None:
        self.open += 1

    def end(self) -> None:
        self.open -= 1


def library(counter: Counter) -> Any:
    return SimpleNamespace(
        NVMLError=NvmlError,
        nvmlInit=counter.begin,
        nvmlShutdown=counter.end,
        nvmlDeviceGetHandleByUUID=["GPU-first", "GPU-second", "GPU-third"].index,
        nvmlDeviceGetTotalEnergyConsumption=counter.read,
        nvmlDeviceGetName=lambda handle: f"GPU {handle}",
    )


def torch_that_sees(*uuids: str, current: int = 0) -> Any:
    """PyTorch, for which these GPUs are number 0, 1 and so on."""
    return SimpleNamespace(
        cuda=SimpleNamespace(
            current_device=lambda: current,
            get_device_properties=lambda number: SimpleNamespace(uuid=uuids[number]),
        )
    )


@pytest.fixture(autouse=True)
def all_gpus(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "torch", torch_that_sees("first", "second", "third"))


def measured(device: str | None) -> EnergyRecord:
    with energy_meter(device) as meter:
        pass
    return meter.record


def test_the_counter_of_the_gpu_is_read_before_and_after(monkeypatch: pytest.MonkeyPatch) -> None:
    counter = Counter()
    monkeypatch.setitem(sys.modules, "pynvml", library(counter))

    record = measured("cuda:1")

    assert record.kilowatt_hours == pytest.approx(0.5)
    assert record.source == "counter of the GPU, GPU 1"
    assert record.reason is None
    assert counter.open == 0


@pytest.mark.parametrize(("device", "name"), [("cuda", "GPU 2"), ("cuda:0", "GPU 2"), ("cuda:1", "GPU 1")])
def test_it_is_the_gpu_that_pytorch_means(monkeypatch: pytest.MonkeyPatch, device: str, name: str) -> None:
    """With CUDA_VISIBLE_DEVICES=2,1 PyTorch numbers the GPUs otherwise than NVML."""
    monkeypatch.setitem(sys.modules, "pynvml", library(Counter()))
    monkeypatch.setitem(sys.modules, "torch", torch_that_sees("third", "second"))

    assert measured(device).source == f"counter of the GPU, {name}"


@pytest.mark.parametrize("device", ["cpu", "mps", None])
def test_without_a_gpu_the_reason_is_told(device: str | None) -> None:
    assert measured(device) == EnergyRecord(reason=NO_GPU)


def test_without_the_library_the_reason_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pynvml", None)

    assert measured("cuda") == EnergyRecord(reason=NO_LIBRARY)


@pytest.mark.parametrize("reading", [1, 2])
def test_a_gpu_that_does_not_count_is_told(monkeypatch: pytest.MonkeyPatch, reading: int) -> None:
    monkeypatch.setitem(sys.modules, "pynvml", library(Counter(fails_at=reading)))

    record = measured("cuda:0")

    assert record.kilowatt_hours is None
    assert "Not Supported" in (record.reason or "")


def test_an_error_in_the_work_closes_the_library(monkeypatch: pytest.MonkeyPatch) -> None:
    counter = Counter()
    monkeypatch.setitem(sys.modules, "pynvml", library(counter))

    with pytest.raises(RuntimeError), energy_meter("cuda"):
        raise RuntimeError("out of memory")

    assert counter.open == 0


class Prepared:
    """A measurement that is done at once."""

    unit = "sentences"

    def __init__(self, run: Run) -> None:
        self.run = run
        self.record = run.record

    def measure(self, **_: Any) -> Run:
        return self.run


def test_a_kept_run_and_its_page_have_the_energy(tmp_path: Path) -> None:
    run = probe_runs.asked_run({("nurse", 1): 1.0, ("nurse", 2): 0.5})
    prepared: Any = Prepared(run)

    kept = instruments.keep_run(prepared, tmp_path / "run")

    assert kept.record.energy == EnergyRecord(reason=NO_GPU)
    assert open_run(tmp_path / "run").record.energy == kept.record.energy
    assert kept.record.fingerprint == run.record.fingerprint
    assert "not measured: no NVIDIA GPU was used" in render_page([kept])
    assert "<dt>Energy</dt>" not in render_page([run])
