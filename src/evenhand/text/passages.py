"""Passages: sentences that follow each other, joined until they are long enough."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import groupby
from operator import itemgetter

PASSAGE = 4_000
"""Characters of a passage at least: near a thousand tokens of English."""

FEWEST_PASSAGES, MOST_PASSAGES = 20, 100
"""That quality is read from."""


def joined_passages(sentences: Iterable[tuple[str, int]]) -> Iterator[tuple[str, int]]:
    """Passages of sentences that come with their documents, each with its own; the rest of a document is dropped."""
    for document, own in groupby(sentences, key=itemgetter(1)):
        joined: list[str] = []
        length = 0
        for sentence, _ in own:
            joined.append(sentence)
            length += len(sentence) + 1
            if length >= PASSAGE:
                yield " ".join(joined), document
                joined, length = [], 0
