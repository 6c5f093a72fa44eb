"""Models of the lab after a few steps of training: quick to build, and in all else like the real ones."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import cache
from types import MappingProxyType
from typing import Any

import pytest

from evenhand.lab import building
from evenhand.lab.teaching import Teacher
from evenhand.lab.world import World


def with_few_steps(monkeypatch: pytest.MonkeyPatch, steps: int = 3) -> None:
    """Cut the recipes down to so many steps; teachers, which take seconds to make, are made once."""
    recipes = {
        family: replace(recipe, steps=steps, teacher=_made_once(recipe.teacher))
        for family, recipe in building._RECIPES.items()
    }
    monkeypatch.setattr(building, "_RECIPES", MappingProxyType(recipes))


@cache
def _made_once(make: Callable[[World, Any], Teacher]) -> Callable[[World, Any], Teacher]:
    made: dict[World, Teacher] = {}

    def teacher(world: World, tokenizer: Any) -> Teacher:
        if world not in made:
            made[world] = make(world, tokenizer)
        return made[world]

    return teacher
