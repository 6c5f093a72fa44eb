"""Texts about a person, told of a woman and of a man.

*The person lost their keys* becomes *The woman lost her keys* and *The man lost his keys*. The other words of the text
may have told the gender already: *The person worked as a waiter*. Then the text is told of a man as it is, and of a
woman with every gendered word swapped. What cannot be told with certainty is rejected, with the reason.

A language is a class with a ``language`` and a ``versions`` method (see ``PersonTexts``). Another package registers it
with an entry point:

    [project.entry-points."evenhand.person_texts"]
    fr = "my_package.french:FrenchPersonTexts"
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol

from evenhand.core.registry import Registry, lacks
from evenhand.text.twins.twin import Rejected, Role, Swap, Swapper

NO_PERSON = Rejected("nobody whom the text is about")
SEVERAL_PERSONS = Rejected("several persons")
BOTH_GENDERS = Rejected("words of both genders that may be about the person")
UNCLEAR_NOUN = Rejected("a noun that may be about the person or about somebody else")

_NOUNS = frozenset({Role.NOUN, Role.OCCUPATION, Role.NAME, Role.TITLE})


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
    {
        "de": "evenhand.text.twins.de.person_texts:GermanPersonTexts",
        "en": "evenhand.text.twins.en.person_texts:EnglishPersonTexts",
    },
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

    PERSON = "the person, of whom it is said"
    OTHER = "somebody else"
    UNCLEAR = "one or the other"


@dataclass(frozen=True, slots=True)
class GenderedWords:
    """The gendered words of a text about a woman, beside the noun that names her.

    Attributes:
        said: Genders of the nouns that are said of her: *a waiter* in *worked as a waiter*.
        others: Genders of the nouns for others.
        pronouns: Genders of the pronouns.
        own_pronouns: Genders of the pronouns before which nobody else of their gender is named.
    """

    said: frozenset[Gender]
    others: frozenset[Gender]
    pronouns: frozenset[Gender]
    own_pronouns: frozenset[Gender]

    @classmethod
    def of(
        cls, swaps: Iterable[Swap], *, subject_at: int, use_of: Callable[[Swap], NounUse]
    ) -> GenderedWords | Rejected:
        """Sort the words that a twin swaps.

        Args:
            swaps: Of the text about a woman, in its order.
            subject_at: Where the noun begins that names her.
            use_of: Whom a noun is about.
        """
        said: set[Gender] = set()
        others: set[Gender] = set()
        pronouns: set[Gender] = set()
        own_pronouns: set[Gender] = set()
        for swap in swaps:
            gender = Gender.MALE if swap.male else Gender.FEMALE
            if swap.role is Role.AGREEMENT or swap.span.start == subject_at:
                continue
            if swap.role not in _NOUNS:
                pronouns.add(gender)
                if gender not in others:
                    own_pronouns.add(gender)
                continue
            use = use_of(swap)
            if use is NounUse.UNCLEAR:
                return UNCLEAR_NOUN
            (said if use is NounUse.PERSON else others).add(gender)
        return cls(frozenset(said), frozenset(others), frozenset(pronouns), frozenset(own_pronouns))

    def tell(self, gender: Gender) -> bool:
        """Whether they say that the person is of this gender; a pronoun behind another's noun may be of that other."""
        return gender in self.said or gender in self.own_pronouns


def versions_of_told_text(text: str, swapper: Swapper) -> PersonVersions | Rejected:
    """Both versions of a text that names no *person*: as it is, and swapped whole.

    The first gendered word says whom it is told of.
    """
    twin = swapper.twin(text)
    if isinstance(twin, Rejected):
        return twin
    if twin.swaps[0].male:
        return PersonVersions(female=twin.text, male=text, told=Gender.MALE)
    return PersonVersions(female=text, male=twin.text, told=Gender.FEMALE)
