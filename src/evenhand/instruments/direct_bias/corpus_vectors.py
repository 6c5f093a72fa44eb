"""Mean contextual vectors of words over a corpus, in memory that does not grow with it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from evenhand.models.capabilities import Embeds, NotEmbedded
from evenhand.stats.resampling import Floats
from evenhand.text.word_search import WordFinder, WordMatch, gendered_words_in, words_of

WORDS_AT_ONCE = 512
"""Words that are gathered before the model is asked, so that sentences of one length can go together."""

NOTHING_SOUGHT = "neither a pronoun nor a profession in it"
BESIDE_GENDERED = "a profession beside a word that tells a gender"


@dataclass(slots=True)
class RunningMean:
    """The mean of vectors that are seen one at a time."""

    total: Floats
    occurrences: int = 0
    sentences: int = 0

    @classmethod
    def of_width(cls, width: int) -> RunningMean:
        """Nothing seen yet."""
        return cls(np.zeros(width))

    def add(self, vector: npt.NDArray[np.float32], *, in_new_sentence: bool) -> None:
        """Count a vector."""
        self.total += vector
        self.occurrences += 1
        self.sentences += in_new_sentence

    @property
    def vector(self) -> Floats:
        """The mean of the vectors so far."""
        return self.total / self.occurrences


@dataclass(slots=True)
class _Asked:
    """A word in a sentence that waits for its vector."""

    sentence: int
    text: str
    found: WordMatch


@dataclass(slots=True)
class CorpusVectors:
    """The mean vector of every pronoun and noun over the sentences of a corpus.

    A noun counts only in sentences without a gendered word; a pronoun counts everywhere. A word that stands twice in a
    sentence counts twice.

    Attributes:
        model: What gives the vectors.
        layer: Of the model.
        pronouns: Finds the pronouns.
        nouns: Finds the nouns.
        gendered: Words beside which a noun does not count.
        means: What was found, by word.
        beside_gendered: In how many sentences a noun stood beside a gendered word, by noun.
        left_out: Sentences in which something or everything did not count, by reason.
        problems: For each word, why the model gave no vector of it, where it did not.
        sentences: How many were read.
    """

    model: Embeds
    layer: int
    pronouns: WordFinder
    nouns: WordFinder
    gendered: frozenset[str]
    means: dict[str, RunningMean] = field(default_factory=dict)
    beside_gendered: Counter[str] = field(default_factory=Counter)
    left_out: Counter[str] = field(default_factory=Counter)
    problems: dict[str, str] = field(default_factory=dict)
    sentences: int = 0
    _waiting: list[_Asked] = field(default_factory=list)

    def read(self, sentences: Iterable[str]) -> None:
        """Add all sentences of a corpus."""
        for sentence in sentences:
            self._waiting += [_Asked(self.sentences, sentence, found) for found in self._sought(sentence)]
            self.sentences += 1
            if len(self._waiting) >= WORDS_AT_ONCE:
                self._ask()
        self._ask()

    def _sought(self, sentence: str) -> list[WordMatch]:
        """The words of a sentence whose vectors count."""
        words = words_of(sentence)
        pronouns = self.pronouns.find(sentence) if self.pronouns.may_be_among(words) else []
        nouns = self.nouns.find(sentence) if self.nouns.may_be_among(words) else []
        if not pronouns and not nouns:
            self.left_out[NOTHING_SOUGHT] += 1
        if nouns and gendered_words_in(words, self.gendered):
            self.left_out[BESIDE_GENDERED] += 1
            self.beside_gendered.update({found.word for found in nouns})
            nouns = []
        return pronouns + nouns

    def _ask(self) -> None:
        asked, self._waiting = self._waiting, []
        vectors = self.model.embed_words(
            [each.text for each in asked], [each.found.span for each in asked], layer=self.layer
        )
        counted: set[tuple[int, str]] = set()
        missed: set[tuple[int, str]] = set()
        for each, vector in zip(asked, vectors, strict=True):
            word = each.found.word
            if isinstance(vector, NotEmbedded):
                missed.add((each.sentence, vector.reason))
                self.problems[word] = vector.reason
            else:
                mean = self.means.setdefault(word, RunningMean.of_width(len(vector)))
                mean.add(vector, in_new_sentence=(each.sentence, word) not in counted)
                counted.add((each.sentence, word))
        self.left_out.update(reason for _, reason in missed)
