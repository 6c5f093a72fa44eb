"""Texts with votes and authors: what a regard classifier is trained on."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import cached_property
from pathlib import Path

import numpy as np
import numpy.typing as npt

from evenhand.core.errors import DatasetError, shortlist
from evenhand.core.files import decode_utf8, read_bounded, sha256_of, sha256_of_file
from evenhand.core.labels import LabelScheme
from evenhand.data.annotation_csv import ANNOTATOR, TEXT_ID
from evenhand.data.annotation_files import AnnotationColumns, read_annotations
from evenhand.data.annotations import AnnotationTable
from evenhand.data.csv_files import plain_cell, read_table
from evenhand.regard.features import TextRows
from evenhand.stats.classification import Integers, independent_clusters
from evenhand.stats.resampling import Floats
from evenhand.stats.vote_aggregation import NO_LABEL, AggregatedVotes, TieRule, Votes, aggregate_votes


class LabelKind(StrEnum):
    """What a classifier learns from votes."""

    MODE = "mode"
    """The label with the most votes."""
    CONSENSUS = "consensus"
    """Only texts that all annotators label alike."""
    SOFT = "soft"
    """The shares of votes."""


@dataclass(frozen=True, eq=False)
class RegardTexts:
    """Texts in the order of their file, with one row of votes per text."""

    name: str
    rows: TextRows
    votes: Votes
    scheme: LabelScheme
    sha256: str
    authors: tuple[str, ...] | None = None
    decisions: Integers | None = None
    """Labels that an adjudicator settled; ``NO_LABEL`` where none did."""
    ties: TieRule = TieRule.LOWEST
    left_out: int = 0
    """Texts about which an annotator was unsure or said nothing."""
    warnings: tuple[str, ...] = ()

    def __len__(self) -> int:
        return len(self.rows)

    @property
    def classes(self) -> tuple[str, ...]:
        """The codes of the labels, in order."""
        return self.scheme.codes

    @cached_property
    def aggregated(self) -> AggregatedVotes:
        """What the votes of each text come to."""
        return aggregate_votes(self.votes, self.scheme.values, ties=self.ties)

    @cached_property
    def labels(self) -> Integers:
        """The decision or the mode of each text; ``NO_LABEL`` where votes are tied and ties are dropped."""
        mode = self.aggregated.mode
        return mode if self.decisions is None else np.where(self.decisions >= 0, self.decisions, mode)

    @property
    def unanimous(self) -> npt.NDArray[np.bool_]:
        """Whether all votes on a text are the same."""
        same: npt.NDArray[np.bool_] = self.aggregated.consensus >= 0
        return same

    @cached_property
    def groups(self) -> Integers:
        """A number per author; where authors are not known, one per text that differs."""
        names = self.authors or tuple(text_key(text) for text in self.rows.texts)
        return np.unique(np.array(names), return_inverse=True)[1].astype(np.int64)

    @property
    def clusters(self) -> Integers:
        """What intervals take for independent: authors, or texts."""
        return self.groups if self.authors else independent_clusters(len(self))

    def targets(self, kind: LabelKind) -> Floats:
        """How much each label counts for each text; a row of zeros is not trained on."""
        if kind is LabelKind.SOFT:
            return self.aggregated.shares
        known = self.labels >= 0 if kind is LabelKind.MODE else self.unanimous & (self.labels >= 0)
        hard = np.zeros((len(self), len(self.classes)))
        hard[np.flatnonzero(known), self.labels[known]] = 1.0
        return hard

    @property
    def digest(self) -> str:
        """SHA-256 of texts, votes and authors."""
        parts = [
            self.scheme.model_dump_json(),
            self.ties.value,
            self.sha256,
            *self.rows.texts,
            *(self.authors or ()),
        ]
        content = "\n".join(parts).encode() + self.votes.tobytes() + self.rows.numbers.tobytes()
        return sha256_of(content + (b"" if self.decisions is None else self.decisions.tobytes()))

    def take(self, places: Integers) -> RegardTexts:
        """The texts at these places."""
        return replace(
            self,
            rows=self.rows.take(places),
            votes=self.votes[places],
            authors=None if self.authors is None else tuple(self.authors[place] for place in places),
            decisions=None if self.decisions is None else self.decisions[places],
        )


def text_key(text: str) -> str:
    """What two texts have in common that differ in spaces and capital letters only."""
    return " ".join(text.split()).casefold()


def read_regard_texts(
    paths: Sequence[str | Path],
    *,
    scheme: LabelScheme | None = None,
    columns: AnnotationColumns | None = None,
    group: str | None = None,
    ties: TieRule = TieRule.LOWEST,
) -> RegardTexts:
    """Texts with votes from files of annotations, in any layout that is known; one column of labels is one annotator.

    Args:
        paths: The files.
        scheme: The labels; ``regard`` if not given.
        columns: What the columns of a table are called.
        group: The column of the first file that names the author of each text, or ``FILE:COLUMN`` for another file
            with one row per text in the same order.
        ties: What becomes of a text whose votes are tied.
    """
    files = [Path(path) for path in paths]
    chosen = columns or AnnotationColumns()
    table = read_annotations(files, scheme=scheme, columns=chosen)
    authors = _authors(table, files[0], group, text_column=chosen.text.lower()) if group else None
    digest = sha256_of("".join(sha256_of_file(file) for file in files).encode())
    return texts_from(
        table, name=files[0].stem, sha256=digest, authors=authors, places=_places(table), ties=ties
    )


def texts_from(
    table: AnnotationTable,
    *,
    name: str,
    sha256: str,
    authors: Sequence[str] | None = None,
    places: Integers | None = None,
    ties: TieRule = TieRule.LOWEST,
) -> RegardTexts:
    """Texts with votes, without those about which somebody was unsure or that nobody labelled.

    Args:
        table: The annotations.
        name: What the texts are called in records.
        sha256: Digest of where they come from.
        authors: Who wrote each text of the table.
        places: The number of each text in its file; its place in the table if not given.
        ties: What becomes of a text whose votes are tied.
    """
    votes = table.votes
    usable = (votes >= 0).any(axis=1) & ~aggregate_votes(votes, table.scheme.values).unsure
    texts = tuple(table.texts.values())
    codes = {code: index for index, code in enumerate(table.scheme.codes)}
    decided = [codes.get(table.decisions.get(text_id, ""), NO_LABEL) for text_id in table.texts]
    whole = RegardTexts(
        name=name,
        rows=TextRows(texts, np.arange(len(texts), dtype=np.int64) if places is None else places),
        votes=votes,
        scheme=table.scheme,
        sha256=sha256,
        authors=None if authors is None else tuple(authors),
        decisions=np.array(decided, dtype=np.int64),
        ties=ties,
        warnings=table.warnings,
    )
    return replace(whole.take(np.flatnonzero(usable)), left_out=int((~usable).sum()))


def _places(table: AnnotationTable) -> Integers:
    """Ids that are all whole numbers are row numbers, which precomputed embeddings go by; else rows are counted."""
    ids = list(table.texts)
    if all(own.isdecimal() for own in ids):
        return np.array([int(own) for own in ids], dtype=np.int64)
    return np.arange(len(ids), dtype=np.int64)


def _authors(table: AnnotationTable, path: Path, group: str, *, text_column: str) -> tuple[str, ...]:
    file, separator, column = group.rpartition(":")
    source, name = (Path(file), column.lower()) if separator else (path, group.lower())
    rows = read_table(source, needed=(name,))
    if {TEXT_ID, ANNOTATOR} <= set(rows.columns):
        by_id = {plain_cell(row[TEXT_ID]): row[name] for row in rows.rows}
        authors = [by_id.get(text_id, "") for text_id in table.texts]
    else:
        filled = [row for row in rows.rows if text_column not in rows.columns or row[text_column]]
        if len(filled) != len(table.texts):
            raise DatasetError(
                f"{source} names the authors of {len(filled):,} texts, and there are {len(table.texts):,}. It needs "
                "one row per text, in the same order."
            )
        authors = [row[name] for row in filled]
    missing = [str(place + 1) for place, author in enumerate(authors) if not author]
    if missing:
        raise DatasetError(
            f"{source}: {len(missing):,} texts have no {name}, the first are numbers {shortlist(missing)}. Give every "
            "text an author, or leave out --group."
        )
    return tuple(authors)


_FUNCTION_WORDS = {
    "de": frozenset(
        {"die", "der", "das", "und", "ist", "war", "wurde", "eine", "einen", "als", "nicht", "mit"}
    ),
    "en": frozenset({"the", "and", "is", "was", "a", "an", "as", "of", "not", "with", "for", "to"}),
}


def language_of(texts: Sequence[str]) -> str:
    """German or English, by the words that every text has.

    Raises:
        DatasetError: If the words are not clearly of one of them.
    """
    words = [word for text in texts for word in text.lower().split()]
    counts = {language: sum(word in own for word in words) for language, own in _FUNCTION_WORDS.items()}
    likelier, other = sorted(counts, key=lambda language: -counts[language])
    if counts[likelier] <= 3 * counts[other]:
        raise DatasetError(
            "The language of the texts cannot be told from their words. Give it with --language, such as --language fr."
        )
    return likelier


def is_text_file(path: Path) -> bool:
    """Whether a file has one text per line, by its name."""
    return path.name.lower().removesuffix(".gz").endswith(".txt")


def read_plain_texts(path: Path, *, column: str = "text") -> tuple[str, ...]:
    """Texts without labels: the column of a table, or the lines of a .txt file that are not empty.

    Raises:
        DatasetError: If the file cannot be read, is empty, or a row of the table has no text.
    """
    if is_text_file(path):
        content = decode_utf8(read_bounded(path, error=DatasetError), path, error=DatasetError)
        return tuple(line.strip() for line in content.splitlines() if line.strip())
    table = read_table(path, needed=(column.lower(),), list_of=column.lower())
    for row in table.rows:
        if not row[column.lower()]:
            raise DatasetError(f"{row.place}: the text is empty. Give it one, or remove the row.")
    return tuple(row[column.lower()] for row in table.rows)
