"""Everything that a certificate needs to know about one model, kept as it comes so that a killed process goes on."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Collection, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from importlib.metadata import version
from pathlib import Path
from types import MappingProxyType

import numpy as np

from evenhand.certificate.finetuning import finetuned_answers
from evenhand.certificate.kept_answers import refuse_other_answers, refuse_other_losses
from evenhand.certificate.measurements import Measurements
from evenhand.certificate.plan import CertificatePlan, HeldOutText
from evenhand.certificate.text_tokens import text_tokens
from evenhand.core.files import sha256_of
from evenhand.core.progress import SILENT, Monitor, Progress
from evenhand.data.labelled import LabelledText
from evenhand.instruments.instrument import ANSWERS, Preparation, keep_run
from evenhand.models.description import record_of
from evenhand.models.engine.modes import shifted_scores
from evenhand.models.language_model import LanguageModel
from evenhand.models.objectives.held_out import HeldOutRows
from evenhand.models.references import ModelError
from evenhand.stats.resampling import Floats
from evenhand.store.certificates import SCORE_SHIFTS, TakenOver
from evenhand.store.estimates_again import refuse_other_estimates
from evenhand.store.held_out_losses import HeldOutFigures, HeldOutLoss
from evenhand.store.jobs import FINGERPRINT_DIGITS, Parts, kept_parts
from evenhand.store.records import RECORD_FILE, RunRecord
from evenhand.store.run import Run, fingerprint_of_run, read_record
from evenhand.training.passages import passage_rows
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
        original: LanguageModel | None = None,
        monitor: Monitor = SILENT,
        shifts: Mapping[int, float] = MappingProxyType({}),
        taken_over: dict[str, TakenOver] | None = None,
        measured_now: Collection[Path] = (),
    ) -> None:
        """Prepare what is measured.

        Args:
            model: The model.
            plan: What it is measured on.
            folder: Where runs and figures stay.
            original: Whose tokenizer says which tokens are of texts; the model itself if not given.
            monitor: Told how it goes.
            shifts: What is added to the scores of tokens while it is measured, in nats.
            taken_over: Where it is noted what lay in the folder already, by its place.
            measured_now: Runs that this very command let other processes measure.
        """
        self.model = model
        self._original = original or model
        self.shifts = shifts
        self.plan = plan
        self.folder = folder
        self.monitor = monitor
        self.record = record_of(model)
        self.taken_over = {} if taken_over is None else taken_over
        self._own = {str(place) for place in measured_now}
        """Runs and figures that are no earlier command's, or that were looked at already."""
        self._generator = np.random.default_rng()  # unknown to whoever put answers into the folder
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
        return self._read("held-out", "sentences", text, partial(sentence_rows, text))

    def passages(self, text: HeldOutText) -> HeldOutFigures:
        """How surprised a decoder is by passages, each token given all that it read of the passage before."""
        return self._read("passages", "passages", text, partial(passage_rows, text.sentences))

    def answers(self, data: LabelledText) -> Floats:
        """Where classifiers are right: one row per seed, one column per judged example."""
        return np.array([self.answers_of_seed(data, seed) for seed in range(self.plan.finetuning.seeds)])

    def answers_of_seed(self, data: LabelledText, seed: int) -> Floats:
        """Where the classifier of one seed is right."""
        finetuning = self.plan.finetuning

        def compute() -> Floats:
            with self._stage(f"fine-tuning, seed {seed}", "steps") as progress:
                return finetuned_answers(self.model, data, finetuning, seed=seed, report=progress)

        return self._kept(
            f"answers-{seed}",
            f"{data.sha256} {finetuning} {seed}",
            shape=(finetuning.judged_of(data),),
            compute=compute,
            ask_again=lambda *_: 0,  # a classifier would have to be trained again
        )

    def _run(self, name: str, preparation: Preparation, progress: Progress) -> Run:
        place, fingerprint = self.folder / name, preparation.record.fingerprint
        if fingerprint_of_run(place) not in (None, fingerprint):
            shutil.rmtree(place)  # of other weights, data or options
        measured = _measured_at(place, fingerprint)
        run = keep_run(preparation, place, progress=progress)
        if self._is_new(place) and measured:
            asked = refuse_other_answers(run, preparation, self.model, place=place, generator=self._generator)
            refuse_other_estimates(run, place)
            self._take_over(name, measured, asked)
        return run

    def _read(
        self, name: str, unit: str, text: HeldOutText, ask: Callable[[LanguageModel], HeldOutRows]
    ) -> HeldOutFigures:
        tokens = text_tokens(self._original, ask(self._original))

        def compute() -> Floats:
            with self._stage(f"held-out {unit}", unit), self._shifted():
                questions = HeldOut(text.sentences, self.model, rows=ask(self.model))
                own = questions.figures(self.model.loaded.model, text_tokens=tokens)
            return np.array([own.loss.nats, own.loss.tokens, own.special, own.whole], dtype=np.float64)

        def ask_again(kept: Floats, place: Path) -> int:
            with self._shifted():
                return refuse_other_losses(
                    _held_out_figures(kept),
                    text.sentences,
                    ask(self.model),
                    self.model,
                    text_tokens=tokens,
                    place=place,
                    generator=self._generator,
                )

        figures = self._kept(
            name,
            f"{text.sha256} {text.seed} {sha256_of(tokens.tobytes())}{self._shift_words()}",
            shape=(4, len(text.sentences)),
            compute=compute,
            ask_again=ask_again,
        )
        return _held_out_figures(figures)

    def _is_new(self, place: Path) -> bool:
        """Whether what lies at a place is looked at for the first time, and was not measured by this command."""
        if str(place) in self._own:
            return False
        self._own.add(str(place))
        return True

    def _take_over(self, name: str, measured: datetime, asked: int) -> None:
        figures = f"{self.folder.name}/{name}"
        self.taken_over[figures] = TakenOver(figures=figures, measured=measured, asked_again=asked)

    def _shifted(self) -> AbstractContextManager[None]:
        return shifted_scores(self.model.loaded.model, self.shifts) if self.shifts else nullcontext()

    def _shift_words(self) -> str:
        return f" {sorted(self.shifts.items())}" if self.shifts else ""

    def _stage(self, title: str, unit: str) -> AbstractContextManager[Progress]:
        return self.monitor.stage(f"{self.folder.name}: {title}", unit)

    def _kept(
        self,
        name: str,
        determinants: str,
        *,
        shape: tuple[int, ...],
        compute: Callable[[], Floats],
        ask_again: Callable[[Floats, Path], int],
    ) -> Floats:
        """Figures that were kept under all that determines them, else computed and kept.

        Args:
            name: What they are called.
            determinants: What determines them beside the model.
            shape: Of the figures.
            compute: Computes them.
            ask_again: Refuses kept figures that are not the model's, and says how many were asked again.
        """
        record = self.record
        prefix = f" {record.prefix!r}" if record.prefix else ""
        everything = (
            f"{name} {determinants} {record.weights} {record.precision} {version('evenhand')}{prefix}"
        )
        key = f"{name}.{sha256_of(everything.encode())[:FINGERPRINT_DIGITS]}"
        parts = Parts(self.folder / FIGURES_FOLDER)
        place = parts.folder / key
        figures = parts.get_array(key, shape)
        if figures is None:
            figures = compute()
            parts.put_array(key, figures)
            self._own.add(str(place))
        elif self._is_new(place):
            self._take_over(name, _changed_at(place), ask_again(figures, place))
        return figures


def sentence_rows(text: HeldOutText, model: LanguageModel) -> HeldOutRows:
    """What a model is asked of held-out sentences."""
    return model.held_out_rows(text.sentences, seed=text.seed)


def _held_out_figures(rows: Floats) -> HeldOutFigures:
    nats, tokens, special, whole = rows
    return HeldOutFigures(HeldOutLoss(nats, tokens.astype(np.int64)), special, whole > 0)


def _measured_at(place: Path, fingerprint: str) -> datetime | None:
    """When the run at a place was measured, or the first answer of one that was stopped; None if there is neither."""
    if (place / RECORD_FILE).is_file():
        return read_record(place).created
    parts = kept_parts(place, fingerprint, ANSWERS)
    return min((_changed_at(parts.folder / key) for key in parts), default=None)


def _changed_at(path: Path) -> datetime:
    return datetime.fromtimestamp(int(path.stat().st_mtime), UTC)


def _with_shifts(record: RunRecord, shifts: Mapping[int, float]) -> RunRecord:
    """A record that tells the run of a shifted model from that of the model itself."""
    shown = {str(token): shift for token, shift in sorted(shifts.items())}
    return record.model_copy(update={"options": {**record.options, SCORE_SHIFTS: shown}})
