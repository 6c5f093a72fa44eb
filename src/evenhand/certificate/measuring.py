"""Everything that a certificate needs to know about one model, kept as it comes so that a killed process goes on."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from importlib.metadata import version
from pathlib import Path
from types import MappingProxyType

import numpy as np

from evenhand.certificate.finetuning import finetuned_answers
from evenhand.certificate.measurements import Measurements
from evenhand.certificate.plan import CertificatePlan, HeldOutText
from evenhand.core.files import sha256_of
from evenhand.core.progress import SILENT, Monitor, Progress
from evenhand.data.labelled import LabelledText
from evenhand.instruments.instrument import Preparation, keep_run
from evenhand.models.description import record_of
from evenhand.models.engine.modes import shifted_scores
from evenhand.models.language_model import LanguageModel
from evenhand.models.references import ModelError
from evenhand.runs.certificates import SCORE_SHIFTS
from evenhand.runs.held_out_losses import HeldOutFigures, HeldOutLoss
from evenhand.runs.records import RunRecord
from evenhand.runs.run import Run, fingerprint_of_run
from evenhand.runs.store import FINGERPRINT_DIGITS, Parts
from evenhand.stats.resampling import Floats
from evenhand.training.passages import held_out_passages
from evenhand.training.perplexity import HeldOut

FIGURES_FOLDER = "figures"


class ModelMeasurer:
    """Measures one model by a plan. Runs and figures stay in its folder, for as long as they are of this very model."""

    def __init__(
        self,
        model: LanguageModel,
        plan: CertificatePlan,
        *,
        folder: Path,
        monitor: Monitor = SILENT,
        shifts: Mapping[int, float] = MappingProxyType({}),
    ) -> None:
        """Prepare what is measured.

        Args:
            model: The model.
            plan: What it is measured on.
            folder: Where runs and figures stay.
            monitor: Told how it goes.
            shifts: What is added to the scores of tokens while it is measured, in nats.
        """
        self.model = model
        self.shifts = shifts
        self.plan = plan
        self.folder = folder
        self.monitor = monitor
        self.record = record_of(model)
        self._preparations: dict[str, Preparation] = {}
        self._gaps: dict[str, str] = {}
        for measurement in plan.measurements:
            options = replace(measurement.options, resampling=plan.resampling)
            name = f"{folder.name}_{measurement.name}"
            try:
                preparation = measurement.instrument.prepare(model, options, name=name)
            except ModelError as problem:
                self._gaps[measurement.name] = str(problem)
            else:
                if shifts:
                    preparation.record = _with_shifts(preparation.record, shifts)
                self._preparations[measurement.name] = preparation

    @property
    def fingerprints(self) -> dict[str, str]:
        """What determines the runs, by instrument; for a gap it is the reason."""
        return {
            **{name: preparation.record.fingerprint for name, preparation in self._preparations.items()},
            **self._gaps,
        }

    def measure(self) -> Measurements:
        """The runs of all instruments that the model can be asked with."""
        runs, gaps = {}, dict(self._gaps)
        for measurement in self.plan.measurements:
            if measurement.name not in self._preparations:
                continue
            preparation = self._preparations[measurement.name]
            try:
                with self._stage(measurement.instrument.title, preparation.unit) as progress, self._shifted():
                    runs[measurement.name] = self._run(measurement.name, preparation, progress)
            except ModelError as problem:
                gaps[measurement.name] = str(problem)
        return Measurements(runs, gaps)

    def held_out(self, text: HeldOutText) -> HeldOutFigures:
        """How surprised the model is by held-out sentences."""

        def compute() -> Floats:
            with self._stage("held-out text", "sentences"), self._shifted():
                questions = HeldOut(text.sentences, self.model, seed=text.seed)
                loss = questions.loss(self.model.loaded.model)
            return np.array([loss.nats, loss.tokens, questions.whole], dtype=np.float64)

        nats, tokens, whole = self._kept(
            "held-out",
            f"{text.sha256} {text.seed}{self._shift_words()}",
            shape=(3, len(text.sentences)),
            compute=compute,
        )
        return HeldOutFigures(HeldOutLoss(nats, tokens.astype(np.int64)), whole > 0)

    def passages(self, text: HeldOutText) -> HeldOutLoss:
        """How surprised a decoder is by passages, each token given all that it read of the passage before."""

        def compute() -> Floats:
            with self._stage("held-out passages", "passages"), self._shifted():
                loss = held_out_passages(text.sentences, self.model).loss(self.model.loaded.model)
            return np.array([loss.nats, loss.tokens], dtype=np.float64)

        nats, tokens = self._kept(
            "passages",
            f"{text.sha256}{self._shift_words()}",
            shape=(2, len(text.sentences)),
            compute=compute,
        )
        return HeldOutLoss(nats, tokens.astype(np.int64))

    def answers(self, data: LabelledText) -> Floats:
        """Where classifiers are right: one row per seed, one column per judged example."""
        return np.array([self.answers_of_seed(data, seed) for seed in range(self.plan.finetuning.seeds)])

    def answers_of_seed(self, data: LabelledText, seed: int) -> Floats:
        """Where the classifier of one seed is right."""
        finetuning = self.plan.finetuning
        judged = min(len(data.judged), finetuning.judged_examples)

        def compute() -> Floats:
            with self._stage(f"fine-tuning, seed {seed}", "steps") as progress:
                return finetuned_answers(self.model, data, finetuning, seed=seed, report=progress)

        return self._kept(
            f"answers-{seed}", f"{data.sha256} {finetuning} {seed}", shape=(judged,), compute=compute
        )

    def _run(self, name: str, preparation: Preparation, progress: Progress) -> Run:
        place = self.folder / name
        if fingerprint_of_run(place) not in (None, preparation.record.fingerprint):
            shutil.rmtree(place)  # of other weights, data or options
        return keep_run(preparation, place, progress=progress)

    def _shifted(self) -> AbstractContextManager[None]:
        return shifted_scores(self.model.loaded.model, self.shifts) if self.shifts else nullcontext()

    def _shift_words(self) -> str:
        return f" {sorted(self.shifts.items())}" if self.shifts else ""

    def _stage(self, title: str, unit: str) -> AbstractContextManager[Progress]:
        return self.monitor.stage(f"{self.folder.name}: {title}", unit)

    def _kept(
        self, name: str, determinants: str, *, shape: tuple[int, ...], compute: Callable[[], Floats]
    ) -> Floats:
        """Figures that were kept under all that determines them, else computed and kept."""
        record = self.record
        prefix = f" {record.prefix!r}" if record.prefix else ""
        everything = (
            f"{name} {determinants} {record.weights} {record.precision} {version('evenhand')}{prefix}"
        )
        key = f"{name}.{sha256_of(everything.encode())[:FINGERPRINT_DIGITS]}"
        parts = Parts(self.folder / FIGURES_FOLDER)
        figures = parts.get_array(key, shape)
        if figures is None:
            figures = compute()
            parts.put_array(key, figures)
        return figures


def _with_shifts(record: RunRecord, shifts: Mapping[int, float]) -> RunRecord:
    """A record that tells the run of a shifted model from that of the model itself."""
    shown = {str(token): shift for token, shift in sorted(shifts.items())}
    return record.model_copy(update={"options": {**record.options, SCORE_SHIFTS: shown}})
