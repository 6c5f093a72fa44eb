"""What fills a blank, beside its source: whether its case fits, and whether it came back with an article."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from evenhand.core.items import BLANK, Association
from evenhand.data.defects import fill_of
from evenhand.data.text_case import CAPITALISED_NOUNS

ARTICLES: Mapping[str, frozenset[str]] = MappingProxyType(
    {
        language: frozenset(words.split())
        for language, words in {
            "ca": "el la els les l' un una uns unes",
            "de": "der die das den dem des ein eine einen einem einer eines",
            "en": "a an the",
            "es": "el la los las lo un una unos unas",
            "fr": "le la les l' un une des du",
            "it": "il lo la i gli le l' un uno una",
            "nl": "de het een",
            "pt": "o a os as um uma uns umas",
        }.items()
    }
)
"""Words that stand before a noun, by language."""


def fills_of(item: Association) -> dict[str, str]:
    """What fills the blank in each candidate, by its id; candidates of which that is not known are left out."""
    fills = {candidate.id: candidate.word or fill_of(item, candidate) for candidate in item.candidates}
    return {identity: fill for identity, fill in fills.items() if fill}


def fills_in_other_case(item: Association, source: Association) -> list[str]:
    """The candidates whose fill begins the sentence in lower case, or has a capital that the source has not."""
    originals = fills_of(source)
    is_first = item.context.lstrip("¿¡\"'“„« ").startswith(BLANK)
    flawed = []
    for identity, fill in fills_of(item).items():
        original = originals.get(identity, "")
        has_strange_capital = (
            fill[0].isupper()
            and not is_first
            and original[:1].islower()
            and item.language not in CAPITALISED_NOUNS
        )
        if has_strange_capital or (is_first and fill[0].islower()):
            flawed.append(identity)
    return flawed


def fills_with_article(item: Association, source: Association) -> list[str]:
    """The candidates whose fill came back with an article that the source does not have."""
    originals = fills_of(source)
    return [
        identity
        for identity, fill in fills_of(item).items()
        if _has_article(fill, item.language)
        and not _has_article(originals.get(identity, ""), source.language)
    ]


def _has_article(fill: str, language: str) -> bool:
    first, *rest = fill.replace("’", "'").replace("'", "' ").casefold().split() or [""]
    return bool(rest) and first in ARTICLES.get(language, frozenset())
