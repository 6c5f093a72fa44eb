"""Sentences that are the same but for their names, as a sentence and its repeats are."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from evenhand.core.items import BLANK
from evenhand.mitigation.pairs.digests import digest_of
from evenhand.mitigation.pairs.pairing import Pair, replaced
from evenhand.text.twins.twin import Role


def one_of_each(pairs: Iterable[Pair]) -> Iterator[Pair]:
    """Of pairs that differ in names alone, the first."""
    seen: set[int] = set()
    for pair in pairs:
        blanked, _ = replaced(
            pair.male, ((place.male, BLANK) for place in pair.places if _is_name(place.role))
        )
        digest = digest_of(blanked)
        if digest not in seen:
            seen.add(digest)
            yield pair


def names_in(pairs: Iterable[Pair]) -> set[str]:
    """Every name that pairs have."""
    return {
        name
        for pair in pairs
        for place in pair.places
        if _is_name(place.role)
        for name in pair.words_at(place)
    }


class NamelessSentences:
    """Sentences to be found again whatever names are put into them.

    A name is found wherever it is written, so this works for sentences of which nobody knows where their names stand.
    """

    def __init__(self, sentences: Iterable[str], *, names: Iterable[str]) -> None:
        longest_first = sorted(map(re.escape, names), key=lambda name: (-len(name), name))
        never = "(?!)"
        self._name = re.compile(rf"(?<!\w)(?:{'|'.join(longest_first) or never})(?!\w)", re.IGNORECASE)
        self._digests = frozenset(map(self._digest, sentences))

    def __contains__(self, sentence: str) -> bool:
        return self._digest(sentence) in self._digests

    def hold(self, pair: Pair) -> bool:
        """Whether the pair has a name, and one of its sentences is among them but for the names."""
        named = any(_is_name(place.role) for place in pair.places)
        return named and any(sentence in self for sentence in pair.sentences)

    def _digest(self, sentence: str) -> int:
        return digest_of(self._name.sub(BLANK, sentence))


def _is_name(role: Role) -> bool:
    return role is Role.NAME
