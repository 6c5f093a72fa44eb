"""English sentences as words and punctuation, and the swap of a single word."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property

from evenhand.core.items import Span
from evenhand.text.swappers import Rejected, Role, Swap

_TOKEN = re.compile(
    r"ma['’]am\b"
    r"|@-@"  # a hyphen as corpora write it that have spaces between all tokens
    r"|['’](?:s|d|ll|ve|re|m)\b"
    r"|[^\W\d_]+(?:['’]t\b)?"
    r"|\d[\d.,]*"
    r"|<unk>"  # an unknown word, as corpora write it
    r"|--+|\.\.\.+"
    r"|\S",
    re.IGNORECASE,
)
UNKNOWN_WORD = "<unk>"
_HYPHENS = frozenset({"-", "‐", "‑", "@-@"})
_QUOTES = frozenset("\"'“”‘’`«»")
_SENTENCE_ENDS = frozenset(".!?:;…—–([*") | {"--", "..."}
WordOutcome = Swap | Rejected | None
"""The outcome for a word: a swap, the reason to reject its sentence, or None if the word is kept."""


@dataclass(frozen=True)
class Token:
    """A word, a clitic such as *'s*, or a punctuation mark."""

    text: str
    lower: str
    start: int
    end: int
    spaced: bool
    """Whether white space, or nothing, comes before it."""

    @property
    def span(self) -> Span:
        """Its position in the sentence."""
        return Span(self.start, self.end)

    @cached_property
    def is_word(self) -> bool:
        """Whether it is a word, perhaps one that the corpus hides."""
        return self.text[0].isalpha() or self.text == UNKNOWN_WORD

    @cached_property
    def is_capitalised(self) -> bool:
        """Whether it begins with a capital letter."""
        return self.text[0].isupper()

    @property
    def is_hyphen(self) -> bool:
        """Whether it joins words to a compound."""
        return self.text in _HYPHENS

    @property
    def is_quote(self) -> bool:
        """Whether it is a quotation mark."""
        return self.text in _QUOTES


NOTHING = Token(text=" ", lower="", start=-1, end=-1, spaced=True)
"""The token before the first and after the last."""


class Tokens:
    """The tokens of a sentence. Positions beyond its ends give ``NOTHING``."""

    def __init__(self, sentence: str) -> None:
        self.sentence = sentence
        self._tokens: list[Token] = []
        end = -1
        for match in _TOKEN.finditer(sentence):
            text = match[0].replace("’", "'")
            self._tokens.append(Token(text, text.lower(), match.start(), match.end(), match.start() != end))
            end = match.end()

    def __len__(self) -> int:
        return len(self._tokens)

    def __getitem__(self, place: int) -> Token:
        return self._tokens[place] if 0 <= place < len(self._tokens) else NOTHING

    def lower(self) -> list[str]:
        """All tokens in lower case."""
        return [token.lower for token in self._tokens]

    @cached_property
    def is_shouted(self) -> bool:
        """Whether the whole sentence is in capitals."""
        letters = [token.text for token in self._tokens if token.is_word]
        return len(letters) > 1 and all(text.isupper() for text in letters)

    def begins(self, place: int) -> bool:
        """Whether a word would be capitalised anyway: first in the sentence, in a quotation or after a stop."""
        before = self[place - 1]
        return before is NOTHING or before.is_quote or before.text in _SENTENCE_ENDS

    def has_name_capital(self, place: int) -> bool:
        """Whether a word has a capital that its position does not account for."""
        return self[place].is_capitalised and not self.is_shouted and not self.begins(place)

    def hyphen_after(self, place: int) -> bool:
        """Whether a hyphen joins a token to the next word."""
        return self[place + 1].is_hyphen and self[place + 2].is_word and self._joined(place + 1)

    def hyphen_before(self, place: int) -> bool:
        """Whether a hyphen joins a token to the word before it."""
        return self[place - 1].is_hyphen and self[place - 2].is_word and self._joined(place - 1)

    def opens_quotation(self, place: int) -> bool:
        """Whether a token is a quotation mark before what is quoted."""
        return self[place].is_quote and self[place].spaced and not self[place + 1].spaced

    def _joined(self, place: int) -> bool:
        return self[place].text == "@-@" or not (self[place].spaced or self[place + 1].spaced)


def in_case_of(old: str, new: str) -> str:
    """The new word with the capitals of the old one."""
    if len(old) > 1 and old.isupper():
        return new.upper()
    return new[0].upper() + new[1:] if old[0].isupper() else new


def swap(tokens: Tokens, at: int, *, new: str, role: Role, male: bool) -> Swap:
    """The swap of the word at a position."""
    token = tokens[at]
    old = token.span.of(tokens.sentence)
    return Swap(span=token.span, old=old, new=in_case_of(old, new), role=role, male=male)


def is_name_like(tokens: Tokens, at: int) -> bool:
    """Whether a token is written like a name: with a capital, and not *I*."""
    return tokens[at].is_word and tokens[at].is_capitalised and tokens[at].text != "I"


def stands_in_compound(tokens: Tokens, at: int) -> bool:
    """Whether a hyphen joins a token to a word on either side."""
    return tokens.hyphen_after(at) or tokens.hyphen_before(at)
