"""Whether a model knows the words of sentence pairs: a sentence against itself with a word of another sentence in it.

Two sentences exchange a word each. Whoever reads finds both worse than before, whatever their subject; a model that
knows nothing finds the one with the longer word less likely, and so is right about one of the two.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import pairwise

from evenhand.core.estimates import Estimate
from evenhand.core.items import PairDirection, PairSet, SentencePair
from evenhand.instruments.pair_scoring import PairScore
from evenhand.instruments.settled_scoring import WHOLE
from evenhand.stats.intervals import wilson_interval
from evenhand.text.digests import LowestDigests, digest_of

EXCHANGES = 40
"""Exchanges of words between two sentences that are asked about."""

FEWEST = 10
"""Exchanges without which nothing is said."""

SENSE = "sense"

_WORD = re.compile(r"(?<=\s)[^\W\d_]{4,}(?=[\s.,;:!?])")


def exchanged_words(pairs: PairSet, *, most: int = EXCHANGES) -> list[SentencePair]:
    """Sentences beside themselves with a word of another one, two for each exchange; ``more`` is the sentence as it is.

    Sentences are chosen by their digests, and exchange the longest word behind their first. Where they are too few to
    say anything, there are none.
    """
    chosen: LowestDigests[tuple[str, re.Match[str]]] = LowestDigests(2 * most, distinct=True)
    for pair in pairs:
        words = list(_WORD.finditer(pair.more))
        if pair.complete and words:
            longest = max(words, key=lambda word: len(word[0]))
            chosen.offer(digest_of(pair.more), (pair.more, longest))
    found: list[SentencePair] = []
    sentences = chosen.by_digest()
    for number, (one, other) in enumerate(list(pairwise(sentences))[::2]):
        if one[1][0].casefold() == other[1][0].casefold():
            continue
        found += [
            SentencePair(
                id=f"{SENSE} {number}{side}",
                language=pairs.language,
                bias_type="",
                direction=PairDirection.STEREO,
                more=text,
                less=f"{text[: word.start()]}{stranger}{text[word.end() :]}",
            )
            for side, (text, word), stranger in (("a", one, other[1][0]), ("b", other, one[1][0]))
        ]
    return found if len(found) >= 2 * FEWEST else []


def exchange_sense(scores: Sequence[PairScore], *, confidence: float) -> Estimate:
    """How often a sentence is likelier than with a word of another, in percent, from two scores for each exchange."""
    wins = [
        0.5 + 0.25 * sum((own.more > own.less) - (own.more < own.less) for own in exchange)
        for exchange in zip(scores[::2], scores[1::2], strict=True)
        if all(own.problem is None for own in exchange)
    ]
    if len(wins) < FEWEST:
        return Estimate.undefined(
            f"{len(wins)} exchanges of words could be asked about; at least {FEWEST} are needed"
        )
    share = sum(wins) / len(wins)
    interval = wilson_interval(share, len(wins), confidence=confidence)
    return Estimate(
        value=WHOLE * share,
        low=WHOLE * interval.low,
        high=WHOLE * interval.high,
        n=2 * len(wins),
        clusters=len(wins),
        method=f"{interval.method}, over exchanges",
    )
