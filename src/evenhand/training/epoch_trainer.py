"""Trainer, epoch by epoch: our order of examples, our checkpoints, and chance that no checkpoint has to keep."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import nn
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.utils.data import DataLoader
from transformers import PrinterCallback, TrainerCallback, TrainingArguments, set_seed
from transformers.integrations import get_available_reporting_integrations

from evenhand.core.errors import EvenhandError
from evenhand.core.precision import Precision
from evenhand.core.progress import Progress
from evenhand.core.recipes import Recipe
from evenhand.models.objectives.objective import Batch, Objective
from evenhand.models.references import ModelError
from evenhand.training.batches import DrawnExamples, EpochBatches, collation
from evenhand.training.checkpoints import Checkpoint
from evenhand.training.half_precision import HalfPrecision
from evenhand.training.trainer import LossTrainer, StepReporting

_CHANCE = 0x5EED

_ATTENTION = [SDPBackend.FLASH_ATTENTION, SDPBackend.EFFICIENT_ATTENTION, SDPBackend.MATH]
"""All but cuDNN's, which plans anew for every shape of a batch; batches padded to their own longest have many."""

AfterEpoch = Callable[[int, "EpochTrainer"], bool]
"""Called with the epoch that is done; says whether that is enough."""


class EpochTrainer(LossTrainer):
    """A Trainer for an objective and a recipe."""

    def __init__(
        self,
        model: nn.Module,
        objective: Objective,
        recipe: Recipe,
        *,
        device: torch.device,
        scratch: Path,
        after_epoch: AfterEpoch,
        progress: Progress | None = None,
    ) -> None:
        self.batches = EpochBatches(objective.examples, batch_size=recipe.batch_size, seed=recipe.seed)
        super().__init__(
            loss=objective.loss,
            model=model,
            args=training_arguments(recipe, device=device, scratch=scratch),
            train_dataset=DrawnExamples(objective.examples),
            data_collator=collation(objective, seed=recipe.seed),
            callbacks=[
                _EpochByEpoch(self, after_epoch, seed=recipe.seed),
                *([StepReporting(progress)] if progress else []),
            ],
        )
        self.remove_callback(PrinterCallback)
        in_half = chosen_precision(recipe, device) is Precision.BF16
        self._half_precision = HalfPrecision(self.model) if in_half else None
        self._weights = [weight for weight in model.parameters() if weight.requires_grad]

    def train(self, *arguments: Any, **options: Any) -> Any:
        """Trainer's own, without cuDNN's attention."""
        with sdpa_kernel(_ATTENTION):
            return super().train(*arguments, **options)

    def training_step(self, model: nn.Module, inputs: Batch, *_: Any, **__: Any) -> torch.Tensor:
        """A step of one process on one device. Trainer's own also sets the mode of every module, each time."""
        batch = self._prepare_inputs(inputs)
        if self._half_precision:
            return self._half_precision.backward(lambda double: self.loss(double, batch))
        loss = self.compute_loss(model, batch)
        self.accelerator.backward(loss)
        return loss.detach()

    def _clip_grad_norm(self, _model: nn.Module) -> torch.Tensor:
        """Trainer's own looks for all weights again at every step."""
        if self._half_precision:
            return self._half_precision.clip(self.args.max_grad_norm)
        return nn.utils.clip_grad_norm_(self._weights, self.args.max_grad_norm)

    def get_train_dataloader(self) -> Any:
        """The batches of an epoch, in the order of the seed and the epoch."""
        loader = DataLoader(
            self.train_dataset,
            batch_sampler=self.batches,
            collate_fn=self.data_collator,
            pin_memory=self.args.device.type == "cuda",
        )
        return self.accelerator.prepare(loader)

    def floating_point_ops(self, _inputs: Any) -> int:
        """Not counted: to count them, Trainer goes through all weights at every step."""
        return 0

    def _load_from_checkpoint(self, resume_from_checkpoint: str, model: nn.Module | None = None) -> None:
        _checkpoint(resume_from_checkpoint).load_weights(model or self.model)

    def _load_optimizer_and_scheduler(self, checkpoint: str | None) -> None:
        if checkpoint is not None:
            _checkpoint(checkpoint).load_optimizer(self.optimizer, self.lr_scheduler)


class _EpochByEpoch(TrainerCallback):  # type: ignore[misc]
    """Seeds every epoch anew, so that an epoch is the same whether a training came to it or was resumed at it."""

    def __init__(self, trainer: EpochTrainer, after_epoch: AfterEpoch, *, seed: int) -> None:
        self.trainer = trainer
        self.after_epoch = after_epoch
        self.seed = seed

    def on_epoch_begin(self, _arguments: Any, state: Any, _control: Any, **_: Any) -> None:
        done = state.global_step // len(self.trainer.batches)
        drawn = np.random.default_rng([self.seed, done, _CHANCE]).integers(2**32)
        set_seed(int(drawn))
        self.trainer.model.train()

    def on_epoch_end(self, _arguments: Any, state: Any, control: Any, **_: Any) -> None:
        epoch = state.global_step // len(self.trainer.batches)
        logs_loss = control.should_log
        control.should_training_stop = self.after_epoch(epoch, self.trainer)
        control.should_log = logs_loss  # Trainer takes whatever is logged meanwhile for its own logging


def training_arguments(recipe: Recipe, *, device: torch.device, scratch: Path) -> TrainingArguments:
    """Trainer's own words for a recipe."""
    if int(os.environ.get("WORLD_SIZE", "1")) > 1:
        raise ModelError(
            "A mitigation trains in one process, on one device. Start it without torchrun; several seeds or models can "
            "run side by side, each with its own --out."
        )
    if device.type == "cuda" and device.index not in (None, 0):
        raise ModelError(
            f"Training runs on the first GPU that is visible, not on {device}. Choose one with "
            f"CUDA_VISIBLE_DEVICES={device.index} and --device cuda."
        )
    arguments = TrainingArguments(
        output_dir=str(scratch),
        num_train_epochs=recipe.epochs,
        per_device_train_batch_size=recipe.batch_size,
        learning_rate=recipe.learning_rate,
        lr_scheduler_type="linear",
        seed=recipe.seed,
        data_seed=recipe.seed,
        use_cpu=device.type == "cpu",
        save_strategy="no",
        logging_strategy="epoch" if recipe.report_to else "no",
        report_to=list(recipe.report_to),
        logging_nan_inf_filter=False,  # it would wait for the GPU at every step
        disable_tqdm=True,
        remove_unused_columns=False,
    )
    if arguments.n_gpu > 1:
        # Trainer would split every batch over them, and slow small models down.
        arguments._n_gpu = 1
    return arguments


def refuse_missing_reporters(recipe: Recipe) -> None:
    """Refuse to report where the package for it is not installed, before anything is read or trained."""
    missing = sorted(set(recipe.report_to) - set(get_available_reporting_integrations()))
    if missing:
        raise EvenhandError(
            f"--report-to {missing[0]} needs a package that is not installed. Install it with: pip install {missing[0]}"
        )


def chosen_precision(recipe: Recipe, device: torch.device) -> Precision:
    """What a recipe computes in on a device."""
    if recipe.precision is not None:
        return recipe.precision
    return Precision.BF16 if device.type == "cuda" and torch.cuda.is_bf16_supported() else Precision.FP32


def _checkpoint(folder: str) -> Checkpoint:
    path = Path(folder)
    return Checkpoint(path, int(path.name.rpartition("-")[2]))
