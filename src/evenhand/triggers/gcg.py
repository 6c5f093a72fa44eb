"""Greedy coordinate gradient (Zou et al. 2023) with a buffer, for many prompts and targets at once.

A step takes one gradient, at the best trigger of the buffer that still has turns left. Flips are drawn from the
promising tokens of all slots. A shard of the targets tells which of them are worth a second look; the best are scored
on all targets, and with them triggers that have the best flips of several slots at once. Whatever is better than the
worst of the buffer goes into it. The best trigger is never lost, and is always scored on all targets.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from evenhand.models.engine.requests import Tokens
from evenhand.triggers.search import ScoredTrigger, SearchSpace, SearchState


def gcg_step(space: SearchSpace, state: SearchState, seed: int) -> None:
    """Try flips in all slots."""
    recipe = space.recipe
    current = next((own for own in state.buffer if own.visits < recipe.patience), None)
    if current is None:
        state.stopped = "no flip of any trigger in the buffer was better"
        return
    flipped = _drawn_flips(space, current, seed=seed)
    current.visits += 1
    shard = space.shard(state.step)
    ranked = (
        [trigger for _, trigger in sorted(zip(shard.losses(flipped), flipped, strict=True))]
        if flipped
        else []
    )
    finalists = ranked[: recipe.finalists]
    joined = _joined_flips(current.tokens, ranked)
    fitting = [
        trigger for trigger, fits in zip(joined, space.vocabulary.fitting(joined), strict=True) if fits
    ]
    known = {own.tokens for own in state.buffer}
    tried = [trigger for trigger in dict.fromkeys((*finalists, *fitting)) if trigger not in known]
    _add(space, state, space.score(tried))
    state.step += 1


def _drawn_flips(space: SearchSpace, current: ScoredTrigger, *, seed: int) -> list[Tokens]:
    """Triggers with one token replaced, drawn from the promising ones of all slots; at every visit other ones."""
    tokens = current.tokens
    flips = [(slot, token) for slot, own in enumerate(space.promising(tokens)) for token in own]
    order = np.random.default_rng([seed, *tokens]).permutation(len(flips)).tolist()
    count = space.recipe.flips
    chosen = [flips[place] for place in order[current.visits * count : (current.visits + 1) * count]]
    triggers = [(*tokens[:slot], token, *tokens[slot + 1 :]) for slot, token in chosen]
    return [
        trigger for trigger, fits in zip(triggers, space.vocabulary.fitting(triggers), strict=True) if fits
    ]


def _joined_flips(tokens: Tokens, ranked: Sequence[Tokens]) -> list[Tokens]:
    """Triggers with the best flips of two slots, of three, and so on: flips of different slots often add up."""
    joined: list[Tokens] = []
    merged = list(tokens)
    changed: set[int] = set()
    for trigger in ranked:
        (slot,) = (place for place, token in enumerate(trigger) if token != tokens[place])
        if slot not in changed:
            changed.add(slot)
            merged[slot] = trigger[slot]
            if len(changed) > 1:
                joined.append(tuple(merged))
    return joined


def _add(space: SearchSpace, state: SearchState, scored: Sequence[ScoredTrigger]) -> None:
    """Put triggers into the buffer, and keep the best."""
    ordered = sorted((*state.buffer, *scored), key=lambda own: own.loss)
    state.buffer = ordered[: space.recipe.buffer]
    for own in state.buffer:
        if own.loss >= state.best.loss:
            break
        if space.is_usable(own.tokens):
            state.best = ScoredTrigger(own.tokens, own.loss)
            break
