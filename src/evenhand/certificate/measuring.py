"""Everything a certificate needs to know about one model, kept as it is found so that a killed run goes on."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, replace
from importlib.metadata import version
from pathlib import Path

import numpy as np
import numpy.typing as npt

from evenhand.certificate.finetuning import finetuned_accuracy
from evenhand.certificate.held_out import prepared
from evenhand.certificate.plan import CertificatePlan, HeldOutText, Stage
from evenhand.core.files import sha256_of, write_text
from evenhand.core.progress import Progress
from evenhand.instruments.association.audit import AuditOptions, audit, planned_fingerprint
from evenhand.instruments.crows_pairs import pairs_record, probe_pairs
from evenhand.instruments.malor.probe import ProbeOptions, planned_record, probe
from evenhand.models.engine.batch_store import BatchStore
from evenhand.models.identity import record_of
from evenhand.models.language_model import LanguageModel
from evenhand.models.references import ModelError
from evenhand.runs.probe_runs import ProbeRun, open_probe_run, read_probe_record
from evenhand.runs.records import ModelRecord
from evenhand.runs.run import Run, open_run, read_record
from evenhand.training.perplexity import HeldOutLoss

PROBE_FOLDER = "occupations"
AUDIT_FOLDER = "associations"
PAIRS_FOLDER = "pairs"


@dataclass(frozen=True, slots=True)
class HeldOutFigures:
    """Surprise at each held-out sentence, and which sentences were read whole."""

    loss: HeldOutLoss
    whole: npt.NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class Measurements:
    """One model: what it answered."""

    model: ModelRecord
    occupations: ProbeRun
    associations: Run | None
    no_associations: str | None
    """Why the association tests could not be done."""
    pairs: ProbeRun | None


class Measurer:
    """Measures one model, and keeps the runs in a folder of its own."""

    def __init__(self, model: LanguageModel, plan: CertificatePlan, *, folder: Path, stage: Stage) -> None:
        self.model = model
        self.plan = plan
        self.folder = folder
        self.stage = stage
        self.record = record_of(model)

    def measure(self) -> Measurements:
        """Occupations, association tests and, where wanted, pairs."""
        associations, reason = self._associations()
        return Measurements(
            model=self.record,
            occupations=self._occupations(),
            associations=associations,
            no_associations=reason,
            pairs=self._pairs(),
        )

    def held_out(self, text: HeldOutText) -> HeldOutFigures:
        """How surprised the model is by held-out sentences."""

        def compute() -> dict[str, list[float]]:
            with self._told("held-out text", "sentences"):
                asked = prepared(self.model, text.sentences, seed=text.seed)
                found = asked.loss(self.model.loaded.model)
            return {
                "nats": found.nats.tolist(),
                "tokens": found.tokens.tolist(),
                "whole": asked.whole.astype(float).tolist(),
            }

        found = self._remembered("held-out.json", f"{text.sha256} {text.seed}", compute)
        return HeldOutFigures(
            HeldOutLoss(np.array(found["nats"], dtype=np.float64), np.array(found["tokens"], dtype=np.int64)),
            np.array(found["whole"]) > 0,
        )

    def accuracies(self) -> list[float]:
        """The accuracy of a classifier for each seed."""
        data, finetuning = self.plan.labelled, self.plan.finetuning
        if data is None:
            return []
        found = []
        for seed in range(finetuning.seeds):

            def compute(seed: int = seed) -> dict[str, list[float]]:
                with self._told(f"fine-tuning, seed {seed}", "steps") as report:
                    return {
                        "accuracy": [
                            finetuned_accuracy(self.model, data, finetuning, seed=seed, report=report)
                        ]
                    }

            kept = self._remembered(f"accuracy-{seed}.json", f"{data.sha256} {finetuning} {seed}", compute)
            found.append(kept["accuracy"][0])
        return found

    def _occupations(self) -> ProbeRun:
        options = ProbeOptions(resampling=self.plan.resampling, name=f"{self.folder.name}_{PROBE_FOLDER}")
        place = self.folder / PROBE_FOLDER
        wanted = planned_record(self.model, self.plan.probes, options).fingerprint
        kept = _kept_probe(place, wanted)
        if kept is not None:
            return kept
        with self._unfinished(wanted) as scratch, self._told("occupations", "sentences") as report:
            asked = replace(options, unfinished=scratch)
            run = probe(self.model, self.plan.probes, options=asked, report=report)
            run.save(place, replace=True)
        return run

    def _associations(self) -> tuple[Run | None, str | None]:
        options = AuditOptions(resampling=self.plan.resampling, name=f"{self.folder.name}_{AUDIT_FOLDER}")
        place = self.folder / AUDIT_FOLDER
        try:
            wanted = planned_fingerprint(self.model, self.plan.benchmark, options)
        except ModelError as problem:
            return None, str(problem)
        if not self.model.tasks:
            return None, f"{self.model.loaded.ref.id} can do neither of the two tasks"
        if place.exists() and read_record(place).fingerprint == wanted:
            return open_run(place), None
        with self._unfinished(wanted) as scratch, self._told("association tests", "items") as report:
            asked = replace(options, unfinished=scratch)
            run = audit(self.model, self.plan.benchmark, options=asked, report=report)
            run.save(place, replace=True)
        return run, None

    def _pairs(self) -> ProbeRun | None:
        pairs = self.plan.pairs
        if pairs is None:
            return None
        name = f"{self.folder.name}_{PAIRS_FOLDER}"
        place = self.folder / PAIRS_FOLDER
        resampling = self.plan.resampling
        wanted = pairs_record(self.model, pairs, name=name, resampling=resampling).fingerprint
        kept = _kept_probe(place, wanted)
        if kept is not None:
            return kept
        with self._unfinished(wanted) as scratch, self._told("CrowS-Pairs", "pairs") as report:
            run = probe_pairs(
                self.model, pairs, name=name, resampling=resampling, unfinished=scratch, report=report
            )
            run.save(place, replace=True)
        return run

    def _told(self, what: str, unit: str) -> AbstractContextManager[Progress]:
        return self.stage(f"{self.folder.name}: {what}", unit)

    @contextmanager
    def _unfinished(self, fingerprint: str) -> Iterator[Path]:
        """A folder for what is done so far, which is gone when all is."""
        scratch = self.folder / f".{fingerprint[:16]}.scoring"
        yield scratch
        BatchStore(scratch, "").remove()

    def _remembered(
        self, name: str, determining: str, compute: Callable[[], dict[str, list[float]]]
    ) -> dict[str, list[float]]:
        """Figures from an earlier run if nothing that determines them is different, else computed and kept."""
        told = f"{name} {determining} {self.record.weights} {self.record.precision} {version('evenhand')}"
        fingerprint = sha256_of(told.encode())
        path = self.folder / name
        try:
            kept = json.loads(path.read_text(encoding="utf-8"))
            if kept["fingerprint"] == fingerprint:
                figures: dict[str, list[float]] = kept["figures"]
                return figures
        except (OSError, ValueError, KeyError, TypeError):
            pass  # Not there, or not what this wrote: computed anew below.
        figures = compute()
        write_text(path, json.dumps({"fingerprint": fingerprint, "figures": figures}) + "\n")
        return figures


def _kept_probe(folder: Path, fingerprint: str) -> ProbeRun | None:
    """The very probe that is wanted, if an earlier run of the certificate left it."""
    if folder.exists() and read_probe_record(folder).fingerprint == fingerprint:
        return open_probe_run(folder)
    return None
