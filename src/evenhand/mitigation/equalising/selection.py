"""Sentences that serve for equalising: a gendered term of an experiment is their only gendered word.

Where another word tells the gender too, the original is right to expect one side, and evening it out would make the
model forget what words mean.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from evenhand.core.probes import Experiment, TermPairs
from evenhand.core.spans import Span
from evenhand.text.twins.twin import Rejected, Swapper

GERMAN_ENDINGS = ("", "e", "en", "em", "er", "es")
"""Of possessives, whose lists have stems: sein, ihr."""

_WORD = re.compile(r"[^\W\d_]+")
_OPENS = re.compile(r"""(?:^|[.!?:"“”„«»‘’'(\[—–-])\s*$""")
"""What stands before the first word of a sentence, of speech, or of a part that is set off."""
_CAPITAL_IS_DUE = re.compile(r"""(?:^\W*|[.!?]\W*|["“„«])$""")
"""What stands before a word that has a capital whatever it is."""

Finder = Callable[[str], "OnlyTerm | None"]


@dataclass(frozen=True, slots=True)
class OnlyTerm:
    """The only gendered word of a sentence, and what could stand in its place, in the form that the place demands."""

    experiment: Experiment
    span: Span
    choices: tuple[TermPairs, ...]
    """The terms of its own experiment, then those of the others: where a name can stand, a pronoun can too."""


class TermForms:
    """The terms of experiments as they are written in sentences: with a capital where one is due, with an ending."""

    def __init__(self, terms: Mapping[Experiment, TermPairs], *, language: str) -> None:
        self._forms: dict[str, list[tuple[Experiment, tuple[TermPairs, ...]]]] = {}
        for experiment, pairs in terms.items():
            inflected = language == "de" and experiment is Experiment.HIS_HER
            others = [own for known, own in terms.items() if known is not experiment]
            for ending in GERMAN_ENDINGS if inflected else ("",):
                plain = _each(pairs, lambda term, ending=ending: term + ending)  # type: ignore[misc]
                choices = (plain, *others)
                for forms in dict.fromkeys((choices, tuple(_each(own, _with_capital) for own in choices))):
                    for word in forms[0].all:
                        self._forms.setdefault(word, []).append((experiment, forms))

    def __contains__(self, word: str) -> bool:
        return word in self._forms

    def of(
        self, word: str, *, before: str, experiment: Experiment | None = None
    ) -> tuple[Experiment, tuple[TermPairs, ...]] | None:
        """The experiment that a word belongs to, and all terms in the same form; None if it is in several.

        A name has its capital everywhere, so what stands ``before`` it tells whether the terms beside it have one.
        """
        found = [form for form in self._forms.get(word, ()) if experiment is None or form[0] is experiment]
        if len({own for own, _ in found}) != 1:
            return None
        return found[-1 if _CAPITAL_IS_DUE.search(before) else 0]


def by_vocabulary(
    terms: Mapping[Experiment, TermPairs], vocabulary: frozenset[str], *, language: str
) -> Finder:
    """Finds terms among words that are listed as gendered: for any language with a list of pairs."""
    forms = TermForms(terms, language=language)
    listed = {word.casefold() if word.islower() else word for word in vocabulary}
    listed |= {word for pairs in terms.values() for word in pairs.all}

    def find(sentence: str) -> OnlyTerm | None:
        gendered = [
            match
            for match in _WORD.finditer(sentence)
            if match[0] in listed or match[0].casefold() in listed or match[0] in forms
        ]
        if len(gendered) != 1:
            return None
        (term,) = gendered
        found = forms.of(term[0], before=sentence[: term.start()])
        return found and OnlyTerm(found[0], Span(*term.span()), found[1])

    return find


def by_grammar(swapper: Swapper, terms: Mapping[Experiment, TermPairs]) -> Finder:
    """Finds terms with a swapper, which knows what is a possessive, a plural or a title."""
    forms = TermForms(terms, language=swapper.language)

    def find(sentence: str) -> OnlyTerm | None:
        twin = swapper.twin(sentence)
        if isinstance(twin, Rejected) or len(twin.swaps) != 1:
            return None
        (swap,) = twin.swaps
        if swap.role.experiment is None:
            return None
        before = sentence[: swap.span.start]
        found = forms.of(swap.old, before=before, experiment=swap.role.experiment)
        return found and OnlyTerm(found[0], swap.span, found[1])

    return find


def without_names(find: Finder) -> Finder:
    """Leaves out sentences in which another word may be a name: it starts with a capital within the sentence.

    Names tell the gender as pronouns do, and no list has them all. Not for languages that write nouns with capitals.
    """

    def find_without(sentence: str) -> OnlyTerm | None:
        found = find(sentence)
        return None if found is None or _may_have_name(sentence, found.span) else found

    return find_without


def _may_have_name(sentence: str, term: Span) -> bool:
    return any(
        match[0][0].isupper()
        and match[0] != "I"
        and match.start() != term.start
        and not _OPENS.search(sentence, 0, match.start())
        for match in _WORD.finditer(sentence)
    )


def _each(pairs: TermPairs, form: Callable[[str], str]) -> TermPairs:
    return TermPairs(tuple(map(form, pairs.male)), tuple(map(form, pairs.female)))


def _with_capital(word: str) -> str:
    return word[:1].upper() + word[1:]
