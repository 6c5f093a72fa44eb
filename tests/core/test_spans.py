"""What fills the blank, also where contexts are malformed."""

from __future__ import annotations

import re
import subprocess
import sys

import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st
from running import HANG

from evenhand.core.items import Span, filled_spans


def fills(context: str, sentence: str) -> list[str]:
    return [span.of(sentence) for span in filled_spans(context, sentence)]


@pytest.mark.parametrize(
    ("context", "sentence", "expected"),
    [
        pytest.param("The baker likes BLANK bread.", "The baker likes fresh bread.", ["fresh"], id="plain"),
        pytest.param("BLANK bread is good.", "Fresh bread is good.", ["Fresh"], id="at the start"),
        pytest.param("The bread is BLANK", "The bread is fresh", ["fresh"], id="at the end"),
        pytest.param("BLANK", "fresh", ["fresh"], id="nothing else"),
        pytest.param(
            "A BLANK loaf is a BLANK loaf.", "A small loaf is a small loaf.", ["small", "small"], id="two"
        ),
        pytest.param(
            "A BLANK loaf and a BLANK cake.", "A small loaf and a big cake.", ["small", "big"], id="two fills"
        ),
        pytest.param("She BLANKed the dough.", "She knead ed the dough.", ["knead "], id="suffix kept apart"),
        pytest.param("She BLANKed the dough.", "She kneaded the dough.", ["knead"], id="suffix"),
        pytest.param("He rests sometimes.BLANK he bakes.", "He rests sometimes.Then he bakes.", ["Then"]),
        pytest.param("Such BLANK!p bread.", "Such good!p bread.", ["good"], id="glued punctuation"),
        pytest.param('Ekmek BLANK"tır.', 'Ekmek taze"tır.', ["taze"], id="suffix after a quotation mark"),
        pytest.param("Fırıncı BLANK'dır.", "Fırıncı usta'dır.", ["usta"], id="suffix after an apostrophe"),
        pytest.param(
            "The baker likes BLANK bread.",
            "The baker likes dark and sour bread.",
            ["dark and sour"],
            id="several words",
        ),
        pytest.param("the Baker likes BLANK bread.", "The baker LIKES fresh bread.", ["fresh"], id="case"),
        pytest.param(
            "The  baker likes BLANK bread. ", "The baker likes fresh  bread.", ["fresh"], id="white space"
        ),
        pytest.param("Cost (BLANK) is + 5?", "Cost (low) is + 5?", ["low"], id="special characters"),
        pytest.param("Line one\nBLANK line", "Line one\nsecond line", ["second"], id="line break"),
        pytest.param(
            "The baker likes the BLANK bread.",
            "The baker likes the fresh loaf.",
            ["fresh"],
            id="word after the blank changed",
        ),
        pytest.param(
            "My baker sells BLANK bread in town.",
            "My bakers sell fresh bread in town.",
            ["fresh"],
            id="words before the blank changed",
        ),
        pytest.param(
            "The baker sells BLANK, sweet bread.",
            "The bakers sells dark rye, sweet bread.",
            ["dark rye"],
            id="several words, a word before them changed",
        ),
    ],
)
def test_the_fill_is_found(context: str, sentence: str, expected: list[str]) -> None:
    assert fills(context, sentence) == expected


@pytest.mark.parametrize(
    ("context", "sentence"),
    [
        ("The baker likes bread.", "The baker likes bread."),
        ("The baker likes blank bread.", "The baker likes fresh bread."),
        ("The baker likes BLANK bread.", "The baker likes bread."),
        ("The baker likes BLANK bread.", "The baker likes   bread."),
        ("The baker likes BLANK bread.", "Seven is a number."),
        ("A loaf of BLANK-BLANK is here.", "A loaf of bread stands here."),
        ("BLANK", ""),
        ("BLANK", "   "),
        ("", ""),
    ],
)
def test_nothing_is_found_where_nothing_fills_a_blank(context: str, sentence: str) -> None:
    assert filled_spans(context, sentence) == ()


def test_a_span_is_a_slice_of_the_sentence() -> None:
    assert filled_spans("The baker likes BLANK bread.", "The baker likes fresh bread.") == (Span(16, 21),)
    assert Span(16, 21).of("The baker likes fresh bread.") == "fresh"


PIECES = st.text(max_size=30).filter(lambda text: "BLANK" not in text)
FILLS = st.text(min_size=1, max_size=20).filter(str.strip)


@given(before=PIECES, after=PIECES, fill=FILLS)
@example(before="a", after="a", fill="aaa")
@example(before=".*(", after=")[", fill="\\1")
@example(before="İ", after="ß", fill="ı")
def test_the_fill_of_one_blank_is_always_found(before: str, after: str, fill: str) -> None:
    assert fills(f"{before}BLANK{after}", f"{before}{fill}{after}") == [fill]


@given(pieces=st.lists(PIECES, min_size=2, max_size=6), fill=FILLS)
def test_the_same_fill_in_several_blanks_is_always_found(pieces: list[str], fill: str) -> None:
    assert fills("BLANK".join(pieces), fill.join(pieces)) == [fill] * (len(pieces) - 1)


@given(context=st.text(max_size=40), sentence=st.text(max_size=40), blank_at=st.integers(0, 40))
def test_any_two_texts_give_spans_within_the_sentence(context: str, sentence: str, blank_at: int) -> None:
    marked = f"{context[:blank_at]}BLANK{context[blank_at:]}"
    assume(marked.count("BLANK") == 1)

    spans = filled_spans(marked, sentence)

    assert len(spans) <= 1
    for span in spans:
        assert 0 <= span.start < span.end <= len(sentence)


def test_a_context_of_many_blanks_is_answered_at_once() -> None:
    """Trying every way to share out forty words among eight blanks took seconds, among twenty for ever."""
    call = (
        "from evenhand.core.items import filled_spans; "
        'print(filled_spans("BLANK " * 20 + "loaf", "bread " * 60 + "cake"))'
    )
    done = subprocess.run(
        [sys.executable, "-c", call], check=True, timeout=HANG, capture_output=True, text=True
    )

    assert done.stdout.strip() == "()"


@given(before=st.text("aB ."), after=st.text("aB ."), fill=st.text("aB ."))
@example(before="a ", after=" a", fill="a")
@example(before="", after="a", fill="aa")
def test_what_stands_between_the_ends_is_what_the_pattern_finds(before: str, after: str, fill: str) -> None:
    """Where a sentence has both ends of its context to the letter, no pattern is made; the answer is the same."""
    assume(fill.strip())
    sentence = f"{before}{fill}{after}"
    pattern = f"{re.escape(before)}(.+?){re.escape(after)}"
    found = re.fullmatch(pattern, sentence, flags=re.DOTALL | re.IGNORECASE)
    assert found is not None

    assert filled_spans(f"{before}BLANK{after}", sentence) == (Span(*found.span(1)),)
