"""Whether a model knows the words of sentence pairs: a sentence against itself with a word of another sentence in it.

Two sentences exchange a word each. Whoever reads finds both worse than before, whatever their subject; a model that
knows nothing finds the one with the longer word less likely, and so is right about one of the two.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import pairwise

from evenhand.core.estimates import Estimate
from evenhand.core.items import PairDirection, SentencePair
from evenhand.instruments.controls import Control
from evenhand.instruments.settled_scoring import WHOLE
from evenhand.models.model import Model
from evenhand.models.requests import Recover
from evenhand.stats.intervals import wilson_interval
from evenhand.stats.resampling import Resampling
from evenhand.store.jobs import Parts
from evenhand.text.digests import LowestDigests, digest_of

EXCHANGES = 40
"""Exchanges of words between two sentences that are asked about."""

FEWEST = 10
"""Exchanges without which nothing is said."""

_WORD = re.compile(r"(?<=\s)[^\W\d_]{4,}(?=[\s.,;:!?])")


def pair_requests(pair: SentencePair) -> tuple[Recover, Recover]:
    """The shared tokens of the more and of the less stereotypical sentence.

    The authors compare the sentence about the disadvantaged group, which comes first in their code, with the other. The
    order can matter: of two alignments that are equally long, difflib takes the one that comes first.
    """
    more_first = pair.direction is not PairDirection.ANTISTEREO
    return (
        Recover(pair.more, shared_with=pair.less, comes_first=more_first),
        Recover(pair.less, shared_with=pair.more, comes_first=not more_first),
    )


class ExchangeControl(Control):
    """Is a sentence likelier than with a word of another one?"""

    def sense(
        self,
        model: Model,
        items: Sequence[SentencePair],
        *,
        language: str,
        resampling: Resampling,
        max_tokens: int | None,
        parts: Parts | None,
    ) -> Estimate:
        """See ``Control``."""
        pairs = exchanged_words(items, language=language)
        answers = model.answer(
            [request for pair in pairs for request in pair_requests(pair)],
            items=[pair.id for pair in pairs for _ in range(2)],
            whole_items=True,
            max_tokens=max_tokens,
            parts=parts,
        )
        margins = [
            None if own.problem or other.problem else own.total - other.total
            for own, other in zip(answers[::2], answers[1::2], strict=True)
        ]
        return exchange_sense(margins, confidence=resampling.confidence)


EXCHANGE_CONTROL = ExchangeControl()


def exchanged_words(
    pairs: Sequence[SentencePair], *, language: str, most: int = EXCHANGES
) -> list[SentencePair]:
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
                id=f"sense {number}{side}",
                language=language,
                bias_type="",
                direction=PairDirection.STEREO,
                more=text,
                less=f"{text[: word.start()]}{stranger}{text[word.end() :]}",
            )
            for side, (text, word), stranger in (("a", one, other[1][0]), ("b", other, one[1][0]))
        ]
    return found if len(found) >= 2 * FEWEST else []


def exchange_sense(margins: Sequence[float | None], *, confidence: float) -> Estimate:
    """How often a sentence is likelier than with a word of another, in percent.

    Args:
        margins: By how much the sentence as it is is the likelier, two for each exchange; None where that is not known.
        confidence: Level of the interval.
    """
    wins = [
        0.5 + 0.25 * sum((own > 0) - (own < 0) for own in exchange if own is not None)
        for exchange in zip(margins[::2], margins[1::2], strict=True)
        if None not in exchange
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
