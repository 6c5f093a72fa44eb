"""Texts from a model in this process: windows of prompts, batches within a budget, results kept as they come."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from functools import cached_property
from textwrap import shorten

import numpy as np
import torch

from evenhand.core.progress import activity
from evenhand.models.engine.halving import NOT_ENOUGH_MEMORY, attempt
from evenhand.models.engine.memory import Footprint, MemoryBudget, cache_bytes
from evenhand.models.generation.batches import BatchLimits, Row, pack, windows
from evenhand.models.generation.codec import TextCodec
from evenhand.models.generation.stepping import StepperMaker, choose_stepper, next_tokens
from evenhand.models.generation.texts import (
    Finish,
    GeneratedText,
    GenerationOptions,
    TextProgress,
    keep_texts,
    part_key,
    read_texts,
)
from evenhand.models.limits import longest_input
from evenhand.models.loading import Loaded
from evenhand.models.references import ModelError
from evenhand.store.jobs import Parts

CPU_TOKENS = 2048
GPU_TOKENS = 16_384

CPU_LOGITS = 2**22
GPU_LOGITS = 2**24
"""Most logits at a step: rows times entries of the vocabulary."""

LOGIT_BYTES = 100
"""What sampling takes for each logit."""

_SHOWN_PROMPT = 60
"""Characters of a prompt that a message quotes."""


class LocalGenerator:
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

    def generate(
        self,
        prompts: Iterable[str],
        options: GenerationOptions,
        *,
        parts: Parts | None = None,
        progress: TextProgress | None = None,
        max_tokens: int | None = None,
    ) -> Iterator[GeneratedText]:
        """The texts of each prompt, in the order of the prompts; nothing runs before the first is asked for.

        Args:
            prompts: Texts to go on from, read as they are needed.
            options: How texts are decoded.
            parts: Keep every finished batch.
            progress: Called after every batch.
            max_tokens: Most tokens in a batch: padded prompts and new tokens of all rows. In fp32 texts do
                not depend on it; in half precision rounding does, and now and then a token with it.
        """
        limits = self.limits(max_tokens)
        options = replace(options, prefix=self._loaded.ref.prefix + options.prefix)
        for window in windows(prompts, options):
            texts: list[GeneratedText] = []
            for batch in pack(self._rows(window, options), options, limits):
                texts += self._batch(batch, options, parts)
                if progress:
                    progress(len(batch))
            yield from sorted(texts, key=lambda text: (text.prompt, text.sample))

    def _rows(self, window: Sequence[tuple[int, str]], options: GenerationOptions) -> list[Row]:
        tokens = self.codec.encode([options.prefix + prompt for _, prompt in window])
        rows = []
        for (number, prompt), ids in zip(window, tokens, strict=True):
            self._refuse_long(prompt, len(ids), options)
            rows += [Row(number, prompt, sample, ids) for sample in range(options.samples)]
        return rows

    def overlong(self, prompts: Sequence[str], options: GenerationOptions) -> list[bool]:
        """Which prompts leave no room for the new tokens, so that ``generate`` would refuse them."""
        prefix = self._loaded.ref.prefix + options.prefix
        tokens = self.codec.encode([prefix + prompt for prompt in prompts]) if prompts else []
        return [self._is_overlong(len(ids), options) for ids in tokens]

    def _is_overlong(self, length: int, options: GenerationOptions) -> bool:
        new = options.max_new_tokens
        needed = max(length, new) if self.codec.encodes else length + new
        return self._longest is not None and needed > self._longest

    def _refuse_long(self, prompt: str, length: int, options: GenerationOptions) -> None:
        new = options.max_new_tokens
        if self._is_overlong(length, options):
            shown = shorten(prompt, _SHOWN_PROMPT, placeholder=" …")
            raise ModelError(
                f"The prompt {shown!r} has {length:,} tokens with its prefix; with {new:,} new tokens that is "
                f"more than the {self._longest:,} that {self._loaded.ref.id} takes. Shorten the prompt or the prefix, "
                "or ask for fewer new tokens."
            )

    def _batch(
        self, rows: Sequence[Row], options: GenerationOptions, parts: Parts | None
    ) -> Sequence[GeneratedText]:
        key = part_key(options, [(row.number, row.prompt, row.sample) for row in rows])
        texts: Sequence[GeneratedText] | None = read_texts(parts, key)
        if texts is None:
            texts = self._generate_or_halve(rows, options)
            keep_texts(parts, key, texts)
        return texts

    def _generate_or_halve(self, rows: Sequence[Row], options: GenerationOptions) -> list[GeneratedText]:
        """The texts of rows, generated together, or in halves where memory does not suffice."""
        with torch.inference_mode(), self._loaded.products.in_use():
            texts = attempt(lambda: self._generate(rows, options))
        if texts is not None:
            return texts
        if len(rows) == 1:
            raise ModelError(
                f"{self._loaded.ref.id} cannot go on from prompt {rows[0].number}: {NOT_ENOUGH_MEMORY}. Shorten it, "
                "ask for fewer new tokens, or use a larger device."
            )
        middle = math.ceil(len(rows) / 2)
        return [
            text for part in (rows[:middle], rows[middle:]) for text in self._generate_or_halve(part, options)
        ]

    def _generate(self, rows: Sequence[Row], options: GenerationOptions) -> list[GeneratedText]:
        drafts = [_Draft(row, self.codec, options) for row in rows]
        random_numbers = torch.from_numpy(
            np.stack(
                [options.random_numbers(row.number, row.prompt, sample=row.sample) for row in rows], axis=1
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
            prompt=self._row.number,
            sample=self._row.sample,
            text=self._options.cut(self._text())[0],
            tokens=len(self._tokens),
            finish=self._finish or Finish.LENGTH,
        )

    def _text(self) -> str:
        return self._codec.decode(self._row.ids, self._tokens)
