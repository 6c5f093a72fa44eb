"""Cards of a few items for readers without scripts."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from heapq import nlargest

from evenhand.core.items import BLANK, Label
from evenhand.reporting.association.items import STRENGTH, ItemRow

MOST_CARDS = 20
MOST_CHARACTERS = 500
"""Of a text on a card."""

_FIRST_TEXT, _SKIPPED = 6, 6


@dataclass(frozen=True, slots=True)
class ItemCard:
    """One item with its candidates and their scores."""

    id: str
    task: str
    bias_type: str
    target: str
    context: str
    candidates: tuple[tuple[str, str, str], ...]
    """Label, sentence and score of each."""


def most_leaning(items: Iterable[ItemRow]) -> list[ItemRow]:
    """The items that lean most to either side, as many as there are cards."""
    scored = (item for item in items if item[1][_SKIPPED] is None)
    return nlargest(MOST_CARDS, scored, key=lambda item: abs(item[1][STRENGTH]))


def item_card(row: ItemRow) -> ItemCard:
    """The card of an item."""
    text, scores = row
    context = text[5]
    sentences = (
        context.replace(BLANK, own[0], 1) if isinstance(own, list) else own
        for own in text[_FIRST_TEXT : _FIRST_TEXT + len(Label)]
    )
    return ItemCard(
        id=text[0],
        task=text[1],
        bias_type=text[2],
        target=text[3],
        context=_cut(context.replace(BLANK, "_____")),
        candidates=tuple(
            (label.value, _cut(sentence), f"{score:.4g}")
            for label, sentence, score in zip(Label, sentences, scores, strict=False)
        ),
    )


def _cut(text: str) -> str:
    return text if len(text) <= MOST_CHARACTERS else f"{text[:MOST_CHARACTERS]} ..."
