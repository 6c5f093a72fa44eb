"""Counting words, occupations and experiments while pairs go by."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Generic, TypeVar

from evenhand.core.probes import Experiment
from evenhand.mitigation.pairs.counts import (
    ExperimentCount,
    OccupationCount,
    OccupationTermCount,
    Originals,
    Sides,
    TermCount,
)
from evenhand.mitigation.pairs.pairing import Pair, Place, Side
from evenhand.text.twins.twin import Role

Term = tuple[Role, str, str]
"""A role, and the male and the female word in it."""

Key = TypeVar("Key", bound=Hashable)

_LOWERED = frozenset(
    {Role.SUBJECT, Role.OBJECT, Role.POSSESSIVE, Role.STANDALONE_POSSESSIVE, Role.REFLEXIVE, Role.AGREEMENT}
)
"""Roles whose words have a capital only where a sentence begins."""


@dataclass(slots=True)
class BeforeAfter(Generic[Key]):
    """Male and female numbers in the corpus and in the pairs."""

    before_male: Counter[Key] = field(default_factory=Counter)
    before_female: Counter[Key] = field(default_factory=Counter)
    after: Counter[Key] = field(default_factory=Counter)
    """Of either side: what stands in one sentence of a pair has its counterpart in the other."""

    def add_found(self, key: Key, *, male: bool) -> None:
        """Count what the corpus has."""
        (self.before_male if male else self.before_female)[key] += 1

    def rows(self) -> Iterator[tuple[Key, Sides, Sides]]:
        """Everything that was counted: key, before, after."""
        for key in {**self.before_male, **self.before_female, **self.after}:
            after = self.after[key]
            yield (
                key,
                Sides(male=self.before_male[key], female=self.before_female[key]),
                Sides(male=after, female=after),
            )


@dataclass(slots=True)
class Census:
    """What stands in the sentences that were found, and in the pairs that are written."""

    experiments: tuple[Experiment, ...]
    found: int = 0
    pairs: int = 0
    _originals: Counter[Side] = field(default_factory=Counter)
    _experiments: BeforeAfter[Experiment] = field(default_factory=BeforeAfter)
    _terms: BeforeAfter[Term] = field(default_factory=BeforeAfter)
    _occupations: BeforeAfter[str] = field(default_factory=BeforeAfter)
    _occupation_terms: BeforeAfter[tuple[str, Term]] = field(default_factory=BeforeAfter)

    def add_found(self, pair: Pair) -> None:
        """Count a sentence of the corpus."""
        male = pair.original is Side.MALE
        self.found += 1
        for experiment in pair.experiments:
            self._experiments.add_found(experiment, male=male)
        for occupation in pair.occupations:
            self._occupations.add_found(occupation, male=male)
        for place in pair.places:
            term = _term(pair, place)
            self._terms.add_found(term, male=male is not place.crossed)
            for occupation in self._with_term(pair, place):
                self._occupation_terms.add_found((occupation, term), male=male is not place.crossed)

    def add_pair(self, pair: Pair) -> None:
        """Count a pair that is written."""
        self.pairs += 1
        self._originals[pair.original] += 1
        self._experiments.after.update(pair.experiments)
        self._occupations.after.update(pair.occupations)
        for place in pair.places:
            term = _term(pair, place)
            self._terms.after[term] += 1
            self._occupation_terms.after.update(
                (occupation, term) for occupation in self._with_term(pair, place)
            )

    def _with_term(self, pair: Pair, place: Place) -> Iterable[str]:
        """The occupations that a term is counted with: only terms that an experiment asks for."""
        return pair.occupations if place.role.experiment in self.experiments else ()

    @property
    def originals(self) -> Originals:
        """Pairs by the sentence that the corpus has."""
        return Originals(**{side.value: self._originals[side] for side in Side})

    @property
    def by_experiment(self) -> tuple[ExperimentCount, ...]:
        """A row for each experiment that was asked."""
        return tuple(
            ExperimentCount(
                experiment=experiment.value,
                found=Sides(
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
        order = {role.value: place for place, role in enumerate(Role)}
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
        order: Mapping[str, int] = {role.value: place for place, role in enumerate(Role)}
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


def _term(pair: Pair, place: Place) -> Term:
    male, female = pair.words_at(place)
    return (
        (place.role, male.lower(), female.lower()) if place.role in _LOWERED else (place.role, male, female)
    )
