"""A swapper that anybody can check by eye: it exchanges listed words, and knows no grammar."""

from __future__ import annotations

import re
from dataclasses import dataclass

from evenhand.core.items import Span
from evenhand.text.swappers import Rejected, Role, Swap, Twin

WORDS = {
    Role.SUBJECT: [("he", "she")],
    Role.OBJECT: [("him", "her")],
    Role.POSSESSIVE: [("his", "hers")],  # not English, so that every word has one counterpart
    Role.NOUN: [("dad", "mum"), ("dad", "mom"), ("man", "woman")],
    Role.NAME: [("James", "Mary"), ("Robert", "Patricia"), ("Michael", "Jennifer")],
}
MALE = {male: (role, female) for role, pairs in WORDS.items() for male, female in reversed(pairs)}
FEMALE = {female: (role, male) for role, pairs in WORDS.items() for male, female in pairs}
DOUBTFUL = "whose it is cannot be told"


@dataclass
class PlainSwapper:
    language: str = "en"

    def twin(self, sentence: str) -> Twin | Rejected:
        if "theirs" in sentence:
            return Rejected(DOUBTFUL)
        swaps = []
        for match in re.finditer(r"\w+", sentence):
            word = match[0]
            key = word if word in MALE or word in FEMALE else word.lower()
            male = key in MALE
            if not male and key not in FEMALE:
                continue
            role, other = (MALE if male else FEMALE)[key]
            new = other.capitalize() if word[0].isupper() else other
            swaps.append(Swap(Span(*match.span()), word, new, role, male))
        text = sentence
        for swap in reversed(swaps):
            text = text[: swap.span.start] + swap.new + text[swap.span.end :]
        return Twin(text, tuple(swaps))
