"""Gaps: sentences as tokens around a gendered term, with the tree of what could stand there."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from evenhand.core.errors import EvenhandError
from evenhand.core.probes import Experiment, TermPairs
from evenhand.mitigation.equalising.selection import Finder, OnlyTerm
from evenhand.mitigation.equalising.term_trees import Sides, TermTree, told_apart
from evenhand.models.engine.requests import Tokens
from evenhand.models.language_model import LanguageModel
from evenhand.models.objectives.sentences import longest_row
from evenhand.models.references import ModelError
from evenhand.models.tokenised_text import prepare, tokenise
from evenhand.text.digests import LowestDigests, digest_of

BLOCK = 1_000
"""Sentences that are tokenised in one go."""

MOST_GAPS = 50_000
"""Gaps of an experiment that are kept in memory, chosen by the digests of their sentences."""


@dataclass(frozen=True, slots=True)
class Gap:
    """What stands before and after a term, as tokens, and which tree has the words for the gap."""

    before: Tokens
    after: Tokens
    tree: int
    word: Tokens
    """What stood there."""

    def __len__(self) -> int:
        return len(self.before) + len(self.word) + len(self.after)


class Gaps:
    """The gaps of a corpus for one model, and why other sentences were left out."""

    def __init__(self, model: LanguageModel, *, max_tokens: int | None = None) -> None:
        self.found: list[Gap] = []
        self.trees: list[TermTree] = []
        self.experiments: Counter[Experiment] = Counter()
        self.left_out: Counter[str] = Counter()
        self._tokenizer = model.loaded.tokenizer
        self._longest = longest_row(model, max_tokens)
        self._kept: dict[Experiment, LowestDigests[tuple[int, Gap]]] = {}
        self._read = 0
        self._special = model.family.adds_special_tokens
        start = model.family.text_start(model.loaded)
        self._start = () if start is None else (start,)
        self._numbers: dict[tuple[tuple[TermPairs, ...], str], int | None] = {}

    def collect(self, sentences: Iterable[str], find: Finder) -> Iterator[str]:
        """Take the sentences that have a term and nothing else that is gendered; give back the others."""
        waiting: list[tuple[str, OnlyTerm]] = []
        for sentence in sentences:
            term = find(sentence)
            if term is None:
                yield sentence
            else:
                waiting.append((sentence, term))
                if len(waiting) == BLOCK:
                    self._take(waiting)
                    waiting.clear()
        self._take(waiting)
        self._finish()

    def _take(self, chosen: list[tuple[str, OnlyTerm]]) -> None:
        prepare(self._tokenizer, (sentence for sentence, _ in chosen), special=self._special)
        for sentence, term in chosen:
            gap = self._gap(sentence, term)
            if isinstance(gap, str):
                self.left_out[gap] += 1
            else:
                sample = self._kept.setdefault(term.experiment, LowestDigests(MOST_GAPS, distinct=False))
                sample.offer(digest_of(sentence), (self._read, gap))
                self._read += 1

    def _finish(self) -> None:
        kept = [found for sample in self._kept.values() for found in sample.as_offered()]
        self.found = [gap for _, gap in sorted(kept, key=lambda found: found[0])]
        self.experiments = Counter({experiment: len(sample) for experiment, sample in self._kept.items()})
        if self._read > len(kept):
            self.left_out[f"more than {MOST_GAPS:,} for an experiment"] = self._read - len(kept)

    def _gap(self, sentence: str, term: OnlyTerm) -> Gap | str:
        tokenised = tokenise(self._tokenizer, sentence, special=self._special)
        places = tokenised.overlapping(term.span)
        if not places:
            return "the tokenizer drops the term"
        before = (*self._start, *tokenised.ids[: places[0]])
        after = tokenised.ids[places[-1] + 1 :]
        word = tokenised.ids[places[0] : places[-1] + 1]
        number = self._tree_number(term, sentence[: term.span.start][-1:])
        if number is None or word not in self.trees[number].words:
            return "the term's tokens are not its own"
        if not before and self._special is False:
            return "nothing stands before the term, so the model cannot expect it"
        longest = max(map(len, self.trees[number].words))
        if self._longest is not None and len(before) + longest + len(after) > self._longest:
            return f"it is longer than the {self._longest:,} tokens that a row may have"
        return Gap(before, after, number, word)

    def _tree_number(self, term: OnlyTerm, preceding: str) -> int | None:
        key = (term.choices, preceding)
        if key not in self._numbers:
            tree = told_apart([self._sides(pairs, preceding) for pairs in term.choices])
            self._numbers[key] = len(self.trees) if tree.groups else None
            if tree.groups:
                self.trees.append(tree)
        return self._numbers[key]

    def _sides(self, pairs: TermPairs, preceding: str) -> Sides:
        male, female = (
            tuple(tokens for word in side if (tokens := self._tokens(word, preceding)))
            for side in (pairs.male, pairs.female)
        )
        return Sides(male, female)

    def _tokens(self, word: str, preceding: str) -> Tokens | None:
        """A word's tokens behind a character; None if one of them is unknown."""
        lead = f"a{preceding}" if preceding.isspace() else preceding
        tokenised = tokenise(self._tokenizer, lead + word, special=self._special)
        own = tuple(
            tokenised.ids[place]
            for place, span in enumerate(tokenised.spans)
            if span is not None and span[1] > len(lead)
        )
        return None if self._tokenizer.unk_token_id in own else own

    def refuse_if_missing(self, wanted: Iterable[Experiment]) -> None:
        """An error if an experiment has no sentence at all.

        Raises:
            EvenhandError: If the corpus has none.
            ModelError: If it has some, but the model can read none of them.
        """
        missing = [experiment for experiment in wanted if not self.experiments[experiment]]
        if not missing:
            return
        names = ", ".join(experiment.value for experiment in missing)
        if self.left_out:
            reasons = "; ".join(f"{reason} ({count:,})" for reason, count in self.left_out.most_common(3))
            raise ModelError(f"No sentence can be used for {names}: {reasons}.")
        raise EvenhandError(
            f"The corpus has no sentence for {names}: none whose only gendered word is such a term. Give more text, or "
            "choose other experiments."
        )
