"""Checkpoints: where a training stands after an epoch, written whole under a name of its own.

An epoch's folder appears by renaming, and older ones go only when it is there. So whenever the process is killed or the
disk is full, the newest folder is whole, and the training goes on from it. Nothing in it is a pickle: tensors are
safetensors, the rest is JSON.
"""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import torch
from pydantic import BaseModel
from safetensors import SafetensorError
from safetensors.torch import load_file, save_file
from torch import nn

from evenhand.core.errors import OutputError, RunError, fault
from evenhand.core.files import folder_written_whole, read_stored
from evenhand.store.head_records import NextSentenceCurve
from evenhand.store.mitigation_records import LearningCurve

WEIGHTS_FILE = "weights.safetensors"
OPTIMIZER_FILE = "optimizer.safetensors"
SCHEDULE_FILE = "schedule.json"
CURVE_FILE = "learning_curve.json"
TRAINER_FILE = "trainer_state.json"
"""Trainer's own count of steps, under the name that Trainer looks for."""

Curve = TypeVar("Curve", bound=BaseModel)

_NAME = re.compile(r"epoch-(\d+)")


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """The folder of an epoch."""

    folder: Path
    epoch: int

    @property
    def curve(self) -> LearningCurve:
        """The learning curve up to this epoch."""
        return self.curve_as(LearningCurve)

    def curve_as(self, kind: type[Curve]) -> Curve:
        """The learning curve up to this epoch, of a kind."""
        try:
            return kind.model_validate_json(_stored(self.folder / CURVE_FILE))
        except ValueError as problem:
            raise _damaged(self.folder, problem) from None

    def load_weights(self, model: nn.Module) -> None:
        """Put the epoch's weights into a model."""
        put_weights(model, _tensors(self.folder / WEIGHTS_FILE))

    def load_optimizer(self, optimizer: Any, scheduler: Any) -> None:
        """Put the epoch's moments and learning rate into an optimizer and its scheduler."""
        try:
            schedule = json.loads(_stored(self.folder / SCHEDULE_FILE))
        except ValueError as problem:
            raise _damaged(self.folder, problem) from None
        if not (self.folder / OPTIMIZER_FILE).exists():
            raise RunError(
                f"Training cannot go on from {self.folder}: it has weights alone, and only the newest epoch has the "
                f"state of the optimizer. {_start_again(self.folder)}"
            )
        current = optimizer.state_dict()
        state: dict[int, dict[str, torch.Tensor]] = {}
        for name, tensor in _tensors(self.folder / OPTIMIZER_FILE).items():
            number, _, part = name.partition(".")
            state.setdefault(int(number), {})[part] = tensor
        groups = [
            {**group, "lr": rate}
            for group, rate in zip(current["param_groups"], schedule["rates"], strict=True)
        ]
        optimizer.load_state_dict({"state": state, "param_groups": groups})
        scheduler.load_state_dict(schedule["scheduler"])


class Checkpoints:
    """The checkpoints of one training: the newest, and the best so far."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    @property
    def all(self) -> list[Checkpoint]:
        """What is there, by epoch."""
        existing = []
        for path in self.folder.glob("epoch-*"):
            match = _NAME.fullmatch(path.name)
            if match and path.is_dir():
                existing.append(Checkpoint(path, int(match[1])))
        return sorted(existing, key=lambda checkpoint: checkpoint.epoch)

    @property
    def latest(self) -> Checkpoint | None:
        """The newest, if there is one."""
        return self.all[-1] if self.all else None

    def of(self, epoch: int) -> Checkpoint:
        """The checkpoint of an epoch."""
        return Checkpoint(self.folder / f"epoch-{epoch:05d}", epoch)

    def save(
        self,
        model: nn.Module,
        curve: LearningCurve | NextSentenceCurve,
        *,
        optimizer: Any,
        scheduler: Any,
        state: Any,
    ) -> None:
        """Write the checkpoint of the curve's last epoch."""
        epoch = curve.last.epoch
        try:
            with folder_written_whole(self.of(epoch).folder) as scratch:
                _save_tensors(weights_in_training(model), scratch / WEIGHTS_FILE)
                _save_tensors(_moments(optimizer), scratch / OPTIMIZER_FILE)
                rates = [float(group["lr"]) for group in optimizer.param_groups]
                schedule = {"rates": rates, "scheduler": scheduler.state_dict()}
                (scratch / SCHEDULE_FILE).write_text(json.dumps(schedule), encoding="utf-8")
                (scratch / CURVE_FILE).write_text(curve.model_dump_json(), encoding="utf-8")
                state.save_to_json(str(scratch / TRAINER_FILE))
        except OutputError as problem:
            before = "The checkpoint before it is whole: " if self.all else ""
            raise OutputError(
                f"{problem} {before}Give the same command again to go on from epoch {epoch - 1}."
            ) from None

    def keep_best(self, best: int) -> None:
        """Remove all but the newest and the best, of which only the weights are needed."""
        newest = self.all[-1].epoch
        for checkpoint in self.all:
            if checkpoint.epoch not in (best, newest):
                shutil.rmtree(checkpoint.folder, ignore_errors=True)
            elif checkpoint.epoch != newest:
                (checkpoint.folder / OPTIMIZER_FILE).unlink(missing_ok=True)

    def finish(self, best: int) -> None:
        """Keep what a finished training is known by: the best weights, and the newest epoch's learning curve."""
        self.keep_best(best)
        newest = self.all[-1]
        (newest.folder / OPTIMIZER_FILE).unlink(missing_ok=True)
        if newest.epoch != best:
            (newest.folder / WEIGHTS_FILE).unlink(missing_ok=True)


def weights_in_training(model: nn.Module) -> dict[str, torch.Tensor]:
    """The weights that a training changes, those that are tied once."""
    return {name: weight.detach() for name, weight in model.named_parameters() if weight.requires_grad}


def copied_weights(model: nn.Module) -> dict[str, torch.Tensor]:
    """A copy of the weights that a training changes, in main memory."""
    return {name: weight.to("cpu", copy=True) for name, weight in weights_in_training(model).items()}


def put_weights(model: nn.Module, weights: Mapping[str, torch.Tensor]) -> None:
    """Put weights in the place of the model's own; every one must have its place."""
    own = dict(model.named_parameters())
    strange = sorted(set(weights) - set(own))
    if strange:
        raise RunError(
            f"The checkpoint has weights that the model has not, such as {strange[0]}: it is of another model."
        )
    with torch.no_grad():
        for name, weight in weights.items():
            own[name].copy_(weight)


def _moments(optimizer: Any) -> dict[str, torch.Tensor]:
    state = optimizer.state_dict()["state"]
    return {f"{number}.{part}": tensor for number, parts in state.items() for part, tensor in parts.items()}


def _save_tensors(tensors: Mapping[str, torch.Tensor], path: Path) -> None:
    try:
        save_file({name: tensor.contiguous() for name, tensor in tensors.items()}, path)
    except SafetensorError as problem:  # what the disk said is only in the message
        raise OSError(str(problem)) from None


def _tensors(path: Path) -> dict[str, torch.Tensor]:
    try:
        return load_file(path)
    except (OSError, SafetensorError) as problem:
        raise _damaged(path.parent, problem) from None


def _stored(path: Path) -> bytes:
    """The content of a checkpoint's file."""
    try:
        return read_stored(path, error=RunError)
    except RunError as problem:
        raise _damaged(path.parent, problem) from None


def _damaged(folder: Path, problem: Exception) -> RunError:
    return RunError(f"The checkpoint {folder} is damaged ({fault(problem)}). {_start_again(folder)}")


def _start_again(checkpoint: Path) -> str:
    """The only way on: no checkpoint before the newest has all that training needs."""
    return f"Remove the folder {checkpoint.parent} and give the same command again to train from the start."
