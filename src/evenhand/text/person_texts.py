"""Texts about a person, told of a woman and of a man.

*The person lost their keys* becomes *The woman lost her keys* and *The man lost his keys*. The other words of the text
may have told the gender already: *The person worked as a waiter*. Then the text is told of a man as it is, and of a
woman with every word about the person swapped. Nobody else changes: *The person loves their mother* becomes *The man
loves his mother*. What cannot be told with certainty is rejected, with the reason.

A language is a class with a ``language`` and a ``versions`` method (see ``PersonTexts``). Another package registers it
with an entry point:

    [project.entry-points."evenhand.person_texts"]
    fr = "my_package.french:FrenchPersonTexts"
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from enum import StrEnum
from itertools import pairwise
from typing import Protocol

from evenhand.core.registry import Registry, lacks
from evenhand.text.swappers import Rejected, Role, Swap, Swapper

NO_PERSON = Rejected("nobody whom the text is about")
SEVERAL_PERSONS = Rejected("several persons")
BOTH_GENDERS = Rejected("words of both genders that may be about the person")
UNCLEAR_NOUN = Rejected("a noun that may be about the person or about somebody else")
UNCLEAR_PRONOUN = Rejected("a pronoun that may be about the person or about somebody else")
PARTNER = Rejected("a spouse or partner, whose gender goes with the person's")
SEVERAL_GENDERED = Rejected("several people whose gender is told")

NOUN_ROLES = frozenset({Role.NOUN, Role.OCCUPATION, Role.NAME, Role.TITLE})
"""Roles of words that name somebody."""


class Gender(StrEnum):
    """Whom a text is told of."""

    FEMALE = "female"
    MALE = "male"


@dataclass(frozen=True, slots=True)
class PersonVersions:
    """A text told of a woman and of a man.

    Attributes:
        female: Told of a woman.
        male: Told of a man.
        told: The gender that the text itself tells; None if it tells none.
    """

    female: str
    male: str
    told: Gender | None

    def of(self, gender: Gender) -> str:
        """The version of one gender."""
        return self.female if gender is Gender.FEMALE else self.male


class PersonTexts(Protocol):
    """Knows how a language tells a text of a woman and of a man."""

    language: str

    def versions(self, text: str) -> PersonVersions | Rejected:
        """Both versions of a text, or why they cannot be told."""
        ...


PERSON_TEXTS: Registry[Callable[[], PersonTexts]] = Registry(
    "language of texts about persons",
    "evenhand.person_texts",
    check=lambda entry: lacks(entry, "language", "versions"),
)
"""Classes by language."""


def person_texts_for(language: str) -> PersonTexts:
    """What tells texts of this language.

    Raises:
        UnknownNameError: If no package has it.
        PluginError: If another package has one that cannot be used.
    """
    return PERSON_TEXTS.get(language)()


class NounUse(StrEnum):
    """Whom a gendered noun is about."""

    SUBJECT = "the noun that names the person"
    PERSON = "the person, of whom it is said"
    OTHER = "somebody else"
    UNCLEAR = "one or the other"


@dataclass(frozen=True, slots=True)
class GenderedWords:
    """The gendered words of a text about a person, sorted by whom they are about.

    Attributes:
        subject_at: Where the noun begins that names the person.
        nouns: Swaps of that noun, of nouns that are said of the person (*worked as a waiter*), and of what agrees.
        said: Genders of the nouns that are said of the person.
        others: Where nouns for others begin, and their genders.
        pronouns: Swaps of pronouns, whosoever they are.
    """

    subject_at: int
    nouns: tuple[Swap, ...]
    said: frozenset[Gender]
    others: tuple[tuple[int, Gender], ...]
    pronouns: tuple[Swap, ...]

    @classmethod
    def of(
        cls, swaps: Iterable[Swap], *, subject_at: int, use_of: Callable[[Swap], NounUse]
    ) -> GenderedWords | Rejected:
        """Sort the words that a twin swaps.

        Args:
            swaps: Of the text, in its order.
            subject_at: Where the noun begins that names the person.
            use_of: Whom a noun, or a word that agrees with one, is about. An article alone may tell the gender of
                what is said of the person: *der Beste*.
        """
        nouns: list[Swap] = []
        said: set[Gender] = set()
        others: list[tuple[int, Gender]] = []
        pronouns: list[Swap] = []
        for swap in swaps:
            if swap.span.start == subject_at:
                nouns.append(swap)
                continue
            if swap.role not in NOUN_ROLES and swap.role is not Role.AGREEMENT:
                pronouns.append(swap)
                continue
            use = use_of(swap)
            if use is NounUse.UNCLEAR:
                return UNCLEAR_NOUN
            if use in {NounUse.SUBJECT, NounUse.PERSON}:
                nouns.append(swap)
            elif swap.role in NOUN_ROLES:
                others.append((swap.span.start, _gender_of(swap)))
            if use is NounUse.PERSON:
                said.add(_gender_of(swap))
        return cls(subject_at, tuple(nouns), frozenset(said), tuple(others), tuple(pronouns))

    def own_pronouns(self, *, known: frozenset[int] = frozenset()) -> frozenset[Gender]:
        """Genders of the pronouns that can be about nobody but the person, beside those that are known to be."""
        return frozenset(
            _gender_of(pronoun)
            for pronoun in self.pronouns
            if pronoun.span.start not in known and not self._may_be_others(pronoun)
        )

    def subject_is(self, gender: Gender) -> bool:
        """Whether the noun that names the person is of this gender."""
        return any(swap.span.start == self.subject_at and _gender_of(swap) is gender for swap in self.nouns)

    def tell(self, gender: Gender) -> bool:
        """Whether they say that the person is of this gender."""
        return gender in self.said or gender in self.own_pronouns()

    def of_person(
        self, *, unclear: frozenset[Gender], known: frozenset[int] = frozenset()
    ) -> tuple[Swap, ...] | Rejected:
        """The swaps of the words about the person; others stay as they are.

        Args:
            unclear: Genders of pronouns that may be the person's although somebody else of that gender is named.
            known: Where pronouns begin that are known to be the person's.
        """
        own: list[Swap] = []
        for pronoun in self.pronouns:
            if pronoun.span.start in known or not self._may_be_others(pronoun):
                own.append(pronoun)
            elif _gender_of(pronoun) in unclear:
                return UNCLEAR_PRONOUN
        return tuple(sorted((*self.nouns, *own), key=lambda swap: swap.span.start))

    def _may_be_others(self, pronoun: Swap) -> bool:
        """Whether somebody else of its gender is named before a pronoun, or anywhere if it comes before the person."""
        start = pronoun.span.start
        return any(
            gender is _gender_of(pronoun) and (at < start or start < self.subject_at)
            for at, gender in self.others
        )


def moved(at: int, swaps: Iterable[Swap]) -> int:
    """Where a place is after swaps before it."""
    return at + sum(len(swap.new) - len(swap.old) for swap in swaps if swap.span.start < at)


def _gender_of(swap: Swap) -> Gender:
    return Gender.MALE if swap.male else Gender.FEMALE


def versions_of_told_text(text: str, swapper: Swapper) -> PersonVersions | Rejected:
    """Both versions of a text that names no *person*: as it is, and with every gendered word swapped.

    All of them have to be about one person: one noun or name at most, and pronouns of one gender.
    """
    twin = swapper.twin(text)
    if isinstance(twin, Rejected):
        return twin
    words = [swap for swap in twin.swaps if swap.role is not Role.AGREEMENT] or list(twin.swaps)
    nouns = [swap for swap in words if swap.role in NOUN_ROLES]
    is_one = all(
        not text[first.span.end : second.span.start].strip(" .") for first, second in pairwise(nouns)
    )
    if not is_one or len({swap.male for swap in words}) > 1:
        return SEVERAL_GENDERED
    if words[0].male:
        return PersonVersions(female=twin.text, male=text, told=Gender.MALE)
    return PersonVersions(female=text, male=twin.text, told=Gender.FEMALE)
