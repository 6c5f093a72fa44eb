"""Rates of lexicons: plain counts, what a review changes, and texts that a review leaves open."""

from __future__ import annotations

import csv
import io
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from evenhand.core.errors import DatasetError
from evenhand.data.group_texts import GroupText, GroupTexts
from evenhand.instruments.regard.content import (
    MATCHES_COLUMN,
    MATCHES_FILE,
    ContentLists,
    TextContent,
    content_files,
    refuse_damaged_content,
)
from evenhand.instruments.regard.lexicon_rates import (
    LexiconSearch,
    MatchReview,
    MatchVerdict,
    read_review,
    reviewed_report,
)
from evenhand.stats.resampling import Resampling
from evenhand.text.lexicons import CategoryLexicon

pytest.importorskip("simplemma")

FEW = Resampling(resamples=200)
SMALLEST = Resampling(resamples=100)
LEXICON = CategoryLexicon("en", {"care": ("nurse", "care"), "crime": ("kill",)}, "own", "0")
ENDINGS = {
    "female": ["a nurse.", "a nurse who cared.", "a cook.", "no nurse."],
    "male": ["a cook.", "a killer who killed.", "a nurse.", "a pilot."],
}
CONTEXTS = ("worked as", "was seen as", "was killed as")


def texts() -> GroupTexts:
    rows = [
        GroupText(text=f"The {group} {context} {ending}", group=group, context=context)
        for context in CONTEXTS
        for group, endings in ENDINGS.items()
        for ending in endings
    ]
    return GroupTexts(name="own", language="en", texts=tuple(rows))


def test_shares_are_those_of_texts_with_a_match_behind_the_context() -> None:
    care, crime = LexiconSearch.through(texts(), LEXICON).report(resampling=FEW).categories
    assert {group: own.value for group, own in care.shares.groups.items()} == {"female": 50.0, "male": 25.0}
    assert {group: own.value for group, own in crime.shares.groups.items()} == {"female": 0.0, "male": 25.0}
    assert (care.matches, care.negated) == (5 * 3, 3)
    assert care.shares.gaps[0].gap.value == pytest.approx(25.0)
    assert care.shares.groups["female"].clusters == 3
    assert care.corrected is None


def matches_of_texts() -> str:
    lists = ContentLists(lexicon=LEXICON, occupations=None, digests={})
    content = TextContent.of(texts(), lists, resampling=FEW)
    frame = pl.DataFrame({name: [getattr(own, name) for own in texts()] for name in ("group", "text")})
    return content_files(frame.with_columns(content.columns))[MATCHES_FILE]


def test_matches_are_written_for_people_to_judge(tmp_path: Path) -> None:
    rows = list(csv.DictReader(io.StringIO(matches_of_texts())))
    assert len(rows) == (3 + 2 + 1) * 3
    assert rows[0] == {
        "group": "female", "category": "care", "match": "nurse", "text": "The female worked as a nurse.",
        "verdict": "", "note": "", "negated": "",
    }  # fmt: skip
    negated = [row["text"] for row in rows if row["negated"] == "yes"]
    assert negated == [f"The female {context} no nurse." for context in CONTEXTS]
    path = tmp_path / "matches.csv"
    path.write_text(matches_of_texts(), encoding="utf-8")
    with pytest.raises(DatasetError, match="has no verdicts"):
        read_review(path)


@pytest.mark.parametrize(
    "column",
    [
        pl.Series(MATCHES_COLUMN, [["care"]]),
        pl.Series(MATCHES_COLUMN, [None], dtype=pl.List(pl.String)),
        pl.Series("occupations", ["nurse"]),
    ],
)
def test_damaged_columns_are_refused(column: pl.Series) -> None:
    with pytest.raises(ValueError, match=f"the column {column.name}"):
        refuse_damaged_content(pl.DataFrame([column]))


def judged(tmp_path: Path, *, wrong: str, only: str = "", negated_too: bool = False) -> MatchReview:
    rows = list(csv.DictReader(io.StringIO(matches_of_texts())))
    path = tmp_path / "matches.csv"
    with path.open("w", encoding="utf-8", newline="") as stream:
        writer = csv.DictWriter(stream, rows[0].keys())
        writer.writeheader()
        for row in rows:
            verdict = "Wrong" if wrong in row["text"] else "right"
            is_judged = only in row["text"] and (negated_too or not row["negated"])
            writer.writerow(row | {"verdict": verdict if is_judged else ""})
    return read_review(path)


def test_where_all_is_reviewed_right_texts_are_counted(tmp_path: Path) -> None:
    review = judged(tmp_path, wrong="male worked as a nurse.")
    care, _ = LexiconSearch.through(texts(), LEXICON).report(review, resampling=FEW).categories
    assert care.precision is not None
    assert care.corrected is not None
    assert care.precision["female"].value == pytest.approx(100 * 5 / 6)
    assert care.precision["male"].value == pytest.approx(100 * 2 / 3)
    assert care.corrected["female"].value == pytest.approx(100 * 5 / 12)
    assert care.corrected["male"].value == pytest.approx(100 * 2 / 12)


def test_a_negated_match_counts_once_somebody_says_that_it_is_right(tmp_path: Path) -> None:
    review = judged(tmp_path, wrong="male worked as", negated_too=True)
    lists = ContentLists(lexicon=LEXICON, occupations=None, review=review, digests={})
    content = TextContent.of(texts(), lists, resampling=FEW)
    assert content.lexicons is not None
    care, _ = content.lexicons.categories
    assert care.corrected is not None
    # Of four texts per context three have a match, negated or not; those of one context of three are all wrong.
    assert care.corrected["female"].value == pytest.approx(100 * 3 * 2 / 12)


def test_where_a_part_is_reviewed_shares_are_multiplied_by_precision(tmp_path: Path) -> None:
    review = judged(tmp_path, wrong="worked as a nurse.", only="worked")
    care, crime = LexiconSearch.through(texts(), LEXICON).report(review, resampling=FEW).categories
    assert care.precision is not None
    assert care.corrected is not None
    assert care.precision["female"].value == pytest.approx(50.0)
    assert care.corrected["female"].value == pytest.approx(50.0 * 0.5)
    assert care.corrected["female"].low <= 25.0 <= care.corrected["female"].high
    assert crime.corrected is not None
    assert crime.corrected["female"].value == 0.0


def test_a_text_is_right_if_one_of_its_matches_is() -> None:
    text = "a nurse who cared"
    review = MatchReview(
        {("care", "nurse", text): MatchVerdict.WRONG, ("care", "cared", text): MatchVerdict.RIGHT}
    )
    assert review.verdict_on(text, "care", ["nurse", "cared"]) is MatchVerdict.RIGHT
    half = MatchReview({("care", "nurse", text): MatchVerdict.WRONG})
    assert half.verdict_on(text, "care", ["nurse", "cared"]) is None


def test_corrected_rates_cover_the_truth() -> None:
    """Texts with a planted rate of matches, of which a planted share is right; a random part of them is reviewed."""
    rate, precision, studies = 0.3, 0.7, 120
    generator = np.random.default_rng(5)
    covered = 0
    for _ in range(studies):
        rows = [
            GroupText(text=f"text {number} of {group}", group=group, context=f"context {number % 20}")
            for group in ("female", "male")
            for number in range(300)
        ]
        has_match = generator.random(len(rows)) < rate
        words = [["nurse"] if flag else [] for flag in has_match]
        verdicts = {
            ("care", "nurse", row.text): MatchVerdict.RIGHT
            if generator.random() < precision
            else MatchVerdict.WRONG
            for row, flag in zip(rows, has_match, strict=True)
            if flag and generator.random() < 0.5
        }
        found = GroupTexts(name="own", language="en", texts=tuple(rows))
        lexicon = CategoryLexicon("en", {"care": ("nurse",)}, "own", "0")
        report = LexiconSearch(found, lexicon, tuple(() for _ in rows)).report(resampling=SMALLEST)
        (care,) = reviewed_report(
            report, rows, {"care": words}, review=MatchReview(verdicts), resampling=SMALLEST
        ).categories
        assert care.corrected is not None
        own = care.corrected["female"]
        covered += own.low <= 100 * rate * precision <= own.high
    # Two intervals that both hold make a wide one: it may cover more often than 95%, never much less.
    assert covered / studies >= 0.93


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ("care,nurse,a nurse,perhaps", "the verdict 'perhaps' is not known"),
        ("care,nurse,a nurse,right\ncare,nurse,a nurse,wrong", "right in one row and wrong in another"),
    ],
)
def test_verdicts_that_make_no_sense_are_refused(tmp_path: Path, rows: str, message: str) -> None:
    path = tmp_path / "matches.csv"
    path.write_text(f"category,match,text,verdict\n{rows}\n", encoding="utf-8")
    with pytest.raises(DatasetError, match=message):
        read_review(path)
