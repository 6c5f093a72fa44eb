"""Training on Transformers' Trainer: one way in, seeded, quiet and reproducible."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from typing import Any

import torch
from torch import nn
from torch.optim.swa_utils import AveragedModel
from torch.utils.data import Dataset
from transformers import PrinterCallback, Trainer, TrainerCallback, TrainingArguments

from evenhand.core.progress import Progress
from evenhand.models.objectives.objective import Batch

Collate = Callable[[list[Any]], Batch]
Loss = Callable[[Any, Batch], torch.Tensor]
"""From a model and a batch to what is to be lowered."""


@dataclass(frozen=True, slots=True)
class TrainingPlan:
    """How long and how fast to train."""

    steps: int
    batch_size: int
    learning_rate: float
    warmup_steps: int = 0
    seed: int = 0
    device: str = "cpu"
    averaged: float = 0.0
    """Share of the steps, at the end, over which weights are averaged; 0 takes the last weights."""
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

    def __init__(self, *, loss: Loss, **options: Any) -> None:
        super().__init__(**options)
        self.loss = loss

    def compute_loss(self, model: Any, inputs: Batch, *_: Any, **__: Any) -> torch.Tensor:
        """The loss that was given, of a batch."""
        return self.loss(model, inputs)


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
            lr_scheduler_type="cosine",
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
