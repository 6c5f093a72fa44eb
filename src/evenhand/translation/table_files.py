"""Tables of texts that are translated column by column: pairs of sentences, structures of probes, prompts.

Tags such as [MASK] and [OCC:nom] stay as they are. What is no text stays too: ids, labels, experiments.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from evenhand.core.counts import plural
from evenhand.core.errors import DatasetError
from evenhand.core.files import decode_utf8, read_bounded, sha256_of
from evenhand.core.progress import SILENT, Monitor
from evenhand.data.csv_files import read_table
from evenhand.data.language_names import file_stem
from evenhand.translation.answers import AnswerCache, answer_all
from evenhand.translation.translating import TranslatedFile, keeps_tags, translate_tagged, warn_of_empty
from evenhand.translation.translators import Translator

TEXT_COLUMNS = ("sent_more", "sent_less", "structure", "text", "prompt", "sentence")
"""Columns that are known to hold texts: those of CrowS-Pairs, of structures, of prompts and of annotations."""

SUFFIXES = (".csv", ".tsv", ".txt")

TAG = re.compile(r"\[[A-Z][^\]\n]*\]|\{\w+\}|\bBLANK\b|\bXYZ\b")
"""What may not change: gaps of structures, names in braces, blanks, and the person of regard prompts."""


@dataclass(frozen=True, slots=True)
class TextTable:
    """A table, and which of its columns hold texts.

    Attributes:
        name: What it is called.
        language: Of its texts.
        suffix: How its file ends: ``.csv``, ``.tsv``, or ``.txt`` with one text per line.
        sha256: Of the file.
        columns: All columns, in their order.
        translated: Those that hold texts.
        rows: The cells of each row, in the order of the columns.
        licence: Of the content, if it is known.
        kept: Texts that stay as they are, such as names.
    """

    name: str
    language: str
    suffix: str
    sha256: str
    columns: tuple[str, ...]
    translated: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    licence: str | None = None
    kept: frozenset[str] = frozenset()

    def texts(self) -> list[str]:
        """What is translated, each text once."""
        places = [self.columns.index(column) for column in self.translated]
        cells = dict.fromkeys(row[place] for row in self.rows for place in places if row[place])
        return [cell for cell in cells if cell not in self.kept]

    @property
    def tags(self) -> re.Pattern[str]:
        """What may not change in a text."""
        return TAG

    def tagged_texts(self) -> list[str]:
        """Those of them that have tags."""
        return [text for text in self.texts() if TAG.search(text)]

    def translate(
        self, translator: Translator, cache: AnswerCache, *, language: str, monitor: Monitor = SILENT
    ) -> TranslatedFile:
        """The file in another language.

        Raises:
            TranslationError: If the translator fails; what it gave before is kept.
        """
        del language  # a table says it by its name
        texts = self.texts()
        with monitor.stage("Translating", "texts") as progress:
            refused = answer_all(translator, texts, cache, progress=progress)
        answers = translate_tagged(texts, TAG, translator, cache, refused=refused, monitor=monitor)
        lost = [text for text in texts if not keeps_tags(answers[text], text, TAG)]
        if lost:
            monitor.warn(
                f"{plural(len(lost), 'text')} lost a tag such as [MASK] or gained one; the first is {lost[0]!r}. "
                "evenhand data repair mends known leaks; the rest is for people."
            )
        warn_of_empty(answers, refused, cache, monitor=monitor)
        places = {self.columns.index(column) for column in self.translated}
        rows = [
            [answers.get(cell, cell) if place in places else cell for place, cell in enumerate(row)]
            for row in self.rows
        ]
        return TranslatedFile(table_bytes(self.columns, rows, suffix=self.suffix), refused)

    def original(self) -> bytes:
        """The table itself, as it is kept beside its translation."""
        return table_bytes(self.columns, self.rows, suffix=self.suffix)


def table_bytes(columns: Sequence[str], rows: Iterable[Sequence[str]], *, suffix: str) -> bytes:
    """A table as a file: text with one row per line, or CSV with its header."""
    if suffix == ".txt":
        return "".join(f"{' '.join(cell.split())}\n" for (cell,) in rows).encode()
    buffer = io.StringIO(newline="")
    writer = csv.writer(buffer, lineterminator="\n", delimiter="\t" if suffix == ".tsv" else ",")
    writer.writerow([column or "id" for column in columns])
    writer.writerows(rows)
    return buffer.getvalue().encode()


def is_text_table(path: Path) -> bool:
    """Whether a file is translated column by column."""
    return path.suffix.lower() in SUFFIXES


def read_text_table(
    path: Path, *, language: str, columns: Sequence[str] = (), licence: str | None = None, name: str = ""
) -> TextTable:
    """Read a table whose texts are translated.

    Args:
        path: A CSV or TSV file, or a text file with one text per line.
        language: Of its texts.
        columns: Those that hold texts; the ones that are known to if empty.
        licence: Of the content, if it is known.
        name: What it is called; the file's name if empty.

    Raises:
        DatasetError: If the file cannot be read, or has no such column.
    """
    suffix = path.suffix.lower()
    if suffix == ".txt":
        content = read_bounded(path, error=DatasetError)
        lines = decode_utf8(content, path, error=DatasetError).splitlines()
        rows = tuple((line.strip(),) for line in lines if line.strip())
        return TextTable(
            name or file_stem(path), language, suffix, sha256_of(content), ("text",), ("text",), rows, licence
        )
    table = read_table(path, needed=tuple(column.lower() for column in columns))
    chosen = tuple(column.lower() for column in columns) or tuple(
        column for column in TEXT_COLUMNS if column in table.columns
    )
    if not chosen:
        raise DatasetError(
            f"{path} has the columns {', '.join(table.columns)}, none of which is known to hold texts "
            f"({', '.join(TEXT_COLUMNS)}). Name those that do with --columns."
        )
    return TextTable(
        name=name or path.stem,
        language=language,
        suffix=suffix,
        sha256=table.sha256,
        columns=table.columns,
        translated=chosen,
        rows=tuple(tuple(row[column] for column in table.columns) for row in table.rows),
        licence=licence,
    )
