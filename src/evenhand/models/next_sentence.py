"""Next-sentence heads: the probability that the candidate follows the context."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from transformers.models.auto import modeling_auto as auto

from evenhand.core.items import Association
from evenhand.models.engine.requests import PairRequest
from evenhand.models.questions import Question


def has_next_sentence_class(config: Any) -> bool:
    """Whether Transformers has a next-sentence class for this type of model."""
    return config.model_type in auto.MODEL_FOR_NEXT_SENTENCE_PREDICTION_MAPPING_NAMES


@dataclass(frozen=True, slots=True)
class NextSentence:
    """The pair of context and candidate, judged by the head."""

    tokenizer: Any
    name: str = "next-sentence"
    description: str = (
        "the probability that the candidate follows the context, by the model's next-sentence head"
    )

    def request(self, first: str, second: str) -> PairRequest:
        """One pair."""
        encoded = self.tokenizer(first, second, return_token_type_ids=True)
        return PairRequest(tuple(encoded["input_ids"]), tuple(encoded["token_type_ids"]))

    def texts(self, _item: Association) -> list[tuple[str, bool]]:
        """Nothing: these texts are tokenised in ways of their own."""
        return []

    def questions(self, item: Association) -> list[Question]:
        """One question for each candidate."""
        return [
            Question(
                candidate.id,
                (self.request(item.context, candidate.text),),
                lambda answers: math.exp(answers[0][0]),
            )
            for candidate in item.candidates
        ]
