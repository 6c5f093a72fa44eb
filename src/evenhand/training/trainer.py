"""Training on Transformers' Trainer, epoch by epoch: seeded, quiet, with our order of examples and our checkpoints."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import nn
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.optim.swa_utils import AveragedModel
from torch.utils.data import DataLoader, Dataset, SequentialSampler
from transformers import PrinterCallback, Trainer, TrainerCallback, TrainingArguments, set_seed
from transformers.integrations import get_available_reporting_integrations

from evenhand.core.errors import EvenhandError
from evenhand.core.progress import Progress
from evenhand.core.recipes import Precision, Recipe
from evenhand.models.engine.memory import MemoryBudget
from evenhand.models.objectives.objective import Batch, Objective, Piece
from evenhand.models.references import ModelError
from evenhand.training.batches import DrawnExamples, EpochBatches, piece_layout
from evenhand.training.checkpoints import Checkpoint
from evenhand.training.half_precision import HalfPrecision
from evenhand.training.micro_batches import (
    MOST_TOKENS,
    FullPrecision,
    Gradients,
    MicroBatches,
    tokens_that_fit,
)

Collate = Callable[[list[Any]], Batch]

Loss = Callable[[Any, Any], torch.Tensor]
"""From a model and a batch, or pieces of one, to what is to be lowered."""


class ExampleOrder(StrEnum):
    """In which order a training meets its examples."""

    SHUFFLED = "shuffled"
    AS_GIVEN = "as given"


@dataclass(frozen=True, slots=True)
class TrainingPlan:
    """How long and how fast to train, and in which order."""

    steps: int
    batch_size: int
    learning_rate: float
    warmup_steps: int = 0
    seed: int = 0
    device: str = "cpu"
    decay: float = 1.0
    """Share of the steps after the warm-up, at the end, over which the learning rate falls to 0."""
    averaged: float = 0.0
    """Share of the steps, at the end, over which weights are averaged; 0 takes the last weights."""
    order: ExampleOrder = ExampleOrder.SHUFFLED
    one_thread: bool = True
    """Sums then have one order whatever the number of cores; tiny models are no slower, larger ones are."""


class Examples(Dataset[Any]):
    """Examples in memory."""

    def __init__(self, examples: Sequence[Any]) -> None:
        self.examples = examples

    def __len__(self) -> int:
        return len(self.examples)

    def __getitem__(self, place: int) -> Any:
        return self.examples[place]


class LossTrainer(Trainer):  # type: ignore[misc]
    """A Trainer whose loss is given."""

    def __init__(self, *, loss: Loss, order: ExampleOrder = ExampleOrder.SHUFFLED, **options: Any) -> None:
        super().__init__(**options)
        self.loss = loss
        self.order = order

    def compute_loss(self, model: Any, inputs: Batch, *_: Any, **__: Any) -> torch.Tensor:
        """The loss that was given, of a batch."""
        return self.loss(model, inputs)

    def _get_train_sampler(self, *arguments: Any) -> Any:
        """Trainer's own knows no other order than random ones in all versions that we support."""
        if self.order is ExampleOrder.AS_GIVEN:
            return SequentialSampler(self.train_dataset)
        return super()._get_train_sampler(*arguments)


class StepReporting(TrainerCallback):  # type: ignore[misc]
    """Passes on how many steps are done."""

    def __init__(self, report: Progress) -> None:
        self.report = report

    def on_step_end(self, _arguments: Any, state: Any, _control: Any, **_: Any) -> None:
        """Called by Trainer."""
        self.report(state.global_step, state.max_steps)


class _Averaging(TrainerCallback):  # type: ignore[misc]
    """Keeps the mean of the weights over the last steps, and puts it into the model at the end.

    The last batches push weights a little to and fro; their mean is steadier than the last of them.
    """

    def __init__(self, share: float) -> None:
        self.share = share
        self.mean: AveragedModel | None = None

    def on_step_end(self, _arguments: Any, state: Any, _control: Any, *, model: nn.Module, **_: Any) -> None:
        if state.global_step > (1 - self.share) * state.max_steps:
            self.mean = self.mean or AveragedModel(model)
            self.mean.update_parameters(model)

    def on_train_end(
        self, _arguments: Any, _state: Any, _control: Any, *, model: nn.Module, **_: Any
    ) -> None:
        if self.mean is not None:
            model.load_state_dict(self.mean.module.state_dict())


def train(
    model: nn.Module,
    examples: Sequence[Any],
    *,
    collate: Collate,
    loss: Loss,
    plan: TrainingPlan,
    report: Progress | None = None,
) -> None:
    """Train a model in place; on one thread, the same plan gives the same weights on CPUs of the same platform."""
    with tempfile.TemporaryDirectory() as scratch, single_thread() if plan.one_thread else nullcontext():
        arguments = TrainingArguments(
            output_dir=scratch,
            max_steps=plan.steps,
            per_device_train_batch_size=plan.batch_size,
            learning_rate=plan.learning_rate,
            warmup_steps=plan.warmup_steps,
            lr_scheduler_type="warmup_stable_decay",
            lr_scheduler_kwargs={
                "num_decay_steps": round(plan.decay * (plan.steps - plan.warmup_steps)),
                "decay_type": "cosine",
            },
            adam_beta2=0.95,
            seed=plan.seed,
            data_seed=plan.seed,
            use_cpu=plan.device == "cpu",
            save_strategy="no",
            logging_strategy="no",
            report_to=[],
            disable_tqdm=True,
            remove_unused_columns=False,
            dataloader_pin_memory=False,
        )
        trainer = LossTrainer(
            loss=loss,
            order=plan.order,
            model=model,
            args=arguments,
            train_dataset=Examples(examples),
            data_collator=collate,
            callbacks=_callbacks(plan, report),
        )
        trainer.remove_callback(PrinterCallback)
        trainer.train()
    model.eval()


def _callbacks(plan: TrainingPlan, report: Progress | None) -> list[TrainerCallback]:
    reporting = [StepReporting(report)] if report else []
    return [*reporting, *([_Averaging(plan.averaged)] if plan.averaged else [])]


@contextmanager
def single_thread() -> Iterator[None]:
    """Compute on one thread: sums have one order, and tiny models are no slower."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(threads)


_CHANCE = 0x5EED

_ATTENTION = [SDPBackend.FLASH_ATTENTION, SDPBackend.EFFICIENT_ATTENTION, SDPBackend.MATH]
"""All but cuDNN's, which plans anew for every shape of a batch; batches padded to their own longest have many."""


@dataclass(frozen=True, slots=True)
class StepPlan:
    """How batches follow one another and what is done with them, where a recipe alone does not say."""

    batches: EpochBatches
    gradients: Gradients
    arguments: Mapping[str, Any]
    """Further ones of Transformers' Trainer, such as those of its schedule."""


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
        memory: MemoryBudget,
        scratch: Path,
        after_epoch: AfterEpoch,
        progress: Progress | None = None,
        plan: StepPlan | None = None,
    ) -> None:
        self.batches = (
            plan.batches
            if plan
            else EpochBatches(objective.examples, batch_size=recipe.batch_size, seed=recipe.seed)
        )
        further = plan.arguments if plan else {}
        super().__init__(
            loss=objective.loss,
            model=model,
            args=training_arguments(recipe, device=device, scratch=scratch, **further),
            train_dataset=DrawnExamples(objective.examples),
            data_collator=piece_layout(objective, seed=recipe.seed),
            callbacks=[
                _EpochByEpoch(self, after_epoch, seed=recipe.seed),
                *([StepReporting(progress)] if progress else []),
            ],
        )
        self.remove_callback(PrinterCallback)
        in_half = chosen_precision(recipe, device) is Precision.BF16
        self._gradients: Gradients = (
            plan.gradients if plan else HalfPrecision(self.model) if in_half else FullPrecision(self.model)
        )
        self._objective = objective
        self._memory = memory

    def train(self, *arguments: Any, **options: Any) -> Any:
        """Trainer's own, without cuDNN's attention."""
        with sdpa_kernel(_ATTENTION):
            return super().train(*arguments, **options)

    def training_step(self, model: nn.Module, inputs: Sequence[Piece], *_: Any, **__: Any) -> torch.Tensor:
        """The gradients of a batch, as many pieces at a time as memory allows, in one process on one device."""
        self._gradients.start()
        lost = self.micro_batches.run(
            inputs,
            lambda pieces: self._gradients.add(model, lambda network: self.loss(network, pieces)),
        )
        return torch.as_tensor(lost, device=self.args.device)

    @cached_property
    def micro_batches(self) -> MicroBatches:
        """How batches are split, settled at the first step."""
        network = self._gradients.network(self.model)
        generator = np.random.default_rng(self.args.seed)
        pieces = self._objective.lay_out(self._objective.examples[: self.batches.batch_size], generator)
        pads = self._objective.pads
        fitting = tokens_that_fit(
            pieces,
            lambda sample: self.loss(network, sample),
            self._memory,
            most=MOST_TOKENS.get(self.args.device.type, MOST_TOKENS["cpu"]),
            pads=pads,
        )
        return MicroBatches(fitting, pads=pads)

    def _clip_grad_norm(self, _model: nn.Module) -> torch.Tensor:
        """Trainer's own looks for all weights again at every step."""
        return self._gradients.clip(self.args.max_grad_norm)

    def get_train_dataloader(self) -> Any:
        """The batches of an epoch, in the order of the seed and the epoch."""
        loader = DataLoader(
            self.train_dataset,
            batch_sampler=self.batches,
            collate_fn=self.data_collator,
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


def training_arguments(
    recipe: Recipe, *, device: torch.device, scratch: Path, **further: Any
) -> TrainingArguments:
    """Trainer's own words for a recipe, and for what it does not say."""
    if int(os.environ.get("WORLD_SIZE", "1")) > 1:
        raise ModelError(
            "Training runs in one process, on one device. Start it without torchrun; several seeds or models can "
            "run side by side, each with its own --out."
        )
    if device.type == "cuda" and device.index not in (None, 0):
        raise ModelError(
            f"Training runs on the first GPU that is visible, not on {device}. Choose one with "
            f"CUDA_VISIBLE_DEVICES={device.index} and --device cuda."
        )
    options: dict[str, Any] = {
        "output_dir": str(scratch),
        "num_train_epochs": recipe.epochs,
        "per_device_train_batch_size": recipe.batch_size,
        "learning_rate": recipe.learning_rate,
        "lr_scheduler_type": "linear",
        "warmup_steps": recipe.warm_up,
        "seed": recipe.seed,
        "data_seed": recipe.seed,
        "use_cpu": device.type == "cpu",
        "save_strategy": "no",
        "logging_strategy": "epoch" if recipe.report_to else "no",
        "report_to": list(recipe.report_to),
        "logging_nan_inf_filter": False,  # it would wait for the GPU at every step
        "disable_tqdm": True,
        "remove_unused_columns": False,
    }
    arguments = TrainingArguments(**{**options, **further})
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
