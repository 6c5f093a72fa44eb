"""Which characters of a candidate sentence fill the blank of its context.

Counting words does not find them: contexts have two blanks, blanks with a suffix (``BLANKed``), blanks
glued to other text, and fills of several words; and candidate sentences differ from their context in
case. So the sentence is aligned with the context, piece by piece, and the blank is what is left over.
"""

from __future__ import annotations

import difflib
import re
from dataclasses import dataclass

from evenhand.core.items import BLANK


@dataclass(frozen=True, slots=True)
class Span:
    """Characters ``start`` to ``end`` (exclusive) of a sentence."""

    start: int
    end: int

    def of(self, text: str) -> str:
        """The characters themselves."""
        return text[self.start : self.end]


def filled_spans(context: str, sentence: str) -> tuple[Span, ...]:
    """The spans of ``sentence`` that fill the blanks of ``context``, one a blank.

    Empty when the context has no blank or the two cannot be aligned: a caller treats that as an item
    which cannot be scored.
    """
    pieces = context.split(BLANK)
    if len(pieces) < 2:
        return ()
    for pattern in (_same_fill(pieces), _any_fill(pieces)):
        match = re.fullmatch(pattern, sentence, flags=re.DOTALL | re.IGNORECASE)
        if match is not None:
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
    """Align by longest common blocks, where the text around the blank was itself changed."""
    matcher = difflib.SequenceMatcher(None, context, sentence, autojunk=False)
    blocks = [block for block in matcher.get_matching_blocks() if block.size]
    spans = []
    for blank in re.finditer(BLANK, context):
        start = max((b.b + b.size for b in blocks if b.a + b.size <= blank.start()), default=0)
        end = min((b.b for b in blocks if b.a >= blank.end()), default=len(sentence))
        while start < end and sentence[start].isspace():
            start += 1
        while start < end and sentence[end - 1].isspace():
            end -= 1
        if start >= end:
            return ()
        spans.append(Span(start, end))
    return tuple(spans)
