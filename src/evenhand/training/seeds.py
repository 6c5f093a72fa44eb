"""The same training from several seeds: how much of a result is luck, and which one to keep."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from evenhand.core.errors import EvenhandError
from evenhand.core.files import sha256_of
from evenhand.core.progress import Progress
from evenhand.core.recipes import Recipe
from evenhand.models.language_model import LanguageModel
from evenhand.models.objectives.objective import Objective
from evenhand.store.mitigation_records import LearningCurve
from evenhand.training.checkpoints import copied_weights, put_weights
from evenhand.training.fitting import Fitted, ModelEvaluator, fit, training_identity

SeedEpochCallback = Callable[[int, LearningCurve], None]
"""Called with a seed and its learning curve after every epoch."""


@dataclass(frozen=True, slots=True)
class FittedSeeds:
    """A training for each seed. The model that was given has the weights of the chosen one."""

    fits: tuple[Fitted, ...]

    @property
    def chosen(self) -> Fitted:
        """The best of all seeds."""
        return best_fit(self.fits)


def best_fit(fits: Sequence[Fitted]) -> Fitted:
    """The best, by the rule that chooses among epochs: lowest bias within the margin, or else least loss."""
    within = [fitted for fitted in fits if fitted.keeps_quality]
    if within:
        return min(within, key=lambda fitted: fitted.curve.relative_bias(fitted.best))
    return min(fits, key=lambda fitted: fitted.curve.quality_loss(fitted.best))


def recipes_by_seed(recipe: Recipe, seeds: Sequence[int]) -> dict[int, Recipe]:
    """The recipe with each of the seeds.

    Raises:
        EvenhandError: If there is none, if one occurs twice, or if one is too large.
    """
    if not seeds or len(set(seeds)) != len(seeds):
        raise EvenhandError(
            f"The seeds {', '.join(map(str, seeds)) or '(none)'} must be at least one, all different."
        )
    return {seed: Recipe.model_validate({**dict(recipe), "seed": seed}) for seed in seeds}


def fit_seeds(
    model: LanguageModel,
    objective: Objective,
    recipe: Recipe,
    *,
    seeds: Sequence[int],
    evaluator: ModelEvaluator,
    folder: Path,
    identity: Mapping[str, str] | None = None,
    progress: Progress | None = None,
    on_epoch: SeedEpochCallback | None = None,
) -> FittedSeeds:
    """Fit a model once for each seed, each in a folder of its own, and leave it with the best of them.

    Interrupted and called again, it does not repeat what is finished. Checkpoints of another training in the same
    folder, on other data or another device, are left alone.

    Args:
        model: The original.
        objective: Examples and loss.
        recipe: How to train; its seed gives way to each of ``seeds``.
        seeds: One at least, all different.
        evaluator: Reads bias and quality off ``model``.
        folder: For one folder per seed.
        identity: What else makes it this very training.
        progress: Told how many steps of a seed are done.
        on_epoch: Called with the seed and its learning curve after every epoch.
    """
    recipes = recipes_by_seed(recipe, seeds)
    original = copied_weights(model.loaded.model)
    digest = _digest(training_identity(model, objective, recipe, identity or {}))

    def fitted(seed: int, callback: SeedEpochCallback | None) -> Fitted:
        put_weights(model.loaded.model, original)
        return fit(
            model,
            objective,
            recipes[seed],
            evaluator=evaluator,
            folder=folder / f"seed-{seed}-{digest}",
            identity=identity,
            progress=progress,
            on_epoch=callback and partial(callback, seed),
        )

    by_seed = FittedSeeds(tuple(fitted(seed, on_epoch) for seed in seeds))
    if by_seed.chosen is not by_seed.fits[-1]:
        fitted(by_seed.chosen.recipe.seed, None)
    return by_seed


def _digest(identity: Mapping[str, Any]) -> str:
    return sha256_of(json.dumps(identity, sort_keys=True).encode())[:12]
