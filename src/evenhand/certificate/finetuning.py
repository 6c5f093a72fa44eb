"""Fine-tune a classifier from a model on labelled text, and see where it is right."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import numpy as np
import torch

from evenhand.core.errors import UnknownNameError
from evenhand.core.progress import Progress
from evenhand.data.labelled import LabelledExample, LabelledText
from evenhand.models.language_model import LanguageModel
from evenhand.models.objectives.held_out import longest_sentence
from evenhand.models.objectives.objective import Batch, padded
from evenhand.stats.resampling import Floats
from evenhand.training.classification import new_classifier
from evenhand.training.trainer import TrainingPlan, train


@dataclass(frozen=True, slots=True)
class Finetuning:
    """How classifiers are made, the same way from both models."""

    seeds: int = 5
    steps: int = 300
    epochs: int | None = None
    """Times that the training examples are gone through, in the place of ``steps``."""
    batch_size: int = 32
    learning_rate: float = 5e-5
    train_examples: int = 10_000
    judged_examples: int = 2_000

    def judged_of(self, data: LabelledText) -> int:
        """How many examples classifiers are judged by."""
        return min(len(data.judged), self.judged_examples)

    def steps_over(self, examples: int) -> int:
        """Steps of a training on so many examples."""
        return self.steps if self.epochs is None else self.epochs * math.ceil(examples / self.batch_size)


SST2_2023 = Finetuning(seeds=10, epochs=3, learning_rate=2e-5, train_examples=100_000)
"""As the thesis that proposed MALoR fine-tunes on SST-2: all sentences, three epochs, batches of 32, ten times."""

FINETUNING_PRESETS: Mapping[str, Finetuning] = MappingProxyType({"sst2-2023": SST2_2023})


def finetuning_preset(name: str) -> Finetuning:
    """The preset of this name."""
    if name not in FINETUNING_PRESETS:
        raise UnknownNameError("preset of fine-tuning", name, FINETUNING_PRESETS)
    return FINETUNING_PRESETS[name]


def finetuned_answers(
    model: LanguageModel, data: LabelledText, plan: Finetuning, *, seed: int, report: Progress | None = None
) -> Floats:
    """For each judged example 1 if a classifier that starts from a model is right, else 0.

    The seed decides on the new head and on the order of examples, so both models meet the same of both. A prefix of the
    model stands before every example, those that are learnt from and those that are judged.
    """
    limited = data.limited(train=plan.train_examples, judged=plan.judged_examples)
    steps = plan.steps_over(len(limited.train))
    classifier = new_classifier(model, len(limited.classes), seed=seed)
    pad = classifier.config.pad_token_id
    encode = _encoder(model, limited.classes)
    with model.loaded.products.in_use():
        train(
            classifier,
            [encode(example) for example in limited.train],
            collate=lambda rows: _collated(rows, pad),
            loss=lambda own, batch: own(**batch).loss,
            plan=TrainingPlan(
                steps=steps,
                batch_size=plan.batch_size,
                learning_rate=plan.learning_rate,
                warmup_steps=steps // 10,
                seed=seed,
                device=model.loaded.device.type,
                one_thread=False,
            ),
            report=report,
        )
        return _right(classifier, [encode(example) for example in limited.judged], pad, plan.batch_size)


def _encoder(
    model: LanguageModel, classes: Sequence[str]
) -> Callable[[LabelledExample], tuple[list[int], int]]:
    tokenizer, config = model.loaded.tokenizer, model.loaded.config
    prefix = model.loaded.ref.prefix
    numbers = {label: number for number, label in enumerate(classes)}
    longest = longest_sentence(tokenizer, config)

    def encode(example: LabelledExample) -> tuple[list[int], int]:
        ids = tokenizer(prefix + example.text, truncation=True, max_length=longest)["input_ids"]
        return ids or [model.loaded.pad_id], numbers[example.label]

    return encode


def _collated(rows: Sequence[tuple[list[int], int]], pad: int) -> Batch:
    return {
        "input_ids": padded([ids for ids, _ in rows], pad),
        "attention_mask": padded([[1] * len(ids) for ids, _ in rows], 0),
        "labels": torch.tensor([label for _, label in rows]),
    }


def _right(classifier: Any, rows: Sequence[tuple[list[int], int]], pad: int, size: int) -> Floats:
    """For each row 1 if the classifier labels it as it is labelled, else 0."""
    device = next(classifier.parameters()).device
    right = np.zeros(len(rows))
    order = np.argsort([-len(ids) for ids, _ in rows], kind="stable")
    with torch.no_grad():
        for start in range(0, len(rows), size):
            places = order[start : start + size]
            batch = _collated([rows[place] for place in places], pad)
            labels = batch.pop("labels")
            logits = classifier(**{name: part.to(device) for name, part in batch.items()}).logits
            right[places] = (logits.argmax(-1).cpu() == labels).numpy()
    return right
