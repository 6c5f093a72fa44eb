"""Case of translated texts: how they begin, and what follows a blank or tag at their beginning.

Translators take a placeholder at the beginning of a sentence for a sentence of its own, and go on with a capital:
*BLANK El sastre*. And some begin in lower case what begins with a capital in the source.
"""

from __future__ import annotations

import re

CAPITALISED_NOUNS = frozenset({"de", "lb"})
"""Languages in which a noun after a blank has a capital, so that a capital shows nothing."""

_LEADING_TAG = re.compile(r"(?:\[[A-Z][^\]\n]*\]|\{\w+\}|BLANK|XYZ)(?:['’]\w+)? +")
_WORD = re.compile(r"[^\W\d_]+")


def upper_first(text: str, language: str) -> str:
    """A text with a capital; Turkish has one of its own for *i*."""
    first = "İ" if language == "tr" and text[:1] == "i" else text[:1].upper()
    return first + text[1:]


def lower_first(text: str, language: str) -> str:
    """A text without its capital; Turkish *I* is another letter in lower case than elsewhere."""
    first = {"I": "ı", "İ": "i"}.get(text[:1], text[:1].lower()) if language == "tr" else text[:1].lower()
    return first + text[1:]


def with_start_of(text: str, source: str, language: str) -> str:
    """A text with a capital at its beginning, if the source has one there and the text a small letter."""
    is_lowered = source[:1].isupper() and text[:1].islower()
    return upper_first(text, language) if is_lowered else text


def without_capital_after_tag(text: str, source: str, language: str) -> str:
    """A text without the capital after a blank or tag at its beginning, if the source has none there.

    Names keep theirs: what has a capital in the source as well, and what is all capitals.
    """
    own, original = _LEADING_TAG.match(text), _LEADING_TAG.match(source)
    if own is None or original is None or language in CAPITALISED_NOUNS:
        return text
    word = _WORD.match(text, own.end())
    first = source[original.end() : original.end() + 1]
    if word is None or not word[0][0].isupper() or not first.islower() or word[0][1:2].isupper():
        return text
    names = {name.casefold() for name in _WORD.findall(source) if name[0].isupper()}
    if word[0].casefold() in names:
        return text
    return text[: own.end()] + lower_first(text[own.end() :], language)


def in_case_of_source(text: str, source: str, language: str) -> str:
    """A text that begins as its source does, as far as case goes."""
    return without_capital_after_tag(with_start_of(text, source, language), source, language)
