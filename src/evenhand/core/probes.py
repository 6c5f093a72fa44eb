"""Probes: sentence structures that ask a model which gender goes with which occupation, and sentences made of them.

Both gaps are filled, or one of them is left open for the model:

[MASK]      a gendered term as it is: he, Mary, er
[MASK:en]   a German possessive stem with an ending: seinen, ihren; [MASK:-] is the bare stem
[OCC]       an occupation without an article: teacher, Lehrer, Lehrerin
[OCC:dat]   a German occupation with its definite article in a case: dem Lehrer, der Lehrerin
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import lru_cache
from hashlib import sha256

from evenhand.core.errors import DatasetError
from evenhand.core.experiments import Experiment, in_order
from evenhand.core.items import BLANK
from evenhand.core.sampling import sample
from evenhand.core.settled import SettledSet


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


GENDERS = ("male", "female")
"""The groups that terms tell apart, unless a file names others."""


@dataclass(frozen=True, slots=True)
class TermPairs:
    """Terms of two groups, those of a pair at the same place: male and female ones, unless ``groups`` says otherwise.

    Terms of other groups stand in the same two fields, those of the first group in ``male``.
    """

    male: tuple[str, ...]
    female: tuple[str, ...]
    groups: tuple[str, str] = GENDERS

    def __post_init__(self) -> None:
        if len(self.male) != len(self.female):
            first, second = self.groups
            raise ValueError(f"{len(self.male)} {first} and {len(self.female)} {second} terms are not pairs.")

    def __len__(self) -> int:
        return len(self.male)

    def __iter__(self) -> Iterator[tuple[str, str]]:
        return zip(self.male, self.female, strict=True)

    @property
    def all(self) -> tuple[str, ...]:
        """The male terms, then the female ones."""
        return self.male + self.female

    @property
    def tell_gender(self) -> bool:
        """Whether the groups are men and women."""
        return self.groups == GENDERS


FEWEST_HELD_OUT = 7
"""Structures, and occupations, in a half that is held out: fewer structures cannot show a lean at 95%."""


def held_out_half(texts: Iterable[str]) -> frozenset[str]:
    """Those texts that no training may see: about half of them, by their digests; none where a half would be too small.

    A text belongs to its half whatever else is in the list, so that the half is the same in every version of a list.
    """
    listed = frozenset(texts)
    half = frozenset(text for text in listed if sha256(text.encode()).digest()[0] < _MIDDLE)
    return half if min(len(half), len(listed) - len(half)) >= FEWEST_HELD_OUT else frozenset()


_MIDDLE = 128
"""Of the values of a byte."""


class ProbeProblem(StrEnum):
    """What can be wrong with a structure that can still be asked."""

    REPEATED = "repeated"
    GENDERED_WORD = "gendered-word"
    ARTICLE = "article"
    BEYOND_REPAIR = "beyond-repair"
    RUNNING_TEXT = "running-text"


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
    settled: SettledSet | None = None
    """Sentences that show whether a model knows the pronouns at all; None where the language has none."""

    def of(self, experiment: Experiment) -> tuple[Structure, ...]:
        """The structures of one experiment, in file order."""
        return tuple(structure for structure in self.structures if structure.experiment == experiment)

    def without(self, experiments: Collection[Experiment]) -> ProbeSet:
        """The same without some experiments."""
        return replace(
            self,
            structures=tuple(own for own in self.structures if own.experiment not in experiments),
            terms={own: pairs for own, pairs in self.terms.items() if own not in experiments},
            warnings=tuple(own for own in self.warnings if own.experiment not in experiments),
        )

    def joined(self, other: ProbeSet) -> ProbeSet:
        """The same with the experiments of another set beside its own; the occupations stay."""
        return replace(
            self,
            structures=(*self.structures, *other.structures),
            terms={**self.terms, **other.terms},
            warnings=(*self.warnings, *other.warnings),
            sha256=sha256(f"{self.sha256} {other.sha256}".encode()).hexdigest(),
        )

    def first(self, limit: int | None) -> ProbeSet:
        """The same with the first structures of each experiment only; all of them if there is no limit."""
        if limit is None:
            return self
        kept = (structure for experiment in self.experiments for structure in self.of(experiment)[:limit])
        return replace(self, structures=tuple(kept))

    def sampled(self, limit: int | None) -> ProbeSet:
        """The same with a sample of the structures of each experiment; all of them if there is no limit."""
        kept = (
            structure
            for experiment in self.experiments
            for structure in sample(self.of(experiment), limit, cluster=lambda _: None, part=experiment.value)
        )
        return self if limit is None else replace(self, structures=tuple(kept))

    @property
    def held_out_structures(self) -> frozenset[str]:
        """Texts of the structures that no training may see; none of an experiment with too few to divide them."""
        halves = (held_out_half(own.text for own in self.of(experiment)) for experiment in self.experiments)
        return frozenset[str]().union(*halves)

    @property
    def held_out_occupations(self) -> frozenset[str]:
        """Names of the occupations that no training may see; none where they or all structures are too few."""
        names = held_out_half(occupation.name for occupation in self.occupations)
        return names if self.held_out_structures else frozenset()

    def without_held_out(self) -> ProbeSet:
        """What a training may be judged by: the structures and occupations that are not held out."""
        occupations = self.held_out_occupations
        structures = self.held_out_structures if occupations else frozenset()
        return replace(
            self,
            structures=tuple(own for own in self.structures if own.text not in structures),
            occupations=tuple(own for own in self.occupations if own.name not in occupations),
        )

    @property
    def experiments(self) -> tuple[Experiment, ...]:
        """The experiments that have at least one structure."""
        return in_order(structure.experiment for structure in self.structures)

    @property
    def genders(self) -> tuple[GrammaticalGender | None, ...]:
        """The genders that occupations have forms for; only None in a language with one form."""
        return tuple(
            dict.fromkeys(form.gender for occupation in self.occupations for form in occupation.forms)
        )


BARE_STEM = "-"
"""The ending that says: none."""

_GAP = re.compile(r"\[(?P<kind>MASK|OCC)(?::(?P<form>[^\[\]]*))?\]")


class GapKind(StrEnum):
    """What belongs into a gap."""

    TERM = "MASK"
    OCCUPATION = "OCC"


@dataclass(frozen=True, slots=True)
class StructureGap:
    """A gap of a structure: characters ``start`` to ``end`` (exclusive), and the form that it demands."""

    kind: GapKind
    form: str | None
    start: int
    end: int
    begins_sentence: bool
    """Whether the first letter of the sentence is in this gap."""


@dataclass(frozen=True, slots=True)
class OpenSentence:
    """A sentence with ``BLANK`` at one gap, and each word that could stand there, as it would be written."""

    text: str
    fills: tuple[str, ...]


@lru_cache(maxsize=2**12)
def find_gaps(text: str) -> tuple[StructureGap, ...]:
    """The gaps of a structure's text, from left to right."""
    return tuple(
        StructureGap(
            kind=GapKind(match["kind"]),
            form=match["form"],
            start=match.start(),
            end=match.end(),
            begins_sentence=not any(character.isalpha() for character in text[: match.start()]),
        )
        for match in _GAP.finditer(text)
    )


def fill(structure: Structure, form: OccupationForm, *, term: str) -> str:
    """The sentence with this occupation and this gendered term."""
    article, noun = _occupation_at(_gap(structure, GapKind.OCCUPATION), form)
    return _with(
        structure.text, term=_term_at(_gap(structure, GapKind.TERM), term), occupation=f"{article}{noun}"
    )


def open_term(structure: Structure, form: OccupationForm, *, terms: Sequence[str]) -> OpenSentence:
    """The sentence about this occupation, open for the gendered term.

    Returns:
        The text, and the fill for each of ``terms`` in their order.
    """
    article, noun = _occupation_at(_gap(structure, GapKind.OCCUPATION), form)
    gap = _gap(structure, GapKind.TERM)
    return OpenSentence(
        text=_with(structure.text, term=BLANK, occupation=f"{article}{noun}"),
        fills=tuple(_term_at(gap, term) for term in terms),
    )


def open_occupation(structure: Structure, term: str, *, forms: Sequence[OccupationForm]) -> OpenSentence:
    """The sentence about this person, open for the occupation.

    Only the noun is open; an article stays in the text. So all forms must agree with one article: ask for
    masculine and feminine forms apart.

    Returns:
        The text, and the fill for each of ``forms`` in their order.
    """
    gap = _gap(structure, GapKind.OCCUPATION)
    placed = [_occupation_at(gap, form) for form in forms]
    articles = {article for article, _ in placed}
    if len(articles) != 1:
        raise ValueError(f"One sentence needs forms with one article, not {sorted(articles)}.")
    return OpenSentence(
        text=_with(
            structure.text,
            term=_term_at(_gap(structure, GapKind.TERM), term),
            occupation=f"{articles.pop()}{BLANK}",
        ),
        fills=tuple(noun for _, noun in placed),
    )


def _gap(structure: Structure, kind: GapKind) -> StructureGap:
    gaps = [gap for gap in find_gaps(structure.text) if gap.kind is kind]
    if len(gaps) != 1:
        raise ValueError(f"{structure.text!r} has {len(gaps)} gaps [{kind.value}]; one is needed.")
    return gaps[0]


def _with(text: str, *, term: str, occupation: str) -> str:
    pieces, end = [], 0
    for gap in find_gaps(text):
        pieces += [text[end : gap.start], term if gap.kind is GapKind.TERM else occupation]
        end = gap.end
    return "".join([*pieces, text[end:]])


def _term_at(gap: StructureGap, term: str) -> str:
    ending = "" if gap.form in (None, BARE_STEM) else gap.form
    return _as_written(f"{term}{ending}", gap)


def _occupation_at(gap: StructureGap, form: OccupationForm) -> tuple[str, str]:
    """The article with the space after it, empty where the gap demands none, and the noun."""
    if gap.form is None:
        return "", _as_written(form.noun, gap)
    declined = form.in_case(Case(gap.form))
    return _as_written(f"{declined.article} ", gap), declined.noun


def _as_written(words: str, gap: StructureGap) -> str:
    return words[:1].upper() + words[1:] if gap.begins_sentence else words
