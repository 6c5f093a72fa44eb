"""A search for a trigger: what it works with, what it keeps after every step, and how it goes on after it was stopped.

All chance of a step comes from the seed and the number of the step, so no state of a generator is kept: a search that
is resumed goes on exactly as it would have.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy as np
import torch

from evenhand.core.progress import Progress, no_progress
from evenhand.models.engine.requests import Tokens
from evenhand.models.language_model import LanguageModel
from evenhand.store.jobs import Parts
from evenhand.triggers.recipes import TriggerRecipe
from evenhand.triggers.scoring import TriggerScorer
from evenhand.triggers.targets import TargetRegard, TargetSet
from evenhand.triggers.vocabulary import TriggerVocabulary

MOST_SHARDS = 8
"""Parts of the targets on which flips are scored before the best of them are scored on all."""

PAIRS_PER_SHARD = 2
"""Of each regard, at least."""


@dataclass(slots=True)
class ScoredTrigger:
    """A trigger that was scored on all targets."""

    tokens: Tokens
    loss: float
    visits: int = 0
    """How often a search went on from it."""


@dataclass(slots=True)
class SearchState:
    """Where a search is.

    Attributes:
        best: The best trigger so far. It never gets worse.
        buffer: Triggers to go on from, the best first.
        step: Steps that are done; for HotFlip, slots.
        start: The tokens that the search started from.
        stopped: Why the search is over; None while it is not.
        losses: The best loss after every step, and before the first.
    """

    best: ScoredTrigger
    buffer: list[ScoredTrigger]
    step: int = 0
    start: Tokens = ()
    stopped: str | None = None
    losses: list[float] = field(default_factory=list)

    def to_json(self) -> bytes:
        """As it is kept."""
        best, *others = ([list(own.tokens), own.loss, own.visits] for own in (self.best, *self.buffer))
        kept = {
            "best": best,
            "buffer": others,
            "step": self.step,
            "start": list(self.start),
            "stopped": self.stopped,
            "losses": self.losses,
        }
        return json.dumps(kept).encode()

    @classmethod
    def from_json(cls, content: bytes) -> SearchState:
        """As it was kept: every number is the same to its last bit."""
        kept: dict[str, Any] = json.loads(content)

        def scored(entry: list[Any]) -> ScoredTrigger:
            return ScoredTrigger(tuple(entry[0]), entry[1], entry[2])

        return cls(
            scored(kept["best"]),
            [scored(entry) for entry in kept["buffer"]],
            kept["step"],
            tuple(kept["start"]),
            kept["stopped"],
            kept["losses"],
        )


class SearchSpace:
    """What a search works with: the tokens, all targets, and shards of them for a first look."""

    def __init__(
        self,
        model: LanguageModel,
        vocabulary: TriggerVocabulary,
        targets: TargetSet,
        *,
        sentences: Sequence[str],
        recipe: TriggerRecipe,
    ) -> None:
        """Lay targets out.

        Args:
            model: A decoder.
            vocabulary: Its tokens.
            targets: Those that the search may see.
            sentences: Ordinary ones, whose continuation a trigger should not change.
            recipe: How to search.
        """
        self.vocabulary = vocabulary
        self.recipe = recipe
        self._everything = [pair.whole(side) for pair in targets.pairs for side in (0, 1)] + list(sentences)

        def scorer(number: int, count: int) -> TriggerScorer:
            pairs = [pair for regard in TargetRegard for pair in _of(targets, regard)[number::count]]
            return TriggerScorer(
                model,
                vocabulary,
                pairs,
                sentences=sentences[number::count],
                slots=recipe.slots,
                weights=recipe.weights,
            )

        self.scorer = scorer(0, 1)
        fewest = min(len(_of(targets, regard)) for regard in TargetRegard)
        count = min(MOST_SHARDS, fewest // PAIRS_PER_SHARD)
        self._shards = [scorer(number, count) for number in range(count)] if count > 1 else [self.scorer]
        allowed = torch.from_numpy(vocabulary.allowed)
        self._barred = ~allowed.to(model.loaded.device)
        self._promising: dict[Tokens, list[list[int]]] = {}

    def shard(self, step: int) -> TriggerScorer:
        """The part of the targets for a first look at the flips of a step."""
        return self._shards[step % len(self._shards)]

    def score(self, triggers: Sequence[Tokens]) -> list[ScoredTrigger]:
        """Triggers with their losses on all targets, in order."""
        losses = self.scorer.losses(triggers) if triggers else []
        return [ScoredTrigger(trigger, loss) for trigger, loss in zip(triggers, losses, strict=True)]

    def is_usable(self, trigger: Tokens) -> bool:
        """Whether the text of a trigger reads as its tokens before every text of the search, not only its prompt."""
        return self.vocabulary.fitting_before([trigger], self._everything)[0]

    def promising(self, trigger: Tokens) -> list[list[int]]:
        """For each slot, the tokens that lower the loss most as far as the gradient tells, the best first.

        The token in place is not among them.
        """
        if trigger not in self._promising:
            changes = self.scorer.gradient(trigger)
            changes[:, self._barred] = torch.inf
            changes[torch.arange(len(trigger)), list(trigger)] = torch.inf
            count = min(self.recipe.tokens, int((~self._barred).sum()) - 1)
            self._promising = {trigger: changes.topk(count, dim=1, largest=False).indices.tolist()}
        return self._promising[trigger]

    def start(self, seed: int) -> ScoredTrigger:
        """Where the search of a seed starts: the recipe's word in all slots, or the best of random triggers."""
        generator = np.random.default_rng([seed, 0])
        word = self.recipe.start
        filled = self.vocabulary.filled_with(word, self.recipe.slots) if word else None
        if filled is not None:
            return self.score([filled])[0]
        triggers = self.vocabulary.random_triggers(self.recipe.starts, self.recipe.slots, generator)
        losses = self.shard(0).losses(triggers)
        first_look = sorted(zip(losses, triggers, strict=True))[: self.recipe.finalists]
        usable = [trigger for _, trigger in first_look if self.is_usable(trigger)] or triggers[:1]
        return min(self.score(usable), key=lambda own: own.loss)


def _of(targets: TargetSet, regard: TargetRegard) -> list[Any]:
    return [pair for pair in targets.pairs if pair.regard is regard]


SearchStep: TypeAlias = Callable[[SearchSpace, SearchState, int], None]
"""One step of a search, with a seed: it leaves a state that is one step on, and whose best is no worse."""


def run_search(
    space: SearchSpace,
    take_step: SearchStep,
    *,
    seed: int,
    steps: int,
    parts: Parts | None = None,
    progress: Progress = no_progress,
    on_step: Callable[[SearchState], None] | None = None,
) -> SearchState:
    """Search from one seed until a step says that it is over, or there were enough.

    Args:
        space: What to search in.
        take_step: How.
        seed: Of all chance.
        steps: At most.
        parts: Where the state is kept after every step, so that an interrupted search goes on.
        progress: Told how many steps are done.
        on_step: Called with the state after every step.
    """
    key = f"seed-{seed}"
    kept = parts.get(key) if parts else None
    if kept is None:
        first = space.start(seed)
        state = SearchState(
            first, [ScoredTrigger(first.tokens, first.loss)], start=first.tokens, losses=[first.loss]
        )
    else:
        state = SearchState.from_json(kept)
    progress(state.step, steps)
    while state.stopped is None:
        take_step(space, state, seed)
        state.losses.append(state.best.loss)
        if state.stopped is None and state.step >= steps:
            state.stopped = "all steps were done"
        if parts:
            parts.put(key, state.to_json())
        progress(state.step, steps)
        if on_step:
            on_step(state)
    progress(steps, steps)
    return state
