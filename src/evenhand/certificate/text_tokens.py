"""Which tokens texts are made of; what a model puts on all others is lost to every text.

Others are padding, masks and other special tokens, entries that a tokenizer keeps free, and numbers without an entry,
up to which heads are often filled up. A model that writes may end a text, and one with sentinels a span, so these
tokens count as text there, as do special tokens that stand in the text itself, such as that of unknown words.
"""

from __future__ import annotations

import re

import numpy as np
import numpy.typing as npt

from evenhand.models.families.sentinel import SENTINEL
from evenhand.models.language_model import LanguageModel
from evenhand.models.objectives.held_out import HeldOutRows, sentinels_of
from evenhand.models.requests import Write
from evenhand.models.writing import end_tokens, special_tokens

_KEPT_FREE = re.compile(r"[\[<]\|?(unused|reserved)\w*\|?[\]>]|madeupword\d+", re.IGNORECASE)
"""Entries without a use, as tokenizers name them: [unused7], <unused7>, <|reserved_special_token_7|>."""


def text_tokens(model: LanguageModel, rows: HeldOutRows) -> npt.NDArray[np.int64]:
    """The tokens of texts, in rising order.

    Args:
        model: Whose tokenizer says so.
        rows: What is asked of the text.
    """
    vocabulary = model.tokenizer.get_vocab()
    free = {token for piece, token in vocabulary.items() if _KEPT_FREE.fullmatch(piece)}
    tokens = {*vocabulary.values()} - special_tokens(model.tokenizer) - free
    tokens |= {token for row in rows.rows for token in row.targets}
    if model.has_capability(Write):
        tokens |= end_tokens(model.loaded)
    if model.family is SENTINEL:
        tokens |= {*sentinels_of(model.tokenizer)}
    return np.array(sorted(tokens), dtype=np.int64)
