"""Recipes: what is refused, and what makes two recipes different."""

from __future__ import annotations

from typing import Any

import pytest

from evenhand.core.errors import EvenhandError
from evenhand.core.recipes import LoraRecipe, Recipe


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"epochs": 0}, "0 epochs"),
        ({"batch_size": 0}, "batches of 0"),
        ({"learning_rate": 0.0}, "learning rate is 0"),
        ({"learning_rate": 2.0}, "learning rate is 2"),
        ({"seed": -1}, "seed is -1"),
        ({"warm_up": 1.0}, "warm-up is 1"),
        ({"warm_up": -0.1}, "warm-up is -0.1"),
        ({"quality_margin": -0.1}, "quality margin is -0.1"),
        ({"precision": "fp16"}, "fp16 loses small steps"),
        ({"report_to": ("excel",)}, "'excel' cannot be reported to"),
    ],
)
def test_what_cannot_be_is_refused(wrong: dict[str, Any], said: str) -> None:
    with pytest.raises(EvenhandError, match=said):
        Recipe(**wrong)


@pytest.mark.parametrize("wrong", [{"rank": 0}, {"alpha": 0.0}, {"dropout": 1.0}])
def test_adapters_that_cannot_be_are_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(EvenhandError, match="is not possible"):
        LoraRecipe(**wrong)


def test_where_figures_are_sent_to_makes_no_other_recipe() -> None:
    assert Recipe(report_to=("tensorboard",)).fingerprint == Recipe().fingerprint
    assert Recipe(seed=1).fingerprint != Recipe().fingerprint
    assert Recipe(warm_up=0.1).fingerprint != Recipe().fingerprint


def test_a_recipe_survives_its_record() -> None:
    recipe = Recipe(lora=LoraRecipe(targets=("query",)), report_to=("mlflow",))
    assert Recipe.model_validate_json(recipe.model_dump_json()) == recipe
