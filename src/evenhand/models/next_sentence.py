"""How pairs of sentences are shown to a next-sentence head: the probability that the candidate follows the context."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from transformers.models.auto import modeling_auto as auto

from evenhand.models.engine.requests import Tokens
from evenhand.models.requests import with_final_punctuation
from evenhand.store.head_records import HeadKind, HeadRecord, PairEncoding

_FEWEST_WORDS = 2
"""Of a pair that does not fit; if they are still too long, their tokens are cut."""

_SHORTER = 0.9
"""Share of its words that the longer sentence of a pair keeps, again and again until the pair fits."""


def has_next_sentence_class(config: Any) -> bool:
    """Whether Transformers has a next-sentence class for this type of model."""
    return config.model_type in auto.MODEL_FOR_NEXT_SENTENCE_PREDICTION_MAPPING_NAMES


def vocabulary_digest(tokenizer: Any) -> str:
    """Digest of the entries of a tokenizer and their numbers."""
    entries = sorted((number, token) for token, number in tokenizer.get_vocab().items())
    return hashlib.sha256("\n".join(f"{number} {token!r}" for number, token in entries).encode()).hexdigest()


EncodedPair = tuple[Tokens, Tokens]
"""Tokens, and for each of them the sentence that it is of, as far as the tokenizer tells."""


@dataclass(frozen=True, slots=True)
class PairEncoder:
    """Encodes pairs as a head was taught to read them."""

    tokenizer: Any
    record: HeadRecord

    def encode(self, pairs: Sequence[tuple[str, str]], *, longest: int | None = None) -> list[EncodedPair]:
        """Pairs as tokens.

        Args:
            pairs: First and second sentences.
            longest: The most tokens; longer pairs lose words at the beginning of the first sentence or at the end of
                the second, whichever is longer.
        """
        encoded = self._encode(pairs)
        if longest is None:
            return encoded
        return [
            own if len(own[0]) <= longest else self._shortened(pair, longest)
            for own, pair in zip(encoded, pairs, strict=True)
        ]

    def _shortened(self, pair: tuple[str, str], longest: int) -> EncodedPair:
        first, second = (text.split() for text in pair)
        while len(first) + len(second) > _FEWEST_WORDS:
            if len(first) > len(second):
                first = first[-max(1, int(_SHORTER * len(first))) :]
            else:
                second = second[: max(1, int(_SHORTER * len(second)))]
            ((ids, types),) = self._encode([(" ".join(first), " ".join(second))])
            if len(ids) <= longest:
                return ids, types
        ((ids, types),) = self._encode([(" ".join(first), " ".join(second))])
        return ids[:longest], types[:longest]

    def _encode(self, pairs: Sequence[tuple[str, str]]) -> list[EncodedPair]:
        if self.record.encoding is PairEncoding.PAIR:
            texts = [list(side) for side in zip(*pairs, strict=True)]
        else:
            prompt = self.record.prompt
            texts = [[f"{prompt}{with_final_punctuation(first)} {second}" for first, second in pairs]]
        encoded = self.tokenizer(*texts, return_token_type_ids=True)
        return [
            (tuple(ids), tuple(types))
            for ids, types in zip(encoded["input_ids"], encoded["token_type_ids"], strict=True)
        ]


HEAD_DESCRIPTIONS = {
    HeadKind.OWN: "the probability that the candidate follows the context, by the model's next-sentence head",
    HeadKind.POOLED: (
        "the probability that the candidate follows the context, by layers over the mean of the body's states"
    ),
    HeadKind.LABELS: (
        "the probability that the model answers that the candidate follows the context, as a label in text"
    ),
}
"""How a pair is judged, by the kind of head."""
