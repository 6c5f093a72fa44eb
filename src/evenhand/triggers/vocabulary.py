"""Which tokens a trigger may have, and whether its text reads as its tokens where it is used.

A trigger is searched for as tokens and used as text, with a space between it and the prompt. Cut into tokens again, the
text may fall into others: *Kempten* and *Guten* side by side, or a word that grows together with the prompt. So every
trigger is written out before every prompt, as the model that writes texts sees it, and dropped if the tokens differ.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import cached_property

import numpy as np
import numpy.typing as npt

from evenhand.models.engine.requests import Tokens
from evenhand.models.loading import Loaded
from evenhand.models.references import ModelError
from evenhand.models.writing import TextCodec

SEPARATOR = " "
"""Between a trigger and what follows it."""

_WORD = re.compile(r"[^\W\d_]+")

_ATTEMPTS = 100
"""Batches of random triggers before it is said that there are none."""


def prefix_of(text: str) -> str:
    """A trigger or a sentence as it is put before prompts: with a space behind it."""
    return text if not text or text[-1].isspace() else text + SEPARATOR


class TriggerVocabulary:
    """Tokens that are words or parts of words, and triggers made of them."""

    def __init__(
        self,
        loaded: Loaded,
        *,
        prompts: Sequence[str],
        is_banned: Callable[[str], bool] = lambda _word: False,
    ) -> None:
        """Look through the tokens of a model.

        Args:
            loaded: The model.
            prompts: What triggers are put before.
            is_banned: Says of a word whether no trigger may have it.
        """
        self._loaded = loaded
        self._codec = TextCodec(loaded)
        self._prompts = tuple(dict.fromkeys(prompts))
        self._is_banned = is_banned
        self._rests: dict[tuple[str, ...], list[Tokens]] = {}
        self.allowed = self._allowed_tokens()
        """Whether a trigger may have each entry of the model's embeddings."""
        if not self.allowed.any():
            raise ModelError(
                f"The tokenizer of {loaded.ref.id} has no token of letters alone, so no trigger can be made."
            )

    @cached_property
    def lead(self) -> Tokens:
        """What the model reads before the first token of every text, such as a start token."""
        (whole,) = self._codec.encode([self._prompts[0]])
        plain = self._loaded.tokenizer(self._prompts[0], add_special_tokens=False)["input_ids"]
        return whole[: len(whole) - len(plain)]

    def text_of(self, trigger: Sequence[int]) -> str:
        """A trigger as text."""
        text: str = self._loaded.tokenizer.decode(list(trigger), clean_up_tokenization_spaces=False)
        return text

    def tokens_after_trigger(self, texts: Sequence[str]) -> list[Tokens]:
        """What each text is behind a trigger: not the same as at the start of a text, where no space is before it."""
        text, token = self._anchor
        start = (*self.lead, token)
        whole = self._codec.encode([prefix_of(text) + following for following in texts])
        for ids, following in zip(whole, texts, strict=True):
            if ids[: len(start)] != start or len(ids) == len(start):
                raise ModelError(
                    f"The tokenizer of {self._loaded.ref.id} does not keep {text!r} apart from {following[:60]!r} "
                    "behind it, so no trigger can stand before this text."
                )
        return [ids[len(start) :] for ids in whole]

    def tokens_alone(self, texts: Sequence[str]) -> list[Tokens]:
        """What the model reads for each text without a trigger, its lead included."""
        return self._codec.encode(texts)

    def fitting(self, triggers: Sequence[Tokens]) -> list[bool]:
        """Whether the text of each trigger reads as its tokens before every prompt, and has no banned word."""
        return self.fitting_before(triggers, self._prompts)

    def fitting_before(self, triggers: Sequence[Tokens], texts: Sequence[str]) -> list[bool]:
        """Whether the text of each trigger reads as its tokens before each of some texts."""
        fits = [self._is_plain(trigger) for trigger in triggers]
        checked = [trigger for trigger, plain in zip(triggers, fits, strict=True) if plain]
        if not checked:
            return fits
        rests = self._rests_of(tuple(texts))
        prefixes = [prefix_of(self.text_of(trigger)) for trigger in checked]
        whole = self._codec.encode([prefix + text for prefix in prefixes for text in texts])
        same = iter(
            whole[number * len(texts) : (number + 1) * len(texts)]
            == [(*self.lead, *trigger, *rest) for rest in rests]
            for number, trigger in enumerate(checked)
        )
        return [plain and next(same) for plain in fits]

    def random_triggers(self, count: int, slots: int, generator: np.random.Generator) -> list[Tokens]:
        """Triggers of random words.

        Raises:
            ModelError: If hardly any tokens make a trigger that reads as itself.
        """
        tokens = np.flatnonzero(self.allowed)
        found: list[Tokens] = []
        for _ in range(_ATTEMPTS):
            drawn = generator.choice(tokens, size=(8 * count, slots))
            drawn[:, 1:] = generator.choice(self._word_starts, size=(8 * count, slots - 1))
            triggers = [tuple(row) for row in drawn.tolist()]
            found += [trigger for trigger, fits in zip(triggers, self.fitting(triggers), strict=True) if fits]
            if len(found) >= count:
                return found[:count]
        raise ModelError(
            f"Hardly any {slots} tokens of {self._loaded.ref.id} read as themselves when they are written out and read "
            "again. Ask for fewer slots, or ban fewer words."
        )

    def filled_with(self, word: str, slots: int) -> Tokens | None:
        """A trigger that repeats a word; None if the word is not one token everywhere."""
        text = SEPARATOR.join([word] * slots)
        (ids,) = self._codec.encode([prefix_of(text) + self._prompts[0]])
        trigger = ids[len(self.lead) : len(self.lead) + slots]
        allowed = all(self.allowed[token] for token in trigger)
        return trigger if allowed and self.text_of(trigger) == text and self.fitting([trigger])[0] else None

    def _rests_of(self, texts: tuple[str, ...]) -> list[Tokens]:
        """What texts are behind a trigger, encoded once: a search asks for the same ones at every step."""
        if texts not in self._rests:
            self._rests[texts] = self.tokens_after_trigger(texts)
        return self._rests[texts]

    def _is_plain(self, trigger: Tokens) -> bool:
        text = self.text_of(trigger)
        return bool(text) and text == text.strip() and not any(map(self._is_banned, _WORD.findall(text)))

    @cached_property
    def _texts(self) -> list[str]:
        """What each token of the tokenizer reads as by itself."""
        texts: list[str] = self._loaded.tokenizer.batch_decode(
            [[token] for token in range(self._codec.vocabulary)], clean_up_tokenization_spaces=False
        )
        return texts

    def _allowed_tokens(self) -> npt.NDArray[np.bool_]:
        """Tokens of letters alone: no special ones, punctuation, digits or parts of characters."""
        size = self._loaded.model.get_input_embeddings().num_embeddings  # type: ignore[operator]
        special = set(self._loaded.tokenizer.all_special_ids)
        allowed = np.zeros(size, dtype=bool)
        for token, text in enumerate(self._texts[:size]):
            word = text.strip()
            allowed[token] = word.isalpha() and token not in special and not self._is_banned(word)
        return allowed

    @cached_property
    def _anchor(self) -> tuple[str, int]:
        """A word that is one token at the start of a text and stays one before a prompt, and that token."""
        for token in np.flatnonzero(self.allowed).tolist():
            text = self._texts[token].strip()
            if len(text) < 2:
                continue
            alone, together = self._codec.encode([text, prefix_of(text) + self._prompts[0]])
            if (
                alone == (*self.lead, token)
                and together[: len(alone)] == alone
                and len(together) > len(alone)
            ):
                return text, token
        raise ModelError(
            f"No token of {self._loaded.ref.id} reads as itself when it is written out before "
            f"{self._prompts[0]!r} and read again, so no trigger can be made."
        )

    @cached_property
    def _word_starts(self) -> npt.NDArray[np.int64]:
        """Allowed tokens that begin a word inside a text, where the tokenizer tells them from others."""
        text, anchor = self._anchor
        tokens = np.flatnonzero(self.allowed)
        words = [self._texts[token].strip() for token in tokens.tolist()]
        lead = (*self.lead, anchor)
        whole = self._codec.encode([prefix_of(text) + word for word in words])
        starts = [ids == (*lead, token) for ids, token in zip(whole, tokens.tolist(), strict=True)]
        return tokens[starts] if any(starts) else tokens
