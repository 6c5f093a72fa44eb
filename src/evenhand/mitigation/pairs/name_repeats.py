"""A sentence with a name, repeated with other names, and a sample of the repeats."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator
from dataclasses import replace

from evenhand.core.probes import Experiment, TermPairs
from evenhand.core.spans import Span
from evenhand.mitigation.pairs.digests import digest_of
from evenhand.mitigation.pairs.pairing import Pair, Place, Side, replaced
from evenhand.text.sampling import LowestDigests
from evenhand.text.twins.twin import Role

NAMES_SAMPLE = 3_144
"""Pairs for names alone that are kept at most: 6,288 sentences, as many as in the thesis that the method is from."""

_INDEFINITE_ARTICLE = re.compile(r"\b(?:a|an)\s+$", re.IGNORECASE)


class NameTable:
    """Repeats pairs over a table of name pairs.

    All names of a sentence move on in the table by the same number of rows, so that two people keep two names. A
    sentence is not repeated if one of its names is not in the table as it stands (a German genitive such as *Marias*),
    or stands after an English *a* or *an*, which would have to agree with it.
    """

    def __init__(self, names: TermPairs, *, language: str) -> None:
        self._article_agrees = language == "en"
        self._male, self._female = names.male, names.female
        self._row_of = {pair: row for row, pair in enumerate(names)}

    def __len__(self) -> int:
        return len(self._male)

    def repeats(self, pair: Pair) -> Iterator[Pair]:
        """The pair with each of the other name pairs; nothing if it has no name or cannot be repeated."""
        rows = [self._row(pair, place) for place in pair.places]
        named = [row for row, place in zip(rows, pair.places, strict=True) if place.role is Role.NAME]
        if not named or None in named:
            return
        for step in range(1, len(self)):
            yield self._moved(pair, [None if row is None else (row + step) % len(self) for row in rows])

    def _row(self, pair: Pair, place: Place) -> int | None:
        if place.role is not Role.NAME:
            return None
        if self._article_agrees and _INDEFINITE_ARTICLE.search(pair.male, 0, place.male.start):
            return None
        return self._row_of.get(pair.words_at(place))

    def _moved(self, pair: Pair, rows: list[int | None]) -> Pair:
        male_words: list[tuple[Span, str]] = []
        female_words: list[tuple[Span, str]] = []
        for place, row in zip(pair.places, rows, strict=True):
            words = pair.words_at(place) if row is None else (self._male[row], self._female[row])
            in_male, in_female = reversed(words) if place.crossed else words
            male_words.append((place.male, in_male))
            female_words.append((place.female, in_female))
        male, male_spans = replaced(pair.male, male_words)
        female, female_spans = replaced(pair.female, female_words)
        return replace(
            pair,
            male=male,
            female=female,
            original=Side.NEITHER,
            experiments=(Experiment.NAMES,),
            places=tuple(
                replace(place, male=at_male, female=at_female)
                for place, at_male, at_female in zip(pair.places, male_spans, female_spans, strict=True)
            ),
        )


class Sample:
    """So many of the pairs that are offered, whatever the order they are offered in.

    Each pair has a number that depends on its text and the seed alone; those with the smallest numbers are kept.
    """

    def __init__(self, size: int, seed: int) -> None:
        self.seed = seed
        self.offered = 0
        self._lowest: LowestDigests[None] = LowestDigests(size, distinct=True)

    def offer(self, pair: Pair) -> None:
        """Consider a pair; the same pair again changes nothing but the number of offers."""
        self.offered += 1
        self._lowest.offer(self._number(pair), None)

    def __contains__(self, pair: Pair) -> bool:
        return self._number(pair) in self._lowest

    def _number(self, pair: Pair) -> int:
        content = f"{self.seed} {digest_of(pair.male)}".encode()
        return int.from_bytes(hashlib.blake2b(content, digest_size=8).digest(), "big")
