"""What a method of mitigation is."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from evenhand.core.probes import Experiment, ProbeSet
from evenhand.core.recipes import Recipe
from evenhand.mitigation.texts import TrainingText
from evenhand.models.language_model import LanguageModel
from evenhand.models.objectives.objective import Objective
from evenhand.runs.mitigation_records import TextRecord


@dataclass(frozen=True, slots=True)
class Wanted:
    """What a mitigation is for, and from what."""

    text: TrainingText
    probes: ProbeSet
    experiments: tuple[Experiment, ...]
    recipe: Recipe
    scratch: Path
    """For files that are made on the way."""
    may_read_probes: bool = False
    """Whether sentences of the probes may be trained on: only in the lab, whose grammar has hardly any others."""


@dataclass(frozen=True, slots=True)
class Prepared:
    """An objective, and what a record says of its data."""

    objective: Objective
    corpus: tuple[TextRecord, ...]
    sha256: str
    """Of what is trained on."""
    counts: Mapping[str, int] = field(default_factory=dict)
    warnings: tuple[str, ...] = ()


class Method(Protocol):
    """A way to mitigate."""

    @property
    def name(self) -> str:
        """As on the command line."""
        ...

    @property
    def settings(self) -> Mapping[str, float | int | str | bool]:
        """What else decides on the result, for the record."""
        ...

    def prepare(self, model: LanguageModel, wanted: Wanted) -> Prepared:
        """Read the corpus and make the objective.

        Raises:
            DatasetError: If the corpus has nothing to train on.
            ModelError: If the model cannot be trained so.
        """
        ...
