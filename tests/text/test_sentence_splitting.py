"""Where sentences end, and that the pieces which a text arrives in do not matter."""

from __future__ import annotations

import tracemalloc
from itertools import chain, pairwise, repeat
from unittest import mock

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evenhand.text import sentence_splitting
from evenhand.text.sentence_splitting import LONGEST_SENTENCE, is_wrapped, sentences_of, split_line


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("He came. She left.", ["He came.", "She left."]),
        ("Who came? Nobody! Well … Yes.", ["Who came?", "Nobody!", "Well …", "Yes."]),
        ('"He came." "Did he?" (Yes.) Good.', ['"He came."', '"Did he?"', "(Yes.)", "Good."]),
        ("»Er kam.« »Ach was!« sagte sie.", ["»Er kam.«", "»Ach was!« sagte sie."]),
        ("He said no. and left.", ["He said no. and left."]),
        ("Mr. Smith met Dr. Jones. They talked.", ["Mr. Smith met Dr. Jones.", "They talked."]),
        ("J. R. Smith left. He was late.", ["J. R. Smith left.", "He was late."]),
        ("Sie kam am 3. Mai. Es regnete.", ["Sie kam am 3. Mai.", "Es regnete."]),
        ("It was 1990. He came.", ["It was 1990.", "He came."]),
        ("Er aß z.B. Brot. Sie auch.", ["Er aß z.B. Brot.", "Sie auch."]),
        ("He waited... She came.", ["He waited...", "She came."]),
        ("tokenised text . He came .", ["tokenised text .", "He came ."]),
        ("no end at all", ["no end at all"]),
        ("", []),
        ("... !", ["...", "!"]),
    ],
)
def test_a_line_is_split_where_its_sentences_end(line: str, expected: list[str]) -> None:
    assert split_line(line) == expected


def test_a_line_break_ends_a_sentence() -> None:
    assert list(sentences_of(["A headline\nHe came.  She\tleft.\n\n Another"])) == [
        "A headline",
        "He came.",
        "She left.",
        "Another",
    ]


WRAPPED = """\
The house stood at the end of a long road, and nobody had
lived in it for years. Then one day a lamp was seen in the
window. Who had lit it? The people of the village talked of
nothing else, until the baker said that he would go and have
a look at it himself.

He went in the morning. At noon he was back, and said that
there was nobody
"""


def test_wrapped_lines_are_joined_and_an_empty_line_ends_a_sentence() -> None:
    found = list(sentences_of([WRAPPED]))

    assert is_wrapped(WRAPPED)
    assert len(found) == 6
    assert found[0] == "The house stood at the end of a long road, and nobody had lived in it for years."
    assert found[3].endswith("a look at it himself.")
    assert found[4:] == ["He went in the morning.", "At noon he was back, and said that there was nobody"]


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("He came home at six.\nShe read a book.\n" * 20, id="a sentence a line"),
        pytest.param("a title without an end\nanother title\n" * 20, id="titles"),
        pytest.param("He came. She left. It rained.\n\n" * 20, id="a paragraph a line"),
        pytest.param("One line. It goes on\nin the next", id="too little to tell"),
        pytest.param("", id="nothing"),
    ],
)
def test_other_text_is_not_taken_for_wrapped(text: str) -> None:
    assert not is_wrapped(text)


def test_a_sentence_that_is_too_long_is_cut_at_a_space_and_counted() -> None:
    cuts: list[None] = []
    words = "word " * LONGEST_SENTENCE

    found = list(sentences_of([words], cut=lambda: cuts.append(None)))

    assert max(map(len, found)) <= LONGEST_SENTENCE
    assert {word for sentence in found for word in sentence.split()} == {"word"}
    assert sum(len(sentence.split()) for sentence in found) == LONGEST_SENTENCE
    assert len(found) == len(cuts) + 1 == 5


def test_a_word_without_end_is_cut_anyway() -> None:
    found = list(sentences_of(["x" * (3 * LONGEST_SENTENCE)]))

    assert list(map(len, found)) == [LONGEST_SENTENCE] * 3


def test_a_long_line_of_ordinary_sentences_is_not_cut() -> None:
    cuts: list[None] = []
    line = "He came home at six. She read a book! " * 5_000

    found = list(sentences_of([line], cut=lambda: cuts.append(None)))

    assert found == ["He came home at six.", "She read a book!"] * 5_000
    assert cuts == []


def test_white_space_without_end_takes_no_memory() -> None:
    """Two million characters come in, and none of them is needed."""
    gap = chain(repeat(" " * 1_000, 1_000), ["\n"], repeat("\t" * 1_000, 1_000))
    tracemalloc.start()
    try:
        with mock.patch.object(sentence_splitting, "SAMPLE", 5_000):
            found = list(sentences_of(chain(["He came"], gap, ["she left"])))
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()

    assert found == ["He came", "she left"]
    assert peak < 200_000


TEXTS = st.lists(
    st.sampled_from(
        [*"aA.1 \n\n?\"'(", "Mr", "z.B", "…", "ß", "Ü", "\t", " and so on", ". He came", "\u2028", "\x0b"]
    )
).map("".join)


LINES = st.lists(
    st.sampled_from(
        ["He went. She came and", "nobody knew it", "The end.", "", " \t", "and so on; Mr.", "Yes! No"]
    ),
    min_size=6,
).map("\n".join)


@given(
    text=TEXTS | LINES,
    cuts=st.lists(st.integers(min_value=0)),
    longest=st.integers(1, 40),
    sample=st.integers(1, 400),
)
def test_the_pieces_that_a_text_arrives_in_do_not_change_its_sentences(
    text: str, cuts: list[int], longest: int, sample: int
) -> None:
    places = sorted({0, len(text), *(cut % (len(text) + 1) for cut in cuts)})
    pieces = [text[start:end] for start, end in pairwise(places)]

    with mock.patch.object(sentence_splitting, "SAMPLE", sample):
        assert list(sentences_of(pieces, longest=longest)) == list(sentences_of([text], longest=longest))


@given(text=TEXTS | LINES, longest=st.integers(1, 40))
def test_nothing_is_lost_and_nothing_is_added(text: str, longest: int) -> None:
    found = list(sentences_of([text], longest=longest))

    assert "".join("".join(found).split()) == "".join(text.split())
    assert all(
        sentence and len(sentence) <= longest and sentence == " ".join(sentence.split()) for sentence in found
    )
