"""Train a judge on next-sentence pairs: checkpoints on the way, resumed exactly, accuracy by what it answers."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from evenhand.core.errors import EvenhandError
from evenhand.core.progress import Progress
from evenhand.core.recipes import LARGEST_SEED, REPORTERS, Precision, Recipe
from evenhand.heads.encoded_pairs import EncodedPairs, PairExample
from evenhand.heads.judged_pairs import judge_inputs, judge_pairs
from evenhand.models.engine.memory import MemoryBudget
from evenhand.models.judges import Judge
from evenhand.store.head_records import (
    CheckpointPoint,
    HeadKind,
    LossPoint,
    NextSentenceCurve,
    NextSentenceRecipe,
)
from evenhand.training.batches import StageBatches
from evenhand.training.checkpoints import Checkpoints
from evenhand.training.fitting import LOGS_FOLDER
from evenhand.training.half_precision import HalfPrecision, ScaledHalfPrecision
from evenhand.training.micro_batches import FullPrecision, Gradients
from evenhand.training.trainer import EpochTrainer, StepPlan, chosen_precision

RATES = {HeadKind.POOLED: (5e-6, 1e-3), HeadKind.LABELS: (1e-4, 1e-4), HeadKind.OWN: (2e-5, 2e-5)}
"""Learning rates of body and head as published. With 5e-6, mT5 never learns to answer."""

CHECKED_SHARE = 0.1
"""Of the test pairs, those that are judged at every checkpoint."""


def recipe_for(kind: HeadKind, **chosen: Any) -> NextSentenceRecipe:
    """The recipe for a kind of head, with what was chosen otherwise; None stands for what was not.

    Raises:
        EvenhandError: If it is not possible.
    """
    body, head = RATES[kind]
    given = {name: value for name, value in chosen.items() if value is not None}
    recipe = NextSentenceRecipe.model_validate({"body_rate": body, "head_rate": head, **given})
    for name in ("batch_size", "passes", "restarts", "checkpoints", "test_pairs", "report_every"):
        if getattr(recipe, name) < 1:
            raise EvenhandError(
                f"{name.replace('_', ' ')} is {getattr(recipe, name)}; it must be at least 1."
            )
    for rate in (recipe.body_rate, recipe.head_rate):
        if not 0 < rate < 1:
            raise EvenhandError(f"A learning rate is {rate:g}; it must lie between 0 and 1.")
    if recipe.max_tokens < 8 or recipe.clip <= 0 or not 0 <= recipe.seed <= LARGEST_SEED:
        raise EvenhandError(
            "Pairs need 8 tokens or more, gradients a length above 0, and the seed is at least 0."
        )
    unknown = sorted(set(recipe.report_to) - set(REPORTERS))
    if unknown:
        raise EvenhandError(f"{unknown[0]!r} cannot be reported to. Known: {', '.join(REPORTERS)}.")
    return recipe


class NextSentenceObjective:
    """The cross-entropy of classes or labels."""

    name = "next-sentence"
    pads = True

    def __init__(self, examples: EncodedPairs, *, pad: int, batch_size: int) -> None:
        self.examples = examples
        self.pad = pad
        self._batch_size = batch_size

    def lay_out(
        self, examples: Sequence[PairExample], _generator: np.random.Generator
    ) -> Sequence[PairExample]:
        """One piece per pair."""
        return examples

    def loss(self, model: Any, pieces: Sequence[PairExample]) -> Tensor:
        """The sum over pieces, as a share of a full batch."""
        device = next(model.parameters()).device
        classes = torch.tensor([piece.label for piece in pieces], device=device)
        losses: Tensor = model.losses(*judge_inputs(pieces, pad=self.pad, device=device), classes)
        return losses.sum() / self._batch_size


class NextSentenceTrainer(EpochTrainer):
    """An EpochTrainer whose head has a learning rate of its own, and which keeps its losses."""

    def __init__(
        self, model: Judge, *, rates: tuple[float, float], report_steps: int, **options: Any
    ) -> None:
        super().__init__(model, **options)
        self.optimizer: Any
        self.points: list[LossPoint] = []
        self._rates = rates
        self._every = report_steps
        self._losses: list[Tensor] = []

    def create_optimizer(self, *_: Any, **__: Any) -> Any:
        """AdamW with two groups; Trainer's own has one learning rate."""
        if self.optimizer is None:
            head = list(self.model.head_parameters())
            known = {id(weight) for weight in head}
            body = [weight for weight in self.model.parameters() if id(weight) not in known]
            groups = [{"params": body, "lr": self._rates[0]}, {"params": head, "lr": self._rates[1]}]
            self.optimizer = torch.optim.AdamW(
                [group for group in groups if group["params"]], weight_decay=self.args.weight_decay
            )
        return self.optimizer

    def training_step(self, model: nn.Module, inputs: Any, *further: Any, **options: Any) -> Tensor:
        """The house's own, with its loss kept."""
        lost = super().training_step(model, inputs, *further, **options)
        self._losses.append(lost.detach())
        if len(self._losses) >= self._every:
            self.note_losses(step=self.state.global_step + 1)
        return lost

    def note_losses(self, *, step: int) -> None:
        """Make a point of the losses since the last one."""
        if not self._losses:
            return
        loss = float(torch.stack(self._losses).mean())
        self._losses.clear()
        rates = [float(group["lr"]) for group in self.optimizer.param_groups]
        point = LossPoint(
            pairs=step * self.batches.batch_size, loss=loss, body_rate=rates[0], head_rate=rates[-1]
        )
        if not math.isfinite(loss):
            raise EvenhandError(
                f"Training diverged: after {point.pairs:,} pairs the loss is no number any more. Lower the learning "
                "rates, or compute in bf16 or fp32."
            )
        self.points.append(point)
        self.log({"loss": loss, "body_rate": rates[0], "head_rate": rates[-1]})


@dataclass(frozen=True, slots=True)
class JudgeTraining:
    """A judge to train, and what with."""

    judge: Judge
    train: EncodedPairs
    test: EncodedPairs
    recipe: NextSentenceRecipe
    device: torch.device
    memory: MemoryBudget
    pad: int
    folder: Path
    """For checkpoints."""
    progress: Progress | None = None
    on_checkpoint: Callable[[NextSentenceCurve], None] = field(default=lambda _: None)

    @property
    def logs(self) -> Path:
        """Where whoever is reported to writes."""
        return self.folder / LOGS_FOLDER

    @property
    def precision(self) -> Precision:
        """What is computed in."""
        return self.recipe.precision or chosen_precision(Recipe(), self.device)

    @property
    def batches(self) -> StageBatches:
        """All batches, in stages between checkpoints."""
        recipe = self.recipe
        return StageBatches(
            self.train.lengths,
            batch_size=min(recipe.batch_size, len(self.train)),
            seed=recipe.seed,
            stages=recipe.checkpoints,
            passes=recipe.passes,
        )

    @property
    def steps(self) -> int:
        """How many there are in all."""
        return self.batches.stages * len(self.batches)

    def run(self) -> NextSentenceCurve:
        """Train what is not yet trained, and leave the judge with the last weights.

        Nothing is chosen by the test pairs: the weights after the last step are kept.
        """
        checkpoints = Checkpoints(self.folder)
        latest = checkpoints.latest
        curve = (
            latest.curve_as(NextSentenceCurve) if latest else NextSentenceCurve(checkpoints=(self._point(0),))
        )
        self.on_checkpoint(curve)
        if curve.last.epoch < self.batches.stages:
            curve = self._train(curve, checkpoints)
        else:
            checkpoints.of(curve.last.epoch).load_weights(self.judge)
        self.judge.zero_grad(set_to_none=True)
        self.judge.eval()
        return curve

    def _train(self, curve: NextSentenceCurve, checkpoints: Checkpoints) -> NextSentenceCurve:
        gradients = self._gradients(curve.last.loss_scale)
        latest = checkpoints.latest

        def after_epoch(epoch: int, trainer: EpochTrainer) -> bool:
            nonlocal curve
            if not isinstance(trainer, NextSentenceTrainer):
                raise TypeError(type(trainer).__name__)
            trainer.note_losses(step=trainer.state.global_step)
            if isinstance(gradients, ScaledHalfPrecision):
                gradients.forget_good_steps()  # as a training that goes on from here would
            point = self._point(epoch, scale=getattr(gradients, "scale", 1.0))
            curve = NextSentenceCurve(
                losses=(*curve.losses, *trainer.points), checkpoints=(*curve.checkpoints, point)
            )
            trainer.points.clear()
            checkpoints.save(
                self.judge,
                curve,
                optimizer=trainer.optimizer,
                scheduler=trainer.lr_scheduler,
                state=trainer.state,
            )
            checkpoints.keep_best(epoch)
            trainer.log({"test_accuracy": point.accuracy})  # Transformers writes test/accuracy
            self.on_checkpoint(curve)
            return epoch >= self.batches.stages

        trainer = NextSentenceTrainer(
            self.judge,
            rates=(self.recipe.body_rate, self.recipe.head_rate),
            report_steps=self.recipe.report_steps,
            objective=NextSentenceObjective(self.train, pad=self.pad, batch_size=self.batches.batch_size),
            recipe=self._recipe(),
            device=self.device,
            memory=self.memory,
            scratch=self.logs,
            after_epoch=after_epoch,
            progress=self.progress,
            plan=StepPlan(self.batches, gradients, self._arguments()),
        )
        trainer.train(resume_from_checkpoint=str(latest.folder) if latest else None)
        return curve

    def _recipe(self) -> Recipe:
        """What the house's Trainer wants to know; a stage is an epoch to it."""
        return Recipe(
            epochs=self.batches.stages,
            batch_size=self.batches.batch_size,
            learning_rate=self.recipe.body_rate,
            seed=self.recipe.seed,
            report_to=self.recipe.report_to,
        )

    def _arguments(self) -> dict[str, Any]:
        return {
            "lr_scheduler_type": "cosine_with_restarts",
            "lr_scheduler_kwargs": {"num_cycles": self.recipe.restarts},
            "warmup_steps": self.steps // 100 + 1,
            "max_grad_norm": self.recipe.clip,
            "logging_strategy": "no",
        }

    def _gradients(self, scale: float) -> Gradients:
        if self.precision is Precision.BF16:
            return HalfPrecision(self.judge)
        if self.precision is Precision.FP16:
            return ScaledHalfPrecision(self.judge, **({"scale": scale} if scale > 1 else {}))
        return FullPrecision(self.judge)

    def _point(self, epoch: int, *, scale: float = 1.0) -> CheckpointPoint:
        checked = max(1, round(CHECKED_SHARE * len(self.test)))
        judged = judge_pairs(self.judge, self.test, pad=self.pad, most=checked)
        accuracy = judged.accuracy
        interval = {"low": accuracy.low, "high": accuracy.high} if accuracy.defined else {}
        pairs = epoch * len(self.batches) * self.batches.batch_size
        return CheckpointPoint(
            epoch=epoch, pairs=pairs, accuracy=float(judged.right.mean()), loss_scale=scale, **interval
        )
