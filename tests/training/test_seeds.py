"""Several seeds: a folder each, the best kept, none trained twice."""

from __future__ import annotations

from pathlib import Path

import pytest
from fitting_runs import RECIPE, SENTENCES, ScriptedWatch, same, weights_of
from zoo_fixtures import Zoo

from evenhand.core.errors import EvenhandError
from evenhand.models.language_model import LanguageModel, load_language_model
from evenhand.training.fitting import FitReport, fit
from evenhand.training.pretraining import pretraining_objective
from evenhand.training.seeds import FittedSeeds, fit_seeds

ONE_EPOCH = RECIPE.model_copy(update={"epochs": 1})


def trained(
    menagerie: Zoo, folder: Path, malor: list[float], perplexity: list[float], seeds: list[int]
) -> tuple[LanguageModel, FittedSeeds, ScriptedWatch, list[int]]:
    model = load_language_model(str(menagerie.folder("gpt2")), device="cpu")
    watch = ScriptedWatch(model, malor, perplexity)
    steps: list[int] = []
    fitted = fit_seeds(
        model,
        pretraining_objective(SENTENCES, model),
        ONE_EPOCH,
        seeds=seeds,
        watch=watch,
        folder=folder,
        report=lambda seed: FitReport(steps=lambda _done, _total: steps.append(seed)),
    )
    return model, fitted, watch, steps


def test_the_seed_with_the_lowest_malor_is_kept(menagerie: Zoo, tmp_path: Path) -> None:
    script = [2.0, 0.9, 2.0, 0.5, 2.0, 0.7]
    model, fitted, watch, steps = trained(menagerie, tmp_path, script, [10.0] * 6, [3, 4, 5])
    assert fitted.chosen.recipe.seed == 4
    assert [known.recipe.seed for known in fitted.fits] == [3, 4, 5]
    assert same(weights_of(model), watch.seen[3])
    assert set(steps) == {3, 4, 5}


def test_every_seed_starts_from_the_original(menagerie: Zoo, tmp_path: Path) -> None:
    _, _, watch, _ = trained(menagerie, tmp_path, [2.0, 1.0] * 2, [10.0] * 4, [0, 1])
    assert same(watch.seen[0], watch.seen[2])
    assert not same(watch.seen[1], watch.seen[3])


def test_a_seed_within_the_margin_comes_before_one_with_lower_malor(menagerie: Zoo, tmp_path: Path) -> None:
    _, fitted, _, _ = trained(menagerie, tmp_path, [2.0, 0.1, 2.0, 1.9], [10.0, 11.0, 10.0, 10.05], [0, 1])
    assert fitted.chosen.recipe.seed == 1


def test_without_a_seed_within_the_margin_the_least_loss_is_kept(menagerie: Zoo, tmp_path: Path) -> None:
    _, fitted, _, _ = trained(menagerie, tmp_path, [2.0, 0.1, 2.0, 1.9], [10.0, 11.0, 10.0, 10.5], [0, 1])
    assert fitted.chosen.recipe.seed == 1
    assert not fitted.chosen.keeps_quality


def test_finished_seeds_are_not_trained_again(menagerie: Zoo, tmp_path: Path) -> None:
    model = load_language_model(str(menagerie.folder("gpt2")), device="cpu")
    objective = pretraining_objective(SENTENCES, model)
    alone = ScriptedWatch(model, [2.0, 0.5], [10.0] * 2)
    fit(
        model,
        objective,
        ONE_EPOCH.model_copy(update={"seed": 3}),
        watch=alone,
        folder=tmp_path / "seed-3",
    )
    again, fitted, _, steps = trained(menagerie, tmp_path, [2.0, 0.9], [10.0] * 2, [3, 4])
    assert set(steps) == {4}
    assert fitted.chosen.recipe.seed == 3
    assert same(weights_of(again), alone.seen[1])


@pytest.mark.parametrize(
    ("seeds", "said"),
    [
        ([], "at least one, all different"),
        ([1, 1], "at least one, all different"),
        ([2**32 - 1, 2**32], "it must be 0 to"),
    ],
)
def test_seeds_must_be_some_different_and_possible(
    menagerie: Zoo, tmp_path: Path, seeds: list[int], said: str
) -> None:
    with pytest.raises(EvenhandError, match=said):
        trained(menagerie, tmp_path, [], [], seeds)
