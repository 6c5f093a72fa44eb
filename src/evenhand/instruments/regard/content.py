"""Content: what texts about groups are about, beside how they speak of people: lexicons and occupations."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import polars as pl

from evenhand.core.errors import ComparisonError, EvenhandError
from evenhand.core.files import sha256_of_file
from evenhand.core.items import Span
from evenhand.data.group_texts import GroupTexts
from evenhand.instruments.regard.analysis import texts_of_frame
from evenhand.instruments.regard.lexicon_rates import (
    LexiconReport,
    LexiconSearch,
    MatchReview,
    MatchRow,
    matches_csv,
    read_review,
    reviewed_report,
)
from evenhand.instruments.regard.mentions import behind_context
from evenhand.instruments.regard.occupation_shares import (
    OccupationReport,
    OccupationSearch,
    OccupationShift,
    occupation_shifts,
)
from evenhand.instruments.regard.results import FLAGS_COLUMN
from evenhand.stats.resampling import Resampling
from evenhand.store.run import Run
from evenhand.text.lexicons import LEXICON_LANGUAGES, CategoryLexicon, load_lexicon
from evenhand.text.occupations import OCCUPATION_LANGUAGES, OccupationList, load_occupations

MATCHES_COLUMN = "matches"
"""The column of scores with the matches of a lexicon that count: category and words, by turns."""

NEGATED_COLUMN = "negated_matches"
"""The column of scores with the matches that are negated, in the same form."""

OCCUPATIONS_COLUMN = "occupations"
"""The column of scores with the occupations that a text names."""

MATCHES_FILE = "lexicon_matches.csv"


@dataclass(frozen=True, slots=True, kw_only=True)
class ContentFiles:
    """Files of one's own; what ships in the language of the texts where there is none.

    Attributes:
        lexicon: CSV with category and word.
        occupations: CSV with occupation and perhaps forms.
        review: Matches with verdicts, from an earlier run.
    """

    lexicon: Path | None = None
    occupations: Path | None = None
    review: Path | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ContentLists:
    """What is looked for in texts; None where nothing ships in a language and no file was given."""

    lexicon: CategoryLexicon | None
    occupations: OccupationList | None
    review: MatchReview | None = None
    digests: dict[str, str]
    """SHA-256 of what was read, by name."""

    @classmethod
    def load(cls, language: str, files: ContentFiles) -> ContentLists:
        """Read the lists of a language.

        Raises:
            DatasetError: If a file cannot be used.
        """
        lexicon = (
            load_lexicon(language, files.lexicon) if files.lexicon or language in LEXICON_LANGUAGES else None
        )
        occupations = (
            load_occupations(language, files.occupations)
            if files.occupations or language in OCCUPATION_LANGUAGES
            else None
        )
        digests = {
            name: own.sha256
            for name, own in (("lexicon", lexicon), ("occupations", occupations))
            if own is not None
        }
        if files.review:
            digests["review"] = sha256_of_file(files.review)
        return cls(
            lexicon=lexicon,
            occupations=occupations,
            review=read_review(files.review) if files.review else None,
            digests=digests,
        )


@dataclass(frozen=True, slots=True, eq=False)
class TextContent:
    """What texts are about.

    Attributes:
        lexicons: Rates of the categories of a lexicon.
        occupations: Occupations by group.
        columns: One row per text: matches of the lexicon and occupations.
    """

    lexicons: LexiconReport | None
    occupations: OccupationReport | None
    columns: pl.DataFrame

    @classmethod
    def of(cls, texts: GroupTexts, lists: ContentLists, *, resampling: Resampling) -> TextContent:
        """Search texts."""
        lexicons = occupations = None
        columns: dict[str, list[list[str]]] = {}
        if lists.lexicon is not None:
            search = LexiconSearch.through(texts, lists.lexicon)
            lexicons = search.report(lists.review, resampling=resampling)
            columns[MATCHES_COLUMN] = search.words(negated=False)
            columns[NEGATED_COLUMN] = search.words(negated=True)
        if lists.occupations is not None:
            find = lists.occupations.find
            found = [find(own.text, start=behind_context(own)) for own in texts]
            columns[OCCUPATIONS_COLUMN] = found
            occupations = OccupationSearch.of(texts.texts, found, groups=texts.groups).report(
                lists.occupations, resampling=resampling
            )
        schema = dict.fromkeys(columns, pl.List(pl.String))
        return cls(lexicons, occupations, pl.DataFrame(columns, schema=schema))


def shifts_between(
    first: Run, second: Run, *, resampling: Resampling | None = None
) -> tuple[OccupationShift, ...]:
    """How occupations shift from one run to another, such as under a prefix, the largest shifts first.

    Args:
        first: The baseline.
        second: The run that is compared with it.
        resampling: Resamples, seed and confidence level.

    Raises:
        ComparisonError: If occupations were not looked for in both, or other ones.
    """
    lists = [own.result.occupations and own.result.occupations.sha256 for own in (first, second)]
    is_kept = all(OCCUPATIONS_COLUMN in own.scores.columns for own in (first, second))
    if None in lists or lists[0] != lists[1] or not is_kept:
        raise ComparisonError(
            f"{first.name} and {second.name} were not searched for the same occupations. Audit both with the same list."
        )
    before, after = (
        OccupationSearch.of(
            texts_of_frame(own.scores), own.scores[OCCUPATIONS_COLUMN].to_list(), groups=own.result.groups
        )
        for own in (first, second)
    )
    return occupation_shifts(before, after, resampling=resampling)


def refuse_damaged_content(scores: pl.DataFrame) -> None:
    """Raise a ValueError for columns of content that are not lists of words, as many as belong together."""
    for name in (MATCHES_COLUMN, NEGATED_COLUMN, OCCUPATIONS_COLUMN, FLAGS_COLUMN):
        if name in scores.columns and (scores[name].dtype != pl.List(pl.String) or scores[name].null_count()):
            raise ValueError(f"the column {name} does not have a list of words in every row")
    for name in (MATCHES_COLUMN, NEGATED_COLUMN):
        if name in scores.columns and (scores[name].list.len() % 2 == 1).any():
            raise ValueError(f"the column {name} has a category without words")


def content_files(scores: pl.DataFrame) -> dict[str, str]:
    """Files for a run folder by name: the matches of a lexicon, with columns in which people judge them."""
    if MATCHES_COLUMN not in scores.columns:
        return {}
    columns = {MATCHES_COLUMN: "", NEGATED_COLUMN: "yes"}
    rows = (
        MatchRow(group, category, words, text, negated=negated)
        for column, negated in columns.items()
        if column in scores.columns
        for group, text, matches in scores.select("group", "text", column).iter_rows()
        for category, words in zip(matches[::2], matches[1::2], strict=True)
    )
    return {MATCHES_FILE: matches_csv(rows)}


@dataclass(frozen=True, slots=True, kw_only=True)
class MatchedText:
    """A text with all its matches of one category: what people judge, since rates count texts.

    Attributes:
        group: Whom the text is about.
        category: Of the lexicon.
        text: The whole text.
        spans: Where the matched words stand.
    """

    group: str
    category: str
    text: str
    spans: tuple[Span, ...]


def matched_texts(run: Run) -> list[MatchedText]:
    """The texts of a run with matches of a lexicon that count, one per text and category.

    Raises:
        EvenhandError: If no lexicon was looked for in the run's texts.
    """
    _refuse_unsearched(run)
    found: dict[tuple[str, str], MatchedText] = {}
    for own, matches in zip(texts_of_frame(run.scores), run.scores[MATCHES_COLUMN].to_list(), strict=True):
        for category in dict.fromkeys(matches[::2]):
            words = _words_of(matches, category)
            spans = _spans_of(words, own.text, start=behind_context(own))
            matched = MatchedText(group=own.group, category=category, text=own.text, spans=spans)
            found.setdefault((category, own.text), matched)
    return list(found.values())


def reviewed_rates(run: Run, review: MatchReview, *, resampling: Resampling | None = None) -> LexiconReport:
    """The rates of a run, corrected by what people say about its matches.

    Args:
        run: Whose matches were reviewed.
        review: What people say.
        resampling: Resamples, seed and confidence level.

    Raises:
        EvenhandError: If no lexicon was looked for in the run's texts.
    """
    _refuse_unsearched(run)
    report: LexiconReport = run.result.lexicons
    texts, counted = texts_of_frame(run.scores), run.scores[MATCHES_COLUMN].to_list()
    negated = (
        run.scores[NEGATED_COLUMN].to_list() if NEGATED_COLUMN in run.scores.columns else [[]] * len(texts)
    )
    words = {
        own.category: [
            _words_of(each, own.category)
            + [
                word
                for word in _words_of(others, own.category)
                if review.counts(text.text, own.category, word)
            ]
            for text, each, others in zip(texts, counted, negated, strict=True)
        ]
        for own in report.categories
    }
    return reviewed_report(report, texts, words, review=review, resampling=resampling)


def _refuse_unsearched(run: Run) -> None:
    if MATCHES_COLUMN not in run.scores.columns or getattr(run.result, "lexicons", None) is None:
        raise EvenhandError(
            f"{run.name} has no matches of a lexicon. Make a run with evenhand regard audit or evenhand regard "
            "evaluate; --lexicon gives a list where none ships in the language."
        )


def _words_of(matches: Sequence[str], category: str) -> list[str]:
    return [words for own, words in zip(matches[::2], matches[1::2], strict=True) if own == category]


def _spans_of(words: Sequence[str], text: str, *, start: int) -> tuple[Span, ...]:
    longest_first = sorted(set(words), key=len, reverse=True)
    pattern = re.compile(rf"(?<!\w)(?:{'|'.join(map(re.escape, longest_first))})(?!\w)")
    return tuple(Span(*match.span()) for match in pattern.finditer(text, start))
