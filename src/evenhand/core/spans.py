"""Which characters of a candidate sentence fill the blank of its context.

Counting words does not find them: contexts have two blanks, blanks with a suffix (``BLANKed``), blanks
glued to other text, and fills of several words; and candidate sentences differ from their context in
case. So the sentence is aligned with the context, piece by piece, and the blank is what is left over.
"""

from __future__ import annotations

import difflib
import re
from dataclasses import dataclass
from functools import lru_cache

from evenhand.core.items import BLANK

MOST_FREE_BLANKS = 2
"""Blanks that may be filled differently from each other; the time to try all ways grows with its power."""


@dataclass(frozen=True, slots=True)
class Span:
    """Characters ``start`` to ``end`` (exclusive) of a sentence."""

    start: int
    end: int

    def of(self, text: str) -> str:
        """The characters themselves."""
        return text[self.start : self.end]


@lru_cache(maxsize=2**15)
def filled_spans(context: str, sentence: str) -> tuple[Span, ...]:
    """The spans of ``sentence`` that fill the blanks of ``context``, one a blank.

    Empty when the context has no blank or the two cannot be aligned: a caller treats that as an item
    which cannot be scored.
    """
    pieces = context.split(BLANK)
    if len(pieces) < 2:
        return ()
    patterns = [_same_fill(pieces)]
    if len(pieces) - 1 <= MOST_FREE_BLANKS:
        patterns.append(_any_fill(pieces))
    for pattern in patterns:
        match = re.fullmatch(pattern, sentence, flags=re.DOTALL | re.IGNORECASE)
        if match is not None and all(fill.strip() for fill in match.groups()):
            return tuple(Span(*match.span(group)) for group in range(1, len(pieces)))
    return _by_difference(context, sentence)


def _same_fill(pieces: list[str]) -> str:
    """The context as a pattern in which all blanks hold the same text, as they do in real files."""
    blanks = ["(.+?)", *[r"(\1)"] * (len(pieces) - 2)]
    rest = "".join(blank + re.escape(piece) for blank, piece in zip(blanks, pieces[1:], strict=True))
    return re.escape(pieces[0]) + rest


def _any_fill(pieces: list[str]) -> str:
    """The context as a pattern with any white space between words and any text in each blank."""
    flexible = (r"\s+".join(re.escape(part) for part in re.split(r"\s+", piece)) for piece in pieces)
    return r"\s*" + r"(\S.*?)".join(flexible) + r"\s*"


def _by_difference(context: str, sentence: str) -> tuple[Span, ...]:
    """Align word by word, where the text around the blank was itself changed."""
    words = list(re.finditer(r"\S+", sentence))
    wanted = context.split()
    blanks = [index for index, word in enumerate(wanted) if BLANK in word]
    if len(blanks) != context.count(BLANK):
        return ()
    matcher = difflib.SequenceMatcher(
        None, [word.casefold() for word in wanted], [word[0].casefold() for word in words], autojunk=False
    )
    blocks = [block for block in matcher.get_matching_blocks() if block.size]
    if 2 * sum(block.size for block in blocks) < max(1, len(wanted) - len(blanks)):
        return ()
    spans = []
    for blank in blanks:
        # Between the nearest words that both have, changed words are taken to correspond one to one.
        before, start = max(
            ((block.a + block.size, block.b + block.size) for block in blocks if block.a < blank),
            default=(0, 0),
        )
        after, end = min(
            ((block.a, block.b) for block in blocks if block.a > blank), default=(len(wanted), len(words))
        )
        first, last = start + blank - before, end - (after - blank)
        if first > last:
            return ()
        spans.append(
            _without_attached(wanted[blank], sentence, Span(words[first].start(), words[last].end()))
        )
    return tuple(spans)


def _without_attached(blank: str, sentence: str, span: Span) -> Span:
    """The span without the prefix and suffix that the context attaches to the blank, where they are there."""
    prefix, _, suffix = blank.partition(BLANK)
    text = span.of(sentence).casefold()
    start = span.start + (len(prefix) if text.startswith(prefix.casefold()) else 0)
    end = span.end - (len(suffix) if text.endswith(suffix.casefold()) else 0)
    return Span(start, end) if start < end else span
