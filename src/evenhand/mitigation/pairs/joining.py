"""Join the pairs of all sources: each sentence once, repeated with other names, and sampled."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace

from evenhand.core.experiments import Experiment
from evenhand.core.items import BLANK, Span
from evenhand.core.probes import TermPairs
from evenhand.mitigation.pairs.counts import NameCount, PairCensus
from evenhand.mitigation.pairs.matching import EvaluationSentences
from evenhand.mitigation.pairs.twin_pairs import PairSide, PairSwap, TwinPair, replaced
from evenhand.text.digests import LowestDigests, digest_of
from evenhand.text.swappers import Role

NAMES_SAMPLE = 3_144
"""The most pairs that are kept for names alone: 6,288 sentences, as many as in the thesis that the method is from."""

_INDEFINITE_ARTICLE = re.compile(r"\b(?:a|an)\s+$", re.IGNORECASE)


class NameTable:
    """Repeats pairs over a table of name pairs.

    All names of a sentence move on in the table by the same number of rows, so that two people keep two names. A
    sentence is not repeated if one of its names is not in the table in this form (a German genitive such as *Marias*),
    or follows an English *a* or *an*, which would have to agree with it.
    """

    def __init__(self, names: TermPairs, *, language: str) -> None:
        self._article_agrees = language == "en"
        self._male, self._female = names.male, names.female
        self._row_of = {pair: row for row, pair in enumerate(names)}

    def __len__(self) -> int:
        return len(self._male)

    def repeats(self, pair: TwinPair) -> Iterator[TwinPair]:
        """The pair with each of the other name pairs; nothing if it has no name or cannot be repeated."""
        rows = [self._row(pair, swap) for swap in pair.swaps]
        named = [row for row, swap in zip(rows, pair.swaps, strict=True) if swap.role is Role.NAME]
        if not named or None in named:
            return
        for step in range(1, len(self)):
            yield self._moved(pair, [None if row is None else (row + step) % len(self) for row in rows])

    def _row(self, pair: TwinPair, swap: PairSwap) -> int | None:
        if swap.role is not Role.NAME:
            return None
        if self._article_agrees and _INDEFINITE_ARTICLE.search(pair.male, 0, swap.male.start):
            return None
        return self._row_of.get(pair.words_at(swap))

    def _moved(self, pair: TwinPair, rows: list[int | None]) -> TwinPair:
        male_words: list[tuple[Span, str]] = []
        female_words: list[tuple[Span, str]] = []
        for swap, row in zip(pair.swaps, rows, strict=True):
            words = pair.words_at(swap) if row is None else (self._male[row], self._female[row])
            in_male, in_female = reversed(words) if swap.crossed else words
            male_words.append((swap.male, in_male))
            female_words.append((swap.female, in_female))
        male, male_spans = replaced(pair.male, male_words)
        female, female_spans = replaced(pair.female, female_words)
        return replace(
            pair,
            male=male,
            female=female,
            original=PairSide.NEITHER,
            experiments=(Experiment.NAMES,),
            swaps=tuple(
                replace(swap, male=at_male, female=at_female)
                for swap, at_male, at_female in zip(pair.swaps, male_spans, female_spans, strict=True)
            ),
        )


class PairSample:
    """A sample of the pairs that are offered, whatever their order.

    Each pair has a number that depends on its text and the seed alone; those with the smallest numbers are kept.
    """

    def __init__(self, size: int, seed: int) -> None:
        self.seed = seed
        self.offered = 0
        self._lowest: LowestDigests[None] = LowestDigests(size, distinct=True)

    def offer(self, pair: TwinPair) -> None:
        """Consider a pair; the same pair again changes nothing but the number of offers."""
        self.offered += 1
        self._lowest.offer(self._number(pair), None)

    def __contains__(self, pair: TwinPair) -> bool:
        return self._number(pair) in self._lowest

    def _number(self, pair: TwinPair) -> int:
        content = f"{self.seed} {digest_of(pair.male)}".encode()
        return int.from_bytes(hashlib.blake2b(content, digest_size=8).digest(), "big")


def distinct_but_for_names(pairs: Iterable[TwinPair]) -> Iterator[TwinPair]:
    """The first of all pairs that differ only in names."""
    seen: set[int] = set()
    for pair in pairs:
        blanked, _ = replaced(pair.male, ((swap.male, BLANK) for swap in pair.swaps if _is_name(swap.role)))
        digest = digest_of(blanked)
        if digest not in seen:
            seen.add(digest)
            yield pair


def names_in(pairs: Iterable[TwinPair]) -> set[str]:
    """Every name in the pairs."""
    return {
        name for pair in pairs for swap in pair.swaps if _is_name(swap.role) for name in pair.words_at(swap)
    }


class NamelessSentences:
    """Sentences that are recognised whatever names they have.

    Names are found by their spelling, so this works for sentences whose swaps are not known.
    """

    def __init__(self, sentences: Iterable[str], *, names: Iterable[str]) -> None:
        longest_first = sorted(map(re.escape, names), key=lambda name: (-len(name), name))
        never = "(?!)"
        self._name = re.compile(rf"(?<!\w)(?:{'|'.join(longest_first) or never})(?!\w)", re.IGNORECASE)
        self._digests = frozenset(map(self._digest, sentences))

    def __contains__(self, sentence: str) -> bool:
        return self._digest(sentence) in self._digests

    def hold(self, pair: TwinPair) -> bool:
        """Whether the pair has a name, and one of its sentences is among them but for the names."""
        named = any(_is_name(swap.role) for swap in pair.swaps)
        return named and any(sentence in self for sentence in pair.sentences)

    def _digest(self, sentence: str) -> int:
        return digest_of(self._name.sub(BLANK, sentence))


def _is_name(role: Role) -> bool:
    return role is Role.NAME


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
