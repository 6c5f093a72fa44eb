"""Mitigations that train: prepare an objective from the data, fit the model to it, keep the best."""

from __future__ import annotations

import json
from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar, Generic, TypeVar

from evenhand.core.errors import DatasetError, EvenhandError
from evenhand.core.estimates import Estimate
from evenhand.core.experiments import Experiment
from evenhand.core.probes import ProbeSet
from evenhand.core.progress import SILENT, Monitor
from evenhand.core.recipes import Recipe
from evenhand.instruments.figure_readers import FigureReader
from evenhand.instruments.malor.prepared import MalorReader
from evenhand.mitigation.mitigation import (
    Mitigation,
    MitigationData,
    MitigationOptions,
    MitigationOutcome,
    Setting,
)
from evenhand.mitigation.texts import HeldOutSentences, TrainingText, UnseenProbes
from evenhand.models.language_model import LanguageModel
from evenhand.models.model import require
from evenhand.models.objectives.objective import Objective
from evenhand.models.requests import Train
from evenhand.store.jobs import Job
from evenhand.store.mitigation_records import (
    PERPLEXITY,
    PERPLEXITY_IN_PASSAGES,
    DataRecord,
    LearningCurve,
    SeedRecord,
    TextRecord,
    malor_by_experiment,
)
from evenhand.store.mitigation_summaries import FrontierPoint
from evenhand.store.run import INSTRUMENTS
from evenhand.training.checkpoints import copied_weights, put_weights
from evenhand.training.fitting import ADAPTER_FOLDER, LOGS_FOLDER, Fitted, ModelEvaluator
from evenhand.training.passages import held_out_passages, reads_passages
from evenhand.training.perplexity import HeldOut
from evenhand.training.seeds import FittedSeeds, SeedEpochCallback, best_fit, fit_seeds, recipes_by_seed
from evenhand.training.trainer import chosen_precision, refuse_missing_reporters

DATA_FOLDER = "data"
TRAINING_FOLDER = "training"
"""Parts of a job's folder."""


@dataclass(frozen=True, kw_only=True)
class TrainingOptions(MitigationOptions):
    """How a mitigation trains.

    Attributes:
        recipe: How long and how fast; the method's usual one if not given.
        seeds: The training is done once for each, and the best is kept; the recipe's own seed if empty.
        on_epoch: Called with the seed and its learning curve after every epoch.
    """

    recipe: Recipe | None = None
    seeds: tuple[int, ...] = ()
    on_epoch: SeedEpochCallback | None = field(default=None, compare=False, repr=False)


TrainedOptions = TypeVar("TrainedOptions", bound=TrainingOptions)


@dataclass(frozen=True, slots=True)
class MitigationInputs:
    """What an objective is prepared from."""

    text: TrainingText
    probes: ProbeSet
    experiments: tuple[Experiment, ...]
    recipe: Recipe
    scratch: Path
    """For files that are made on the way."""
    may_read_probes: bool = False
    """Whether sentences of the probes may be trained on."""


@dataclass(frozen=True, slots=True)
class PreparedObjective:
    """An objective, and what a record says of its data."""

    objective: Objective
    corpus: tuple[TextRecord, ...]
    sha256: str
    """Of what is trained on."""
    counts: Mapping[str, int] = field(default_factory=dict)
    warnings: tuple[str, ...] = ()

    def record(self, held_out: HeldOutSentences) -> DataRecord:
        """What was trained on, and what was kept back."""
        return DataRecord(
            corpus=self.corpus,
            examples=len(self.objective.examples),
            counts=dict(self.counts),
            sha256=self.sha256,
            held_out=held_out.record,
        )


@dataclass(frozen=True, slots=True)
class _Trial:
    """What one variant of the options came to."""

    settings: Mapping[str, Setting]
    objective: str
    data: DataRecord
    fits: FittedSeeds
    after: Mapping[str, Estimate]

    def frontier_point(self, weight: float, *, best: _Trial) -> FrontierPoint:
        """What this variant gave, beside the best one."""
        chosen = self.fits.chosen
        return FrontierPoint(
            weight=weight,
            malor=malor_by_experiment(chosen.best.bias),
            perplexity_change=100 * chosen.curve.quality_loss(chosen.best),
            chosen=self is best,
        )


class TrainingMitigation(Mitigation[TrainedOptions]):
    """Prepare, fit, keep the best. A method says how its objective is made from the data."""

    recipe: ClassVar[Recipe]
    """The usual one."""

    @abstractmethod
    def prepare(
        self, model: LanguageModel, inputs: MitigationInputs, options: TrainedOptions
    ) -> PreparedObjective:
        """Read the corpus and make the objective.

        Raises:
            DatasetError: If the corpus has nothing to train on.
            ModelError: If the model cannot be trained in this way.
        """

    def variants(self, options: TrainedOptions) -> Mapping[float, TrainedOptions]:
        """The options to try, by the weight that each gives to lower bias; the best of them is kept."""
        return {1.0: options}

    def recipe_for(self, options: TrainedOptions) -> Recipe:
        """The recipe of the options, or the usual one."""
        return options.recipe or self.recipe

    def seeds_for(self, options: TrainedOptions) -> tuple[int, ...]:
        """The seeds of the options, or that of the recipe."""
        return options.seeds or (self.recipe_for(options).seed,)

    def refuse_impossible(self, data: MitigationData, options: TrainedOptions) -> None:
        """Refuse to train without text, seeds that are not possible, and reporters that are not installed."""
        if not data.sources:
            raise EvenhandError(
                "No corpus was given. Write --corpus PATH: text files, folders, hub:NAME, or pairs from evenhand data "
                "counterfactual."
            )
        recipes_by_seed(self.recipe_for(options), self.seeds_for(options))
        refuse_missing_reporters(self.recipe_for(options))

    def identity(self, options: TrainedOptions) -> Mapping[str, Any]:
        """The settings of every variant, the recipe and the seeds."""
        return {
            "settings": [dict(self.settings(variant)) for variant in self.variants(options).values()],
            "recipe": self.recipe_for(options).fingerprint,
            "seeds": list(self.seeds_for(options)),
        }

    def mitigate(
        self,
        model: LanguageModel,
        *,
        data: MitigationData,
        options: TrainedOptions,
        job: Job,
        monitor: Monitor,
    ) -> MitigationOutcome:
        """Train every variant with every seed, and leave the model with the best weights."""
        require(model, Train, purpose="be mitigated by training")
        model.ref.refuse_prefix()
        return _Training(self, model, data, options, job, monitor).run()


class _Training(Generic[TrainedOptions]):
    """The training of one model with all variants of its options."""

    def __init__(
        self,
        method: TrainingMitigation[TrainedOptions],
        model: LanguageModel,
        data: MitigationData,
        options: TrainedOptions,
        job: Job,
        monitor: Monitor,
    ) -> None:
        self.method = method
        self.model = model
        self.data = data
        self.options = options
        self.job = job
        self.monitor = monitor
        self.recipe = method.recipe_for(options)
        self.seeds = method.seeds_for(options)

    def run(self) -> MitigationOutcome:
        """Train what is not trained yet, choose, and leave the model with what was chosen."""
        self.monitor.note("Reading the corpus")
        with self.monitor.stage("reading", "bytes") as progress:
            held_out = self.data.held_out_sentences(progress)
        evaluator = ModelEvaluator(
            self.model,
            figure_readers(self.model, self.data),
            held_out=quality_texts(held_out, self.model),
        )
        before = evaluator.estimates()
        original = copied_weights(self.model.loaded.model)

        variants = self.method.variants(self.options)
        trials: dict[float, _Trial] = {}
        for weight, options in variants.items():
            if len(variants) > 1:
                self.monitor.note(f"Balance {weight:g}")
            put_weights(self.model.loaded.model, original)
            trials[weight] = self._try(
                options, held_out, evaluator, monitor=self.monitor, on_epoch=self._on_epoch
            )
        chosen = best_fit([trial.fits.chosen for trial in trials.values()])
        kept = next(weight for weight, trial in trials.items() if trial.fits.chosen is chosen)
        best = trials[kept]
        if kept != list(trials)[-1]:
            put_weights(self.model.loaded.model, original)
            self._try(variants[kept], held_out, evaluator, monitor=SILENT, on_epoch=None)  # only loads it
        points = tuple(trial.frontier_point(weight, best=best) for weight, trial in trials.items())
        return MitigationOutcome(
            settings=best.settings,
            objective=best.objective,
            data=best.data,
            recipe=chosen.recipe,
            precision=chosen_precision(self.recipe, self.model.loaded.device).value,
            seeds=tuple(_seed_record(fitted) for fitted in best.fits.fits),
            chosen_seed=chosen.recipe.seed,
            before=before,
            after=best.after,
            frontier=points if len(points) > 1 else (),
            beside=_folders_beside(chosen),
        )

    def _try(
        self,
        options: TrainedOptions,
        held_out: HeldOutSentences,
        evaluator: ModelEvaluator,
        *,
        monitor: Monitor,
        on_epoch: SeedEpochCallback | None,
    ) -> _Trial:
        """Prepare and train one variant; what is trained already is only loaded."""
        unseen = UnseenProbes(self.data.probes)
        with monitor.stage("reading", "bytes") as progress:
            inputs = MitigationInputs(
                text=TrainingText(self.data.sources, held_out, progress, unseen),
                probes=self.data.probes,
                experiments=self.data.experiments,
                recipe=self.recipe,
                scratch=self.job.folder / DATA_FOLDER,
                may_read_probes=self.data.may_read_probes,
            )
            prepared = self._prepare(inputs, options)
        for warning in prepared.warnings:
            monitor.warn(warning)
        examples, kept_back = len(prepared.objective.examples), len(held_out.sentences)
        monitor.note(f"Training on {examples:,} examples; {kept_back:,} sentences are held out")
        settings = self.method.settings(options)
        with monitor.stage("training", "steps") as progress:
            fits = fit_seeds(
                self.model,
                prepared.objective,
                self.recipe,
                seeds=self.seeds,
                evaluator=evaluator,
                folder=self.job.subfolder(TRAINING_FOLDER),
                identity={
                    "data": prepared.sha256,
                    "settings": json.dumps(dict(settings), sort_keys=True),
                    "quality": ", ".join(evaluator.held_out),
                },
                progress=progress,
                on_epoch=on_epoch,
            )
        for fitted in fits.fits:
            for reason, count in fitted.skipped.items():
                monitor.warn(
                    f"{count:,} times a sentence was left out of a training step: {reason}. Cut long sentences with "
                    "--max-tokens, or train with --lora."
                )
        return _Trial(
            settings=settings,
            objective=prepared.objective.name,
            data=prepared.record(held_out).model_copy(update={"unseen": unseen.record}),
            fits=fits,
            after=evaluator.estimates(),
        )

    def _prepare(self, inputs: MitigationInputs, options: TrainedOptions) -> PreparedObjective:
        try:
            return self.method.prepare(self.model, inputs, options)
        except DatasetError:
            if not (self.job.folder / TRAINING_FOLDER).exists():
                self.job.discard()  # another corpus is another job: nothing would go on from here
            raise

    def _on_epoch(self, seed: int, curve: LearningCurve) -> None:
        label = f"seed {seed}, " if len(self.seeds) > 1 else ""
        self.monitor.note(f"{label}{curve.describe_last()}")
        if self.options.on_epoch:
            self.options.on_epoch(seed, curve)


def quality_texts(held_out: HeldOutSentences, model: LanguageModel) -> dict[str, HeldOut]:
    """What quality is read from after every epoch: sentences, and passages where the model reads so far."""
    texts = {PERPLEXITY: HeldOut(held_out.sentences, model)}
    if reads_passages(model) and (passages := held_out.passages()):
        texts[PERPLEXITY_IN_PASSAGES] = held_out_passages(passages, model)
    return texts


def figure_readers(model: LanguageModel, data: MitigationData) -> tuple[FigureReader, ...]:
    """What is read off a model after every epoch: the instruments that the data name, or MALoR.

    MALoR leaves out what is held out for the certificate: an epoch that is chosen by its figures has seen them.
    """
    if not data.instruments:
        return (MalorReader(model, data.probes.without_held_out(), experiments=data.experiments),)
    return tuple(INSTRUMENTS.get(name).reader(model, options) for name, options in data.instruments.items())


def _seed_record(fitted: Fitted) -> SeedRecord:
    return SeedRecord(
        seed=fitted.recipe.seed,
        stopped=fitted.stopped,
        curve=fitted.curve,
        best=fitted.best,
        keeps_quality=fitted.keeps_quality,
    )


def _folders_beside(fitted: Fitted) -> dict[str, Path]:
    """Folders that are kept beside the weights."""
    logs = {LOGS_FOLDER: fitted.folder / LOGS_FOLDER} if fitted.recipe.report_to else {}
    return logs if fitted.adapter is None else {**logs, ADAPTER_FOLDER: fitted.adapter}
