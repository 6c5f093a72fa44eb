"""Texts that are too long for a translator, in pieces that it takes."""

from __future__ import annotations

import re
from collections.abc import Callable


def pieces(text: str, fits: Callable[[str], bool]) -> list[str]:
    """A text in pieces that fit, cut after sentences, or between words where a sentence is too long.

    Args:
        text: What is cut.
        fits: Whether a translator takes a piece.
    """
    if fits(text):
        return [text]
    found: list[str] = []
    for sentence in re.findall(r".+?(?:[.!?…]+[\"'”»)]*\s+|$)", text, flags=re.DOTALL):
        parts = [sentence] if fits(sentence.strip()) else re.findall(r"\S+\s*", sentence)
        for part in parts:
            if found and fits((found[-1] + part).strip()):
                found[-1] += part
            else:
                found.append(part)
    return [piece.strip() for piece in found if piece.strip()]
