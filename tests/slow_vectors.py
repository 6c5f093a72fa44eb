"""The obvious slow way to contextual vectors: one sentence at a time through the whole model, nothing shared."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import torch
from marked_corpora import unmarked
from slow_reference import SlowReference, SlowText

from evenhand.models.families import Family
from evenhand.models.families.decoder import DECODER
from evenhand.models.families.masked import MASKED

Vector = npt.NDArray[np.float64]


def slow_vector(
    reference: SlowReference,
    family: Family,
    text: str,
    word: str,
    *,
    layer: int = -1,
    start: int | None = None,
) -> Vector:
    """The mean hidden state of a word's tokens; ``start`` is where the word stands, if not where it is first found."""
    begin = text.index(word) if start is None else start
    tokens = SlowText(reference.tokenizer, text)
    places = tokens.of(begin, begin + len(word))
    if family is DECODER:
        assert reference.start is not None
        leading = tokens.special.index(False)
        ids = [reference.start, *reference.plain_ids(text)]
        places = [place - leading + 1 for place in places]
        states = _states(reference.decoder, ids, "hidden_states")
    elif family is MASKED:
        states = _states(reference.masked_model, tokens.ids, "hidden_states")
    else:
        states = _states(reference.encoder_decoder, tokens.ids, "encoder_hidden_states")
    vector: Vector = states[layer][0, places].double().mean(0).numpy()
    return vector


def _states(model: object, ids: Sequence[int], name: str) -> tuple[torch.Tensor, ...]:
    rows = torch.tensor([list(ids)])
    extra = {"decoder_input_ids": torch.zeros_like(rows[:, :1])} if name == "encoder_hidden_states" else {}
    with torch.inference_mode():
        output = model(input_ids=rows, output_hidden_states=True, **extra)  # type: ignore[operator]
    states: tuple[torch.Tensor, ...] = output[name]
    return states


def slow_means(
    reference: SlowReference, family: Family, sentences: Sequence[str], *, layer: int
) -> dict[str, Vector]:
    """The mean vector of every marked word of a corpus, under its lower-case spelling."""
    vectors = defaultdict(list)
    for sentence in sentences:
        for mark in re.finditer("<(.+?)>", sentence):
            start = len(unmarked(sentence[: mark.start()]))
            vector = slow_vector(reference, family, unmarked(sentence), mark[1], layer=layer, start=start)
            vectors[mark[1].lower()].append(vector)
    return {word: np.mean(found, axis=0) for word, found in vectors.items()}


def slow_cosine(one: Vector, other: Vector) -> float:
    """Of the angle between two vectors."""
    return float(np.dot(one, other) / np.sqrt(np.dot(one, one) * np.dot(other, other)))
