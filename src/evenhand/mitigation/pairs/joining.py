"""Join the pairs of all sources: each sentence once, names repeated and sampled."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from evenhand.core.probes import Experiment
from evenhand.mitigation.pairs.counts import NameCount, PairCensus
from evenhand.mitigation.pairs.matching import EvaluationSentences
from evenhand.mitigation.pairs.names import NameTable, PairSample
from evenhand.mitigation.pairs.twin_pairs import PairSide, TwinPair
from evenhand.text.digests import digest_of


@dataclass(slots=True)
class PairJoiner:
    """Joins the pairs of the sources.

    Pairs are read three times rather than kept in memory: to find repeats, to draw the sample, and to write.
    Only digests of eight bytes are in memory.

    Attributes:
        read: Reads the pairs, always in the same order.
        names: The table of names; None without the experiment on names.
        sample: Draws among the pairs with names.
        evaluation: Sentences that are kept out.
        census: Counts what goes by.
        repeated: Sentences that were left out because they or their twins were there already.
    """

    read: Callable[[], Iterator[TwinPair]]
    names: NameTable | None
    sample: PairSample
    evaluation: EvaluationSentences
    census: PairCensus
    repeated: int = 0
    _seen: set[int] = field(default_factory=set)
    _is_kept: bytearray = field(default_factory=bytearray)
    _named: int = 0
    _repeatable: int = 0
    _sampled: int = 0

    def pairs(self) -> Iterator[TwinPair]:
        """Every pair, in the order of the corpus, each followed by its repeats. No sentence occurs twice."""
        self._find_repeats()
        if self.names:
            self._draw(self.names)
        for pair in self._written():
            self.census.add_pair(pair)
            yield pair

    @property
    def name_count(self) -> NameCount:
        """How many sentences with names there were, and what became of them."""
        return NameCount(
            sentences=self._named, repeated=self._repeatable, pool=self.sample.offered, kept=self._sampled
        )

    def _find_repeats(self) -> None:
        for pair in self.read():
            digests = {digest_of(sentence) for sentence in pair.sentences}
            is_new = self._seen.isdisjoint(digests)
            self._is_kept.append(is_new)
            if is_new:
                self._seen |= digests
                self.census.add_sentence(pair)
            else:
                self.repeated += 1

    def _draw(self, names: NameTable) -> None:
        for pair in self._kept():
            if Experiment.NAMES not in pair.experiments:
                continue
            self._named += 1
            if _is_for_names_alone(pair):
                self.sample.offer(pair)
            repeats = self._repeats(pair, names)
            self._repeatable += bool(repeats)
            for repeat in repeats:
                self.sample.offer(repeat)

    def _written(self) -> Iterator[TwinPair]:
        made: set[int] = set()
        for pair in self._kept():
            sampled = _is_for_names_alone(pair) and pair in self.sample
            self._sampled += sampled
            if sampled or not _is_for_names_alone(pair):
                yield pair
            if self.names is None or Experiment.NAMES not in pair.experiments:
                continue
            for repeat in self._repeats(pair, self.names):
                digests = {digest_of(sentence) for sentence in repeat.sentences}
                if repeat in self.sample and made.isdisjoint(digests):
                    made |= digests
                    self._sampled += 1
                    yield repeat

    def _kept(self) -> Iterator[TwinPair]:
        for is_kept, pair in zip(self._is_kept, self.read(), strict=True):
            if is_kept:
                yield pair

    def _repeats(self, pair: TwinPair, names: NameTable) -> list[TwinPair]:
        """The repeats that are neither in the corpus nor in the evaluation."""
        return [
            repeat
            for repeat in names.repeats(pair)
            if not any(
                digest in self._seen or self.evaluation.holds(digest)
                for digest in map(digest_of, repeat.sentences)
            )
        ]


def _is_for_names_alone(pair: TwinPair) -> bool:
    return pair.experiments == (Experiment.NAMES,) and pair.original is not PairSide.NEITHER
