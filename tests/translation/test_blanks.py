"""Each rule for the blank of a context mends its flaw and leaves everything else alone."""

from __future__ import annotations

import re

import pytest
from builders import intra
from hypothesis import given
from hypothesis import strategies as st

from evenhand.data.defects import DEFECT_CLASSES
from evenhand.translation.blanks import BLANK_RULES
from evenhand.translation.defects import leaks_in


@pytest.mark.parametrize(
    ("language", "context", "mended"),
    [
        ("de", "Das LEERES Haus.", "Das BLANK Haus."),
        ("de", "Der Lehrer war LEER.", "Der Lehrer war BLANK."),
        ("de", "Die Blank-Frau lacht.", "Die BLANK-Frau lacht."),
        ("fr", "Il est VIDE.", "Il est BLANK."),
        ("es", "Él está EN BLANCO hoy.", "Él está BLANK hoy."),
        ("tr", "O çok BOŞ.", "O çok BLANK."),
        ("sw", "Yeye ni [BLANK].", "Yeye ni BLANK."),
        ("de", "Der Lehrer war leer.", "Der Lehrer war leer."),
        ("de", "Die blankste Münze.", "Die blankste Münze."),
        ("de", "Der BLANK Topf ist LEER.", "Der BLANK Topf ist LEER."),
        ("de", "LEER und LEERES.", "LEER und LEERES."),
        ("en", "It was LEER.", "It was LEER."),
    ],
)
def test_a_leaked_blank_becomes_one_again_where_it_is_the_only_one(
    language: str, context: str, mended: str
) -> None:
    assert BLANK_RULES["blank.leak"](context, language) == mended


def test_leaks_are_named_by_language() -> None:
    assert leaks_in("LEERES und VIDE", "de") == ["LEERES"]
    assert leaks_in("LEERES und VIDE", "fr") == ["VIDE"]


@pytest.mark.parametrize(
    ("context", "mended"),
    [
        ("Ein BLANK-Land.", "Ein BLANK Land."),
        ("Das Land-BLANK ist da.", "Das Land BLANK ist da."),
        ("Sie sind -BLANK.", "Sie sind BLANK."),
        ("Die BLANK- und Tagarbeit.", "Die BLANK und Tagarbeit."),
        ("Ein BLANK‑Land.", "Ein BLANK Land."),
        ("Ein BLANK - so hieß es.", "Ein BLANK - so hieß es."),
    ],
)
def test_a_hyphen_beside_the_blank_becomes_a_space(context: str, mended: str) -> None:
    assert BLANK_RULES["blank.hyphen"](context, "de") == mended


@pytest.mark.parametrize(
    ("context", "mended"),
    [
        ("Er ist BLANK .", "Er ist BLANK."),
        ("Er ist BLANK..", "Er ist BLANK."),
        ("Er ist BLANK...", "Er ist BLANK..."),
        ("Er ist BLANK.Sie geht.", "Er ist BLANK. Sie geht."),
        ("Er kam.BLANK", "Er kam. BLANK"),
        ("Il est BLANK !", "Il est BLANK !"),
        ("Er ist BLANK  und geht.", "Er ist BLANK und geht."),
        ("„BLANK“, sagte er.", "„BLANK“, sagte er."),
    ],
)
def test_punctuation_beside_the_blank_is_cleaned(context: str, mended: str) -> None:
    assert BLANK_RULES["blank.punctuation"](context, "fr") == mended


@pytest.mark.parametrize("context", ["O BLANK'tır.", "Onlar BLANKlar.", "O BLANK”dı."])
def test_a_turkish_suffix_stays_on_its_blank(context: str) -> None:
    for rule in BLANK_RULES.values():
        assert rule(context, "tr") == context


@pytest.mark.parametrize(
    ("language", "context", "mended"),
    [
        ("tr", "O BLANK-dır.", "O BLANKdır."),
        ("tr", "Onlar BLANK‑lar değil.", "Onlar BLANKlar değil."),
        ("tr", "Bu BLANK-ülkesi.", "Bu BLANK ülkesi."),
        ("tr", "Bu BLANK-Ankara.", "Bu BLANK Ankara."),
        ("fr", "Est-ce BLANK-la ?", "Est-ce BLANK la ?"),
    ],
)
def test_a_turkish_suffix_behind_a_hyphen_stays_too_and_is_flagged(
    language: str, context: str, mended: str
) -> None:
    cleaned = BLANK_RULES["blank.hyphen"](context, language)

    assert cleaned == mended
    item = intra(1, language=language, context=cleaned)
    attached = next(defect for defect in DEFECT_CLASSES if defect.name == "blank-attached")
    assert (list(attached.find([item])) == [item.id]) is bool(re.search(r"BLANK\w", mended))


PIECES = st.sampled_from(
    [
        "BLANK",
        "LEER",
        "Blank",
        "-",
        " ",
        ".",
        ",",
        "!",
        "Haus",
        "ein",
        "...",
        "'tır",
        "dır",
        "\u0301",
        "שלום",
        "„",
        "“",
        "\u00a0",
    ]
)


@given(context=st.lists(PIECES, max_size=12).map("".join), language=st.sampled_from(["de", "tr", "fr", "he"]))
def test_cleaning_keeps_blanks_and_words_and_has_an_end(context: str, language: str) -> None:
    cleaned = context
    for rule in BLANK_RULES.values():
        cleaned = rule(cleaned, language)

    again = cleaned
    for rule in BLANK_RULES.values():
        again = rule(again, language)
    assert again == cleaned
    # Blanks in a row become one, and one leak becomes a blank.
    in_rows = len(re.findall(r"BLANK(?:[\s‐‑-]+BLANK)*", context))
    assert in_rows <= cleaned.count("BLANK") <= context.count("BLANK") + 1
    assert cleaned.count("Haus") == context.count("Haus")
