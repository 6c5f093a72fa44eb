"""Split the sources of a corpus into articles of sentences, each apart from the others, and keep them on disk."""

from __future__ import annotations

import hashlib
import json
from array import array
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np

from evenhand.core.files import file_written_whole
from evenhand.core.progress import Progress
from evenhand.data.corpus_sources import CorpusSource
from evenhand.heads.articles import ArticleCounts, read_articles
from evenhand.heads.pairs import NextSentenceOptions, PairSource
from evenhand.store.jobs import Parts


@dataclass(frozen=True, slots=True)
class SplitSource:
    """A source and where its articles go once they are split into sentences. It can be sent to other processes."""

    number: int
    source: CorpusSource
    options: NextSentenceOptions
    articles: Path
    tallies: Parts

    def split(self, report: Progress | None = None) -> None:
        """Write the articles of the source, one per line, and then that it is finished."""
        identity = self.source.identity()
        counts = ArticleCounts()
        test = array("Q")
        with file_written_whole(self.path) as stream:
            for sentences in read_articles(
                self.source, language=self.options.language, counts=counts, report=report
            ):
                if len(sentences) > 1:
                    encoded = [sentence.encode() for sentence in sentences]
                    key = article_key(encoded, seed=self.options.seed)
                    stream.write(ArticleLine(key, encoded).encode() + b"\n")
                    if is_test(key, self.options.test_share):
                        test.extend(map(sentence_key, encoded))
        # These tell what training must not see; without them the file counts as unfinished.
        with file_written_whole(self.test_path) as stream:
            np.save(stream, np.array(test, dtype=np.uint64), allow_pickle=False)
        tally = {
            "source": identity,
            "articles": counts.articles,
            "sentences": counts.sentences,
            "left_out": counts.left_out,
        }
        self.tallies.put(f"{self.number:05d}", json.dumps(tally).encode())

    @property
    def path(self) -> Path:
        """The file of articles."""
        return self.articles / f"{self.number:05d}.tsv"

    @property
    def test_path(self) -> Path:
        """The file of the keys of sentences in test articles."""
        return self.articles / f"{self.number:05d}.npy"

    @property
    def finished(self) -> PairSource | None:
        """What was read of the source; None if it is not finished, or has changed since."""
        piece = self.tallies.get(f"{self.number:05d}")
        if piece is None or not self.path.is_file() or not self.test_path.is_file():
            return None
        tally = json.loads(piece)
        if tally["source"] != self.source.identity():
            return None
        return PairSource(
            name=self.source.name,
            articles=tally["articles"],
            sentences=tally["sentences"],
            left_out=tally.get("left_out", {}),
        )


Splitter = Callable[[Sequence[SplitSource], Progress], None]
"""A way to split sources into sentences: in this process, or on a cluster."""


def split_here(sources: Sequence[SplitSource], report: Progress) -> None:
    """One source after another."""
    total, before = sum(own.source.size for own in sources), 0
    for own in sources:
        own.split(lambda done, _, before=before: report(before + done, total))  # type: ignore[misc]
        before += own.source.size


class ArticleLine(NamedTuple):
    """An article as a line of a file: its key and its sentences, which hold no tabs, with tabs between them."""

    key: int
    sentences: Sequence[bytes]

    def encode(self) -> bytes:
        """The line, without its end."""
        return b"\t".join([b"%d" % self.key, *self.sentences])

    @classmethod
    def decode(cls, line: bytes) -> ArticleLine:
        """The article of a line."""
        key, *sentences = line.split(b"\t")
        return cls(int(key), sentences)


def article_key(sentences: Iterable[bytes], *, seed: int) -> int:
    """A number that depends on the sentences and the seed, and looks like chance."""
    digest = hashlib.blake2b(b"\n".join(sentences), digest_size=8, key=str(seed).encode())
    return int.from_bytes(digest.digest(), "big")


def sentence_key(sentence: bytes) -> int:
    """A number that two sentences share only if they are equal."""
    return int.from_bytes(hashlib.blake2b(sentence, digest_size=8).digest(), "big")


def is_test(key: int, share: float) -> bool:
    """Whether an article is for testing."""
    return key < share * 2**64
