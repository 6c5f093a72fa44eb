"""Items for the zoo: the starter set in five languages, and the malformed kinds that real files have."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

from builders import inter, intra
from zoo_tokenizers import LANGUAGES

import evenhand
from evenhand.core.items import Association, Task

EVERY = 16
"""Three items of each task and language."""


@cache
def starter_items(task: Task) -> tuple[Association, ...]:
    """Some of the starter set in every language, under ids that tell the language."""
    chosen = tuple(
        _in_language(item)
        for language in LANGUAGES
        for item in evenhand.load_dataset("starter", language=language).of_task(task)[::EVERY]
    )
    assert len(chosen) == len(LANGUAGES) * 48 // EVERY
    return chosen


def _in_language(item: Association) -> Association:
    """The item under ids of its own, which translations share."""
    first, second, third = (
        replace(candidate, id=f"{item.language}-{candidate.id}") for candidate in item.candidates
    )
    return replace(item, id=f"{item.language}-{item.id}", candidates=(first, second, third))


def _blank(number: str, context: str, *fills: str, language: str = "en") -> Association:
    return intra(number, context=context, fills=fills, words=fills, language=language)


MALFORMED_BLANKS = (
    _blank("two", "The BLANK cat sat by the BLANK door.", "old", "new", "seventh"),
    _blank("ending", "Yesterday the baker BLANKed the dough.", "roll", "mix", "stamp"),
    _blank("glued", "We eat there sometimes.BLANK is good.", "Bread", "Soup", "Glass"),
    _blank("stray", "The soup was BLANK!p", "warm", "cold", "square"),
    _blank("suffix", 'Bahçedeki en güzel çiçek BLANK"tır.', "papatya", "lale", "bardak", language="tr"),
    _blank(
        "words", "The gardener planted BLANK near the gate.", "red roses", "tall old trees", "two loud sums"
    ),
    _blank("start", "BLANK is on the table.", "Bread", "Cheese", "Thunder"),
    _blank("open", "The tea is BLANK", "hot", "cold", "square"),
    intra(
        "case",
        context="the baker likes BLANK bread.",
        texts=[
            "The baker likes fresh bread.",
            "The baker likes brown bread.",
            "The Baker likes purple bread.",
        ],
        words=["fresh", "brown", "purple"],
    ),
)

UNALIGNED = (
    intra(
        "reworded",
        context="O povo BLANK",
        texts=["As pessoas dali eram alegres", "Os dali são tristes", "Ali se vive de telhado"],
    ),
    intra(
        "lost",
        context="O padeiro é de coração.",
        texts=[
            "O padeiro é poeta de coração.",
            "O padeiro é bruto de coração.",
            "O padeiro é mesa de coração.",
        ],
    ),
)
"""As translated files have them: sentences in other words than their context, and a blank that got lost."""

MALFORMED_CONTEXTS = (
    inter("open", context="The shop is open"),
    inter("loud", context="The shop is open!"),
    inter("asking", context="Is the shop open?"),
)


def intra_items() -> tuple[Association, ...]:
    """Well-formed and malformed items with a blank; each candidate's word is what stands in its sentence."""
    return (*starter_items(Task.INTRASENTENCE), *MALFORMED_BLANKS)


def inter_items() -> tuple[Association, ...]:
    """Items with a sentence to follow, some without a full stop."""
    return (*starter_items(Task.INTERSENTENCE), *MALFORMED_CONTEXTS)
