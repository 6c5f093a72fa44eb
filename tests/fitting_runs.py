"""Small trainings for tests of fitting, which can be killed at a moment."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
import torch

from evenhand.core.progress import Progress
from evenhand.core.recipes import Recipe
from evenhand.models.language_model import LanguageModel, load_language_model
from evenhand.store.mitigation_records import EpochMetrics, LearningCurve
from evenhand.training import checkpoints
from evenhand.training.fitting import EpochCallback, Fitted, ModelEvaluator, fit
from evenhand.training.pretraining import pretraining_objective

SENTENCES = tuple(
    f"{who} {verb} {what}."
    for who in ("The doctor", "My neighbour", "A farmer from the old village")
    for verb in ("likes", "buys", "has never seen")
    for what in ("tea", "a very long and winding road", "the sea")
)
EPOCHS = 4
HE_SHE = "he-she.MALoR"
RECIPE = Recipe(epochs=EPOCHS, batch_size=5, learning_rate=2e-3, plateau=None, seed=7)
STEPS = -(-len(SENTENCES) // RECIPE.batch_size)
"""In an epoch."""


class ScriptedEvaluator(ModelEvaluator):
    """Reads what a script says, epoch by epoch, and remembers the weights that it saw."""

    def __init__(
        self,
        model: LanguageModel,
        malor: Sequence[float] = (),
        perplexity: Sequence[float] = (),
        *,
        meanwhile: Callable[[], None] = lambda: None,
    ) -> None:
        super().__init__(model, (), held_out={})
        self.malor = malor
        self.perplexity = perplexity
        self.meanwhile = meanwhile
        self.seen: list[dict[str, torch.Tensor]] = []

    def evaluate(self, epoch: int) -> EpochMetrics:
        self.meanwhile()
        weights = weights_of(self.model)
        self.seen.append(weights)
        # Without a script the figure is some property of the weights, so that it shows whether they are the same.
        some = float(sum(weight.abs().double().mean() for weight in weights.values()))
        turn = len(self.seen) - 1
        malor = self.malor[turn] if self.malor else some
        perplexity = self.perplexity[turn] if self.perplexity else 10.0
        return EpochMetrics(epoch=epoch, bias={HE_SHE: malor}, quality={"perplexity": perplexity})


def weights_of(model: LanguageModel) -> dict[str, torch.Tensor]:
    """A copy of all weights."""
    return {name: weight.detach().clone() for name, weight in model.loaded.model.named_parameters()}


def same(one: dict[str, torch.Tensor], other: dict[str, torch.Tensor]) -> bool:
    """Whether all weights are equal to the last bit."""
    return set(one) == set(other) and all(torch.equal(weight, other[name]) for name, weight in one.items())


def small_fit(
    source: Path, folder: Path, *, recipe: Recipe = RECIPE, meanwhile: Callable[[], None] = lambda: None,
    progress: Progress | None = None, on_epoch: EpochCallback | None = None,
) -> tuple[LanguageModel, Fitted]:  # fmt: skip
    """Train a model of the zoo for a few epochs."""
    model = load_language_model(str(source), device="cpu")
    objective = pretraining_objective(SENTENCES, model)
    evaluator = ScriptedEvaluator(model, meanwhile=meanwhile)
    fitted = fit(
        model, objective, recipe, evaluator=evaluator, folder=folder, progress=progress, on_epoch=on_epoch
    )
    return model, fitted


class StoppedError(Exception):
    """Stands for whatever interrupts a training."""


def stop_after(epochs: int, source: Path, folder: Path, *, recipe: Recipe = RECIPE) -> None:
    """Train so many epochs, then interrupt."""

    def stop(curve: LearningCurve) -> None:
        if len(curve.trained) == epochs:
            raise StoppedError

    with pytest.raises(StoppedError):
        small_fit(source, folder, recipe=recipe, on_epoch=stop)


def die() -> None:
    """What kill -9 does."""
    os.kill(os.getpid(), signal.SIGKILL)


def _nothing() -> None:
    pass


def _on_call(number: int, action: Callable[..., Any]) -> Callable[..., Any]:
    calls = iter(range(1, 10_000))

    def counted(*arguments: Any, **options: Any) -> Any:
        if next(calls) == number:
            die()
        return action(*arguments, **options)

    return counted


def _and_die(action: Callable[..., Any]) -> Callable[..., Any]:
    def last(*arguments: Any) -> None:
        action(*arguments)
        die()

    return last


def fit_until_killed(moment: str, source: Path, folder: Path) -> None:
    """Train on one thread, and be killed at a moment."""
    torch.set_num_threads(1)
    progress: Progress | None = None
    meanwhile = _nothing
    if moment == "in the first epoch":
        progress = _on_call(2, lambda *_: None)
    elif moment == "between two steps":
        progress = _on_call(2 * STEPS + 2, lambda *_: None)
    elif moment == "while evaluating":
        meanwhile = _on_call(3, lambda: None)
    elif moment == "while writing a checkpoint":
        checkpoints._save_tensors = _on_call(4, checkpoints._save_tensors)
    elif moment == "before old checkpoints are removed":
        checkpoints.Checkpoints.keep_best = _on_call(3, checkpoints.Checkpoints.keep_best)  # type: ignore[method-assign]
    elif moment == "while finishing":
        checkpoints.Checkpoints.finish = _and_die(checkpoints.Checkpoints.finish)  # type: ignore[method-assign]
    small_fit(source, folder, progress=progress, meanwhile=meanwhile)


MOMENTS = (
    "in the first epoch",
    "between two steps",
    "while evaluating",
    "while writing a checkpoint",
    "before old checkpoints are removed",
    "while finishing",
)
