"""Reversing: a translator into a language that is English spelt backwards, all but the blank."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from evenhand.core.errors import TranslationError
from evenhand.translation.translators import FREE, LanguagePair


class Reversing:
    """Spells words backwards."""

    settings: Mapping[str, str] = {"version": "1"}
    cost = FREE
    batch_size = 100
    concurrency = 1

    def translate(self, texts: Sequence[str]) -> list[str]:
        """Each text, word by word."""
        return [" ".join(_reversed(word) for word in text.split()) for text in texts]


def _reversed(word: str) -> str:
    return word if "BLANK" in word else word[::-1]


class ReversingKind:
    """Opens the translator."""

    name = "reversing"
    summary = "English spelt backwards"

    def open(self, argument: str, languages: LanguagePair) -> Reversing:  # noqa: ARG002 # there is one only
        """The translator, from English."""
        if languages.source != "en":
            raise TranslationError(f"reversing translates from 'en', not from {languages.source!r}.")
        return Reversing()


REVERSING = ReversingKind()
