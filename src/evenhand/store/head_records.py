"""Records of next-sentence heads: what a head answers, how it is asked, and what it learned from.

``next_sentence.json`` stands in a model's folder. Beside a checkpoint with a next-sentence head of its own, such as
BERT's, it may hold ``follows_class`` alone. Where a head was trained or converted by Evenhand it has all the rest, and
its weights, with those of the body that was trained with it, are in ``next_sentence.safetensors``. The other weights of
the folder stay as they were, so that every other question is answered by the original model.
"""

from __future__ import annotations

import math
from enum import StrEnum
from pathlib import Path
from typing import Any, Literal

from pydantic import ValidationError

from evenhand.core.errors import RunError, fault
from evenhand.core.estimates import Estimate
from evenhand.core.files import load_json, read_stored, sha256_of
from evenhand.core.frozen import FrozenModel
from evenhand.core.recipes import Precision
from evenhand.core.remembered_digests import remembered_sha256
from evenhand.store.energy import EnergyRecord
from evenhand.store.records import EnvironmentRecord, ModelRecord

HEAD_FILE = "next_sentence.json"
HEAD_WEIGHTS_FILE = "next_sentence.safetensors"
HEAD_CURVE_FILE = "next_sentence_curve.json"
HEAD_PAGE_FILE = "next_sentence.html"


class HeadKind(StrEnum):
    """What a head is made of."""

    OWN = "own"
    """The next-sentence class that Transformers has for the model."""
    POOLED = "pooled"
    """Linear layers over the mean of the body's last states."""
    LABELS = "labels"
    """An encoder-decoder that writes a label."""


class PairEncoding(StrEnum):
    """How two sentences become one input."""

    PAIR = "pair"
    """As the tokenizer encodes a pair."""
    JOINED = "joined"
    """As one text: the first with a final mark, a space, the second."""


class NextSentenceRecipe(FrozenModel):
    """How a head is trained. The defaults that differ by kind are in ``recipe_for``."""

    body_rate: float = 5e-6
    head_rate: float = 1e-3
    """Learning rates of AdamW, both with one schedule: cosine with hard restarts."""
    batch_size: int = 64
    passes: int = 1
    """How often every pair is seen."""
    restarts: int = 1
    """Cosine waves."""
    checkpoints: int = 20
    """About so many, evenly spaced; training that was stopped goes on from the last."""
    clip: float = 1.0
    max_tokens: int = 256
    seed: int = 0
    precision: Precision | None = None
    """What is computed in, with weights in 32 bits; if not given, bf16 on a GPU that has it and fp32 elsewhere."""
    test_pairs: int = 10_000
    """At most so many are judged at the end, and a tenth of them at every checkpoint."""
    report_every: int = 500
    """Pairs between two points of the loss curve."""
    report_to: tuple[str, ...] = ()

    @property
    def report_steps(self) -> int:
        """Steps between two points of the loss curve."""
        return max(1, round(self.report_every / self.batch_size))


class LossPoint(FrozenModel):
    """The mean loss over the last pairs, and the learning rates then."""

    pairs: int
    loss: float
    body_rate: float
    head_rate: float


class CheckpointPoint(FrozenModel):
    """What a checkpoint knows beside its weights."""

    epoch: int
    """Which checkpoint."""
    pairs: int
    accuracy: float
    """On a tenth of the test pairs, which nothing is chosen by."""
    low: float | None = None
    high: float | None = None
    """Bounds of its interval over articles; None where all pairs are of one article."""
    loss_scale: float = 1.0
    """What losses are multiplied with in fp16."""


class NextSentenceCurve(FrozenModel):
    """The learning curve of a head."""

    losses: tuple[LossPoint, ...] = ()
    checkpoints: tuple[CheckpointPoint, ...]

    @property
    def last(self) -> CheckpointPoint:
        """The newest checkpoint."""
        return self.checkpoints[-1]


def refuse_strange_figures(curve: NextSentenceCurve) -> None:
    """Refuse a curve that cannot be drawn.

    Raises:
        ValueError: If it has no checkpoint, or a figure is infinite or undefined.
    """
    if not curve.checkpoints:
        raise ValueError("it has no checkpoint")
    figures = [
        figure
        for point in (*curve.losses, *curve.checkpoints)
        for figure in point.model_dump().values()
        if isinstance(figure, float)
    ]
    if not all(map(math.isfinite, figures)):
        raise ValueError("a figure is infinite or undefined")


class UsedPairs(FrozenModel):
    """The pairs of one language that a head learned from and was tested on."""

    language: str
    fingerprint: str
    train_pairs: int
    test_pairs: int


class HeadTraining(FrozenModel):
    """How a head was trained."""

    model: ModelRecord
    pairs: tuple[UsedPairs, ...]
    recipe: NextSentenceRecipe
    precision: Precision
    steps: int
    seen_pairs: int
    """Over all passes; each leaves out what does not fill its last stage."""
    energy: EnergyRecord
    """What the training took."""
    environment: EnvironmentRecord
    libraries: dict[str, str]


class HeadRecord(FrozenModel):
    """What ``next_sentence.json`` holds."""

    follows_class: Literal[0, 1]
    """The class that means "follows". It is never guessed from the name of a model."""
    kind: HeadKind = HeadKind.OWN
    encoding: PairEncoding = PairEncoding.PAIR
    pooling: str | None = None
    layers: tuple[int, ...] = ()
    """Sizes of linear layers without activation, from the body's states to the classes."""
    prompt: str = ""
    """What stands before the pair."""
    labels: tuple[str, str] = ("0", "1")
    """Texts of the two classes."""
    body: str | None = None
    """The type of the model that the head belongs to."""
    tokenizer: str | None = None
    """Digest of the vocabulary that pairs were encoded with."""
    weights: str | None = None
    """Digest of ``next_sentence.safetensors``; None for a head that is in the checkpoint itself."""
    fingerprint: str = ""
    """Digest of all that determined the head."""
    origin: str = ""
    """Where a head comes from that was not trained here."""
    training: HeadTraining | None = None
    test_accuracy: Estimate | None = None
    """On pairs of articles that training never saw; by what the head answers, never led by the right answer."""
    accuracy_by: str = ""
    without_label: int | None = None
    """Of the test pairs, those about which an encoder-decoder wrote neither label; they count as wrong."""
    model_weights: str | None = None
    """Digest of the weights of the model beside it; those of the head go with no others."""


def read_head_record(folder: str | Path) -> HeadRecord | None:
    """The record of a model's next-sentence head; None if there is no such file.

    Raises:
        RunError: If it is damaged, or does not say which class means "follows".
    """
    path = Path(folder) / HEAD_FILE
    if not path.is_file():
        return None
    try:
        content: Any = load_json(read_stored(path, error=RunError).decode())
        return HeadRecord.model_validate(content)
    except (ValidationError, ValueError) as problem:
        raise RunError(
            f'{path} must hold {{"follows_class": 0}} or {{"follows_class": 1}}, or what evenhand train next-sentence '
            f"wrote ({fault(problem)})."
        ) from None


def model_weights_digest(folder: Path) -> str:
    """Digest of the weights in a folder, but for those of the next-sentence head."""
    weights = (path for path in folder.glob("*.safetensors") if path.name != HEAD_WEIGHTS_FILE)
    files = sorted(path for path in weights if path.is_file())
    return sha256_of("\n".join(f"{path.name} {remembered_sha256(path)}" for path in files).encode())
