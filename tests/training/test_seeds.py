"""Several seeds: a folder each, the best kept, none trained twice."""

from __future__ import annotations

from pathlib import Path

import pytest
from fitting_runs import HE_SHE, RECIPE, SENTENCES, ScriptedEvaluator, same, weights_of
from zoo_fixtures import Zoo

from evenhand.core.errors import EvenhandError
from evenhand.models.language_model import LanguageModel, load_language_model
from evenhand.training.pretraining import pretraining_objective
from evenhand.training.seeds import FittedSeeds, fit_seeds

ONE_EPOCH = RECIPE.model_copy(update={"epochs": 1})


def trained(
    menagerie: Zoo,
    folder: Path,
    malor: list[float],
    perplexity: list[float],
    seeds: list[int],
    *,
    data: str = "",
) -> tuple[LanguageModel, FittedSeeds, ScriptedEvaluator, list[int]]:
    model = load_language_model(str(menagerie.folder("gpt2")), device="cpu")
    evaluator = ScriptedEvaluator(model, malor, perplexity)
    epochs: list[int] = []
    fitted = fit_seeds(
        model,
        pretraining_objective(SENTENCES, model),
        ONE_EPOCH,
        seeds=seeds,
        evaluator=evaluator,
        folder=folder,
        identity={"data": data},
        on_epoch=lambda seed, curve: epochs.append(seed) if curve.trained else None,
    )
    return model, fitted, evaluator, epochs


def test_the_seed_with_the_lowest_malor_is_kept(menagerie: Zoo, tmp_path: Path) -> None:
    script = [2.0, 0.9, 2.0, 0.5, 2.0, 0.7]
    model, fitted, evaluator, epochs = trained(menagerie, tmp_path, script, [10.0] * 6, [3, 4, 5])
    assert fitted.chosen.recipe.seed == 4
    assert [known.recipe.seed for known in fitted.fits] == [3, 4, 5]
    assert same(weights_of(model), evaluator.seen[3])
    assert set(epochs) == {3, 4, 5}


def test_every_seed_starts_from_the_original(menagerie: Zoo, tmp_path: Path) -> None:
    _, _, evaluator, _ = trained(menagerie, tmp_path, [2.0, 1.0] * 2, [10.0] * 4, [0, 1])
    assert same(evaluator.seen[0], evaluator.seen[2])
    assert not same(evaluator.seen[1], evaluator.seen[3])


def test_a_seed_within_the_margin_comes_before_one_with_lower_malor(menagerie: Zoo, tmp_path: Path) -> None:
    _, fitted, _, _ = trained(menagerie, tmp_path, [2.0, 0.1, 2.0, 1.9], [10.0, 11.0, 10.0, 10.05], [0, 1])
    assert fitted.chosen.recipe.seed == 1


def test_without_a_seed_within_the_margin_the_least_loss_is_kept(menagerie: Zoo, tmp_path: Path) -> None:
    _, fitted, _, _ = trained(menagerie, tmp_path, [2.0, 0.1, 2.0, 1.9], [10.0, 11.0, 10.0, 10.5], [0, 1])
    assert fitted.chosen.recipe.seed == 1
    assert not fitted.chosen.keeps_quality


def test_finished_seeds_are_not_trained_again(menagerie: Zoo, tmp_path: Path) -> None:
    _, _, alone, _ = trained(menagerie, tmp_path, [2.0, 0.5], [10.0] * 2, [3])
    again, fitted, evaluator, _ = trained(menagerie, tmp_path, [2.0, 0.9], [10.0] * 2, [3, 4])
    assert len(evaluator.seen) == 2  # seed 4 alone
    assert fitted.chosen.recipe.seed == 3
    assert same(weights_of(again), alone.seen[1])


def test_checkpoints_of_other_data_do_not_stand_in_the_way(menagerie: Zoo, tmp_path: Path) -> None:
    trained(menagerie, tmp_path, [2.0, 0.5], [10.0] * 2, [3], data="some")
    _, fitted, evaluator, _ = trained(menagerie, tmp_path, [2.0, 0.9], [10.0] * 2, [3], data="others")
    assert len(evaluator.seen) == 2
    assert fitted.chosen.best.bias == {HE_SHE: 0.9}


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
