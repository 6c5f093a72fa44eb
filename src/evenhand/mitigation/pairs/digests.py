"""Sentences as numbers of eight bytes, so that millions of them can be kept in mind."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from evenhand.core.items import BLANK
from evenhand.core.probe_sentences import open_term
from evenhand.core.probes import ProbeSet


def digest_of(sentence: str) -> int:
    """The same for sentences that differ in case and white space alone.

    Two sentences in ten million share a digest by chance once in 370,000 times.
    """
    normal = " ".join(sentence.split()).casefold()
    return int.from_bytes(hashlib.blake2b(normal.encode(), digest_size=8).digest(), "big")


@dataclass(frozen=True, slots=True)
class EvaluationSentences:
    """The sentences that a model is judged by, which it must not be trained on."""

    digests: npt.NDArray[np.uint64]
    """Sorted, each once."""

    def __len__(self) -> int:
        return len(self.digests)

    def __contains__(self, sentence: str) -> bool:
        return self.holds(digest_of(sentence))

    def holds(self, digest: int) -> bool:
        """Whether a sentence of this digest is among them."""
        wanted = np.uint64(digest)
        place = int(np.searchsorted(self.digests, wanted))
        return place < len(self.digests) and bool(self.digests[place] == wanted)

    def overlap(self, sentences: Iterable[str]) -> int:
        """How many of the sentences are among them."""
        return sum(sentence in self for sentence in sentences)


def overlap_with(probes: ProbeSet) -> EvaluationSentences:
    """Every structure of the probes with every form of every occupation and every term of its experiment."""
    found: set[int] = set()
    for structure in probes.structures:
        terms = probes.terms[structure.experiment].all
        for occupation in probes.occupations:
            for form in occupation.forms:
                opened = open_term(structure, form, terms=terms)
                found.update(digest_of(opened.text.replace(BLANK, fill)) for fill in opened.fills)
    return EvaluationSentences(np.fromiter(sorted(found), dtype=np.uint64, count=len(found)))
