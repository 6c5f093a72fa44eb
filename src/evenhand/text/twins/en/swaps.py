"""One word of a sentence and its twin, in the case of the word."""

from __future__ import annotations

from evenhand.text.twins.tokens import Tokens
from evenhand.text.twins.twin import LeftOut, Role, Swap

Decision = Swap | LeftOut | None
"""What becomes of a word: exchanged, the reason to leave its sentence out, or kept."""


def in_case_of(old: str, new: str) -> str:
    """The new word with the capitals of the old one."""
    if len(old) > 1 and old.isupper():
        return new.upper()
    return new[0].upper() + new[1:] if old[0].isupper() else new


def swap(tokens: Tokens, at: int, *, new: str, role: Role, male: bool) -> Swap:
    """The exchange of the word at a place."""
    token = tokens[at]
    old = token.span.of(tokens.sentence)
    return Swap(span=token.span, old=old, new=in_case_of(old, new), role=role, male=male)


def is_name_like(tokens: Tokens, at: int) -> bool:
    """Whether a token is written like a name: with a capital, and not *I*."""
    return tokens[at].is_word and tokens[at].is_capitalised and tokens[at].text != "I"


def stands_in_compound(tokens: Tokens, at: int) -> bool:
    """Whether a hyphen joins a token to a word on either side."""
    return tokens.hyphen_after(at) or tokens.hyphen_before(at)
