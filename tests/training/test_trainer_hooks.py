"""What training overrides and uses of Transformers' Trainer beyond its documented interface.

A version of transformers that renames or no longer calls one of these would not fail by itself: the override would be
dead, and training would quietly do something else. Here it fails, and says which one.
"""

from __future__ import annotations

import inspect
import re
from types import FunctionType

import pytest
import transformers
from transformers import Trainer, TrainingArguments

from evenhand.heads.training import NextSentenceTrainer
from evenhand.training.trainer import EpochTrainer, LossTrainer

OVERRIDDEN = {
    "compute_loss": ("model", "inputs"),
    "training_step": ("model", "inputs"),
    "_clip_grad_norm": ("model",),
    "get_train_dataloader": (),
    "_get_train_sampler": (),
    "floating_point_ops": ("inputs",),
    "create_optimizer": (),
    "_load_from_checkpoint": ("resume_from_checkpoint", "model"),
    "_load_optimizer_and_scheduler": ("checkpoint",),
}
"""Hooks that Trainer calls and that we replace, with the arguments that we rely on."""

WRAPPED = {"__init__", "train"}
"""Public methods that ours extend and call."""

OWN = {"note_losses"}
"""Methods that Trainer knows nothing of."""

USED = ("remove_callback",)
"""Methods that we call."""

SET = ("accelerator", "args", "data_collator", "lr_scheduler", "model", "optimizer", "state", "train_dataset")
"""Attributes that Trainer sets on itself."""

ADVICE = "Adapt src/evenhand/training/ to this version, or lower the upper bound of transformers in pyproject.toml."


def lacks(what: str) -> str:
    return f"transformers {transformers.__version__} {what}. {ADVICE}"


def test_every_override_is_named_here() -> None:
    ours = {
        name
        for trainer in (LossTrainer, EpochTrainer, NextSentenceTrainer)
        for name, value in vars(trainer).items()
        if isinstance(value, FunctionType)
    }
    assert ours == OVERRIDDEN.keys() | WRAPPED | OWN


@pytest.mark.parametrize("name", OVERRIDDEN)
def test_trainer_has_the_hook_and_calls_it(name: str) -> None:
    hook = getattr(Trainer, name, None)
    assert callable(hook), lacks(f"has no Trainer.{name}, which we override")
    parameters = [parameter for parameter in inspect.signature(hook).parameters if parameter != "self"]
    expected = OVERRIDDEN[name]
    assert tuple(parameters[: len(expected)]) == expected, lacks(f"calls Trainer.{name} with {parameters}")
    # A hook is called, or handed to what calls it.
    assert re.search(rf"self\.{name}\b", inspect.getsource(Trainer)), lacks(f"never calls Trainer.{name}")


@pytest.mark.parametrize("name", USED)
def test_trainer_has_the_method_that_we_call(name: str) -> None:
    assert callable(getattr(Trainer, name, None)), lacks(f"has no Trainer.{name}, which we call")


@pytest.mark.parametrize("name", SET)
def test_trainer_sets_the_attribute_that_we_read(name: str) -> None:
    set_by_itself = re.search(rf"self\.{name}\b[^=\n]*=[^=]", inspect.getsource(Trainer))
    assert set_by_itself, lacks(f"no longer sets {name} on Trainer, which we read")


def test_training_arguments_keep_the_number_of_gpus_where_we_set_it() -> None:
    assert "_n_gpu" in inspect.getsource(TrainingArguments), lacks(
        "has no TrainingArguments._n_gpu, which we set so that no batch is split over several GPUs"
    )
