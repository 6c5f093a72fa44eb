"""Wordy: a backend whose models have no weights; a text is the less probable the longer its words are."""

from __future__ import annotations

from collections.abc import Sequence

from evenhand.models import Answer, Continue, Model, ModelError, ModelRef, Part, Request
from evenhand.store.records import ModelRecord


class WordyModel(Model):
    """Each letter of a word takes the same number of bits."""

    capabilities = frozenset({Continue})

    def __init__(self, ref: ModelRef, nats_per_letter: float) -> None:
        self.ref = ref
        self.nats_per_letter = nats_per_letter

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

    def answer_batch(self, requests: Sequence[Request]) -> list[Answer]:
        """A log-probability for each word of each text, or of each prefix."""
        answers = []
        for request in requests:
            if not isinstance(request, Continue):
                raise ModelError(f"{self.ref.id} cannot be asked for {request!r}.")
            text = request.prefix if request.part is Part.PREFIX else request.text
            answers.append(Answer(tuple(-self.nats_per_letter * len(word) for word in text.split())))
        return answers


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
