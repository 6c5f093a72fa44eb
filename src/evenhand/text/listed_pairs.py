"""Twins by lists of terms: of pairs of words that somebody gives, about men and women or about any other two groups.

Terms of men and women are exchanged together with every other gendered word, as the grammar of the language has it.
Terms of other groups are exchanged alone: *the German baker and her dog* becomes *the Turkish baker and her dog*.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from evenhand.core.experiments import TRAINED_EXPERIMENTS, Experiment
from evenhand.core.probes import TermPairs
from evenhand.text.swappers import NO_GENDERED_WORD, Rejected, Role, Swap, Swapper, Twin, swapper_for
from evenhand.text.word_search import WordFinder, WordMatch

_ARTICLE = re.compile(r"\ban?\s+$", re.IGNORECASE)
_VOWELS = frozenset("aeiou")

ARTICLE = "the article before a term would not fit the other one"


@dataclass(frozen=True, slots=True)
class _Term:
    """A listed term: its experiment, its counterpart, and whether it is of the first group."""

    experiment: Experiment
    other: str
    is_first: bool
    tells_gender: bool


@dataclass(slots=True)
class ListedSwapper:
    """Writes twins with listed terms, on top of what the grammar of a language knows.

    Attributes:
        grammar: Exchanges gendered words that no list has.
        terms: Of experiments that the grammar does not know by itself.
    """

    grammar: Swapper
    terms: Mapping[Experiment, TermPairs]
    language: str = field(init=False)
    _known: Mapping[str, _Term] = field(init=False)
    _finder: WordFinder = field(init=False)

    def __post_init__(self) -> None:
        self._known = {
            word: _Term(experiment, other, is_first, pairs.tell_gender)
            for experiment, pairs in self.terms.items()
            for first, second in pairs
            for word, other, is_first in ((first, second, True), (second, first, False))
        }
        self.language = self.grammar.language
        self._finder = WordFinder.of_nouns(self._known)

    def twin(self, sentence: str) -> Twin | Rejected:
        """The twin by grammar, with listed terms exchanged as their list says."""
        matches = self._finder.find(sentence)
        others = [match for match in matches if not self._known[match.word].tells_gender]
        if others:
            return self._of_other_groups(sentence, others)
        twin = self.grammar.twin(sentence)
        if not matches or (isinstance(twin, Rejected) and twin != NO_GENDERED_WORD):
            return twin
        listed = {match.span: self._swap(sentence, match) for match in matches}
        by_grammar = {} if isinstance(twin, Rejected) else {swap.span: swap for swap in twin.swaps}
        swaps = {**by_grammar, **listed}
        return Twin.of(sentence, (swaps[span] for span in sorted(swaps, key=lambda span: span.start)))

    def _of_other_groups(self, sentence: str, matches: list[WordMatch]) -> Twin | Rejected:
        swaps = [self._swap(sentence, match) for match in matches]
        if self.language == "en" and any(_needs_another_article(sentence, swap) for swap in swaps):
            return Rejected(ARTICLE)
        return Twin.of(sentence, swaps)

    def _swap(self, sentence: str, match: WordMatch) -> Swap:
        term, old = self._known[match.word], match.span.of(sentence)
        new = term.other if old == match.word else term.other[:1].upper() + term.other[1:]
        return Swap(match.span, old, new, Role.TERM, male=term.is_first, listed_in=term.experiment)


def _needs_another_article(sentence: str, swap: Swap) -> bool:
    starts = [word[:1].casefold() in _VOWELS for word in (swap.old, swap.new)]
    return starts[0] != starts[1] and _ARTICLE.search(sentence, 0, swap.span.start) is not None


def swapper_with(language: str, terms: Mapping[Experiment, TermPairs]) -> Swapper:
    """A swapper of a language that also exchanges the terms of experiments which its grammar does not know."""
    listed = {experiment: pairs for experiment, pairs in terms.items() if is_listed(experiment, pairs)}
    return ListedSwapper(swapper_for(language), listed) if listed else swapper_for(language)


def is_listed(experiment: Experiment, pairs: TermPairs) -> bool:
    """Whether words of an experiment are found by their list: all but pronouns, possessives and first names."""
    return experiment not in TRAINED_EXPERIMENTS or not pairs.tell_gender
