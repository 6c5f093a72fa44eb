"""Mean contextual vectors of words over a corpus, in memory that does not grow with it."""

from __future__ import annotations

import io
import json
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from itertools import islice

import numpy as np
import numpy.typing as npt

from evenhand.models.model import Model
from evenhand.models.requests import Embed
from evenhand.stats.resampling import Floats
from evenhand.store.jobs import Parts
from evenhand.text.word_search import WordFinder, WordMatch, gendered_words_in, words_of

WORDS_AT_ONCE = 512
"""Words that are gathered before the model is asked, so that sentences of one length can go together."""

BATCHES_BETWEEN_SAVES = 16
"""How often the model is asked before the means are kept again."""

PART = "means"
"""Key of the part that has the means over the sentences so far. It is replaced, so it does not grow with the corpus."""

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

    model: Model
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

    def read(self, sentences: Iterable[str], *, parts: Parts | None = None) -> None:
        """Add all sentences of a corpus.

        Args:
            sentences: From the first, whatever was read before.
            parts: Where the means over the sentences so far are kept. Those that are there are taken up, and the
                sentences behind them are passed over.
        """
        kept = parts.get(PART) if parts is not None else None
        if kept is not None:
            self._restore(kept)
        batches = 0
        for sentence in islice(sentences, self.sentences, None):
            self._waiting += [_Asked(self.sentences, sentence, found) for found in self._sought(sentence)]
            self.sentences += 1
            if len(self._waiting) >= WORDS_AT_ONCE:
                self._ask()
                batches += 1
                if parts is not None and batches % BATCHES_BETWEEN_SAVES == 0:
                    parts.put(PART, self._to_bytes())
        if self._waiting:
            self._ask()
        if parts is not None:
            parts.put(PART, self._to_bytes())

    def _to_bytes(self) -> bytes:
        """The means and counts, when no word waits: a line of JSON, then the totals as an array."""
        document = {
            "sentences": self.sentences,
            "seen": {word: [mean.occurrences, mean.sentences] for word, mean in self.means.items()},
            "beside_gendered": self.beside_gendered,
            "left_out": self.left_out,
            "problems": self.problems,
        }
        buffer = io.BytesIO(json.dumps(document).encode() + b"\n")
        buffer.seek(0, io.SEEK_END)
        np.save(buffer, np.array([mean.total for mean in self.means.values()]), allow_pickle=False)
        return buffer.getvalue()

    def _restore(self, kept: bytes) -> None:
        stream = io.BytesIO(kept)
        document = json.loads(stream.readline())
        totals = np.load(stream, allow_pickle=False)
        self.sentences = document["sentences"]
        self.means = {
            word: RunningMean(total, occurrences, sentences)
            for (word, (occurrences, sentences)), total in zip(document["seen"].items(), totals, strict=True)
        }
        self.beside_gendered = Counter(document["beside_gendered"])
        self.left_out = Counter(document["left_out"])
        self.problems = document["problems"]

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
        answers = self.model.answer([Embed(each.text, each.found.span, self.layer) for each in asked])
        counted: set[tuple[int, str]] = set()
        missed: set[tuple[int, str]] = set()
        for each, answer in zip(asked, answers, strict=True):
            word = each.found.word
            if answer.vector is None:
                reason = answer.problem or ""
                missed.add((each.sentence, reason))
                self.problems[word] = reason
            else:
                mean = self.means.setdefault(word, RunningMean.of_width(len(answer.vector)))
                mean.add(answer.vector, in_new_sentence=(each.sentence, word) not in counted)
                counted.add((each.sentence, word))
        self.left_out.update(reason for _, reason in missed)
