"""The obvious slow way to score candidates: one sentence at a time, the whole vocabulary, nothing shared.

Written from the description of the methods, without the engine that it is compared with.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, TypeAlias

import torch
from transformers import (
    AutoModelForCausalLM,
    AutoModelForMaskedLM,
    AutoModelForNextSentencePrediction,
    AutoModelForSeq2SeqLM,
    AutoTokenizer,
)

Logs: TypeAlias = list[float]
"""Natural log-probabilities."""

SENTINEL = "<extra_id_0>"


def mean_probability(logs: Logs) -> float:
    return sum(math.exp(value) for value in logs) / len(logs)


def two_to_the_mean_log2(logs: Logs) -> float:
    return float(2.0 ** (sum(value / math.log(2) for value in logs) / len(logs)))


def sum_log2(logs: Logs) -> float:
    return sum(value / math.log(2) for value in logs)


CONTINUATIONS: Mapping[str, Callable[[Logs, Logs, Logs], float]] = {
    "orig": lambda context, _candidate, alone: two_to_the_mean_log2(alone) / two_to_the_mean_log2(context),
    "b": lambda context, candidate, _alone: (
        two_to_the_mean_log2(candidate) / two_to_the_mean_log2(context + candidate)
    ),
    "c": lambda context, candidate, _alone: two_to_the_mean_log2(context + candidate),
    "d": lambda _context, candidate, _alone: two_to_the_mean_log2(candidate),
    "e": lambda _context, candidate, alone: two_to_the_mean_log2(candidate) / two_to_the_mean_log2(alone),
    "f": lambda context, candidate, alone: (
        two_to_the_mean_log2(context + candidate) / two_to_the_mean_log2(alone)
    ),
}
"""How a sentence after a context is scored, from the log-probabilities of the context, of the sentence after it, and of
the sentence alone."""


def with_full_stop(context: str) -> str:
    return context if context.endswith((".", "!", "?")) else context + "."


class SlowText:
    """A text's tokens, found without the engine: ids, which of them are special, and characters of each."""

    def __init__(self, tokenizer: Any, text: str) -> None:
        self.text = text
        if tokenizer.is_fast:
            encoded = tokenizer(text, return_offsets_mapping=True, return_special_tokens_mask=True)
            self.ids: list[int] = encoded["input_ids"]
            self.special = [bool(flag) for flag in encoded["special_tokens_mask"]]
            self.characters = [self._visible(*offsets) for offsets in encoded["offset_mapping"]]
            self.words: list[int | None] = encoded.word_ids()
        else:
            self.ids = tokenizer(text)["input_ids"]
            inner = tokenizer(text, add_special_tokens=False)["input_ids"]
            ends = (len(self.ids) - len(inner)) // 2
            self.special = [True] * ends + [False] * len(inner) + [True] * ends
            pieces = tokenizer.convert_ids_to_tokens(self.ids)
            self.characters = self._walked(pieces, tokenizer.unk_token)
            self.words = [
                None if special else len(text[: places[0] + 1].split())
                for places, special in zip(self.characters, self.special, strict=True)
            ]

    def _visible(self, start: int, end: int) -> list[int]:
        """Characters of a token that are no space; a token that is a space alone goes with what comes after it."""
        seen = [place for place in range(start, end) if not self.text[place].isspace()]
        after = [place for place in range(end, len(self.text)) if not self.text[place].isspace()]
        return seen or after[:1]

    def _walked(self, pieces: Sequence[str], unknown: str) -> list[list[int]]:
        """Characters of ``wor@@ d`` pieces, which follow each other without gaps; an unknown one is a character."""
        left = [place for place, character in enumerate(self.text) if not character.isspace()]
        found = []
        for piece, special in zip(pieces, self.special, strict=True):
            length = 0 if special else 1 if piece == unknown else len(piece.removesuffix("@@"))
            found.append(left[:length])
            left = left[length:]
        assert not left
        return found

    def of(self, start: int, end: int) -> list[int]:
        """Places of the tokens that stand for any of the characters from start to end."""
        return [
            place
            for place, characters in enumerate(self.characters)
            if not self.special[place] and any(start <= character < end for character in characters)
        ]


class SlowReference:
    """A model behind the plainest code there is."""

    def __init__(self, folder: Path, *, start: str | None = None) -> None:
        self.folder = folder
        self.tokenizer: Any = AutoTokenizer.from_pretrained(folder)
        self.start = None if start is None else self.tokenizer.convert_tokens_to_ids(start)
        self._known: dict[Any, Any] = {}

    @cached_property
    def masked_model(self) -> Any:
        return AutoModelForMaskedLM.from_pretrained(self.folder).eval()

    @cached_property
    def next_sentence_model(self) -> Any:
        return AutoModelForNextSentencePrediction.from_pretrained(self.folder).eval()

    @cached_property
    def decoder(self) -> Any:
        return AutoModelForCausalLM.from_pretrained(self.folder).eval()

    @cached_property
    def encoder_decoder(self) -> Any:
        return AutoModelForSeq2SeqLM.from_pretrained(self.folder).eval()

    def plain_ids(self, text: str) -> list[int]:
        ids: list[int] = self.tokenizer(text, add_special_tokens=False)["input_ids"]
        return ids

    # Masked models

    def at_mask(self, ids: Sequence[int], position: int, token: int) -> float:
        """Log-probability of a token at a position."""
        key = (tuple(ids), position, token)
        if key not in self._known:
            self._known[key] = _log_softmax(self.masked_model, ids)[position, token].item()
        return float(self._known[key])

    def blank(self, context: str, fill: str) -> Logs:
        """Each token of the fill at one mask after its earlier tokens; of several blanks one after the other."""
        pieces = context.split("BLANK")
        mask = self.tokenizer.mask_token_id
        logs = []
        for number in range(1, len(pieces)):
            before, text = fill.join(pieces[:number]), SlowText(self.tokenizer, fill.join(pieces))
            places = text.of(len(before), len(before) + len(fill))
            for place in places:
                ids = [*text.ids[:place], mask, *text.ids[places[-1] + 1 :]]
                logs.append(self.at_mask(ids, place, text.ids[place]))
        return logs

    def pseudo_log_likelihood(self, sentence: str, *, within_word: bool) -> Logs:
        """Each token at a mask of its own; within words the tokens to its right are masked too."""
        text = SlowText(self.tokenizer, sentence)
        logs = []
        for place, token in enumerate(text.ids):
            if text.special[place]:
                continue
            ids = list(text.ids)
            for other in range(place, len(ids)):
                if other == place or (within_word and text.words[other] == text.words[place]):
                    ids[other] = self.tokenizer.mask_token_id
            logs.append(self.at_mask(ids, place, token))
        return logs

    def sentence_at_masks(self, context: str, sentence: str) -> Logs:
        """Each token of a sentence after a context at a mask of its own, all others in place."""
        stopped = context if context[-1] in ".!?…\"'”’»)" else f"{context}."
        text = SlowText(self.tokenizer, f"{stopped} {sentence}")
        logs = []
        for place in text.of(len(stopped) + 1, len(stopped) + 1 + len(sentence)):
            ids = [*text.ids[:place], self.tokenizer.mask_token_id, *text.ids[place + 1 :]]
            logs.append(self.at_mask(ids, place, text.ids[place]))
        return logs

    def published_blank(self, context: str, word: str) -> Logs:
        """The word tokenised alone; its earlier tokens put before the mask as text; the first mask is read."""
        tokens = self.plain_ids(word)
        logs = []
        for step, token in enumerate(tokens):
            shown = context.replace("BLANK", self.tokenizer.decode(tokens[:step]) + self.tokenizer.mask_token)
            ids = self.tokenizer(shown)["input_ids"]
            logs.append(self.at_mask(ids, ids.index(self.tokenizer.mask_token_id), token))
        return logs

    def follows(self, context: str, sentence: str) -> float:
        """Probability of class 0, which means "follows"."""
        with torch.inference_mode():
            logits = self.next_sentence_model(**self.tokenizer(context, sentence, return_tensors="pt")).logits
        return float(logits[0].double().softmax(-1)[0])

    # Decoders

    def left_to_right(self, ids: Sequence[int]) -> Logs:
        """Each token but the first, after all before it."""
        key = tuple(ids)
        if key not in self._known:
            with torch.inference_mode():
                logits = self.decoder(input_ids=torch.tensor([list(ids)])).logits[0].double()
            totals = logits.logsumexp(-1)
            self._known[key] = [
                (logits[place - 1, ids[place]] - totals[place - 1]).item() for place in range(1, len(ids))
            ]
        return list(self._known[key])

    def sentence(self, text: str) -> Logs:
        """Each token, the first after the start token."""
        assert self.start is not None
        return self.left_to_right([self.start, *self.plain_ids(text)])

    def continuation(self, context: str, sentence: str) -> tuple[Logs, Logs, Logs]:
        """Context, candidate after it, candidate alone."""
        context = with_full_stop(context)
        whole = f"{context} {sentence}"
        text = SlowText(self.tokenizer, whole)
        special = sum(text.special[: text.of(0, len(whole))[0]])
        logs = self.sentence(whole)
        candidate = text.of(len(context), len(whole))[0] - special
        return logs[:candidate], logs[candidate:], self.sentence(sentence)

    def published_sentence(self, text: str) -> Logs:
        """The first token after the start alone, all others in a run without it; special tokens count."""
        ids = self.tokenizer(text)["input_ids"]
        start = self.tokenizer.encode("<|endoftext|>")[0]
        return [*self.left_to_right([start, ids[0]]), *self.left_to_right(ids)]

    def stereoset_sentence(self, text: str) -> Logs:
        """The same after the start token of the model."""
        assert self.start is not None
        ids = self.tokenizer(text)["input_ids"]
        return [*self.left_to_right([self.start, ids[0]]), *self.left_to_right(ids)]

    def published_continuation(self, context: str, sentence: str) -> tuple[Logs, Logs, Logs]:
        """Context, candidate after it, candidate alone; the context is as long as it is by itself."""
        context = with_full_stop(context)
        logs = self.published_sentence(f"{context} {sentence}")
        length = len(self.tokenizer.encode(context))
        return logs[:length], logs[length:], self.published_sentence(sentence)

    # Encoder-decoders

    def written(self, encoder_ids: Sequence[int], decoder_ids: Sequence[int]) -> torch.Tensor:
        """Log-probabilities at every position of the decoder."""
        key = (tuple(encoder_ids), tuple(decoder_ids))
        if key not in self._known:
            inputs = {"decoder_input_ids": torch.tensor([list(decoder_ids)])}
            self._known[key] = _log_softmax(self.encoder_decoder, encoder_ids, **inputs)
        values: torch.Tensor = self._known[key]
        return values

    @property
    def decoder_start(self) -> int:
        return int(self.encoder_decoder.config.decoder_start_token_id)

    def sentinel_blank(self, context: str, fill: str) -> Logs:
        """Each token of the fill as the decoder's next after the sentinel; earlier ones stand before the gap."""
        gap = self.tokenizer.convert_tokens_to_ids(SENTINEL)
        pieces = context.split("BLANK")
        logs = []
        for number in range(1, len(pieces)):
            before, text = fill.join(pieces[:number]), SlowText(self.tokenizer, fill.join(pieces))
            places = text.of(len(before), len(before) + len(fill))
            for place in places:
                ids = [*text.ids[:place], gap, *text.ids[places[-1] + 1 :]]
                logs.append(self.written(ids, [self.decoder_start, gap])[1, text.ids[place]].item())
        return logs

    def published_sentinel_blank(self, context: str, word: str) -> Logs:
        """As text, and the decoder's first token is the one that the model prefers."""
        tokens = self.plain_ids(word)
        logs = []
        for step, token in enumerate(tokens):
            shown = context.replace("BLANK", self.tokenizer.decode(tokens[:step]) + SENTINEL)
            ids = self.tokenizer(shown)["input_ids"]
            preferred = int(self.written(ids, [self.decoder_start])[0].argmax())
            logs.append(self.written(ids, [self.decoder_start, preferred])[1, token].item())
        return logs

    def sentinel_continuation(self, context: str, sentence: str) -> Logs:
        """The candidate's tokens after the sentinel, the end token not counted."""
        encoder_ids = self.tokenizer(f"{with_full_stop(context)} {SENTINEL}")["input_ids"]
        tokens = self.plain_ids(sentence)
        gap = self.tokenizer.convert_tokens_to_ids(SENTINEL)
        values = self.written(encoder_ids, [self.decoder_start, gap, *tokens])
        return [values[1 + place, token].item() for place, token in enumerate(tokens)]

    def published_sentinel_continuation(self, context: str, sentence: str) -> Logs:
        """Decoder text tokenised as it is, scored from index 2 to the last token, the end token included."""
        encoder_ids = self.tokenizer(f"{with_full_stop(context)} {SENTINEL}")["input_ids"]
        ids = self.tokenizer(f"<pad> {SENTINEL} {sentence}")["input_ids"]
        values = self.written(encoder_ids, ids)
        return [values[place - 1, ids[place]].item() for place in range(2, len(ids))]

    def denoised(self, shown: str, sentence: str, spans: Sequence[tuple[int, int]]) -> Logs:
        """The candidate's tokens where the decoder writes the whole text; the encoder sees a mask instead."""
        text = SlowText(self.tokenizer, sentence)
        # BART starts with its start token, mBART with the language, which stands last in the text.
        is_mbart = self.encoder_decoder.config.model_type == "mbart"
        start = text.ids[-1] if is_mbart else self.decoder_start
        values = self.written(self.tokenizer(shown)["input_ids"], [start, *text.ids[:-1]])
        return [values[place, text.ids[place]].item() for span in spans for place in text.of(*span)]

    def denoised_blank(self, context: str, fill: str) -> Logs:
        pieces = context.split("BLANK")
        starts = [len(fill.join(pieces[:number])) for number in range(1, len(pieces))]
        spans = [(start, start + len(fill)) for start in starts]
        return self.denoised(self.tokenizer.mask_token.join(pieces), fill.join(pieces), spans)

    def denoised_continuation(self, context: str, sentence: str) -> Logs:
        context = with_full_stop(context)
        whole = f"{context} {sentence}"
        return self.denoised(f"{context} {self.tokenizer.mask_token}", whole, [(len(context), len(whole))])


def _log_softmax(model: Any, ids: Sequence[int], **inputs: torch.Tensor) -> torch.Tensor:
    """Log-probabilities of the whole vocabulary at every position of one input."""
    with torch.inference_mode():
        logits: torch.Tensor = model(input_ids=torch.tensor([list(ids)]), **inputs).logits[0]
    return logits.double().log_softmax(-1)
