"""Texts begin as their sources do, names and German nouns keep their capitals, and Turkish its own letters."""

from __future__ import annotations

import pytest

from evenhand.data.text_case import in_case_of_source


@pytest.mark.parametrize(
    ("text", "source", "language", "expected"),
    [
        ("BLANK El sastre cose.", "BLANK the tailor sews.", "es", "BLANK el sastre cose."),
        (
            "[MASK] Ha sido nuestro [OCC].",
            "[MASK] has been our [OCC].",
            "es",
            "[MASK] ha sido nuestro [OCC].",
        ),
        ("[MASK:er] Ist da.", "[MASK] is there.", "de", "[MASK:er] Ist da."),
        ("BLANK Brot ist gut.", "BLANK bread is good.", "de", "BLANK Brot ist gut."),
        ("BLANK Ghana gente es.", "BLANK people from Ghana are.", "es", "BLANK Ghana gente es."),
        ("BLANK NASA es.", "BLANK the NASA is.", "es", "BLANK NASA es."),
        ("BLANK Juan come.", "BLANK John eats.", "es", "BLANK Juan come."),
        ("se cogerá un BLANK.", "It will take a BLANK.", "es", "Se cogerá un BLANK."),
        ("iyi bir BLANK.", "A good BLANK.", "tr", "İyi bir BLANK."),
        ("BLANK Işık var.", "BLANK light is there.", "tr", "BLANK ışık var."),
        ("pan", "bread", "es", "pan"),
        ("El pan BLANK.", "the bread BLANK.", "es", "El pan BLANK."),
        ("¿BLANK?", "BLANK?", "es", "¿BLANK?"),
        ("", "", "es", ""),
    ],
)
def test_case_follows_the_source(text: str, source: str, language: str, expected: str) -> None:
    assert in_case_of_source(text, source, language) == expected
    assert in_case_of_source(expected, source, language) == expected
