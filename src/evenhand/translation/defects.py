"""Classes of defects that a translation shows beside its source, besides those that any benchmark can have."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from statistics import median
from types import MappingProxyType

from evenhand.core.errors import TranslationError
from evenhand.core.items import BLANK, Association, Benchmark, Task
from evenhand.data.defects import DefectClass, DefectUnit, fill_of
from evenhand.data.fill_forms import ARTICLES, fills_in_other_case, fills_with_article
from evenhand.data.text_case import in_case_of_source
from evenhand.translation.concord import CONCORDS, disagreeing_candidates
from evenhand.translation.untranslated import (
    WORD_LIST_LANGUAGES,
    has_word_lists,
    shares_words,
    untranslated_words,
)

LENGTH_FACTOR = 2.0
"""A text is too long or too short if its ratio to the source differs from the usual one by more than this factor."""

LENGTH_GAP = 15
"""Characters below which a difference in length shows nothing."""

LEAKS: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "de": ("LEERES", "LEERER", "LEEREN", "LEEREM", "LEERE", "LEER", "Leerstelle"),
        "es": ("EN BLANCO", "BLANCO", "BLANCA", "VACÍO", "VACÍA", "ESPACIO"),
        "fr": ("EN BLANC", "BLANC", "BLANCHE", "VIDE"),
        "it": ("IN BIANCO", "BIANCO", "VUOTO"),
        "nl": ("LEEG", "BLANCO"),
        "pt": ("EM BRANCO", "BRANCO", "VAZIO"),
        "tr": ("BOŞLUK", "BOŞ"),
    }
)
"""What translators make of BLANK, by language; longer ones first, since they may begin like shorter ones."""

_COMMON_LEAKS = ("Blank", "[BLANK]", "<BLANK>", "_BLANK_")
"""What they make of it in any language."""

UNTRANSLATED_WORD = "untranslated-word"

_INTRA = (Task.INTRASENTENCE,)


def leaks_in(context: str, language: str) -> list[str]:
    """The translated blanks of a context, as they stand there, without those inside a word."""
    listed = sorted((*LEAKS.get(language, ()), *_COMMON_LEAKS), key=len, reverse=True)
    pattern = "|".join(map(re.escape, listed))
    return [match[0] for match in re.finditer(rf"(?<!\w)(?:{pattern})(?!\w)", context)]


def _leaks_of(item: Association) -> list[str]:
    return leaks_in(item.context.replace(BLANK, ""), item.language)


def translation_defects(translation: Benchmark, source: Benchmark) -> tuple[DefectClass, ...]:
    """What can be wrong with a translation, as far as its source shows it; items that the source lacks are left alone.

    Raises:
        TranslationError: If the two have no item in common.
    """
    sources = {item.id: item for item in source}
    if not any(item.id in sources for item in translation):
        raise TranslationError(
            f"{translation.name} and {source.name} have no item in common: ids are shared across languages. Name the "
            "benchmark that was translated."
        )

    def items_where(
        condition: Callable[[Association], bool],
    ) -> Callable[[Iterable[Association]], Iterable[str]]:
        return lambda items: (item.id for item in items if item.id in sources and condition(item))

    ratio = _usual_ratio(translation, sources)
    return (
        DefectClass(
            "blank-leaked",
            "a translated blank stands in the context",
            _INTRA,
            DefectUnit.ITEMS,
            True,
            items_where(lambda item: bool(_leaks_of(item))),
            explain=lambda item: f"a translated blank stands in the context: {', '.join(_leaks_of(item))}",
        ),
        DefectClass(
            "concord",
            "a candidate disagrees in gender or number with the text before the blank, another agrees",
            _INTRA,
            DefectUnit.CANDIDATES,
            True,
            lambda items: (
                candidate
                for item in items
                if item.id in sources
                for candidate in disagreeing_candidates(item)
            ),
            tuple(CONCORDS),
        ),
        DefectClass(
            "candidates-merged",
            "two candidates are the same here that differ in the source",
            tuple(Task),
            DefectUnit.ITEMS,
            True,
            items_where(lambda item: len(_texts(item)) < len(_texts(sources[item.id]))),
        ),
        DefectClass(
            "length-ratio",
            f"a text is more than {LENGTH_FACTOR:g} times longer or shorter than is usual for its source",
            tuple(Task),
            DefectUnit.ITEMS,
            False,
            items_where(lambda item: _is_odd_length(item, sources[item.id], ratio)),
        ),
        DefectClass(
            "untranslated",
            "four words in a row of the source are still there",
            tuple(Task),
            DefectUnit.ITEMS,
            True,
            items_where(
                lambda item: any(
                    shares_words(text, original) for text, original in _pairs(item, sources[item.id])
                )
            ),
        ),
        DefectClass(
            UNTRANSLATED_WORD,
            "a word of the source may be untranslated: neither the language nor one that lends words has it",
            tuple(Task),
            DefectUnit.ITEMS,
            False,
            items_where(lambda item: bool(untranslated_words(item, sources[item.id]))),
            WORD_LIST_LANGUAGES if has_word_lists() else (),
            lambda item: f"still as in the source: {', '.join(untranslated_words(item, sources[item.id]))}",
        ),
        *_noted(sources),
    )


def _noted(sources: Mapping[str, Association]) -> tuple[DefectClass, ...]:
    """What is noted and moves no score by itself: case and articles."""

    def candidates_where(
        find: Callable[[Association, Association], list[str]],
    ) -> Callable[[Iterable[Association]], Iterable[str]]:
        return lambda items: (
            candidate for item in items if item.id in sources for candidate in find(item, sources[item.id])
        )

    return (
        DefectClass(
            "text-case",
            "a text begins in another case than its source, or has a capital after a blank at its beginning",
            tuple(Task),
            DefectUnit.ITEMS,
            False,
            lambda items: (
                item.id
                for item in items
                if item.id in sources
                and any(
                    in_case_of_source(text, original, item.language) != text
                    for text, original in _pairs(item, sources[item.id])
                )
            ),
        ),
        DefectClass(
            "fill-case",
            "what fills the blank has a capital that the source has not, or none at the beginning of the sentence",
            _INTRA,
            DefectUnit.CANDIDATES,
            False,
            candidates_where(fills_in_other_case),
        ),
        DefectClass(
            "fill-article",
            "what fills the blank has an article that the source has not",
            _INTRA,
            DefectUnit.CANDIDATES,
            False,
            candidates_where(fills_with_article),
            tuple(ARTICLES),
        ),
    )


def _texts(item: Association) -> set[str]:
    """What tells candidates apart."""
    if item.task is Task.INTERSENTENCE:
        return {candidate.text.casefold() for candidate in item.candidates}
    fills = {(candidate.word or fill_of(item, candidate)).casefold() for candidate in item.candidates}
    return fills if "" not in fills else {candidate.text.casefold() for candidate in item.candidates}


def _pairs(item: Association, source: Association) -> list[tuple[str, str]]:
    """The whole sentences of a translation beside those of its source."""
    sentences = {candidate.id: candidate.text for candidate in source.candidates}
    pairs = [(item.context, source.context)]
    if item.task is Task.INTERSENTENCE:
        pairs += [
            (candidate.text, sentences[candidate.id])
            for candidate in item.candidates
            if candidate.id in sentences
        ]
    return pairs


def _usual_ratio(translation: Benchmark, sources: Mapping[str, Association]) -> float:
    """How much longer texts of this language usually are."""
    ratios = [
        len(text) / len(original)
        for item in translation
        if item.id in sources
        for text, original in _pairs(item, sources[item.id])
    ]
    return median(ratios)


def _is_odd_length(item: Association, source: Association, usual: float) -> bool:
    return any(is_odd_length(text, original, usual=usual) for text, original in _pairs(item, source))


def is_odd_length(text: str, original: str, *, usual: float) -> bool:
    """Whether a text is much longer or shorter than is usual for its source.

    Args:
        text: The translation.
        original: What it was translated from.
        usual: How much longer texts of this language usually are.
    """
    shorter, longer = sorted((len(text), usual * len(original)))
    return longer > LENGTH_FACTOR * shorter and longer - shorter >= LENGTH_GAP
