"""Span corruption: T5's own objective."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch.nn import functional

from evenhand.models.objectives.batches import IGNORED, Batch, padded
from evenhand.models.objectives.held_out import random_spans, sentinels_of
from evenhand.models.objectives.sentences import TokenisedSentence, refuse_whole_words, tokenised

if TYPE_CHECKING:
    from evenhand.models.language_model import LanguageModel
    from evenhand.models.objectives.objective import PretrainingOptions


class SpanPretraining:
    """Spans of 15% of the tokens, three long on average, each behind a sentinel that the decoder writes out.

    The encoder reads the rest with a sentinel for every span; the decoder writes each sentinel with its span, then the
    sentinel after the last and the end token. The decoder's input is what the model's own shift makes of that.
    """

    name = "span corruption"

    def __init__(self, sentences: Sequence[str], model: LanguageModel, options: PretrainingOptions) -> None:
        refuse_whole_words(model, options)
        self.examples = tokenised(sentences, model, max_tokens=options.max_tokens)
        self._sentinels = sentinels_of(model.loaded.tokenizer)
        self._end = model.loaded.tokenizer.eos_token_id
        self._pad = model.loaded.pad_id

    def collate(self, examples: Sequence[TokenisedSentence], generator: np.random.Generator) -> Batch:
        """What the encoder reads, and what the decoder is to write."""
        pairs = [self._corrupted(example, generator) for example in examples]
        sources = [source for source, _ in pairs]
        return {
            "input_ids": padded(sources, self._pad),
            "attention_mask": padded([[1] * len(source) for source in sources], 0),
            "labels": padded([target for _, target in pairs], IGNORED),
        }

    def loss(self, model: Any, batch: Batch) -> torch.Tensor:
        """Mean surprise at what the decoder is to write."""
        logits = model(**batch, use_cache=False).logits
        return functional.cross_entropy(
            logits.flatten(0, 1).float(), batch["labels"].flatten(), ignore_index=IGNORED
        )

    def _corrupted(
        self, example: TokenisedSentence, generator: np.random.Generator
    ) -> tuple[list[int], list[int]]:
        ids, own = example.ids.tolist(), example.own.tolist()
        most = max(1, len(self._sentinels) - 1)  # one is left for the end, where the tokenizer has several
        source, target, after = ids[: own[0]], [], 0
        for number, (begin, end) in enumerate(random_spans(len(own), most, generator)):
            sentinel = self._sentinels[number]
            source += [*(ids[place] for place in own[after:begin]), sentinel]
            target += [sentinel, *(ids[place] for place in own[begin:end])]
            after = end
        source += [*(ids[place] for place in own[after:]), *ids[own[-1] + 1 :]]
        target += self._sentinels[number + 1 : number + 2]
        return source, target if self._end is None else [*target, self._end]
