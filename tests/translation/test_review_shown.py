"""What the page of an item marks: blank, target, and what fills the blank."""

from __future__ import annotations

import pytest

from evenhand.translation.review_pages.shown import filled_parts, marked_parts


@pytest.mark.parametrize(
    ("text", "target", "parts"),
    [
        (
            "Der Bäcker war BLANK.",
            "bäcker",
            [("", "Der "), ("target", "Bäcker"), ("", " war "), ("blank", "BLANK"), ("", ".")],
        ),
        ("Blank war BLANK.", "", [("", "Blank war "), ("blank", "BLANK"), ("", ".")]),
        (
            "Frau Blank war BLANK.",
            "Frau",
            [("target", "Frau"), ("", " Blank war "), ("blank", "BLANK"), ("", ".")],
        ),
        ("C++ (alt)", "c++", [("target", "C++"), ("", " (alt)")]),
    ],
)
def test_the_target_is_marked_in_any_case_and_the_blank_in_capitals_alone(
    text: str, target: str, parts: list[tuple[str, str]]
) -> None:
    assert marked_parts(text, target) == parts


@pytest.mark.parametrize(
    ("context", "word", "parts"),
    [
        ("BLANK hilft.", "Sie", [("fill", "Sie"), ("", " hilft.")]),
        ("Er ist BLANK", r"a\1 $&", [("", "Er ist "), ("fill", r"a\1 $&")]),
        ("BLANK und BLANK", "ja", [("fill", "ja"), ("", " und "), ("fill", "ja")]),
        ("Ohne Lücke.", "ja", [("", "Ohne Lücke.")]),
    ],
)
def test_what_fills_the_blank_is_marked(context: str, word: str, parts: list[tuple[str, str]]) -> None:
    assert filled_parts(context, word) == parts
