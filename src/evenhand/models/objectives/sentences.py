"""Sentences as the tokens that a model sees."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from evenhand.core.errors import EvenhandError
from evenhand.models.references import ModelError

if TYPE_CHECKING:
    from evenhand.models.language_model import LanguageModel
    from evenhand.models.objectives.objective import PretrainingOptions

Ids = npt.NDArray[np.int64]

NO_WORD = -1
AT_ONCE = 10_000
"""Sentences that are tokenised together."""


@dataclass(frozen=True, slots=True)
class TokenisedSentence:
    """The tokens of a sentence, special ones included."""

    ids: Ids
    words: Ids
    """Which word each token belongs to; ``NO_WORD`` for special tokens."""

    def __len__(self) -> int:
        return len(self.ids)

    @property
    def own(self) -> Ids:
        """The places of the tokens that are no special ones."""
        places: Ids = np.flatnonzero(self.words != NO_WORD)
        return places


def tokenised(
    sentences: Sequence[str], model: LanguageModel, *, max_tokens: int | None = None
) -> list[TokenisedSentence]:
    """Sentences as tokens, cut where they are too long; those without a token are left out."""
    longest = longest_row(model, max_tokens)
    rows = []
    for first in range(0, len(sentences), AT_ONCE):
        encoded = model.loaded.tokenizer(
            list(sentences[first : first + AT_ONCE]),
            truncation=longest is not None,
            max_length=longest,
            return_special_tokens_mask=True,
        )
        for number, ids in enumerate(encoded["input_ids"]):
            special = np.array(encoded["special_tokens_mask"][number], dtype=bool)
            if not special.all():
                rows.append(
                    TokenisedSentence(
                        np.array(ids, dtype=np.int64), np.where(special, NO_WORD, _words(encoded, number))
                    )
                )
    return rows


def longest_row(model: LanguageModel, max_tokens: int | None) -> int | None:
    """The most tokens in a row: what was asked for, if the model takes as many."""
    if max_tokens is not None and max_tokens < 3:
        raise EvenhandError(
            f"Sentences of at most {max_tokens} tokens leave nothing to learn; give 3 or more."
        )
    limits = [limit for limit in (max_tokens, model.longest_input) if limit is not None]
    return min(limits, default=None)


def refuse_whole_words(model: LanguageModel, options: PretrainingOptions) -> None:
    """Refuse to hide whole words from a model that has no mask to hide them behind."""
    if options.whole_words:
        raise ModelError(f"{model.ref.id} is no masked model, so it has no whole words to hide.")


def _words(encoded: Any, number: int) -> Ids:
    """Which word each token belongs to; without a fast tokenizer every token is a word of its own."""
    if not getattr(encoded, "is_fast", False):
        return np.arange(len(encoded["input_ids"][number]))
    word_ids = encoded.word_ids(number)
    return np.array([NO_WORD if word is None else word for word in word_ids], dtype=np.int64)
