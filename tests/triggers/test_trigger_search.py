"""Searches: the best trigger is never lost, a stopped search goes on exactly, and it finds what a brute force finds."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from pydantic import ValidationError
from slow_triggers import PAIRS, SENTENCES, SlowTriggers
from zoo_fixtures import Zoo

from evenhand.core.errors import EvenhandError
from evenhand.models.language_model import LanguageModel
from evenhand.store.jobs import Parts
from evenhand.triggers.gcg import gcg_step
from evenhand.triggers.hotflip import hotflip_step
from evenhand.triggers.recipes import (
    GCG_V1,
    KRAFT_2021,
    PUBLISHED_WEIGHTS,
    ObjectiveWeights,
    TriggerRecipe,
    recipe_of,
)
from evenhand.triggers.search import (
    ScoredTrigger,
    SearchSpace,
    SearchState,
    SearchStep,
    run_search,
)
from evenhand.triggers.targets import TargetSet
from evenhand.triggers.vocabulary import TriggerVocabulary, prefix_of

pytestmark = pytest.mark.torch

SMALL = {"slots": 2, "tokens": 12, "flips": 8, "finalists": 3, "buffer": 3, "starts": 4}
GCG = GCG_V1.model_copy(update=SMALL)
KRAFT = KRAFT_2021.model_copy(update={"slots": 2, "tokens": 12, "starts": 4})
TARGETS = TargetSet("small", PAIRS)


def space_of(model: LanguageModel, recipe: TriggerRecipe) -> SearchSpace:
    vocabulary = TriggerVocabulary(model.loaded, prompts=["The woman", "The man"])
    return SearchSpace(model, vocabulary, TARGETS, sentences=SENTENCES, recipe=recipe)


@pytest.fixture
def gpt2(menagerie: Zoo) -> LanguageModel:
    return menagerie.model("gpt2")


@pytest.mark.parametrize(("recipe", "step"), [(GCG, gcg_step), (KRAFT, hotflip_step)], ids=["gcg", "hotflip"])
def test_the_best_trigger_never_gets_worse(
    gpt2: LanguageModel, recipe: TriggerRecipe, step: SearchStep
) -> None:
    """Published: the token in place did not compete, so a slot could get worse."""
    space = space_of(gpt2, recipe)

    state = run_search(space, step, seed=0, steps=12)

    assert all(later <= earlier for earlier, later in pairwise(state.losses))
    assert state.losses[-1] < state.losses[0]
    assert state.best.loss == pytest.approx(space.scorer.losses([state.best.tokens])[0], abs=1e-6)
    assert space.is_usable(state.best.tokens)


def test_no_token_is_worse_than_the_one_in_place(
    gpt2: LanguageModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    space = space_of(gpt2, KRAFT)
    state = run_search(space, hotflip_step, seed=0, steps=2)
    worst = [[int(token)] * 2 for token in np.flatnonzero(space.vocabulary.allowed)[:2]]
    monkeypatch.setattr(space, "promising", lambda _trigger: worst)
    monkeypatch.setattr(space.scorer, "losses", lambda triggers: [state.best.loss + 1 for _ in triggers])
    before = state.best.tokens

    hotflip_step(space, state, 0)

    assert state.best.tokens == before


def test_hotflip_takes_what_trying_every_promised_token_slowly_finds(gpt2: LanguageModel) -> None:
    space = space_of(gpt2, KRAFT)
    start = space.start(0)
    slow = SlowTriggers(gpt2)
    tried = {start.tokens: slow.loss(_prefix(space, start.tokens), PAIRS, PUBLISHED_WEIGHTS)}
    for token in space.promising(start.tokens)[0]:
        trigger = (token, *start.tokens[1:])
        if space.vocabulary.fitting([trigger])[0]:
            tried[trigger] = slow.loss(_prefix(space, trigger), PAIRS, PUBLISHED_WEIGHTS)

    state = run_search(space, hotflip_step, seed=0, steps=1)

    assert state.best.tokens == min(tried, key=lambda trigger: tried[trigger])
    assert state.best.loss == pytest.approx(min(tried.values()), abs=2e-5)


def _prefix(space: SearchSpace, trigger: tuple[int, ...]) -> str:
    return prefix_of(space.vocabulary.text_of(trigger))


@pytest.mark.parametrize(("recipe", "step"), [(GCG, gcg_step), (KRAFT, hotflip_step)], ids=["gcg", "hotflip"])
def test_a_stopped_search_goes_on_exactly(
    gpt2: LanguageModel, recipe: TriggerRecipe, step: SearchStep, tmp_path: Path
) -> None:
    space = space_of(gpt2, recipe)
    whole = run_search(space, step, seed=3, steps=6, parts=Parts(tmp_path / "whole"))

    class Killed(Exception):  # noqa: N818 # it is no error
        pass

    def kill(state: SearchState) -> None:
        if state.step == 3:
            raise Killed

    with pytest.raises(Killed):
        run_search(space, step, seed=3, steps=6, parts=Parts(tmp_path / "cut"), on_step=kill)
    resumed = run_search(space_of(gpt2, recipe), step, seed=3, steps=6, parts=Parts(tmp_path / "cut"))

    assert resumed == whole
    assert (tmp_path / "cut" / "seed-3").read_bytes() == (tmp_path / "whole" / "seed-3").read_bytes()


def test_a_finished_search_is_not_run_again(gpt2: LanguageModel, tmp_path: Path) -> None:
    space = space_of(gpt2, GCG)
    done = run_search(space, gcg_step, seed=0, steps=2, parts=Parts(tmp_path))

    def never(*_: object, **__: object) -> None:
        raise AssertionError

    assert run_search(space, never, seed=0, steps=2, parts=Parts(tmp_path)) == done


def test_seeds_differ_and_repeat(gpt2: LanguageModel) -> None:
    """Published: the seed of the shuffle was the text "None"."""
    space = space_of(gpt2, GCG)
    first, again, other = (run_search(space, gcg_step, seed=seed, steps=2) for seed in (0, 0, 1))

    assert first == again
    assert first.best.tokens != other.best.tokens
    with pytest.raises(ValidationError):
        TriggerRecipe.model_validate({**GCG.model_dump(), "seeds": ("None",)})


def test_gcg_stops_when_the_buffer_has_no_turn_left(
    gpt2: LanguageModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    space = space_of(gpt2, GCG)
    monkeypatch.setattr(space, "score", lambda _triggers: [])
    (trigger,) = space.vocabulary.random_triggers(1, 2, np.random.default_rng(0))
    state = SearchState(ScoredTrigger(trigger, 0.0), [ScoredTrigger(trigger, 0.0)], losses=[0.0])

    for _ in range(GCG.patience + 1):
        gcg_step(space, state, 0)

    assert state.stopped == "no flip of any trigger in the buffer was better"
    assert state.step == GCG.patience


def test_recipes_are_known_by_method_and_by_name() -> None:
    assert recipe_of("hotflip") is recipe_of("kraft-2021") is KRAFT_2021
    assert recipe_of("gcg") is GCG_V1
    with pytest.raises(EvenhandError, match="Did you mean 'gcg'"):
        recipe_of("ggc")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"slots": 0}, "A trigger of 0 tokens"),
        ({"seeds": ()}, "at least one seed"),
        ({"seeds": (1, 1)}, "each of them once"),
        ({"seeds": (-1,)}, "out of range"),
        ({"flips": 0}, "flips is 0"),
    ],
)
def test_impossible_recipes_are_refused(change: dict[str, object], message: str) -> None:
    with pytest.raises(EvenhandError, match=message):
        TriggerRecipe.model_validate({**GCG.model_dump(), **change})


def test_impossible_weights_are_refused() -> None:
    with pytest.raises(EvenhandError, match="gap of a trigger's objective is negative"):
        ObjectiveWeights(gap=-1)
    with pytest.raises(EvenhandError, match="nothing to search for"):
        ObjectiveWeights(neutral=0, positive=0, negative=0, gap=0)
