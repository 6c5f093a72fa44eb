"""How often words, occupations and experiments occur in the corpus and in the pairs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    SerializerFunctionWrapHandler,
    model_serializer,
    model_validator,
)

from evenhand.core.experiments import Experiment
from evenhand.mitigation.pairs.twin_pairs import PairSide, PairSwap, TwinPair
from evenhand.text.swappers import Role

COUNTS_ENDING = ".counts.json"
Term = tuple[Role, str, str]
"""A role, and the male and the female word in it."""
Key = TypeVar("Key", bound=Hashable)
_LOWERED = frozenset(
    {Role.SUBJECT, Role.OBJECT, Role.POSSESSIVE, Role.STANDALONE_POSSESSIVE, Role.REFLEXIVE, Role.AGREEMENT}
)
"""Roles whose words have a capital only where a sentence begins."""


class _CountModel(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class GenderCounts(_CountModel):
    """Male and female counts."""

    male: int
    female: int


class ExperimentCount(_CountModel):
    """Sentences that were found for an experiment, by their side, and the pairs that are kept for it."""

    experiment: str
    found: GenderCounts
    pairs: int


class TermCount(_CountModel):
    """How often a pair of words occurs in the sentences that were found, and in the pairs."""

    role: str
    male: str
    female: str
    before: GenderCounts
    after: GenderCounts


class OccupationCount(_CountModel):
    """Sentences with an occupation: found, by their side, and in the pairs."""

    occupation: str
    before: GenderCounts
    after: GenderCounts


class OccupationTermCount(TermCount):
    """The same as for a term, in sentences with one occupation."""

    occupation: str


class SourceCount(_CountModel):
    """A file or a shard of a dataset."""

    name: str
    sha256: str
    sentences: int
    found: int
    """Including sentences that other sources have too."""


class NameCount(_CountModel):
    """How the sentences with names were repeated and sampled."""

    sentences: int
    """Found with a name."""
    repeated: int
    """Of them, those that could be repeated with other names."""
    pool: int
    """Pairs that were sampled from; one that two sentences lead to is counted twice."""
    kept: int


class OriginalCounts(_CountModel):
    """Pairs by the sentence that the corpus has."""

    male: int
    female: int
    neither: int


_OTHER_SIDES = {"male": "first", "female": "second"}


def _renamed(document: Any, names: Mapping[str, str]) -> Any:
    """A document with other names for some fields, however deep."""
    if isinstance(document, Mapping):
        return {names.get(key, key): _renamed(value, names) for key, value in document.items()}
    if isinstance(document, list | tuple):
        return [_renamed(value, names) for value in document]
    return document


class PairCounts(_CountModel):
    """All counts of a file of pairs.

    As JSON, the sides of other groups than men and women are ``first`` and ``second``.
    """

    version: str
    language: str
    experiments: tuple[str, ...]
    seed: int
    names_sample: int
    limit: int | None
    fingerprint: str
    """Of the options and the corpus."""
    sha256: str
    """Of the file of pairs."""
    sentences: int
    found: int
    pairs: int
    originals: OriginalCounts
    overlap: int
    """Sentences of the corpus that are sentences of the evaluation. They are left out."""
    left_out: dict[str, int]
    """Sentences by reason; with ``found`` they are all that were read."""
    cuts: int
    records_skipped: int
    names: NameCount
    by_experiment: tuple[ExperimentCount, ...]
    terms: tuple[TermCount, ...]
    occupations: tuple[OccupationCount, ...]
    occupation_terms: tuple[OccupationTermCount, ...]
    sources: tuple[SourceCount, ...]
    groups: dict[str, tuple[str, str]] = Field(default_factory=dict)
    """Of experiments that are not about men and women."""

    @model_serializer(mode="wrap")
    def _without_genders(self, handler: SerializerFunctionWrapHandler) -> dict[str, Any]:
        document: dict[str, Any] = handler(self)
        return _renamed(document, _OTHER_SIDES) if self.groups else document

    @model_validator(mode="before")
    @classmethod
    def _with_genders(cls, document: Any) -> Any:
        if not isinstance(document, Mapping) or not document.get("groups"):
            return document
        return _renamed(document, {other: own for own, other in _OTHER_SIDES.items()})

    def to_json(self) -> str:
        """For the file beside the pairs."""
        return self.model_dump_json(indent=1) + "\n"


@dataclass(slots=True)
class BeforeAfterCounts(Generic[Key]):
    """Male and female counts in the corpus and in the pairs."""

    before_male: Counter[Key] = field(default_factory=Counter)
    before_female: Counter[Key] = field(default_factory=Counter)
    after: Counter[Key] = field(default_factory=Counter)
    """The same for both sides: a word in one sentence of a pair has its counterpart in the other."""

    def add_sentence(self, key: Key, *, male: bool) -> None:
        """Count what the corpus has."""
        (self.before_male if male else self.before_female)[key] += 1

    def rows(self) -> Iterator[tuple[Key, GenderCounts, GenderCounts]]:
        """Everything that was counted: key, before, after."""
        for key in {**self.before_male, **self.before_female, **self.after}:
            after = self.after[key]
            yield (
                key,
                GenderCounts(male=self.before_male[key], female=self.before_female[key]),
                GenderCounts(male=after, female=after),
            )


@dataclass(slots=True)
class PairCensus:
    """Counts the words of the sentences that were found, and of the pairs that are written."""

    experiments: tuple[Experiment, ...]
    found: int = 0
    pairs: int = 0
    _originals: Counter[PairSide] = field(default_factory=Counter)
    _experiments: BeforeAfterCounts[Experiment] = field(default_factory=BeforeAfterCounts)
    _terms: BeforeAfterCounts[Term] = field(default_factory=BeforeAfterCounts)
    _occupations: BeforeAfterCounts[str] = field(default_factory=BeforeAfterCounts)
    _occupation_terms: BeforeAfterCounts[tuple[str, Term]] = field(default_factory=BeforeAfterCounts)

    def add_sentence(self, pair: TwinPair) -> None:
        """Count a sentence of the corpus."""
        male = pair.original is PairSide.MALE
        self.found += 1
        for experiment in pair.experiments:
            self._experiments.add_sentence(experiment, male=male)
        for occupation in pair.occupations:
            self._occupations.add_sentence(occupation, male=male)
        for swap in pair.swaps:
            term = _term(pair, swap)
            self._terms.add_sentence(term, male=male is not swap.crossed)
            for occupation in self._with_term(pair, swap):
                self._occupation_terms.add_sentence((occupation, term), male=male is not swap.crossed)

    def add_pair(self, pair: TwinPair) -> None:
        """Count a pair that is written."""
        self.pairs += 1
        self._originals[pair.original] += 1
        self._experiments.after.update(pair.experiments)
        self._occupations.after.update(pair.occupations)
        for swap in pair.swaps:
            term = _term(pair, swap)
            self._terms.after[term] += 1
            self._occupation_terms.after.update(
                (occupation, term) for occupation in self._with_term(pair, swap)
            )

    def _with_term(self, pair: TwinPair, swap: PairSwap) -> Iterable[str]:
        """The occupations that a term is counted with: only terms that an experiment asks for."""
        is_counted = swap.role is Role.TERM or swap.role.experiment in self.experiments
        return pair.occupations if is_counted else ()

    @property
    def originals(self) -> OriginalCounts:
        """Pairs by the sentence that the corpus has."""
        return OriginalCounts(**{side.value: self._originals[side] for side in PairSide})

    @property
    def by_experiment(self) -> tuple[ExperimentCount, ...]:
        """One row per experiment."""
        return tuple(
            ExperimentCount(
                experiment=experiment.value,
                found=GenderCounts(
                    male=self._experiments.before_male[experiment],
                    female=self._experiments.before_female[experiment],
                ),
                pairs=self._experiments.after[experiment],
            )
            for experiment in self.experiments
        )

    @property
    def terms(self) -> tuple[TermCount, ...]:
        """By role, the most frequent first."""
        rows = [
            TermCount(role=term[0].value, male=term[1], female=term[2], before=before, after=after)
            for term, before, after in self._terms.rows()
        ]
        order = {role.value: rank for rank, role in enumerate(Role)}
        return tuple(sorted(rows, key=lambda row: (order[row.role], -row.after.male, row.male, row.female)))

    @property
    def occupations(self) -> tuple[OccupationCount, ...]:
        """The most frequent first."""
        rows = [
            OccupationCount(occupation=occupation, before=before, after=after)
            for occupation, before, after in self._occupations.rows()
        ]
        return tuple(sorted(rows, key=lambda row: (-row.after.male, row.occupation)))

    @property
    def occupation_terms(self) -> tuple[OccupationTermCount, ...]:
        """By occupation and role, the most frequent first."""
        order: Mapping[str, int] = {role.value: rank for rank, role in enumerate(Role)}
        rows = [
            OccupationTermCount(
                occupation=occupation,
                role=term[0].value,
                male=term[1],
                female=term[2],
                before=before,
                after=after,
            )
            for (occupation, term), before, after in self._occupation_terms.rows()
        ]
        return tuple(
            sorted(
                rows, key=lambda row: (row.occupation, order[row.role], -row.after.male, row.male, row.female)
            )
        )


def _term(pair: TwinPair, swap: PairSwap) -> Term:
    male, female = pair.words_at(swap)
    return (swap.role, male.lower(), female.lower()) if swap.role in _LOWERED else (swap.role, male, female)
