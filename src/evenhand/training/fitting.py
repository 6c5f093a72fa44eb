"""Fit a model to an objective: evaluated after every epoch, the best epoch kept, resumed exactly when interrupted."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch
from transformers import set_seed

from evenhand.core.errors import EvenhandError, RunError
from evenhand.core.estimates import Estimate
from evenhand.core.files import folder_written_whole, write_text
from evenhand.core.progress import Progress
from evenhand.core.recipes import Recipe
from evenhand.instruments.figure_readers import FigureReader
from evenhand.models.description import record_of
from evenhand.models.language_model import LanguageModel
from evenhand.models.objectives.objective import Objective
from evenhand.models.references import ModelError
from evenhand.store.mitigation_records import EpochMetrics, LearningCurve
from evenhand.training.adapters import Adapters
from evenhand.training.checkpoints import Checkpoints
from evenhand.training.perplexity import HeldOut
from evenhand.training.trainer import EpochTrainer, chosen_precision


class ModelEvaluator:
    """The figures of instruments, and the perplexity on held-out text, by the names that metrics have."""

    def __init__(
        self, model: LanguageModel, readers: Sequence[FigureReader], *, held_out: Mapping[str, HeldOut]
    ) -> None:
        self.model = model
        self.held_out = held_out
        self._readers = tuple(readers)

    @property
    def neutral(self) -> dict[str, float]:
        """Of all figures that are not neutral at 0."""
        neutral = {key: value for reader in self._readers for key, value in reader.neutral.items()}
        return {key: value for key, value in neutral.items() if value}

    def evaluate(self, epoch: int) -> EpochMetrics:
        """Bias and quality of the model as it is now."""
        bias = {key: value for reader in self._readers for key, value in reader.values().items()}
        parts = {key: value for reader in self._readers for key, value in reader.parts().items()}
        quality = {name: self._perplexity(text) for name, text in self.held_out.items()}
        return EpochMetrics(epoch=epoch, bias=bias, quality=quality, parts=parts)

    def estimates(self) -> dict[str, Estimate]:
        """The bias metrics with intervals."""
        return {key: value for reader in self._readers for key, value in reader.estimates().items()}

    def _perplexity(self, text: HeldOut) -> float:
        try:
            return text.loss(self.model.loaded.model).perplexity
        except OverflowError:
            return math.inf


IDENTITY_FILE = "training.json"

CURVE_FILE = "learning_curve.jsonl"

FINISHED_FILE = "finished.json"

ADAPTER_FOLDER = "adapter"

LOGS_FOLDER = "logs"

EpochCallback = Callable[[LearningCurve], None]
"""Called with the learning curve after every epoch, and with that of the original alone before the first."""


@dataclass(frozen=True, slots=True)
class Fitted:
    """How a training ended. The model that was given has the best epoch's weights now."""

    recipe: Recipe
    curve: LearningCurve
    stopped: str
    """Why it ended when it did."""
    folder: Path
    skipped: Mapping[str, int] = field(default_factory=dict)
    """How often a sentence was left out of a step, by reason."""

    @property
    def best(self) -> EpochMetrics:
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
    evaluator: ModelEvaluator,
    folder: Path,
    identity: Mapping[str, str] | None = None,
    progress: Progress | None = None,
    on_epoch: EpochCallback | None = None,
) -> Fitted:
    """Train a model in place and leave it with the weights of its best epoch.

    Called again with the same arguments after it was interrupted, it goes on from the last whole epoch and ends, on the
    same CPU, with the same bytes. Called again after it finished, it only loads the result.

    Args:
        model: The original, in full precision; in bf16 if adapters alone are trained.
        objective: Examples and loss.
        recipe: How long and how fast.
        evaluator: Reads bias and quality off ``model``.
        folder: For checkpoints and the learning curve; empty, new, or of this very training.
        identity: What else makes it this very training, such as digests of its data.
        progress: Told how many steps are done.
        on_epoch: Called after every epoch.

    Raises:
        RunError: If the folder belongs to another training.
        ModelError: If the model cannot be trained as asked.
        OutputError: If a checkpoint could not be written; the one before is whole.
    """
    _refuse_impossible(model, objective, recipe)
    _claim(folder, training_identity(model, objective, recipe, identity or {}))
    return _Fitting(model, objective, recipe, evaluator, folder, progress, on_epoch).run()


class _Fitting:
    def __init__(
        self,
        model: LanguageModel,
        objective: Objective,
        recipe: Recipe,
        evaluator: ModelEvaluator,
        folder: Path,
        progress: Progress | None,
        on_epoch: EpochCallback | None,
    ) -> None:
        self.model = model
        self.objective = objective
        self.recipe = recipe
        self.evaluator = evaluator
        self.folder = folder
        self.progress = progress
        self.on_epoch = on_epoch
        self.checkpoints = Checkpoints(folder)
        self.skipped: dict[str, int] = {}

    def run(self) -> Fitted:
        """Train what is not yet trained, and load the best."""
        set_seed(self.recipe.seed)  # adapters start at random
        adapters = Adapters(self.network, self.recipe.lora) if self.recipe.lora else None
        latest = self.checkpoints.latest
        curve = latest.curve if latest else self._untrained_curve()
        self._publish(curve)
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

    def _untrained_curve(self) -> LearningCurve:
        return LearningCurve(epochs=(self._evaluated(0),), neutral=dict(self.evaluator.neutral))

    def _train(self, curve: LearningCurve) -> LearningCurve:
        latest = self.checkpoints.latest

        def after_epoch(epoch: int, trainer: EpochTrainer) -> bool:
            nonlocal curve
            curve = curve.followed_by(self._evaluated(epoch))
            self._keep(curve, trainer)
            self._publish(curve)
            trainer.log(_logged(curve))
            return self._is_enough(curve)

        trainer = EpochTrainer(
            self.network,
            self.objective,
            self.recipe,
            device=self.model.loaded.device,
            memory=self.model.memory,
            scratch=self.folder / LOGS_FOLDER,
            after_epoch=after_epoch,
            progress=self.progress,
        )
        with self.model.loaded.products.in_use():
            trainer.train(resume_from_checkpoint=str(latest.folder) if latest else None)
        self.skipped = dict(trainer.micro_batches.skipped)
        return curve

    def _evaluated(self, epoch: int) -> EpochMetrics:
        training = self.network.training
        self.network.eval()
        with torch.no_grad():
            metrics = self.evaluator.evaluate(epoch)
        self.network.train(training)
        if metrics.is_broken:
            raise EvenhandError(
                f"Training diverged: after epoch {epoch} the model's probabilities are no numbers any more. Lower the "
                f"learning rate ({self.recipe.learning_rate:g}) and give the command again."
            )
        return metrics

    def _keep(self, curve: LearningCurve, trainer: EpochTrainer) -> None:
        self.checkpoints.save(
            self.network,
            curve,
            optimizer=trainer.optimizer,
            scheduler=trainer.lr_scheduler,
            state=trainer.state,
        )
        self.checkpoints.keep_best(curve.best(margin=self.recipe.quality_margin).epoch)

    def _publish(self, curve: LearningCurve) -> None:
        lines = [metrics.model_dump_json() + "\n" for metrics in curve.epochs]
        write_text(self.folder / CURVE_FILE, "".join(lines))
        if self.on_epoch:
            self.on_epoch(curve)

    def _is_enough(self, curve: LearningCurve) -> bool:
        return len(curve.trained) >= self.recipe.epochs or self._is_flat(curve)

    def _is_flat(self, curve: LearningCurve) -> bool:
        return self.recipe.plateau is not None and curve.is_flat(self.recipe.plateau)

    def _finished(self, curve: LearningCurve) -> Fitted:
        stopped = "the learning curve was flat" if self._is_flat(curve) else "all epochs were done"
        fitted = Fitted(self.recipe, curve, stopped, self.folder, self.skipped)
        self.checkpoints.finish(fitted.best.epoch)
        summary = {
            "best": fitted.best.model_dump(),
            "keeps_quality": fitted.keeps_quality,
            "stopped": stopped,
        }
        write_text(self.folder / FINISHED_FILE, json.dumps(summary, indent=1) + "\n")
        return fitted


def _logged(curve: LearningCurve) -> dict[str, float]:
    """What Trainer sends to whoever it reports to."""
    bias = {f"bias/{key}": value for key, value in curve.last.bias.items()}
    quality = {f"held_out/{name}": value for name, value in curve.last.quality.items()}
    return {**bias, "bias/relative": curve.relative_bias(curve.last), **quality}


def _refuse_impossible(model: LanguageModel, objective: Objective, recipe: Recipe) -> None:
    loaded = model.loaded
    stays = recipe.lora is not None and loaded.dtype is torch.bfloat16
    if loaded.dtype is not torch.float32 and not stays:
        raise ModelError(
            f"{loaded.ref.id} is loaded in {loaded.ref.precision.value}, in which small steps of training are lost. "
            "Load it in fp32; the computing itself can be in bf16. In bf16 it can be trained with --lora, which leaves "
            "its own weights as they are."
        )
    if not len(objective.examples):
        raise EvenhandError(f"There is nothing to train on: {objective.name} has no examples.")


def training_identity(
    model: LanguageModel, objective: Objective, recipe: Recipe, further: Mapping[str, str]
) -> dict[str, Any]:
    """What makes a training this very one; what is not equal in all of it is another training."""
    return {
        "weights": record_of(model).weights,
        "objective": objective.name,
        "examples": len(objective.examples),
        "recipe": recipe.model_dump(mode="json", exclude={"report_to"}),
        "precision": chosen_precision(recipe, model.loaded.device).value,
        **further,
    }


def _claim(folder: Path, identity: Mapping[str, Any]) -> None:
    """Make the folder that of this training, or see that it is already."""
    path = folder / IDENTITY_FILE
    if not path.is_file():
        if folder.exists() and any(not entry.name.startswith(".") for entry in folder.iterdir()):
            raise RunError(f"{folder} holds something else than a training. Choose another folder.")
        write_text(path, json.dumps(identity, indent=1) + "\n")
        return
    try:
        existing = json.loads(path.read_bytes())
    except (OSError, ValueError) as problem:
        raise RunError(f"{path} is damaged ({problem}). Remove {folder} and train again.") from None
    expected = json.loads(json.dumps(identity))
    differing = sorted(name for name in {*existing, *expected} if existing.get(name) != expected.get(name))
    if differing:
        raise RunError(
            f"{folder} holds another training: it differs in {', '.join(differing)}. Choose another folder, or remove "
            "it."
        )
