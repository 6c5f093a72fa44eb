"""Everything a certificate needs to know about one model, kept as it is found so that a killed run goes on."""

from __future__ import annotations

import json
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from evenhand.certificate.finetuning import finetuned_accuracy
from evenhand.certificate.held_out import prepared
from evenhand.certificate.plan import CertificatePlan, HeldOutText, Stage
from evenhand.core.files import sha256_of, write_text
from evenhand.core.progress import Progress
from evenhand.instruments.association.instrument import ASSOCIATION, AuditOptions
from evenhand.instruments.crows_pairs.instrument import CROWS_PAIRS
from evenhand.instruments.instrument import Instrument, InstrumentOptions, keep_run
from evenhand.instruments.malor.instrument import MALOR, MalorOptions
from evenhand.models.identity import record_of
from evenhand.models.language_model import LanguageModel
from evenhand.models.references import ModelError
from evenhand.runs.records import ModelRecord
from evenhand.runs.run import Run, fingerprint_of_run
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
    occupations: Run
    associations: Run | None
    no_associations: str | None
    """Why the association tests could not be done."""
    pairs: Run | None


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

    def _occupations(self) -> Run:
        options = MalorOptions(data=self.plan.probes, resampling=self.plan.resampling)
        return self._run(MALOR, options, PROBE_FOLDER, "occupations", "sentences")

    def _associations(self) -> tuple[Run | None, str | None]:
        if not self.model.tasks:
            return None, f"{self.model.loaded.ref.id} can do neither of the two tasks"
        options = AuditOptions(data=self.plan.benchmark, resampling=self.plan.resampling)
        try:
            return self._run(ASSOCIATION, options, AUDIT_FOLDER, "association tests", "items"), None
        except ModelError as problem:
            return None, str(problem)

    def _pairs(self) -> Run | None:
        if self.plan.pairs is None:
            return None
        options = InstrumentOptions(data=self.plan.pairs, resampling=self.plan.resampling)
        return self._run(CROWS_PAIRS, options, PAIRS_FOLDER, "CrowS-Pairs", "pairs")

    def _run(
        self, instrument: Instrument[Any], options: InstrumentOptions, name: str, title: str, unit: str
    ) -> Run:
        preparation = instrument.prepare(self.model, options, name=f"{self.folder.name}_{name}")
        place = self.folder / name
        other = place.exists() and fingerprint_of_run(place) != preparation.record.fingerprint
        with self._told(title, unit) as progress:
            return keep_run(preparation, place, replace=other, progress=progress)

    def _told(self, what: str, unit: str) -> AbstractContextManager[Progress]:
        return self.stage(f"{self.folder.name}: {what}", unit)

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
