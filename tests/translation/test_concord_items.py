"""The check of concord is right on items that were keyed by hand before its tables were extended."""

from __future__ import annotations

import pytest
from concord_items import KeyedItem, figures_of, read_items

from evenhand.translation.concord import CONCORDS


@pytest.mark.parametrize("language", CONCORDS)
def test_nineteen_of_twenty_judgements_on_keyed_items_are_right(language: str) -> None:
    items = read_items(language)
    figures = figures_of(items)

    assert len({item.context for item in items}) == figures.items >= 150
    assert figures.words["right"] + figures.words["wrong"] >= 150
    assert figures.share_right >= 0.95
    assert len(figures.wrong) <= 0.05 * figures.items, figures.wrong


@pytest.mark.parametrize("language", CONCORDS)
def test_most_keyed_items_are_flagged_as_a_reader_would(language: str) -> None:
    figures = figures_of(read_items(language))

    assert len(figures.right) > 0.5 * figures.items


def test_figures_count_what_is_right_wrong_and_undecided() -> None:
    agreeing = KeyedItem("es", "Es un BLANK.", ("perro",), ("casa",), ("qué",))
    misread = KeyedItem("es", "Es una BLANK.", ("libro", "casa"), (), ("qué",))

    figures = figures_of([agreeing, misread])

    assert figures.words == {"right": 3, "wrong": 1}
    assert (figures.right, figures.incomplete, figures.wrong) == ([agreeing], [], [misread])


@pytest.mark.parametrize(
    ("language", "context", "word", "agrees"),
    [
        ("es", "Mi hermana es BLANK.", "rudo", False),
        ("es", "Mi hermana y mi padre son BLANK.", "ruda", None),
        ("es", "Cada enfermera es BLANK.", "ocupado", False),
        ("es", "El jefe de mi hermana es BLANK.", "ocupado", True),
        ("es", "Su BLANK esposa llegó.", "feo", False),
        ("es", "Yo la BLANK.", "odio", None),
        ("fr", "Ma sœur est BLANK.", "content", False),
        ("fr", "C'est un BLANK.", "athée", None),
        ("fr", "C'est un BLANK.", "caissière", False),
        ("fr", "L'infirmière n'est pas BLANK.", "heureux", False),
        ("de", "Er machte einen BLANK.", "Sprung", True),
        ("de", "Er bekam einen neuen BLANK.", "Zeitung", None),
        ("de", "Die BLANK Männer kamen.", "nette", False),
        ("de", "Die BLANK Männer kamen.", "netten", True),
        ("de", "Die BLANK steht dort.", "Baum", False),
        ("de", "Die BLANK stehen dort.", "Messer", None),
        ("de", "Sie kaufte eine BLANK.", "Haustür", True),
        ("de", "Sie ist BLANK.", "netter", None),
        ("de", "Sie ist sehr BLANK.", "netter", False),
    ],
)
def test_subjects_nouns_and_plurals_decide(
    language: str, context: str, word: str, agrees: bool | None
) -> None:
    assert CONCORDS[language](context, word) is agrees
