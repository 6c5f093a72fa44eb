"""Texts from a model in this process: prompts as tokens, batches within a budget, results kept as they come.

A batch counts what it will hold when its longest text is written: for each row the padded prompt and all new tokens,
which is also what the cache of keys and values holds.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, cast

import numpy as np
import torch

from evenhand.core.progress import activity
from evenhand.models.engine.halving import NOT_ENOUGH_MEMORY, attempt
from evenhand.models.engine.memory import Footprint, MemoryBudget, cache_bytes
from evenhand.models.engine.requests import Tokens
from evenhand.models.limits import longest_input
from evenhand.models.loading import Loaded
from evenhand.models.model import keep_answers, read_answers, texts_key
from evenhand.models.references import ModelError, UnscorableError
from evenhand.models.requests import (
    Answer,
    Finish,
    GeneratedText,
    GenerationOptions,
    Messages,
    Write,
    with_prefix,
)
from evenhand.models.stepping import StepperMaker, choose_stepper, next_tokens
from evenhand.models.tokenised_text import chat_text, start_token
from evenhand.store.jobs import Parts

CPU_TOKENS = 2048
GPU_TOKENS = 16_384

CPU_LOGITS = 2**22
GPU_LOGITS = 2**24
"""Most logits at a step: rows times entries of the vocabulary."""

LOGIT_BYTES = 100
"""What sampling takes for each logit."""

_FRAME = ("bos", "eos", "pad", "cls", "sep")
"""Special tokens that stand around a text and are no part of it. Others, such as sentinels, are shown."""

_ANCHOR = 4
"""Tokens of the prompt that are decoded with the new ones: alone, some tokenizers drop the space before a word."""


class TextCodec:
    """What a model reads for a prompt, where its texts end, and how they read."""

    def __init__(self, loaded: Loaded) -> None:
        self._loaded = loaded
        self._tokenizer = loaded.tokenizer
        self.encodes = bool(loaded.config.is_encoder_decoder)
        self.vocabulary = 1 + max(int(number) for number in self._tokenizer.get_vocab().values())
        """Entries that stand for a token; a model may have more, which mean nothing."""
        self.ends = end_tokens(loaded)
        self._adds_tokens = self._tokens_of(["a"], special=True) != self._tokens_of(["a"], special=False)
        frame = {getattr(self._tokenizer, f"{name}_token_id") for name in _FRAME}
        self._frame = {*frame, *self.ends, *self.decoder_start} - {None}

    @cached_property
    def decoder_start(self) -> Tokens:
        """What the decoder of an encoder-decoder starts with; nothing for a decoder, which starts with the prompt."""
        if not self.encodes:
            return ()
        model: Any = self._loaded.model
        settings = model.generation_config
        start = settings.decoder_start_token_id
        if start is None:
            start = getattr(self._loaded.config, "decoder_start_token_id", None)
        if start is None:
            # As the model makes it in training: for mBART the language of the text.
            labels = torch.tensor([self._tokenizer("a")["input_ids"]], device=self._loaded.device)
            start = model.prepare_decoder_input_ids_from_labels(labels)[0, 0]
        forced = settings.forced_bos_token_id
        return (int(start),) if forced is None else (int(start), int(forced))

    def encode(self, texts: Sequence[str]) -> list[Tokens]:
        """What the model reads for each text.

        Raises:
            ModelError: If a text is empty, and there is no start token to go on from.
        """
        found = self.encode_any(texts)
        if () in found:
            raise ModelError(
                f"A prompt is empty, and {self._loaded.ref.id} has no start token to go on from. Give every prompt a "
                "text, or all of them a prefix."
            )
        return found

    def encode_any(self, texts: Sequence[str]) -> list[Tokens]:
        """What the model reads for each text; nothing for an empty one that it cannot go on from.

        An encoder reads what its tokenizer makes. A decoder is to go on, so what some tokenizers put behind a text is
        left out.
        """
        whole = self._tokens_of(texts, special=True)
        if self.encodes:
            return whole
        plain = self._tokens_of(texts, special=False) if self._adds_tokens else whole
        return [self._open_end(ids, own) for ids, own in zip(whole, plain, strict=True)]

    def encode_chat(self, messages: Messages) -> Tokens:
        """What the model reads for messages: their template has all special tokens of a decoder in it."""
        (ids,) = self._tokens_of([chat_text(self._tokenizer, messages)], special=self.encodes)
        return ids

    def decode(self, prompt: Tokens, written: Sequence[int]) -> str:
        """The text of new tokens."""
        before = () if self.encodes else prompt[-_ANCHOR:]
        anchor = self._text(before)
        text = self._text((*before, *written))
        return text.removeprefix(anchor) if text.startswith(anchor) else self._text(written)

    def _tokens_of(self, texts: Sequence[str], *, special: bool) -> list[Tokens]:
        return [tuple(ids) for ids in self._tokenizer(list(texts), add_special_tokens=special)["input_ids"]]

    def _text(self, ids: Sequence[int]) -> str:
        shown = [token for token in ids if token not in self._frame]
        text: str = self._tokenizer.decode(shown, clean_up_tokenization_spaces=False)
        return text

    def _open_end(self, ids: Tokens, own: Tokens) -> Tokens:
        if own:
            return ids[: _place_behind(ids, own)]
        start = start_token(self._tokenizer, self._loaded.config)
        return () if start is None else (start,)


def end_tokens(loaded: Loaded) -> frozenset[int]:
    """Tokens that end a text: the tokenizer's, and those of the model that are special tokens.

    A model made from another's configuration may name a number that is some word of its own vocabulary.
    """
    named = cast(Any, loaded.model).generation_config.eos_token_id
    candidates = named if isinstance(named, list) else [named]
    special = special_tokens(loaded.tokenizer)
    ends = [*(token for token in candidates if token in special), loaded.tokenizer.eos_token_id]
    return frozenset(int(token) for token in ends if token is not None)


def special_tokens(tokenizer: Any) -> frozenset[int]:
    """Tokens that a tokenizer calls special, those that were added to it among them."""
    added = (number for number, token in tokenizer.added_tokens_decoder.items() if token.special)
    return frozenset((*tokenizer.all_special_ids, *added))


def _place_behind(ids: Tokens, part: Tokens) -> int:
    """Where the last occurrence of a part ends; at the very end if there is none."""
    return next(
        (end for end in range(len(ids), len(part) - 1, -1) if ids[end - len(part) : end] == part), len(ids)
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchLimits:
    """What fits into a batch."""

    max_tokens: int
    """Most tokens, padding and new tokens included. A longer row makes a batch of its own."""
    max_rows: int
    """Most rows: there is a number for every row and every token of the vocabulary."""


@dataclass(frozen=True, slots=True)
class Row:
    """One text to be written."""

    request: Write
    sample: int
    ids: Tokens
    """Of prefix and prompt."""


def pack(rows: Sequence[Row], limits: BatchLimits) -> Iterator[list[Row]]:
    """Batches of rows that are decoded alike, longest prompts first, so that a lack of memory shows at once."""
    batch: list[Row] = []
    for row in sorted(rows, key=lambda row: (-len(row.ids), row.request.number, row.sample)):
        width = len(batch[0].ids if batch else row.ids) + row.request.decoding.max_new_tokens
        if batch and (width * (len(batch) + 1) > limits.max_tokens or len(batch) == limits.max_rows):
            yield batch
            batch = []
        batch.append(row)
    if batch:
        yield batch


class TextWriter:
    """Writes texts with a loaded decoder or encoder-decoder."""

    def __init__(self, loaded: Loaded, budget: MemoryBudget | None = None) -> None:
        """Prepare to write texts.

        Args:
            loaded: The model.
            budget: What a batch may take beside the weights; if not given, a share of what is free.
        """
        self._loaded = loaded
        self._budget = budget or MemoryBudget.on(loaded.device, loaded.ref.memory)
        self.codec = TextCodec(loaded)
        self._longest = longest_input(loaded)

    @cached_property
    def stepper(self) -> StepperMaker:
        """How the model is run step by step."""
        with activity("self-check of fast ways"):
            return choose_stepper(self._loaded, self.codec.decoder_start)

    def limits(self, max_tokens: int | None = None) -> BatchLimits:
        """What fits into a batch on this model and device."""
        on_gpu = self._loaded.device.type == "cuda"
        tokens, logits = (GPU_TOKENS, GPU_LOGITS) if on_gpu else (CPU_TOKENS, CPU_LOGITS)
        vocabulary = self._loaded.model.get_input_embeddings().num_embeddings  # type: ignore[operator]
        footprint = Footprint.of_model(self._loaded.model, projects_all=False)
        per_token = footprint.per_token + cache_bytes(self._loaded.model)
        return BatchLimits(
            max_tokens=max(1, min(max_tokens or tokens, self._budget.bytes // per_token)),
            max_rows=max(1, min(logits, self._budget.bytes // LOGIT_BYTES) // vocabulary),
        )

    def prompts(self, requests: Sequence[Write]) -> list[Tokens | str]:
        """What the model reads for each request, or why it cannot go on from it."""
        texts = [self._prefix(own) + own.prompt for own in requests if not own.messages]
        encoded = iter(self.codec.encode_any(texts) if texts else ())
        return [
            self._checked(self._chat(own) if own.messages else next(encoded), own.decoding.max_new_tokens)
            for own in requests
        ]

    def _prefix(self, request: Write) -> str:
        return self._loaded.ref.prefix + request.decoding.prefix

    def _chat(self, request: Write) -> Tokens | str:
        try:
            return self.codec.encode_chat(with_prefix(request.messages, self._prefix(request)))
        except UnscorableError as problem:
            return str(problem)

    def _checked(self, ids: Tokens | str, new: int) -> Tokens | str:
        if isinstance(ids, str):
            return ids
        if not ids:
            return "the prompt is empty, and the model has no start token to go on from"
        needed = max(len(ids), new) if self.codec.encodes else len(ids) + new
        if self._longest is not None and needed > self._longest:
            return (
                f"with its prefix it has {len(ids):,} tokens; with {new:,} new ones that is more than the "
                f"{self._longest:,} that the model takes. Shorten it, or ask for fewer new tokens"
            )
        return ids

    def texts(
        self,
        prompts: Mapping[Write, Tokens],
        *,
        parts: Parts | None = None,
        done: Callable[[Sequence[tuple[Write, int]]], None] | None = None,
        max_tokens: int | None = None,
    ) -> dict[Write, Answer]:
        """The texts of each request, or why there are none.

        Args:
            prompts: What the model reads for each.
            parts: Keep every finished batch.
            done: Told which texts are finished: their requests and their numbers, from 0.
            max_tokens: Most tokens in a batch: padded prompts and new tokens of all rows. In fp32 texts do
                not depend on it; in half precision rounding does, and now and then a token with it.
        """
        limits = self.limits(max_tokens)
        texts: dict[Write, list[GeneratedText | None]] = {}
        alike: dict[GenerationOptions, list[Row]] = {}
        for request, ids in prompts.items():
            texts[request] = [None] * request.decoding.samples
            rows = alike.setdefault(request.decoding, [])
            rows += [Row(request, sample, ids) for sample in range(request.decoding.samples)]
        for options, rows in alike.items():
            for batch in pack(rows, limits):
                for row, text in zip(batch, self._batch(batch, options, parts), strict=True):
                    texts[row.request][row.sample] = text
                if done:
                    done([(row.request, row.sample) for row in batch])
        return {request: _answer(own) for request, own in texts.items()}

    def _batch(
        self, rows: Sequence[Row], options: GenerationOptions, parts: Parts | None
    ) -> Sequence[GeneratedText | None]:
        key = texts_key(self._loaded.ref.prefix, options, [(row.request, row.sample) for row in rows])
        kept = read_answers(parts, key)
        if kept is not None:
            return kept[0].texts
        texts = self._texts_or_halve(rows, options)
        if None not in texts:
            keep_answers(parts, key, [_answer(texts)])
        return texts

    def _texts_or_halve(
        self, rows: Sequence[Row], options: GenerationOptions
    ) -> Sequence[GeneratedText | None]:
        """The texts of rows, written together, or in halves where memory does not suffice; None where it never does."""
        with torch.inference_mode(), self._loaded.products.in_use():
            texts = attempt(lambda: self._texts(rows, options))
        if texts is not None or len(rows) == 1:
            return texts or [None]
        middle = math.ceil(len(rows) / 2)
        return [
            text for part in (rows[:middle], rows[middle:]) for text in self._texts_or_halve(part, options)
        ]

    def _texts(self, rows: Sequence[Row], options: GenerationOptions) -> list[GeneratedText]:
        drafts = [_Draft(row, self.codec, options) for row in rows]
        random_numbers = torch.from_numpy(
            np.stack(
                [
                    options.random_numbers(row.request.number, row.request.start, sample=row.sample)
                    for row in rows
                ],
                axis=1,
            )
        ).to(self._loaded.device)
        stepper = self.stepper(self._loaded, [row.ids for row in rows], self.codec.decoder_start)
        logits = stepper.start()
        going = list(range(len(rows)))
        with activity(f"writing {len(rows):,} texts at once", "tokens") as note_progress:
            for step in range(options.max_new_tokens):
                note_progress(step, options.max_new_tokens)
                self._refuse_undefined(logits)
                tokens = next_tokens(logits[:, : self.codec.vocabulary], random_numbers[step, going], options)
                for number, token in zip(going, tokens.tolist(), strict=True):
                    drafts[number].add(token)
                left = [place for place, number in enumerate(going) if not drafts[number].is_finished]
                if not left:
                    break
                if len(left) < len(going):
                    places = torch.tensor(left, device=self._loaded.device)
                    stepper.keep(places)
                    tokens = tokens[places]
                    going = [going[place] for place in left]
                logits = stepper.advance(tokens)
        return [draft.result() for draft in drafts]

    def _refuse_undefined(self, logits: torch.Tensor) -> None:
        if bool(logits.isnan().any()):
            ref = self._loaded.ref
            raise ModelError(
                f"{ref.id} gives undefined logits in {ref.precision.value}. Use another precision, such as fp32."
            )


class _Draft:
    """A text that is being written."""

    def __init__(self, row: Row, codec: TextCodec, options: GenerationOptions) -> None:
        self._row = row
        self._codec = codec
        self._options = options
        self._tokens: list[int] = []
        self._finish: Finish | None = None

    @property
    def is_finished(self) -> bool:
        return self._finish is not None

    def add(self, token: int) -> None:
        """Add a token, unless it ends the text."""
        if token in self._codec.ends:
            self._finish = Finish.END
            return
        self._tokens.append(token)
        if self._options.stop and self._options.cut(self._text())[1]:
            self._finish = Finish.STOP
        elif len(self._tokens) == self._options.max_new_tokens:
            self._finish = Finish.LENGTH

    def result(self) -> GeneratedText:
        """The finished text."""
        return GeneratedText(
            prompt=self._row.request.number,
            sample=self._row.sample,
            text=self._options.cut(self._text())[0],
            tokens=len(self._tokens),
            finish=self._finish or Finish.LENGTH,
        )

    def _text(self) -> str:
        return self._codec.decode(self._row.ids, self._tokens)


def _answer(texts: Sequence[GeneratedText | None]) -> Answer:
    written = tuple(filter(None, texts))
    return Answer(texts=written) if len(written) == len(texts) else Answer(problem=NOT_ENOUGH_MEMORY)
