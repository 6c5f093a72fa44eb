"""Doses: the same model with bias of several strengths planted, several times over."""

from __future__ import annotations

import multiprocessing
import os
import shutil
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from evenhand.core.errors import EvenhandError
from evenhand.instruments.association.instrument import ASSOCIATION, AuditOptions
from evenhand.instruments.instrument import keep_run
from evenhand.instruments.malor.instrument import MALOR, MalorOptions
from evenhand.lab.building import LabFamily, LabSpec, build_model
from evenhand.lab.items import lab_benchmark
from evenhand.lab.probe_set import lab_probes
from evenhand.models.language_model import load_language_model
from evenhand.runs.records import RECORD_FILE
from evenhand.runs.run import Run, open_run
from evenhand.stats.resampling import Resampling

STRONGEST_DOSE = 3.0
RUNS = "runs"
PROBES = "probes"

Progress = Callable[[int, int], None]


@dataclass(frozen=True, slots=True)
class DosePlan:
    """Which models a calibration builds."""

    families: tuple[LabFamily, ...] = tuple(LabFamily)
    doses: int = 7
    seeds: int = 5
    language: str = "en"

    def __post_init__(self) -> None:
        if self.doses < 3 or self.doses % 2 == 0:
            raise EvenhandError(
                f"{self.doses} doses were asked for; an odd number of at least 3 is needed, so that one is neutral."
            )
        if self.seeds < 1:
            raise EvenhandError(f"{self.seeds} seeds were asked for; at least 1 is needed.")

    @property
    def strengths(self) -> tuple[float, ...]:
        """Bits, from strongly against the stereotypes to strongly towards them."""
        return tuple(
            float(strength) for strength in np.linspace(-STRONGEST_DOSE, STRONGEST_DOSE, self.doses).round(6)
        )

    def specs(self) -> tuple[LabSpec, ...]:
        """Every model, seed by seed, so that a stopped calibration has whole doses."""
        return tuple(
            LabSpec(family, strength, self.language, seed)
            for seed in range(self.seeds)
            for family in self.families
            for strength in self.strengths
        )


def run_name(spec: LabSpec) -> str:
    """The name of the run of a model."""
    return f"{spec.family.value}_{spec.language}_{spec.strength:+g}_seed{spec.seed}"


@dataclass(frozen=True, slots=True)
class Measured:
    """What was measured on the models of a plan."""

    runs: tuple[Run, ...]
    probes: tuple[Run, ...]


def measure_doses(
    plan: DosePlan, out: Path, *, workers: int | None = None, progress: Progress | None = None
) -> Measured:
    """Build every model of a plan, audit and probe it, and keep the runs; what is there already is kept."""
    specs = plan.specs()
    missing = [spec for spec in specs if not _is_done(spec, out)]
    report = progress or (lambda _done, _all: None)
    done = len(specs) - len(missing)
    report(done, len(specs))
    for _ in _in_parallel(missing, out, workers or os.cpu_count() or 1):
        done += 1
        report(done, len(specs))
    return Measured(
        runs=tuple(open_run(out / RUNS / run_name(spec)) for spec in specs),
        probes=tuple(open_run(out / PROBES / run_name(spec)) for spec in specs),
    )


def _is_done(spec: LabSpec, out: Path) -> bool:
    return all((out / kind / run_name(spec) / RECORD_FILE).is_file() for kind in (RUNS, PROBES))


def _in_parallel(specs: Sequence[LabSpec], out: Path, workers: int) -> Iterator[None]:
    """One process a model at a time; each computes on one thread."""
    if not specs:
        return
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(min(workers, len(specs)), mp_context=context) as pool:
        waiting = [pool.submit(measure_one, spec, out) for spec in specs]
        try:
            for finished in as_completed(waiting):
                finished.result()
                yield
        except BaseException:
            pool.shutdown(cancel_futures=True)
            raise


def measure_one(spec: LabSpec, out: Path) -> None:
    """Build, audit and probe one model; the model itself is not kept."""
    folder = out / f".{run_name(spec)}.model"
    shutil.rmtree(folder, ignore_errors=True)
    try:
        measure_model(spec, build_model(spec, folder), out)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def measure_model(spec: LabSpec, folder: Path, out: Path) -> None:
    """Audit and probe a model that is built."""
    name = run_name(spec)
    few = Resampling(resamples=1000)
    model = load_language_model(str(folder), device="cpu")
    audit = AuditOptions(data=lab_benchmark(spec.language), resampling=few)
    keep_run(ASSOCIATION.prepare(model, audit, name=name), out / RUNS / name, replace=True)
    probe = MalorOptions(data=lab_probes(spec.language), resampling=few)
    keep_run(MALOR.prepare(model, probe, name=name), out / PROBES / name, replace=True)
