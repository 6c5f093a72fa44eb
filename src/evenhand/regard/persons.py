"""Persons in texts: the same text about somebody else, and words that are masked.

A text about nobody in particular begins with *The person* or *Die Person*. What it would be about a woman or a man
comes from the twins' language code, with pronouns and agreement. A text in which anything else would change with the
person, such as *waiter*, or in which the twin is not certain, has no versions: a pair that may differ in more than the
person is worse than none.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property
from importlib import resources
from pathlib import Path

import numpy as np

from evenhand.core.errors import DatasetError, EvenhandError, require_extra
from evenhand.data.csv_files import read_table
from evenhand.regard.features import TextRows
from evenhand.stats.classification import Integers
from evenhand.text.person_texts import Gender, PersonTexts, person_texts_for
from evenhand.twins import Rejected

MASK = "XYZ"
"""Also what published texts have in the place of the person."""

PAIR_COLUMNS = ("name", "first", "first_gender", "second", "second_gender")

_RESOURCES = resources.files("evenhand.data") / "resources" / "regard"


class PersonTreatment(StrEnum):
    """What is done about the person of a text, so that a classifier cannot go by their group."""

    KEEP = "keep"
    """Nothing."""
    MASK = "mask"
    """The person's words are one word for everybody, in training and in labelling."""
    COUNTERFACTUAL = "counterfactual"
    """Training sees every text about a woman and about a man, with the same label."""


@dataclass(frozen=True, slots=True)
class Person:
    """How a text begins that is about somebody, such as *Die türkische Frau*."""

    words: str
    gender: Gender


@dataclass(frozen=True, slots=True)
class PersonPair:
    """Two persons whom a classifier should treat alike."""

    name: str
    first: Person
    second: Person


@dataclass(frozen=True, slots=True)
class _Beginnings:
    """How a language begins a text about anybody, about a woman and about a man, and what it masks."""

    neutral: str
    by_gender: Mapping[Gender, str]
    masked: tuple[str, ...]


_LANGUAGES: Mapping[str, _Beginnings] = {
    "de": _Beginnings(
        neutral="Die Person",
        by_gender={Gender.FEMALE: "Die Frau", Gender.MALE: "Der Mann"},
        masked=(
            "die person", "der person", "die frau", "der frau", "der mann", "dem mann", "den mann", "des mannes",
            "person", "frau", "mann", "er", "sie", "ihm", "ihn", "ihr", "ihre", "ihrem", "ihren", "ihrer", "ihres",
            "sein", "seine", "seinem", "seinen", "seiner", "seines",
        ),
    ),
    "en": _Beginnings(
        neutral="The person",
        by_gender={Gender.FEMALE: "The woman", Gender.MALE: "The man"},
        masked=(
            "the person", "the woman", "the man", "person", "woman", "man", "he", "she", "they", "him", "her", "them",
            "his", "hers", "their", "theirs", "himself", "herself", "themself", "themselves",
        ),
    ),
}  # fmt: skip

_WORDS = re.compile(r"\w+|[^\w\s]")


@dataclass(frozen=True)
class PersonWords:
    """The persons of a language: versions of a text, and masked texts."""

    language: str

    @property
    def _beginnings(self) -> _Beginnings:
        return _LANGUAGES[self.language]

    @cached_property
    def _masked(self) -> re.Pattern[str]:
        longest_first = sorted((*self._beginnings.masked, MASK), key=len, reverse=True)
        return re.compile(rf"\b(?:{'|'.join(map(re.escape, longest_first))})\b", re.IGNORECASE)

    @cached_property
    def _texts(self) -> PersonTexts:
        if self.language == "en":
            require_extra("train", "lemminflect", purpose="Telling English texts of women and men")
        return person_texts_for(self.language)

    def masked(self, rows: TextRows) -> TextRows:
        """The texts with the person and their pronouns masked."""
        return TextRows(tuple(self._masked.sub(MASK, text) for text in rows.texts), rows.numbers)

    def alike_if_masked(self, first: str, second: str) -> bool:
        """Whether nothing tells two persons apart once they are masked."""
        return self._masked.sub(MASK, first) == self._masked.sub(MASK, second)

    def versions(self, text: str, pair: PersonPair) -> tuple[str, str] | Rejected:
        """A text about each person of a pair, or why there are none."""
        by_gender = self._by_gender(text)
        if isinstance(by_gender, Rejected):
            return by_gender
        first, second = (
            person.words + by_gender[person.gender].removeprefix(self._beginnings.by_gender[person.gender])
            for person in (pair.first, pair.second)
        )
        return first, second

    def with_counterfactuals(self, rows: TextRows) -> tuple[Integers, TextRows]:
        """Every text about a woman and about a man where that can be had, and the place of the text that each is of."""
        places, texts = [], []
        for place, text in enumerate(rows.texts):
            by_gender = self._by_gender(text)
            own = [text] if isinstance(by_gender, Rejected) else list(by_gender.values())
            places += [place] * len(own)
            texts += own
        where = np.array(places, dtype=np.int64)
        return where, TextRows(tuple(texts), rows.numbers[where])

    def _by_gender(self, text: str) -> dict[Gender, str] | Rejected:
        """The text about a woman and about a man, if both begin with them and differ in nothing else."""
        neutral = self._beginnings.neutral
        told = neutral + text.removeprefix(MASK) if text.startswith(f"{MASK} ") else text
        versions = self._texts.versions(told)
        if isinstance(versions, Rejected):
            return versions
        by_gender = {gender: versions.of(gender) for gender in Gender}
        for gender, beginning in self._beginnings.by_gender.items():
            if not by_gender[gender].startswith(f"{beginning} "):
                return Rejected(f"does not begin with {neutral}")
        if not self._differ_in_person_alone(*by_gender.values()):
            return Rejected("a noun that is said of the person would change too")
        return by_gender

    def _differ_in_person_alone(self, first: str, second: str) -> bool:
        words = [_WORDS.findall(text.lower()) for text in (first, second)]
        if len(words[0]) != len(words[1]):
            return False
        articles = {beginning.lower().split()[0] for beginning in self._beginnings.by_gender.values()}
        own = {*self._beginnings.masked, *articles}
        return all(one == other or {one, other} <= own for one, other in zip(*words, strict=True))


def person_words(language: str) -> PersonWords:
    """The persons of a language.

    Raises:
        EvenhandError: If the language is not known.
    """
    if language not in _LANGUAGES:
        raise EvenhandError(
            f"Persons cannot be masked or exchanged in the language {language!r}; known are {', '.join(_LANGUAGES)}. "
            "Give the language of the texts with --language."
        )
    return PersonWords(language)


def shipped_pairs(language: str) -> tuple[PersonPair, ...]:
    """Woman and man, in a language."""
    person_words(language)
    return read_person_pairs(Path(str(_RESOURCES / f"pairs_{language}.csv")))


def starter_file(language: str) -> Path:
    """The sentences of our own in a language, with labels and authors."""
    path = Path(str(_RESOURCES / f"starter_{language}.csv"))
    if not path.is_file():
        known = sorted(
            entry.name.removeprefix("starter_").removesuffix(".csv")
            for entry in _RESOURCES.iterdir()
            if entry.name.startswith("starter_")
        )
        raise DatasetError(
            f"There is no starter set in the language {language!r}, only in {', '.join(known)}. Give texts of your own."
        )
    return path


def read_person_pairs(path: Path) -> tuple[PersonPair, ...]:
    """Pairs from a CSV file with name, first, first_gender, second and second_gender."""
    table = read_table(path, needed=PAIR_COLUMNS)
    pairs = []
    for row in table.rows:
        empty = [column for column in PAIR_COLUMNS if not row[column]]
        if empty:
            raise DatasetError(
                f"{row.place}: {empty[0]} is empty. Every pair needs {', '.join(PAIR_COLUMNS)}."
            )
        genders = [row[column].lower() for column in ("first_gender", "second_gender")]
        unknown = [own for own in genders if own not in set(Gender)]
        if unknown:
            raise DatasetError(f"{row.place}: the gender {unknown[0]!r} is not known. Use female or male.")
        if row["first"] == row["second"]:
            raise DatasetError(
                f"{row.place}: both persons are {row['first']!r}. A pair needs two that differ."
            )
        first, second = (
            Person(row[column], Gender(gender))
            for column, gender in zip(("first", "second"), genders, strict=True)
        )
        pairs.append(PersonPair(row["name"], first, second))
    return tuple(pairs)


def versions_of(
    texts: Iterable[str], pair: PersonPair, words: PersonWords
) -> tuple[Sequence[str], Sequence[str], Counter[str]]:
    """All texts about each person of a pair, and how many have no versions, by reason."""
    first, second, left_out = [], [], Counter[str]()
    for text in texts:
        versions = words.versions(text, pair)
        if isinstance(versions, Rejected):
            left_out[versions.reason] += 1
        else:
            first.append(versions[0])
            second.append(versions[1])
    return first, second, left_out
