"""What the two groups of an experiment are called: men and women, or the groups of somebody's own terms."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from evenhand.core.probes import GENDERS

_DIRECTIONS = {
    "gender": "which {attribute} goes with an occupation",
    "term": "which {attribute} goes with an occupation",
    "occupation": "which occupation goes with a {attribute}",
}


@dataclass(frozen=True, slots=True)
class GroupWords:
    """Words for two groups."""

    attribute: str
    """What tells the groups apart."""
    sides: tuple[str, str]
    """Whom the model leans towards."""
    terms: tuple[str, str]
    """A word of each group."""
    names: tuple[str, str]
    """As in P(male)."""

    @property
    def are_genders(self) -> bool:
        """Whether the groups are men and women."""
        return self.names == GENDERS

    @property
    def axis(self) -> str:
        """The title of an axis of bits."""
        return f"← {self.sides[1]} · bits · {self.sides[0]} →"

    @property
    def lean(self) -> str:
        """What is measured, in two or three words."""
        if self.are_genders:
            return "gender lean"
        return (
            "lean between groups" if self == SEVERAL else f"lean between {self.sides[0]} and {self.sides[1]}"
        )

    @property
    def limit(self) -> str:
        """Of what results do not speak."""
        which = "two genders" if self.are_genders else "the groups that were compared"
        return f"It speaks of what was asked and of {which} only, and of no other people or words."

    def direction(self, name: str) -> str:
        """What is asked in a direction."""
        return _DIRECTIONS[name].format(attribute=self.attribute) if name in _DIRECTIONS else name


MEN_AND_WOMEN = GroupWords(
    attribute="gender", sides=("men", "women"), terms=("male word", "female word"), names=GENDERS
)

SEVERAL = GroupWords(
    attribute="group",
    sides=("the first group", "the second group"),
    terms=("word of the first group", "word of the second group"),
    names=("first", "second"),
)
"""For experiments about different groups, of which each names its own."""


def words_for(groups: tuple[str, str]) -> GroupWords:
    """The words for two groups."""
    first, second = groups
    if groups == GENDERS:
        return MEN_AND_WOMEN
    return GroupWords(
        attribute="group", sides=groups, terms=(f"{first} term", f"{second} term"), names=groups
    )


def words_for_all(groups: Iterable[tuple[str, str]]) -> GroupWords:
    """Words that hold for several experiments; those of men and women where there are none."""
    kinds = list(dict.fromkeys(groups))
    if not kinds:
        return MEN_AND_WOMEN
    return words_for(kinds[0]) if len(kinds) == 1 else SEVERAL
