"""Gaps: sentences whose only gendered word is a term of an experiment, with the term taken out.

Where another word tells the gender too, the original is right to expect one side, and evening it out would make the
model forget what words mean.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from enum import Enum

from evenhand.core.errors import EvenhandError
from evenhand.core.experiments import Experiment
from evenhand.core.items import Span
from evenhand.core.probes import TermPairs
from evenhand.data.probes import gendered_vocabulary
from evenhand.mitigation.equalising.term_trees import (
    GenderedGroup,
    TermTree,
    build_term_tree,
    words_of_one_token,
)
from evenhand.models.engine.requests import Tokens
from evenhand.models.language_model import LanguageModel
from evenhand.models.objectives.pretraining import longest_row
from evenhand.models.references import ModelError
from evenhand.models.tokenised_text import prepare, tokenise
from evenhand.text.digests import LowestDigests, digest_of
from evenhand.text.listed_pairs import swapper_with
from evenhand.text.swappers import NO_GENDERED_WORD, SWAPPERS, Rejected, Swapper

BLOCK = 1_000
"""Sentences that are tokenised in one go."""

MOST_GAPS = 50_000
"""Gaps of an experiment that are kept in memory, chosen by the digests of their sentences."""

GERMAN_ENDINGS = ("", "e", "en", "em", "er", "es")
"""Of possessives, whose lists have stems: sein, ihr."""

_WORD = re.compile(r"[^\W\d_]+")
_OPENS = re.compile(r"""(?:^|[.!?:"“”„«»‘’'(\[—–-])\s*$""")
"""What stands before the first word of a sentence, of speech, or of a part that is set off."""
_CAPITAL_IS_DUE = re.compile(r"""(?:^\W*|[.!?]\W*|["“„«])$""")
"""What stands before a word that has a capital whatever it is."""

TermFinder = Callable[[str], "OnlyTerm | Neutral | None"]
"""The only gendered word of a sentence; ``NEUTRAL`` if it has none, None if it has others or may have."""


class Neutral(Enum):
    """That a sentence tells nobody's gender."""

    NEUTRAL = "no gendered word"


NEUTRAL = Neutral.NEUTRAL


@dataclass(frozen=True, slots=True)
class OnlyTerm:
    """The only gendered word of a sentence, and what could stand in its place, in the form that the place demands."""

    experiment: Experiment
    span: Span
    choices: tuple[TermPairs, ...]
    """The terms of its own experiment, then those of the others: where a name can stand, a pronoun can too."""
    fits: int = 1
    """How many of them, from the first, can stand there by grammar: a name can wherever *he* can."""

    @property
    def opening(self) -> OnlyTerm:
        """The same term at the beginning of a sentence, with a capital."""
        choices = tuple(_each(pairs, _with_capital) for pairs in self.choices)
        return replace(self, span=Span(0, self.span.end - self.span.start), choices=choices)


class TermForms:
    """The terms of experiments as they are written in sentences: with a capital where one is due, with an ending."""

    def __init__(self, terms: Mapping[Experiment, TermPairs], *, language: str) -> None:
        self._forms: dict[str, list[tuple[Experiment, tuple[TermPairs, ...]]]] = {}
        self._has_names = Experiment.NAMES in terms
        for experiment, pairs in terms.items():
            inflected = language == "de" and experiment == Experiment.HIS_HER
            others = [own for other, own in terms.items() if other != experiment]
            if experiment == Experiment.HE_SHE and Experiment.NAMES in terms:
                # Names can stand where a pronoun can, possessives cannot.
                others = sorted(others, key=lambda own: own is not terms[Experiment.NAMES])
            for ending in GERMAN_ENDINGS if inflected else ("",):
                plain = _each(pairs, lambda term, ending=ending: term + ending)  # type: ignore[misc]
                choices = (plain, *others)
                for forms in dict.fromkeys((choices, tuple(_each(own, _with_capital) for own in choices))):
                    for word in forms[0].all:
                        self._forms.setdefault(word, []).append((experiment, forms))

    def __contains__(self, word: str) -> bool:
        return word in self._forms

    def find(self, sentence: str, span: Span, *, experiment: Experiment | None = None) -> OnlyTerm | None:
        """A word of a sentence as a term, if it is one."""
        form = self.of(span.of(sentence), before=sentence[: span.start], experiment=experiment)
        if form is None:
            return None
        fits = 2 if form[0] == Experiment.HE_SHE and self._has_names else 1
        return OnlyTerm(form[0], span, form[1], fits)

    def of(
        self, word: str, *, before: str, experiment: Experiment | None = None
    ) -> tuple[Experiment, tuple[TermPairs, ...]] | None:
        """The experiment that a word belongs to, and all terms in the same form; None if it is in several.

        A name has its capital everywhere, so what stands ``before`` it tells whether the terms beside it have one.
        """
        forms = [form for form in self._forms.get(word, ()) if experiment is None or form[0] == experiment]
        if len({own for own, _ in forms}) != 1:
            return None
        return forms[-1 if _CAPITAL_IS_DUE.search(before) else 0]


def finder_for(language: str, terms: Mapping[Experiment, TermPairs]) -> TermFinder:
    """What finds terms in a language: its grammar where that is known, else its list of gendered words."""
    find = (
        grammar_finder(swapper_with(language, terms), terms)
        if language in SWAPPERS
        else vocabulary_finder(terms, gendered_vocabulary(language), language=language)
    )
    return skipping_names(find) if language == "en" else find


def vocabulary_finder(
    terms: Mapping[Experiment, TermPairs], vocabulary: frozenset[str], *, language: str
) -> TermFinder:
    """Finds terms among words that are listed as gendered: for any language with a list of pairs."""
    forms = TermForms(terms, language=language)
    listed = {word.casefold() if word.islower() else word for word in vocabulary}
    listed |= {word for pairs in terms.values() for word in pairs.all}

    def find(sentence: str) -> OnlyTerm | Neutral | None:
        gendered = [
            match
            for match in _WORD.finditer(sentence)
            if match[0] in listed or match[0].casefold() in listed or match[0] in forms
        ]
        if len(gendered) != 1:
            return None if gendered else NEUTRAL
        (term,) = gendered
        return forms.find(sentence, Span(*term.span()))

    return find


def grammar_finder(swapper: Swapper, terms: Mapping[Experiment, TermPairs]) -> TermFinder:
    """Finds terms with a swapper, which knows what is a possessive, a plural or a title."""
    forms = TermForms(terms, language=swapper.language)

    def find(sentence: str) -> OnlyTerm | Neutral | None:
        twin = swapper.twin(sentence)
        if twin == NO_GENDERED_WORD:
            return NEUTRAL
        if isinstance(twin, Rejected) or len(twin.swaps) != 1:
            return None
        (swap,) = twin.swaps
        if swap.experiment is None:
            return None
        return forms.find(sentence, swap.span, experiment=swap.experiment)

    return find


def skipping_names(find: TermFinder) -> TermFinder:
    """Finds nothing in sentences in which another word may be a name: it starts with a capital within the sentence.

    Names tell the gender as pronouns do, and no list has them all. Not for languages that write nouns with capitals.
    """

    def find_without(sentence: str) -> OnlyTerm | Neutral | None:
        found = find(sentence)
        term = found.span.start if isinstance(found, OnlyTerm) else None
        return None if found is None or _may_have_name(sentence, term) else found

    return find_without


def _may_have_name(sentence: str, term: int | None) -> bool:
    return any(
        match[0][0].isupper()
        and match[0] != "I"
        and match.start() != term
        and not _OPENS.search(sentence, 0, match.start())
        for match in _WORD.finditer(sentence)
    )


def _each(pairs: TermPairs, form: Callable[[str], str]) -> TermPairs:
    return TermPairs(tuple(map(form, pairs.male)), tuple(map(form, pairs.female)))


def _with_capital(word: str) -> str:
    return word[:1].upper() + word[1:]


def _opening(sentence: str, term: OnlyTerm) -> tuple[str, OnlyTerm] | None:
    """A sentence from its term on, and the term in it; None if nothing stands before the term."""
    tail = sentence[term.span.start :]
    return (_with_capital(tail), term.opening) if term.span.start else None


@dataclass(frozen=True, slots=True)
class SentenceGap:
    """What stands before and after a term, as tokens, and which tree has the words for the gap."""

    before: Tokens
    after: Tokens
    tree: int
    word: Tokens
    """What stood there."""
    opening: SentenceGap | None = None
    """The same gap at the beginning of a sentence that has lost all that stood before, for models that see no more."""
    weight: float = 1.0
    """How much it counts. Rare terms are as important as frequent ones: each experiment counts the same as a whole."""

    def __len__(self) -> int:
        return len(self.before) + len(self.word) + len(self.after)


@dataclass(frozen=True, slots=True)
class OrdinarySentence:
    """A sentence without a gap."""

    text: str
    is_neutral: bool
    """Whether it tells nobody's gender."""


class GapCollector:
    """Collects the gaps of a corpus for one model, and the reasons why sentences with a term were rejected."""

    def __init__(self, model: LanguageModel, *, max_tokens: int | None = None) -> None:
        self.gaps: list[SentenceGap] = []
        self.trees: list[TermTree] = []
        self.experiments: Counter[Experiment] = Counter()
        self.rejections: Counter[str] = Counter()
        self._tokenizer = model.loaded.tokenizer
        self._longest = longest_row(model, max_tokens)
        self._kept: dict[Experiment, LowestDigests[tuple[int, SentenceGap]]] = {}
        self._read = 0
        self._special = model.family.adds_special_tokens
        self._opens = model.gap_contexts().sees_only_before
        start = model.family.text_start(model.loaded)
        self._start = () if start is None else (start,)
        self._numbers: dict[tuple[tuple[TermPairs, ...], str], int | None] = {}

    @property
    def open_groups(self) -> list[GenderedGroup]:
        """The words of one token that can begin a sentence or stand behind a space, whatever the gap."""
        trees = (
            self.trees[number]
            for (_, preceding), number in self._numbers.items()
            if number is not None and (not preceding or preceding.isspace())
        )
        return words_of_one_token(trees)

    def collect(self, sentences: Iterable[str], find: TermFinder) -> Iterator[OrdinarySentence]:
        """Take the sentences that have a term and nothing else that is gendered; give back the others."""
        waiting: list[tuple[str, OnlyTerm]] = []
        for sentence in sentences:
            term = find(sentence)
            if isinstance(term, OnlyTerm):
                waiting.append((sentence, term))
                if len(waiting) == BLOCK:
                    self._take(waiting)
                    waiting.clear()
            else:
                yield OrdinarySentence(sentence, is_neutral=term is NEUTRAL)
        self._take(waiting)
        self._finish()

    def _take(self, chosen: list[tuple[str, OnlyTerm]]) -> None:
        openings = [_opening(sentence, term) if self._opens else None for sentence, term in chosen]
        sentences = [sentence for sentence, _ in chosen] + [opening[0] for opening in openings if opening]
        prepare(self._tokenizer, sentences, special=self._special)
        for (sentence, term), opening in zip(chosen, openings, strict=True):
            gap = self._gap(sentence, term)
            if opening and isinstance(gap, SentenceGap):
                opened = self._gap(*opening)
                gap = replace(gap, opening=opened if isinstance(opened, SentenceGap) else None)
            if isinstance(gap, str):
                self.rejections[gap] += 1
            else:
                sample = self._kept.setdefault(term.experiment, LowestDigests(MOST_GAPS, distinct=False))
                sample.offer(digest_of(sentence), (self._read, gap))
                self._read += 1

    def _finish(self) -> None:
        self.experiments = Counter({experiment: len(sample) for experiment, sample in self._kept.items()})
        kept: list[tuple[int, SentenceGap]] = []
        for experiment, sample in self._kept.items():
            weight = self.experiments.total() / len(self.experiments) / self.experiments[experiment]
            kept += ((number, replace(gap, weight=weight)) for number, gap in sample.as_offered())
        self.gaps = [gap for _, gap in sorted(kept, key=lambda numbered: numbered[0])]
        if self._read > len(kept):
            self.rejections[f"more than {MOST_GAPS:,} for an experiment"] = self._read - len(kept)

    def _gap(self, sentence: str, term: OnlyTerm) -> SentenceGap | str:
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
        return SentenceGap(before, after, number, word)

    def _tree_number(self, term: OnlyTerm, preceding: str) -> int | None:
        key = (term.choices, preceding)
        if key not in self._numbers:
            tree = build_term_tree([self._sides(pairs, preceding) for pairs in term.choices], term.fits)
            self._numbers[key] = len(self.trees) if tree.groups else None
            if tree.groups:
                self.trees.append(tree)
        return self._numbers[key]

    def _sides(self, pairs: TermPairs, preceding: str) -> GenderedGroup:
        male, female = (
            tuple(tokens for word in side if (tokens := self.tokens_of(word, preceding)))
            for side in (pairs.male, pairs.female)
        )
        return GenderedGroup(male, female)

    def tokens_of(self, word: str, preceding: str) -> Tokens | None:
        """A word's tokens behind a character; None if one of them is unknown."""
        lead = f"a{preceding}" if preceding.isspace() else preceding
        tokenised = tokenise(self._tokenizer, lead + word, special=self._special)
        own = tuple(
            tokenised.ids[place]
            for place, span in enumerate(tokenised.spans)
            if span is not None and span[1] > len(lead)
        )
        return None if self._tokenizer.unk_token_id in own else own

    def refuse_if_missing(self, experiments: Iterable[Experiment]) -> None:
        """An error if an experiment has no sentence at all.

        Raises:
            EvenhandError: If the corpus has none.
            ModelError: If it has some, but the model can read none of them.
        """
        missing = [experiment for experiment in experiments if not self.experiments[experiment]]
        if not missing:
            return
        names = ", ".join(experiment.value for experiment in missing)
        if self.rejections:
            reasons = "; ".join(f"{reason} ({count:,})" for reason, count in self.rejections.most_common(3))
            raise ModelError(f"No sentence can be used for {names}: {reasons}.")
        raise EvenhandError(
            f"The corpus has no sentence for {names}: none whose only gendered word is such a term. Give more text, or "
            "choose other experiments."
        )
