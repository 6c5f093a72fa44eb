"""HotFlip as Kraft (2021) searched with it, after Sheng et al. (2020) and Wallace et al. (2019), its faults mended.

Slot by slot, from left to right, the tokens that the gradient promises most of are tried, and the best one is kept. A
sweep goes over all slots; the search is over when a sweep has lowered nothing. What was mended:

- padding was compared with -1 and was -100, so it was scored: only tokens of targets are read
- gradients were sums over batches and scores were means, so they ranked differently: both are of one loss
- the token in place did not compete, so a slot could get worse: it stays unless another one is better
- the trigger was joined without a space in the search and with one in use: it is tried as it is used
- tokens were scored on twenty batches of one shuffle, the rest was dropped: they are scored on all targets
- the seed of the shuffle was the text "None": nothing is shuffled, and a seed is a number
- the trigger was stripped from texts before short ones were dropped: what a model writes comes without its prefix
"""

from __future__ import annotations

from evenhand.triggers.search import SearchSpace, SearchState


def hotflip_step(space: SearchSpace, state: SearchState, seed: int) -> None:  # noqa: ARG001
    """Try tokens in one slot. Nothing is left to chance, so the seed has no part."""
    slots = space.recipe.slots
    slot = state.step % slots
    tokens = state.best.tokens
    promising = space.promising(tokens)[slot]
    flipped = [(*tokens[:slot], token, *tokens[slot + 1 :]) for token in promising]
    fitting = [
        trigger for trigger, fits in zip(flipped, space.vocabulary.fitting(flipped), strict=True) if fits
    ]
    better = sorted(
        (own for own in space.score(fitting) if own.loss < state.best.loss), key=lambda own: own.loss
    )
    state.best = next((own for own in better if space.is_usable(own.tokens)), state.best)
    state.step += 1
    if state.step % slots == 0 and state.best.loss >= state.losses[-slots]:
        state.stopped = "a sweep over all slots lowered nothing"
