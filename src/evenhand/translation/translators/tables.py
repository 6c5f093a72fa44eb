"""``file:CSV``: translations that people made, from a table with the columns ``source`` and ``target``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from evenhand.core.errors import TranslationError, shortlist
from evenhand.data.csv_files import read_table
from evenhand.translation.translators import FREE, LanguagePair, need_argument


@dataclass(frozen=True, slots=True)
class TranslationTable:
    """Translations by text, and the digest of their file."""

    translations: Mapping[str, str]
    sha256: str


def read_translations(path: Path, languages: LanguagePair) -> TranslationTable:
    """Read translations that people made; rows without one are passed over.

    Raises:
        TranslationError: If a text is translated in two ways.
        DatasetError: If the file cannot be read.
    """
    columns = read_table(path, needed=()).columns
    names = (languages.source, languages.target)
    source, target = names if set(names) <= set(columns) else ("source", "target")
    table = read_table(path, needed=(source, target))
    translations: dict[str, str] = {}
    for row in table.rows:
        if row[source] and row[target]:
            known = translations.setdefault(row[source], row[target])
            if known != row[target]:
                raise TranslationError(
                    f"{row.place}: {row[source]!r} is translated as {row[target]!r} here and as {known!r} above. "
                    "Keep one of them."
                )
    return TranslationTable(translations, table.sha256)


class TableTranslator:
    """Looks texts up in a table."""

    batch_size = 100_000
    concurrency = 1

    def __init__(self, path: Path, languages: LanguagePair) -> None:
        table = read_translations(path, languages)
        self.path = path
        self.cost = FREE
        self.settings: Mapping[str, str] = {"sha256": table.sha256}
        self._translations = table.translations

    def translate(self, texts: Sequence[str]) -> list[str]:
        """The translation of each text, as the table has it."""
        lacking = [text for text in texts if text.strip() not in self._translations]
        if lacking:
            raise TranslationError(
                f"{self.path} lacks the translation of {len(lacking):,} texts: "
                f"{shortlist(map(repr, lacking), 3)}. Add a row for each."
            )
        return [self._translations[text.strip()] for text in texts]


class TableKind:
    """Opens people's tables."""

    name = "file"
    summary = "people's own translations, from a table with the columns source and target: file:CSV"

    def open(self, argument: str, languages: LanguagePair) -> TableTranslator:
        """The table at a path."""
        return TableTranslator(Path(need_argument(argument, form="file:CSV")), languages)


TABLE = TableKind()
