"""Doses: the same model with bias of several strengths planted, several times over."""

from __future__ import annotations

import json
import multiprocessing
import os
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch

from evenhand.core.errors import EvenhandError
from evenhand.core.experiments import Experiment
from evenhand.core.files import sha256_of
from evenhand.core.planted_bias import ProbePart
from evenhand.core.progress import Progress, no_progress
from evenhand.instruments.association.instrument import ASSOCIATION, AuditOptions
from evenhand.instruments.malor.instrument import ALL, MALOR, MalorOptions
from evenhand.lab.building import LabFamily, LabSpec, build_model, fingerprint_of_spec
from evenhand.lab.items import lab_benchmark, probe_part
from evenhand.models.language_model import load_language_model
from evenhand.stats.resampling import Resampling
from evenhand.store.jobs import Job, open_job
from evenhand.store.run import Run, open_run

STRONGEST_DOSE = 3.0
"""Bits, to either side."""

DOSE_FILE = "dose.json"
"""In the folder of a dose: the fingerprint of all that determines its runs."""

_RESAMPLING = Resampling(resamples=1000)


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


@dataclass(frozen=True, slots=True)
class DoseRuns:
    """The runs of all models of a plan, in its order."""

    audits: tuple[Run, ...]
    probes: Mapping[ProbePart, tuple[Run, ...]]


def dose_name(spec: LabSpec) -> str:
    """The name of a model's runs and of their folder."""
    return f"{spec.family.value}_{spec.language}_{spec.strength:+g}_seed{spec.seed}"


def measure_doses(
    plan: DosePlan, out: Path, *, workers: int | None = None, progress: Progress = no_progress
) -> DoseRuns:
    """Build every model of a plan, audit and probe it, and keep the runs; what is there already is kept.

    Args:
        plan: Which models.
        out: The folder that gets one folder per model.
        workers: Models that are built at a time; one for each core if not given.
        progress: Told how many models are done.
    """
    specs = plan.specs()
    missing = [spec for spec in specs if _fingerprint_at(out / dose_name(spec), spec) is None]
    done = len(specs) - len(missing)
    progress(done, len(specs))
    for _ in _in_parallel(missing, out, workers or os.cpu_count() or 1):
        done += 1
        progress(done, len(specs))
    folders = [out / dose_name(spec) for spec in specs]
    return DoseRuns(
        audits=tuple(open_run(folder / ASSOCIATION.name) for folder in folders),
        probes={
            part: tuple(open_run(folder / _probe_folder(part)) for folder in folders) for part in ProbePart
        },
    )


def _probe_folder(part: ProbePart) -> str:
    return f"{MALOR.name}-{part.value.replace(' ', '-')}"


def _in_parallel(specs: Sequence[LabSpec], out: Path, workers: int) -> Iterator[None]:
    """One process per model; each computes on one thread."""
    if not specs:
        return
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(
        min(workers, len(specs)), mp_context=context, initializer=torch.set_num_threads, initargs=(1,)
    ) as pool:
        waiting = [pool.submit(measure_dose, spec, out) for spec in specs]
        try:
            for finished in as_completed(waiting):
                finished.result()
                yield
        except BaseException:
            pool.shutdown(cancel_futures=True)
            raise


def measure_dose(spec: LabSpec, out: Path) -> None:
    """Build, audit and probe one model; the model itself is not kept."""

    def this_dose(folder: Path) -> str | None:
        return _fingerprint_at(folder, spec)

    with open_job(out / dose_name(spec), _fingerprint(spec), fingerprint_at=this_dose) as job:
        if not job.is_done:
            model = build_model(spec, job.subfolder("model"))
            measure_model(spec, model, job)


def measure_model(spec: LabSpec, folder: Path, job: Job) -> None:
    """Audit and probe a model that is built, and put the runs into the place of a job."""
    model = load_language_model(str(folder), device="cpu")
    name = dose_name(spec)
    audit = AuditOptions(data=lab_benchmark(spec.language), resampling=_RESAMPLING)
    preparations = {ASSOCIATION.name: ASSOCIATION.prepare(model, audit, name=name)}
    for part in ProbePart:
        experiment = Experiment.NAMES.value if part is ProbePart.NAMES else ALL
        probe = MalorOptions(
            data=probe_part(part, spec.language), experiment=experiment, resampling=_RESAMPLING
        )
        preparations[_probe_folder(part)] = MALOR.prepare(model, probe, name=name)
    runs = {
        folder_name: preparation.measure(parts=job.parts(folder_name))
        for folder_name, preparation in preparations.items()
    }
    with job.result_folder() as scratch:
        for folder_name, run in runs.items():
            run.save(scratch / folder_name)
        content = json.dumps({"fingerprint": job.fingerprint}) + "\n"
        (scratch / DOSE_FILE).write_text(content, encoding="utf-8")


def _fingerprint(spec: LabSpec) -> str:
    digests = [lab_benchmark(spec.language).sha256]
    digests += [probe_part(part, spec.language).sha256 for part in ProbePart]
    return sha256_of(f"{fingerprint_of_spec(spec)} {digests} {_RESAMPLING}".encode())


def _fingerprint_at(folder: Path, spec: LabSpec) -> str | None:
    """The fingerprint of a dose if its folder has it; runs of another version or platform are measured again."""
    fingerprint = _fingerprint(spec)
    try:
        content = json.loads((folder / DOSE_FILE).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    return fingerprint if content == {"fingerprint": fingerprint} else None
