"""Fit a model to an objective: watched after every epoch, the best epoch kept, resumed exactly when interrupted."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from transformers import set_seed

from evenhand.core.errors import EvenhandError, RunError
from evenhand.core.files import folder_written_whole, write_text
from evenhand.core.progress import Progress
from evenhand.core.recipes import Recipe
from evenhand.models.identity import record_of
from evenhand.models.language_model import LanguageModel
from evenhand.models.objectives.objective import Objective
from evenhand.models.references import ModelError
from evenhand.runs.learning_curves import Judgement, LearningCurve, is_broken
from evenhand.training.adapters import Adapters
from evenhand.training.checkpoints import Checkpoints
from evenhand.training.epoch_trainer import EpochTrainer, chosen_precision
from evenhand.training.watching import Watch

IDENTITY_FILE = "training.json"
CURVE_FILE = "learning_curve.jsonl"
FINISHED_FILE = "finished.json"
ADAPTER_FOLDER = "adapter"
LOGS_FOLDER = "logs"


@dataclass(frozen=True, slots=True)
class FitReport:
    """Who is told how a training goes."""

    steps: Progress | None = None
    judged: Callable[[LearningCurve], None] | None = None
    """Told after every epoch, and of the original."""


@dataclass(frozen=True, slots=True)
class Fitted:
    """How a training ended. The model that was given has the best epoch's weights now."""

    recipe: Recipe
    curve: LearningCurve
    stopped: str
    """Why it ended when it did."""
    folder: Path

    @property
    def best(self) -> Judgement:
        """The epoch that was kept."""
        return self.curve.best(margin=self.recipe.quality_margin)

    @property
    def keeps_quality(self) -> bool:
        """Whether the epoch that was kept is within the quality margin; if not, none was."""
        return self.curve.keeps_quality(self.best, margin=self.recipe.quality_margin)

    @property
    def adapter(self) -> Path | None:
        """The adapters that were trained, where there were any."""
        place = self.folder / ADAPTER_FOLDER
        return place if self.recipe.lora else None


def fit(
    model: LanguageModel,
    objective: Objective,
    recipe: Recipe,
    *,
    watch: Watch,
    folder: Path,
    identity: Mapping[str, str] | None = None,
    report: FitReport | None = None,
) -> Fitted:
    """Train a model in place and leave it with the weights of its best epoch.

    Called again with the same arguments after it was interrupted, it goes on from the last whole epoch and ends, on the
    same CPU, with the same bytes. Called again after it finished, it only loads the result.

    Args:
        model: The original, in full precision.
        objective: Examples and loss.
        recipe: How long and how fast.
        watch: Reads bias and quality off ``model``.
        folder: For checkpoints and the learning curve; empty, new, or of this very training.
        identity: What else makes it this very training, such as digests of its data.
        report: Told about progress.

    Raises:
        RunError: If the folder belongs to another training.
        ModelError: If the model cannot be trained as asked.
        OutputError: If a checkpoint could not be written; the one before is whole.
    """
    _refuse_impossible(model, objective)
    _claim(folder, _identity(model, objective, recipe, identity or {}))
    return _Fitting(model, objective, recipe, watch, folder, report or FitReport()).run()


class _Fitting:
    def __init__(
        self,
        model: LanguageModel,
        objective: Objective,
        recipe: Recipe,
        watch: Watch,
        folder: Path,
        report: FitReport,
    ) -> None:
        self.model = model
        self.objective = objective
        self.recipe = recipe
        self.watch = watch
        self.folder = folder
        self.report = report
        self.checkpoints = Checkpoints(folder)

    def run(self) -> Fitted:
        """Train what is not yet trained, and load the best."""
        set_seed(self.recipe.seed)  # adapters start at random
        adapters = Adapters(self.network, self.recipe.lora) if self.recipe.lora else None
        latest = self.checkpoints.latest
        curve = self._told(latest.curve if latest else LearningCurve(judgements=(self._judged(0),)))
        if not self._is_enough(curve):
            curve = self._train(curve)
        best = curve.best(margin=self.recipe.quality_margin)
        self.checkpoints.of(best.epoch).load_weights(self.network)
        self.network.zero_grad(set_to_none=True)
        self.network.eval()
        if adapters:
            with folder_written_whole(self.folder / ADAPTER_FOLDER) as scratch:
                adapters.save(scratch)
            adapters.fold_in()
        return self._finished(curve)

    @property
    def network(self) -> Any:
        return self.model.loaded.model

    def _train(self, curve: LearningCurve) -> LearningCurve:
        latest = self.checkpoints.latest
        known = [curve]

        def after_epoch(epoch: int, trainer: EpochTrainer) -> bool:
            known.append(known[-1].followed_by(self._judged(epoch)))
            self._keep(known[-1], trainer)
            self._told(known[-1])
            trainer.log(_logged(known[-1]))
            return self._is_enough(known[-1])

        trainer = EpochTrainer(
            self.network,
            self.objective,
            self.recipe,
            device=self.model.loaded.device,
            scratch=self.folder / LOGS_FOLDER,
            after_epoch=after_epoch,
            report=self.report.steps,
        )
        trainer.train(resume_from_checkpoint=str(latest.folder) if latest else None)
        return known[-1]

    def _judged(self, epoch: int) -> Judgement:
        training = self.network.training
        self.network.eval()
        with torch.no_grad():
            reading = self.watch.read()
        self.network.train(training)
        judgement = Judgement(epoch=epoch, malor=reading.malor, perplexity=reading.perplexity)
        if is_broken(judgement):
            raise EvenhandError(
                f"After epoch {epoch} the model's probabilities are no numbers any more: the training left the rails. "
                f"Lower the learning rate ({self.recipe.learning_rate:g}), and choose another --out."
            )
        return judgement

    def _keep(self, curve: LearningCurve, trainer: EpochTrainer) -> None:
        self.checkpoints.save(
            self.network,
            curve,
            optimizer=trainer.optimizer,
            scheduler=trainer.lr_scheduler,
            state=trainer.state,
        )
        self.checkpoints.keep_best(curve.best(margin=self.recipe.quality_margin).epoch)

    def _told(self, curve: LearningCurve) -> LearningCurve:
        lines = [judgement.model_dump_json() + "\n" for judgement in curve.judgements]
        write_text(self.folder / CURVE_FILE, "".join(lines))
        if self.report.judged:
            self.report.judged(curve)
        return curve

    def _is_enough(self, curve: LearningCurve) -> bool:
        return len(curve.trained) >= self.recipe.epochs or self._is_flat(curve)

    def _is_flat(self, curve: LearningCurve) -> bool:
        return self.recipe.plateau is not None and curve.is_flat(self.recipe.plateau)

    def _finished(self, curve: LearningCurve) -> Fitted:
        stopped = "the learning curve was flat" if self._is_flat(curve) else "all epochs were done"
        fitted = Fitted(self.recipe, curve, stopped, self.folder)
        self.checkpoints.finish(fitted.best.epoch)
        told = {"best": fitted.best.model_dump(), "keeps_quality": fitted.keeps_quality, "stopped": stopped}
        write_text(self.folder / FINISHED_FILE, json.dumps(told, indent=1) + "\n")
        return fitted


def _logged(curve: LearningCurve) -> dict[str, float]:
    """What Trainer sends to whoever it reports to."""
    last = curve.judgements[-1]
    malor = {f"malor/{experiment}": value for experiment, value in last.malor.items()}
    return {**malor, "malor/relative": curve.relative_malor(last), "held_out/perplexity": last.perplexity}


def _refuse_impossible(model: LanguageModel, objective: Objective) -> None:
    loaded = model.loaded
    if loaded.dtype is not torch.float32:
        raise ModelError(
            f"{loaded.ref.id} is loaded in {loaded.ref.precision.value}, in which small steps of training are lost. "
            "Load it in fp32; the computing itself can be in bf16."
        )
    if not len(objective.examples):
        raise EvenhandError(f"There is nothing to train on: {objective.name} has no examples.")


def _identity(
    model: LanguageModel, objective: Objective, recipe: Recipe, further: Mapping[str, str]
) -> dict[str, Any]:
    return {
        "weights": record_of(model).weights,
        "objective": objective.name,
        "examples": len(objective.examples),
        "recipe": recipe.model_dump(mode="json", exclude={"report_to"}),
        "precision": chosen_precision(recipe, model.loaded.device).value,
        **further,
    }


def _claim(folder: Path, identity: Mapping[str, Any]) -> None:
    """Make the folder that of this training, or find that it is already."""
    path = folder / IDENTITY_FILE
    if not path.is_file():
        if folder.exists() and any(not known.name.startswith(".") for known in folder.iterdir()):
            raise RunError(f"{folder} holds something else than a training. Choose another place with --out.")
        write_text(path, json.dumps(identity, indent=1) + "\n")
        return
    try:
        found = json.loads(path.read_bytes())
    except (OSError, ValueError) as problem:
        raise RunError(f"{path} is damaged ({problem}). Remove {folder} and train again.") from None
    differing = sorted(
        name for name in {*found, *identity} if found.get(name) != json.loads(json.dumps(identity)).get(name)
    )
    if differing:
        raise RunError(
            f"{folder} holds another training: it differs in {', '.join(differing)}. Choose another place with --out, "
            "or remove it."
        )
