"""Sentences made of a template and words, which remember where the words stand."""

from __future__ import annotations

from dataclasses import dataclass
from string import Formatter


@dataclass(frozen=True, slots=True)
class Sentence:
    """A text, and the places in it that the grammar filled."""

    text: str
    slots: tuple[tuple[str, int, int], ...]
    """Name of the slot, first character, and the one after the last."""

    def span(self, name: str) -> tuple[int, int]:
        """Where the word of a slot stands."""
        return next((start, end) for slot, start, end in self.slots if slot == name)


def realise(template: str, **words: str) -> Sentence:
    """Put words into a template; the first letter of the sentence is a capital."""
    text = ""
    slots = []
    for before, name, _, _ in Formatter().parse(template):
        text += before
        if name is None:
            continue
        word = words[name] if text else _capitalised(words[name])
        slots.append((name, len(text), len(text) + len(word)))
        text += word
    return Sentence(text, tuple(slots))


def _capitalised(word: str) -> str:
    return word[:1].upper() + word[1:]
