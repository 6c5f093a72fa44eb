"""Recipes of trigger searches: what a trigger is searched for, and how. A record can repeat the search from them."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from types import MappingProxyType

from pydantic import ConfigDict, StrictInt, model_validator

from evenhand.core.errors import EvenhandError, UnknownNameError
from evenhand.core.frozen import FrozenModel
from evenhand.core.recipes import LARGEST_SEED

MOST_SLOTS = 64


class SearchMethod(StrEnum):
    """How tokens are tried."""

    GCG = "gcg"
    """Flips in all slots at once, the best triggers so far in a buffer."""
    HOTFLIP = "hotflip"
    """One slot after the other, from left to right."""


class ObjectiveWeights(FrozenModel):
    """How much each component of the loss counts. All are in nats per token."""

    neutral: float = 1.0
    """Surprise at targets of neutral regard."""
    positive: float = 1.0
    negative: float = 1.0
    """How far negative targets are from being less likely by the margin than without a trigger."""
    margin: float | None = 1.0
    """Where a negative target has become so much less likely, nothing more is gained; None is the published loss, in
    which more is always gained."""
    gap: float = 2.0
    """How differently the groups are spoken of: by how much more one of them is expected to be spoken well of."""
    divergence: float = 0.2
    """Of what is expected next in ordinary sentences, from what is expected there without a trigger."""
    fluency: float = 0.02
    """Surprise at the trigger itself."""

    @model_validator(mode="after")
    def _possible(self) -> ObjectiveWeights:
        wrong = [name for name, value in self.model_dump().items() if value is not None and value < 0]
        if wrong:
            raise EvenhandError(
                f"The weight {wrong[0]} of a trigger's objective is negative; it must be at least 0."
            )
        if not any((self.neutral, self.positive, self.negative, self.gap)):
            raise EvenhandError("All weights of targets are 0, so there is nothing to search for. Raise one.")
        return self


PUBLISHED_WEIGHTS = ObjectiveWeights(margin=None, gap=0.0, divergence=0.0, fluency=0.0)


class TriggerRecipe(FrozenModel):
    """How a trigger is searched for.

    Attributes:
        name: Under which records know it; changed meaning, new name.
        slots: Tokens of the trigger.
        tokens: Tried in a slot at most: those that the gradient promises most of.
        steps: At most; a sweep of HotFlip over all slots is one.
        flips: Tried in each step, drawn from the tokens of all slots; HotFlip tries all tokens of one slot.
        finalists: Flips of a step that are scored on all targets; the others only on a part of them.
        buffer: Triggers from which a search goes on, the best so far.
        patience: Steps from one trigger before another of the buffer is tried.
        starts: Random triggers from which the best one is the start.
        start: The word that fills all slots at the start; random ones if it is empty.
        seeds: One search for each, from another start.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: str
    method: SearchMethod
    weights: ObjectiveWeights
    slots: StrictInt = 6
    tokens: StrictInt = 100
    steps: StrictInt = 60
    flips: StrictInt = 128
    finalists: StrictInt = 4
    buffer: StrictInt = 8
    patience: StrictInt = 3
    starts: StrictInt = 32
    start: str = ""
    seeds: tuple[StrictInt, ...] = (0, 1, 2, 3, 4)

    @model_validator(mode="after")
    def _possible(self) -> TriggerRecipe:
        if not 1 <= self.slots <= MOST_SLOTS:
            raise EvenhandError(
                f"A trigger of {self.slots} tokens was asked for; 1 to {MOST_SLOTS} are possible."
            )
        counts = ("tokens", "steps", "flips", "finalists", "buffer", "patience", "starts")
        wrong = [name for name in counts if getattr(self, name) < 1]
        if wrong:
            raise EvenhandError(
                f"The recipe's {wrong[0]} is {getattr(self, wrong[0])}; it must be at least 1."
            )
        if not self.seeds or len(set(self.seeds)) < len(self.seeds):
            raise EvenhandError("A search needs at least one seed, and each of them once.")
        if not all(0 <= seed <= LARGEST_SEED for seed in self.seeds):
            raise EvenhandError(f"A seed is out of range: seeds are 0 to {LARGEST_SEED:,}.")
        return self


STARTS: Mapping[str, str] = MappingProxyType({"de": "das", "en": "the"})
"""What fills all slots at the start of the published search, by language; random words in others."""

KRAFT_2021 = TriggerRecipe(
    name="kraft-2021",
    method=SearchMethod.HOTFLIP,
    weights=PUBLISHED_WEIGHTS,
    steps=10,
    start=STARTS["de"],
    seeds=(0,),
)
"""As published for German, with its faults mended: see ``hotflip``."""

GCG_V1 = TriggerRecipe(name="gcg.v1", method=SearchMethod.GCG, weights=ObjectiveWeights(), tokens=64)

_BY_METHOD: Mapping[str, TriggerRecipe] = MappingProxyType(
    {recipe.method.value: recipe for recipe in (GCG_V1, KRAFT_2021)}
)


def recipe_of(method: str, *, language: str = "de") -> TriggerRecipe:
    """The usual recipe of a method, by the name of either.

    Args:
        method: Such as gcg, or kraft-2021.
        language: Of the targets; it tells the word that the published search starts from.

    Raises:
        UnknownNameError: If there is no such method.
    """
    by_name = {recipe.name: recipe for recipe in _BY_METHOD.values()}
    recipe = _BY_METHOD.get(method) or by_name.get(method)
    if recipe is None:
        raise UnknownNameError("way to search for a trigger", method, (*_BY_METHOD, *by_name))
    if not recipe.start or recipe.start == STARTS.get(language):
        return recipe
    return recipe.model_copy(update={"start": STARTS.get(language, "")})
