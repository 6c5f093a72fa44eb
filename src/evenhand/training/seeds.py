"""The same training from several seeds: how much of a result is luck, and which one to keep."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from evenhand.core.errors import EvenhandError
from evenhand.core.recipes import Recipe
from evenhand.models.language_model import LanguageModel
from evenhand.models.objectives.objective import Objective
from evenhand.training.checkpoints import copied_weights, put_weights
from evenhand.training.fitting import FitReport, Fitted, fit
from evenhand.training.watching import Watch


@dataclass(frozen=True, slots=True)
class FittedSeeds:
    """A training for each seed. The model that was given has the weights of the chosen one."""

    fits: tuple[Fitted, ...]

    @property
    def chosen(self) -> Fitted:
        """The best, by the rule that chooses among epochs: lowest MALoR within the margin, or else least loss."""
        within = [fitted for fitted in self.fits if fitted.keeps_quality]
        if within:
            return min(within, key=lambda fitted: fitted.curve.relative_malor(fitted.best))
        return min(self.fits, key=lambda fitted: fitted.curve.perplexity_rise(fitted.best))


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
    watch: Watch,
    folder: Path,
    identity: Mapping[str, str] | None = None,
    report: Callable[[int], FitReport] = lambda _: FitReport(),
) -> FittedSeeds:
    """Fit a model once for each seed, each in a folder of its own, and leave it with the best of them.

    Interrupted and called again, it does not repeat what is finished.

    Args:
        model: The original.
        objective: Examples and loss.
        recipe: How to train; its seed gives way to each of ``seeds``.
        seeds: One at least, all different.
        watch: Reads bias and quality off ``model``.
        folder: For a folder a seed.
        identity: What else makes it this very training.
        report: Who is told about the training of a seed.
    """
    recipes = recipes_by_seed(recipe, seeds)
    original = copied_weights(model.loaded.model)

    def fitted(seed: int, told: FitReport) -> Fitted:
        put_weights(model.loaded.model, original)
        return fit(
            model,
            objective,
            recipes[seed],
            watch=watch,
            folder=folder / f"seed-{seed}",
            identity=identity,
            report=told,
        )

    found = FittedSeeds(tuple(fitted(seed, report(seed)) for seed in seeds))
    if found.chosen is not found.fits[-1]:
        fitted(found.chosen.recipe.seed, FitReport())
    return found
