"""Content: what texts about groups are about, beside how they speak of people: lexicons and occupations."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import polars as pl

from evenhand.core.files import sha256_of_file
from evenhand.data.group_texts import GroupTexts
from evenhand.instruments.regard.lexicon_rates import (
    LexiconReport,
    LexiconSearch,
    MatchReview,
    matches_csv,
    read_review,
)
from evenhand.instruments.regard.occupation_shares import OccupationReport, OccupationSearch
from evenhand.stats.resampling import Resampling
from evenhand.text.lexicons import LEXICON_LANGUAGES, Lexicon, load_lexicon
from evenhand.text.occupations import OCCUPATION_LANGUAGES, OccupationList, load_occupations

MATCHES_COLUMN = "matches"
"""The column of scores with the matches of a lexicon that count: category and words, by turns."""

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

    lexicon: Lexicon | None
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
    """What texts are about, and the matches of a lexicon in each of them."""

    lexicons: LexiconReport | None
    occupations: OccupationReport | None
    matches: pl.Series

    @classmethod
    def of(cls, texts: GroupTexts, lists: ContentLists, *, resampling: Resampling) -> TextContent:
        """Search texts."""
        search = None if lists.lexicon is None else LexiconSearch.through(texts, lists.lexicon)
        matches = [[] for _ in texts] if search is None else search.counted_words()
        return cls(
            lexicons=None if search is None else search.report(lists.review, resampling=resampling),
            occupations=None
            if lists.occupations is None
            else OccupationSearch.through(texts, lists.occupations).report(resampling=resampling),
            matches=pl.Series(MATCHES_COLUMN, matches, dtype=pl.List(pl.String)),
        )


def content_files(scores: pl.DataFrame) -> dict[str, str]:
    """Files for a run folder by name: the matches of a lexicon, with columns in which people judge them."""
    if MATCHES_COLUMN not in scores.columns:
        return {}
    rows = [
        (group, category, words, text)
        for group, text, matches in scores.select("group", "text", MATCHES_COLUMN).iter_rows()
        for category, words in zip(matches[::2], matches[1::2], strict=True)
    ]
    return {MATCHES_FILE: matches_csv(rows)}
