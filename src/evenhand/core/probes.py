"""Probes: sentence structures that ask a model which gender goes with which occupation."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum

from evenhand.core.errors import DatasetError


class Experiment(StrEnum):
    """Which gendered term a structure asks for."""

    HE_SHE = "he-she"
    HIS_HER = "his-her"
    NAMES = "names"


class Case(StrEnum):
    """The grammatical case that a place in a sentence demands."""

    NOMINATIVE = "nom"
    ACCUSATIVE = "acc"
    DATIVE = "dat"
    GENITIVE = "gen"


class GrammaticalGender(StrEnum):
    """Of an occupation's form, in languages that have one for women and one for men."""

    MASCULINE = "masculine"
    FEMININE = "feminine"


@dataclass(frozen=True, slots=True)
class DeclinedNoun:
    """A noun in one case, with the definite article that agrees with it."""

    case: Case
    article: str
    noun: str


@dataclass(frozen=True, slots=True)
class OccupationForm:
    """A way to name an occupation: bare, and with its article in each case where the language has cases."""

    noun: str
    gender: GrammaticalGender | None = None
    declined: tuple[DeclinedNoun, ...] = ()

    def in_case(self, case: Case) -> DeclinedNoun:
        """The article and the noun in this case."""
        for form in self.declined:
            if form.case is case:
                return form
        known = ", ".join(form.case.value for form in self.declined) or "none"
        raise DatasetError(
            f"The occupation {self.noun!r} has no form for [OCC:{case.value}] (it has {known}). "
            "Write [OCC], or give the occupation's forms."
        )


@dataclass(frozen=True, slots=True)
class Occupation:
    """An occupation: one form in English, a masculine and a feminine one in German.

    ``name`` is the same in all languages; ``field`` groups occupations where the file says so.
    """

    name: str
    field: str | None
    forms: tuple[OccupationForm, ...]


@dataclass(frozen=True, slots=True)
class Structure:
    """A sentence with one gap for the gendered term, ``[MASK]``, and one for the occupation, ``[OCC]``."""

    experiment: Experiment
    number: int
    text: str


@dataclass(frozen=True, slots=True)
class TermPairs:
    """Gendered terms, the male and the female one of a pair at the same place."""

    male: tuple[str, ...]
    female: tuple[str, ...]

    def __post_init__(self) -> None:
        if len(self.male) != len(self.female):
            raise ValueError(f"{len(self.male)} male and {len(self.female)} female terms are not pairs.")

    def __len__(self) -> int:
        return len(self.male)

    def __iter__(self) -> Iterator[tuple[str, str]]:
        return zip(self.male, self.female, strict=True)

    @property
    def all(self) -> tuple[str, ...]:
        """The male terms, then the female ones."""
        return self.male + self.female


class ProbeProblem(StrEnum):
    """What can be wrong with a structure that can still be asked."""

    REPEATED = "repeated"
    GENDERED_WORD = "gendered-word"
    ARTICLE = "article"


@dataclass(frozen=True, slots=True)
class ProbeWarning:
    """A problem, the structures of one experiment that have it, and what it does to the result."""

    problem: ProbeProblem
    experiment: Experiment
    numbers: tuple[int, ...]
    message: str

    def __str__(self) -> str:
        return self.message


@dataclass(frozen=True, slots=True)
class ProbeSet:
    """What is asked in one language: every structure with every occupation and the terms of its experiment."""

    language: str
    structures: tuple[Structure, ...]
    occupations: tuple[Occupation, ...]
    terms: Mapping[Experiment, TermPairs]
    warnings: tuple[ProbeWarning, ...]
    sha256: str
    """Of the files that it was read from."""

    def of(self, experiment: Experiment) -> tuple[Structure, ...]:
        """The structures of one experiment, in file order."""
        return tuple(structure for structure in self.structures if structure.experiment is experiment)

    @property
    def experiments(self) -> tuple[Experiment, ...]:
        """The experiments that have at least one structure."""
        present = {structure.experiment for structure in self.structures}
        return tuple(experiment for experiment in Experiment if experiment in present)

    @property
    def genders(self) -> tuple[GrammaticalGender | None, ...]:
        """The genders that occupations have forms for; only None in a language with one form."""
        return tuple(
            dict.fromkeys(form.gender for occupation in self.occupations for form in occupation.forms)
        )
