"""Recipes: how a mitigation trains, written so that a record can repeat it."""

from __future__ import annotations

import hashlib
import json
from enum import StrEnum

from pydantic import BaseModel, ConfigDict, model_validator

from evenhand.core.errors import EvenhandError


class Precision(StrEnum):
    """The number format of the weights."""

    FP32 = "fp32"
    BF16 = "bf16"
    FP16 = "fp16"


class Kernels(StrEnum):
    """What computes matrix products in fp32 on a CPU."""

    AUTO = "auto"
    """The fastest that is as exact as fp32."""
    DEFAULT = "default"
    """What PyTorch chooses."""


LARGEST_SEED = 2**32 - 1
"""What every generator of random numbers takes that a training seeds."""

REPORTERS = ("tensorboard", "wandb", "mlflow")
"""Where Trainer can send its figures."""


class LoraRecipe(BaseModel):
    """Low-rank adapters in place of training every weight."""

    model_config = ConfigDict(frozen=True)

    rank: int = 16
    alpha: float = 32.0
    dropout: float = 0.0
    targets: tuple[str, ...] = ()
    """Names of the modules that get an adapter; where none is given, all linear ones but the head."""

    @model_validator(mode="after")
    def _possible(self) -> LoraRecipe:
        if self.rank < 1 or self.alpha <= 0 or not 0 <= self.dropout < 1:
            raise EvenhandError(
                f"LoRA with rank {self.rank}, alpha {self.alpha:g} and dropout {self.dropout:g} is not possible: the "
                "rank must be at least 1, alpha above 0, dropout at least 0 and below 1."
            )
        return self


class Plateau(BaseModel):
    """When a learning curve counts as flat."""

    model_config = ConfigDict(frozen=True)

    epochs: int = 5
    within: float = 0.10
    """The largest MALoR of these epochs may lie so far above the smallest, as a share of their mean."""


class Recipe(BaseModel):
    """How long, how fast and on what terms to train. The defaults are those of continued pre-training."""

    model_config = ConfigDict(frozen=True)

    epochs: int = 200
    """At most; a plateau ends the training earlier."""
    batch_size: int = 32
    learning_rate: float = 2e-5
    """Of AdamW, falling in a straight line to 0 at the last epoch."""
    warm_up: float = 0.0
    """Share of all steps, at the beginning, in which the learning rate rises in a straight line from 0: AdamW's first
    steps are as long as the learning rate, however small the gradients are."""
    seed: int = 0
    precision: Precision | None = None
    """bf16 computes in half precision and keeps the weights in full; if not given, bf16 on a GPU and fp32 elsewhere."""
    lora: LoraRecipe | None = None
    plateau: Plateau | None = Plateau()
    quality_margin: float = 0.01
    """By how much the held-out perplexity may rise, as a share of the original's."""
    max_tokens: int | None = None
    """Longer sentences are cut; if not given, at what the model takes."""
    report_to: tuple[str, ...] = ()

    @model_validator(mode="after")
    def _possible(self) -> Recipe:
        if self.epochs < 1 or self.batch_size < 1:
            raise EvenhandError(
                f"{self.epochs} epochs in batches of {self.batch_size} were asked for; both must be at least 1."
            )
        if not 0 < self.learning_rate < 1:
            raise EvenhandError(
                f"The learning rate is {self.learning_rate:g}; it must lie between 0 and 1, 2e-5 is usual."
            )
        if not 0 <= self.warm_up < 1:
            raise EvenhandError(
                f"The warm-up is {self.warm_up:g}; it is a share of all steps, at least 0 and below 1."
            )
        if not 0 <= self.seed <= LARGEST_SEED:
            raise EvenhandError(f"The seed is {self.seed}; it must be 0 to {LARGEST_SEED:,}.")
        if self.quality_margin < 0:
            raise EvenhandError(
                f"The quality margin is {self.quality_margin:g}; it must not be negative, 0.01 is 1%."
            )
        if self.precision is Precision.FP16:
            raise EvenhandError("Training in fp16 loses small steps. Use bf16 or fp32.")
        unknown = sorted(set(self.report_to) - set(REPORTERS))
        if unknown:
            raise EvenhandError(f"{unknown[0]!r} cannot be reported to. Known: {', '.join(REPORTERS)}.")
        return self

    @property
    def fingerprint(self) -> str:
        """Digest of all that decides on the weights; where figures are sent to does not."""
        determining = self.model_dump(mode="json", exclude={"report_to"})
        return hashlib.sha256(json.dumps(determining, sort_keys=True).encode()).hexdigest()
