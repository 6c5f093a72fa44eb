"""How often what stands in the corpus and in the pairs, for the table, the page and the file beside the pairs."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict

COUNTS_ENDING = ".counts.json"


class _Row(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Sides(_Row):
    """A male and a female number."""

    male: int
    female: int


class ExperimentCount(_Row):
    """Sentences that were found for an experiment, by their side, and the pairs that are kept for it."""

    experiment: str
    found: Sides
    pairs: int


class TermCount(_Row):
    """How often a pair of words stands in the sentences that were found, and in the pairs."""

    role: str
    male: str
    female: str
    before: Sides
    after: Sides


class OccupationCount(_Row):
    """Sentences with an occupation: found, by their side, and in the pairs."""

    occupation: str
    before: Sides
    after: Sides


class OccupationTermCount(TermCount):
    """The same as for a term, in sentences with one occupation."""

    occupation: str


class SourceCount(_Row):
    """A file or a shard of a dataset."""

    name: str
    sha256: str
    sentences: int
    found: int
    """Before sentences are left out that other sources have too."""


class NameCount(_Row):
    """How the sentences with names were repeated and sampled."""

    sentences: int
    """Found with a name."""
    repeated: int
    """Of them, those that could be repeated with other names."""
    pool: int
    """Pairs that were sampled from; one that two sentences become is counted twice."""
    kept: int


class Originals(_Row):
    """Pairs by the sentence that the corpus has."""

    male: int
    female: int
    neither: int


class PairCounts(_Row):
    """Everything that is counted while pairs are made."""

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
    originals: Originals
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

    def to_json(self) -> str:
        """For the file beside the pairs."""
        return self.model_dump_json(indent=1) + "\n"
