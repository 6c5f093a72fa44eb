"""Wordy: a backend whose models have no weights; a text is the less probable the longer its words are."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from evenhand.models.model import Model
from evenhand.models.requests import Continue
from evenhand.models.references import ModelError, ModelRef
from evenhand.runs.records import ModelRecord


@dataclass(frozen=True, slots=True)
class WordyModel:
    """Each letter of a word takes the same number of bits."""

    ref: ModelRef
    nats_per_letter: float

    capabilities = frozenset({Continue})

    @property
    def record(self) -> ModelRecord:
        """What identifies it: its only parameter."""
        return ModelRecord(
            id=self.ref.id,
            revision=None,
            weights=f"{self.nats_per_letter:g} nats per letter",
            family="wordy",
            architecture="Wordy",
            precision="exact",
            device="cpu",
        )

    def score_texts(self, texts: Sequence[str]) -> list[TextScore]:
        """A log-probability for each word of each text."""
        return [
            TextScore(
                tokens=tuple(text.split()),
                log_probabilities=tuple(-self.nats_per_letter * len(word) for word in text.split()),
            )
            for text in texts
        ]


class WordyBackend:
    """Models named after the nats that a letter takes: ``wordy:0.5``."""

    name = "wordy"
    summary = "Models that dislike long words, for tests."

    def location(self, ref: ModelRef) -> str:
        """There is nothing on a disk."""
        return ref.id

    def load(self, ref: ModelRef) -> Model:
        """The model of this name."""
        text = ref.id.removeprefix(f"{self.name}:")
        try:
            return WordyModel(ref, float(text))
        except ValueError:
            raise ModelError(f"{ref.id} names no model of this backend. Write a number: wordy:0.5.") from None


WORDY = WordyBackend()
