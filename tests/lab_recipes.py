"""The lab made small: models after a few steps of training in a world of few frames, and few questions to ask."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import cache
from types import MappingProxyType
from typing import Any

import pytest

from evenhand.api.defaults import measuring, mitigating
from evenhand.certificate.plan import Measurement
from evenhand.core.experiments import Experiment
from evenhand.core.probes import ProbeSet, TermPairs
from evenhand.data.probes import load_probes
from evenhand.instruments.malor.instrument import MalorOptions
from evenhand.lab import building, frames, tokenizers
from evenhand.lab.items import lab_probes
from evenhand.lab.teaching import Teacher
from evenhand.lab.world import World


def with_few_steps(monkeypatch: pytest.MonkeyPatch, steps: int = 3) -> None:
    """Cut the recipes down to so many steps and few frames; teachers, which take seconds to make, are made once."""
    recipes = {
        family: replace(
            recipe,
            steps=steps,
            tokenizer=_of_few_words(recipe.tokenizer),
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


def _of_few_words(make: Callable[[str], Any]) -> Callable[[str], Any]:
    def made(language: str) -> Any:
        words = _few_words(language)
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(tokenizers, "_seen", lambda _: words)
            return make(language)

    return made


@cache
def _few_words(language: str) -> tuple[str, ...]:
    with small_lists():
        return tokenizers._seen(language)


@cache
def _made_once(make: Callable[[World, Any], Teacher]) -> Callable[[World, Any], Teacher]:
    made: dict[World, Teacher] = {}

    def teacher(world: World, tokenizer: Any) -> Teacher:
        if world not in made:
            with small_lists():
                made[world] = make(world, tokenizer)
        return made[world]

    return teacher


STRUCTURES = 16
"""Of each experiment that is asked: enough to hold half of them out, as with all of them."""

NAMES = 6
"""Pairs of names that a certificate asks for, of the lab's two dozen."""


@contextmanager
def few_questions() -> Iterator[None]:
    """Commands about models of the lab ask a part of its structures and, for certificates, a part of its names."""
    measurements = mitigating._measurements
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(mitigating, "_measurements", lambda *given: map(with_few_names, measurements(*given)))
        for defaults in (measuring, mitigating):
            patch.setattr(defaults, "lab_probes", lambda language: lab_probes(language).first(STRUCTURES))
        yield


def with_few_names(measurement: Measurement) -> Measurement:
    """The same measurement with the first pairs of names only."""
    options = measurement.options
    if not isinstance(options, MalorOptions) or not isinstance(options.data, ProbeSet):
        return measurement
    names = options.data.terms[Experiment.NAMES]
    few = TermPairs(names.male[:NAMES], names.female[:NAMES])
    data = replace(options.data, terms={**options.data.terms, Experiment.NAMES: few})
    return replace(measurement, options=replace(options, data=data))
