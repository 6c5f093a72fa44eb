"""Controls: what a model is asked besides, to see whether it knows the words. Figures are void where it fails."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any

from evenhand.core.estimates import Estimate
from evenhand.data.settled import load_settled, settled_languages
from evenhand.instruments.settled_scoring import NONSENSE_EVERY, ask_settled, sense_estimate
from evenhand.instruments.word_scoring import WordScorer
from evenhand.models.model import Model
from evenhand.stats.resampling import Resampling
from evenhand.store.jobs import Parts


class Control(ABC):
    """Asks a model something to which every model that knows the words has an answer."""

    @abstractmethod
    def sense(
        self,
        model: Model,
        items: Sequence[Any],
        *,
        language: str,
        resampling: Resampling,
        max_tokens: int | None,
        parts: Parts | None,
    ) -> Estimate:
        """How often the model prefers sense to nonsense, in percent; undefined where it cannot be asked."""


class PronounControl(Control):
    """In sentences in which another word settles a pronoun: does the right pronoun beat a nonsense word?"""

    def sense(
        self,
        model: Model,
        items: Sequence[Any],  # noqa: ARG002 # the sentences are its own
        *,
        language: str,
        resampling: Resampling,
        max_tokens: int | None,
        parts: Parts | None,
    ) -> Estimate:
        """See ``Control``."""
        if language not in settled_languages():
            return Estimate.undefined(f"there are no settled sentences in {language!r}")
        sentences = load_settled(language).sample(NONSENSE_EVERY)
        answers = ask_settled(
            WordScorer(model), sentences, beside_nonsense=sentences, max_tokens=max_tokens, parts=parts
        )
        return sense_estimate(answers, resampling=resampling)


PRONOUN_CONTROL = PronounControl()
