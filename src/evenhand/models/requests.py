"""Requests: what a model can be asked, at the level of text, and its answers. Plain values, no torch.

A request names no item and no instrument; any model that can answers it, and says by its capabilities which those are.
Published protocols that ask in a way of their own are variants of these requests.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import TypeAlias

from evenhand.core.items import BLANK, Span
from evenhand.models.references import UnscorableError

HIDDEN = "[MASK]"
"""Stands in a text for a token that the model is not shown."""


@dataclass(frozen=True, slots=True)
class Fill:
    """The log-probabilities of a word's tokens in the ``BLANK`` of a text; other words may be ``HIDDEN``.

    Models that read from left to right answer with those of the whole sentence, which compare only with each other.
    """

    text: str
    word: str
    variant: str = ""


class Part(StrEnum):
    """Which tokens of a continuation are asked for."""

    TEXT = "text"
    PREFIX = "prefix"
    """Those of the prefix, as they are cut where the text follows."""


@dataclass(frozen=True, slots=True)
class Continue:
    """The log-probabilities of a text's tokens after a prefix; from its start where the prefix is empty.

    A space is put between the two.
    """

    prefix: str
    text: str
    part: Part = Part.TEXT
    variant: str = ""

    @property
    def joined(self) -> str:
        """Prefix and text."""
        return f"{self.prefix} {self.text}" if self.prefix else self.text


@dataclass(frozen=True, slots=True)
class Recover:
    """The log-probabilities of a text's tokens, each hidden in turn while all others stand.

    Models that read from left to right answer about a text that shares tokens with another by the whole text.

    Attributes:
        text: The text.
        span: The characters whose tokens are asked for; all if None.
        shared_with: Another text: then the tokens that both share are asked for.
        comes_first: Whether the two are aligned with this text first, which can matter where several alignments are
            equally long.
        within_words: Whether the later tokens of a word are hidden with the earlier ones.
    """

    text: str
    span: Span | None = None
    shared_with: str | None = None
    comes_first: bool = True
    within_words: bool = False


@dataclass(frozen=True, slots=True)
class Follow:
    """The log-probability that the second sentence follows the first."""

    first: str
    second: str


ScoringRequest: TypeAlias = Fill | Continue | Recover | Follow


class Embed:
    """The vector of a span of characters: what ``embed_words`` answers."""


class Write:
    """Texts after prompts: what ``generate`` answers."""


class Train:
    """Weights in this process that go on learning."""


@dataclass(frozen=True, slots=True)
class Answer:
    """Natural log-probabilities, one for each token, or why they are of no use."""

    log_probs: tuple[float, ...] = ()
    problem: str | None = None
    is_whole: bool = True
    """Whether their product is the probability of what was asked for; each token given all others makes none."""

    @property
    def total(self) -> float:
        """The sum: the log-probability of all tokens together."""
        return math.fsum(self.log_probs)


def filled_text(text: str, word: str) -> tuple[str, list[Span]]:
    """A text with every blank filled, and where the words stand.

    Raises:
        UnscorableError: If it has no blank.
    """
    pieces = text.split(BLANK)
    if len(pieces) < 2:
        raise UnscorableError("the context has no blank")
    filled = pieces[0]
    spans = []
    for piece in pieces[1:]:
        spans.append(Span(len(filled), len(filled) + len(word)))
        filled += word + piece
    return filled, spans


def texts_of(request: ScoringRequest) -> Sequence[str]:
    """The texts that a request shows, as far as costs are counted by them."""
    match request:
        case Fill():
            return (filled_text(request.text, request.word)[0],)
        case Continue() | Recover():
            return (request.text,)
        case Follow():
            return (request.first, request.second)


FINAL_PUNCTUATION = ".!?…\"'”’»)"


def with_final_punctuation(text: str, marks: str = FINAL_PUNCTUATION) -> str:
    """A text that ends like a sentence."""
    return text if text[-1] in marks else f"{text}."
