"""Plant a next-sentence head: a model of the lab learns how likely one sentence follows another in its world."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch

from evenhand.core.errors import OutputError
from evenhand.core.files import folder_written_whole
from evenhand.core.progress import Progress
from evenhand.lab.corpus import taught_language
from evenhand.lab.teaching import stories_of, story_pairs
from evenhand.lab.world import World
from evenhand.models.judges import Judge, new_head_record, new_judge
from evenhand.models.language_model import load_language_model
from evenhand.models.next_sentence import EncodedPair, PairEncoder
from evenhand.models.objectives.objective import Batch, padded
from evenhand.models.references import ModelError, ModelRef
from evenhand.store.head_records import HeadKind, HeadRecord
from evenhand.store.mitigation_records import planted_bias_of
from evenhand.training.model_folders import write_head
from evenhand.training.trainer import TrainingPlan, train

STEPS = 1_000
BATCH_SIZE = 64
LEARNING_RATE = 2e-3
LABELS = {"en": ("never", "always")}
"""What an encoder-decoder of the lab writes: its tokenizer has no digits."""

AVERAGED = 0.3
"""Share of the steps, at the end, over which weights are averaged: single steps move SS by several points."""


@dataclass(frozen=True, slots=True)
class FollowsLesson:
    """An encoded pair, and how likely its second sentence follows."""

    encoded: EncodedPair
    follows: float


class JudgeTeacher:
    """Teaches a judge the true probability of every pair, not one answer at a time."""

    def __init__(self, world: World, encoder: PairEncoder, *, pad: int) -> None:
        self.stories = stories_of(taught_language(world))
        self.encoder = encoder
        self.pad = pad

    def lessons(self, count: int, generator: np.random.Generator) -> Sequence[FollowsLesson]:
        """Half stories, half openings with any continuation."""
        pairs = story_pairs(self.stories, count, generator)
        encoded = self.encoder.encode([(first, second) for first, second, _ in pairs])
        return [FollowsLesson(own, follows) for own, (_, _, follows) in zip(encoded, pairs, strict=True)]

    def collate(self, lessons: list[FollowsLesson]) -> Batch:
        """Rows of one length."""
        rows = [lesson.encoded for lesson in lessons]
        return {
            "ids": padded([ids for ids, _ in rows], self.pad),
            "mask": padded([[1] * len(ids) for ids, _ in rows], 0),
            "types": padded([types for _, types in rows], 0),
            "follows": torch.tensor([lesson.follows for lesson in lessons]),
        }

    def loss(self, judge: Judge, batch: Batch) -> torch.Tensor:
        """The cross-entropy between the judge's probabilities and the true ones."""
        yes = torch.full(batch["follows"].shape, judge.record.follows_class, device=batch["ids"].device)
        shown = batch["ids"], batch["mask"], batch["types"]
        losses = judge.losses(*shown, yes) * batch["follows"] + judge.losses(*shown, 1 - yes) * (
            1 - batch["follows"]
        )
        return losses.mean()


def plant_head(
    ref: ModelRef, out: Path, *, steps: int = STEPS, seed: int = 0, progress: Progress | None = None
) -> HeadRecord:
    """Write a model of the lab with a next-sentence head that has learnt the lab's world.

    Args:
        ref: A model of the lab.
        out: A new folder.
        steps: Of the training.
        seed: Of the head and the lessons.
        progress: Told how many steps are done.

    Raises:
        ModelError: If the model is not of the lab.
        OutputError: If the folder is there already.
    """
    planted = planted_bias_of(ref.location)
    if planted is None:
        raise ModelError(
            f"{ref.id} is no model of the lab, so nobody knows what a head of it should say. Use lab:decoder, or build "
            "one with evenhand lab build."
        )
    if out.exists():
        raise OutputError(f"{out} is there already. Choose another place.")
    model = load_language_model(ref)
    record = new_head_record(model.loaded)
    if record.kind is HeadKind.LABELS:
        record = record.model_copy(update={"labels": LABELS.get(planted.language, record.labels)})
    judge = new_judge(model.loaded, record, seed=seed)
    world = World(planted.language, planted.strength)
    teacher = JudgeTeacher(world, PairEncoder(model.tokenizer, record), pad=model.loaded.pad_id)
    lessons = teacher.lessons(steps * BATCH_SIZE, np.random.default_rng(seed))
    plan = TrainingPlan(
        steps=steps,
        batch_size=BATCH_SIZE,
        learning_rate=LEARNING_RATE,
        warmup_steps=math.ceil(steps / 20),
        averaged=AVERAGED,
        seed=seed,
        device=model.loaded.device.type,
    )
    train(judge, lessons, collate=teacher.collate, loss=teacher.loss, plan=plan, report=progress)
    described = record.model_copy(update={"origin": f"planted in the lab at {planted.strength:+g} bits"})
    with folder_written_whole(out) as scratch:
        return write_head(model, judge, described, scratch)
