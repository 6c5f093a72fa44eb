"""Prompts as tokens, and new tokens as text."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any, cast

import torch

from evenhand.models.engine.requests import Tokens
from evenhand.models.loading import Loaded
from evenhand.models.references import ModelError
from evenhand.models.tokenised_text import start_token

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

        An encoder reads what its tokenizer makes. A decoder is to go on, so what some tokenizers put behind a text is
        left out.
        """
        whole = self._tokens_of(texts, special=True)
        if self.encodes:
            return whole
        plain = self._tokens_of(texts, special=False) if self._adds_tokens else whole
        return [self._open_end(ids, own) for ids, own in zip(whole, plain, strict=True)]

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
        if start is None:
            raise ModelError(
                f"A prompt is empty, and {self._loaded.ref.id} has no start token to go on from. Give every prompt a "
                "text, or all of them a prefix."
            )
        return (start,)


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
