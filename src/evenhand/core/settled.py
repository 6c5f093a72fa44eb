"""Settled sentences: what a model must know whatever its stereotypes, because another word settles the gender.

A row of a file is two sentences, the male and the female twin of each other, written as one:

    My {uncle|aunt} called to say that [he|she] would be late for dinner.

Words in braces settle the gender. The pronoun in brackets is the gap, and the form of the other twin is wrong there.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from enum import StrEnum

from evenhand.core.errors import DatasetError
from evenhand.core.items import BLANK
from evenhand.core.sampling import sample

_SETTLING = re.compile(r"\{([^{}|]+)\|([^{}|]+)\}")
_GAP = re.compile(r"\[([^\[\]|]+)\|([^\[\]|]+)\]")


class SettledBy(StrEnum):
    """What kind of word settles the gender."""

    KINSHIP = "kinship"
    TITLE = "title"
    ROYAL = "royal"
    RELIGIOUS = "religious"
    NAME = "name"
    PRONOUN = "pronoun"
    """An earlier one."""
    NOUN = "noun"
    """Any other noun: actress, landlord."""


class PronounRole(StrEnum):
    """What the pronoun in the gap is in its sentence."""

    SUBJECT = "subject"
    OBJECT = "object"
    POSSESSIVE = "possessive"
    REFLEXIVE = "reflexive"


ALL_ROLES = "all"
"""In the place of a role: pronouns of every role."""


@dataclass(frozen=True, slots=True)
class SettledSentence:
    """A sentence with ``BLANK`` in place of a pronoun, whose gender another word settles."""

    pair: str
    """What it shares with its twin, the same sentence about somebody of the other gender."""
    is_male: bool
    text: str
    right: str
    wrong: str
    nonsense: str
    """A word that makes no sense in the gap."""
    settled_by: SettledBy
    role: PronounRole
    is_settled_later: bool = False
    """Whether what settles the gender stands behind the pronoun, where a model that reads from the left has not read
    it."""

    @property
    def id(self) -> str:
        """The number of the pair and the gender."""
        return f"{self.pair}-{'male' if self.is_male else 'female'}"

    @property
    def opening(self) -> str:
        """What stands before the pronoun."""
        return self.text.partition(BLANK)[0].rstrip()


@dataclass(frozen=True, slots=True)
class SettledSet:
    """The settled sentences of one language, twins side by side."""

    name: str
    language: str
    sentences: tuple[SettledSentence, ...]
    sha256: str

    def sampled(self, limit: int | None) -> SettledSet:
        """The same with a sample of whole pairs, of every role and kind; all sentences if there is no limit."""
        if limit is None:
            return self
        twins: dict[str, list[SettledSentence]] = {}
        for sentence in self.sentences:
            twins.setdefault(sentence.pair, []).append(sentence)
        kept = sample(
            list(twins.values()), max(1, limit // 2), cluster=lambda own: (own[0].role, own[0].settled_by)
        )
        return replace(self, sentences=tuple(sentence for pair in kept for sentence in pair))

    def first(self, limit: int | None) -> SettledSet:
        """The same with the first sentences only; all of them if there is no limit."""
        return self if limit is None else replace(self, sentences=self.sentences[:limit])

    def read_from_the_left(self) -> SettledSet:
        """The same without sentences whose gender is settled behind the pronoun."""
        return replace(self, sentences=tuple(own for own in self.sentences if not own.is_settled_later))

    def sample(self, every: int) -> tuple[SettledSentence, ...]:
        """One sentence of every so many pairs, of a man and of a woman in turn."""
        pairs = list(dict.fromkeys(sentence.pair for sentence in self.sentences))
        male = {pair: number % 2 == 0 for number, pair in enumerate(pairs[::every])}
        return tuple(sentence for sentence in self.sentences if male.get(sentence.pair) is sentence.is_male)

    def genders(self) -> dict[str, bool]:
        """Every pronoun that is right or wrong somewhere, and whether it is of a man; those of both are left out."""
        sides: dict[bool, set[str]] = {True: set(), False: set()}
        for sentence in self.sentences:
            sides[sentence.is_male].add(sentence.right.casefold())
            sides[not sentence.is_male].add(sentence.wrong.casefold())
        return {word: side for side in sides for word in sides[side] - sides[not side]}


def settled_twins(
    written: str, *, pair: str, nonsense: str, settled_by: SettledBy, role: PronounRole
) -> tuple[SettledSentence, SettledSentence]:
    """The male and the female sentence of a row.

    Raises:
        DatasetError: If it has not one gap and a word that settles it.
    """
    gaps = list(_GAP.finditer(written))
    if len(gaps) != 1:
        raise DatasetError(f"{written!r} has {len(gaps)} pronouns in brackets; needed is one: [he|she].")
    settling = _SETTLING.search(written)
    if settling is None:
        raise DatasetError(f"{written!r} has no word in braces that settles the gender: {{king|queen}}.")
    gap = gaps[0]
    if gap[1] == gap[2]:
        raise DatasetError(f"{written!r} has the same pronoun for both genders; needed is one of each.")
    open_text = f"{written[: gap.start()]}{BLANK}{written[gap.end() :]}"
    male, female = (
        SettledSentence(
            pair=pair,
            is_male=side == 1,
            text=_plain(_SETTLING.sub(rf"\{side}", open_text), written),
            right=gap[side],
            wrong=gap[3 - side],
            nonsense=nonsense,
            settled_by=settled_by,
            role=role,
            is_settled_later=settling.start() > gap.start(),
        )
        for side in (1, 2)
    )
    return male, female


def _plain(text: str, written: str) -> str:
    if set(text) & set("{}[]|"):
        raise DatasetError(
            f"{written!r} has a brace or bracket that belongs to no pair of forms; write {{king|queen}} and [he|she]."
        )
    return text
