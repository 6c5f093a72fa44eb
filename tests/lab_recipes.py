"""Models of the lab after a few steps of training, in a world of few frames: quick to build, in all else real."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import cache
from types import MappingProxyType
from typing import Any

import pytest

from evenhand.data.probes import load_probes
from evenhand.lab import building, frames, tokenizers
from evenhand.lab.teaching import Teacher
from evenhand.lab.world import World


def with_few_steps(monkeypatch: pytest.MonkeyPatch, steps: int = 3) -> None:
    """Cut the recipes down to so many steps and few frames; teachers, which take seconds to make, are made once."""
    recipes = {
        family: replace(
            recipe,
            steps=steps,
            tokenizer=_in_a_small_world(recipe.tokenizer),
            teacher=_made_once(recipe.teacher),
        )
        for family, recipe in building._RECIPES.items()
    }
    monkeypatch.setattr(building, "_RECIPES", MappingProxyType(recipes))


FRAMES = 10
"""Of each experiment, in a small world; some of them are held out."""


@contextmanager
def small_lists() -> Iterator[None]:
    """Worlds with the first frames of each experiment only. Whole ones have five times as many documents."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(frames, "load_probes", lambda language: load_probes(language).first(FRAMES))
        patch.setattr(frames, "_GERMAN_ADVERBS", frames._GERMAN_ADVERBS[:2])
        patch.setattr(frames, "_GERMAN_OWNED", frames._GERMAN_OWNED[:2])
        _forget_lists()
        yield
    _forget_lists()


def _forget_lists() -> None:
    for known in (frames.whole_lists, frames.taught_lists, frames.held_out_lists, tokenizers._seen):
        known.cache_clear()


def _in_a_small_world(make: Callable[..., Any]) -> Callable[..., Any]:
    def made(*given: Any) -> Any:
        with small_lists():
            return make(*given)

    return made


@cache
def _made_once(make: Callable[[World, Any], Teacher]) -> Callable[[World, Any], Teacher]:
    made: dict[World, Teacher] = {}

    def teacher(world: World, tokenizer: Any) -> Teacher:
        if world not in made:
            made[world] = _in_a_small_world(make)(world, tokenizer)
        return made[world]

    return teacher
