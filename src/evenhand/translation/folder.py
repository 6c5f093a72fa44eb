"""The folder of a translation: the file as the translator left it, every change since, and the file as it is now.

``record.json``     where the translation comes from: source, translator, settings
``untouched.json``  the file as the translator left it; never changes
``changes.csv``     one row per change
``LANGUAGE.json``   the file as it is now: the untouched one with all changes, byte for byte
``source.json``     what was translated
``review.csv``      what reviewers decided, one row per verdict, once that was collected
``review.set-aside.csv``  what they decided about texts that changed afterwards
``untranslated.csv``      texts that the translator refused, for people to fill in

A table ends as its source does, such as ``.csv``: ``source.csv``.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from importlib.metadata import version
from itertools import count
from pathlib import Path
from typing import Generic

from pydantic import Field, ValidationError, model_validator

from evenhand.core.errors import DatasetError, TranslationError, fault
from evenhand.core.files import is_file_name, read_stored, sha256_of, write_bytes, write_text
from evenhand.core.frozen import FrozenModel
from evenhand.core.items import Benchmark
from evenhand.data.stereoset import read_stereoset
from evenhand.store.claims import claimed
from evenhand.translation.changes import Changes, DocumentKind, now, read_changes, replay, write_changes
from evenhand.translation.documents import (
    BEYOND_REPAIR,
    CONTEXT,
    DOUBTFUL_TARGET,
    SENTENCE,
    WORD,
    Document,
    ItemTexts,
    read_document,
)
from evenhand.translation.makers import is_rule
from evenhand.translation.table_documents import RowTexts, TableDocument
from evenhand.translation.table_files import SUFFIXES

RECORD = "record.json"
UNTOUCHED = "untouched.json"
SOURCE = "source"
CHANGES = "changes.csv"
REVIEW = "review.csv"
SET_ASIDE = "review.set-aside.csv"
UNTRANSLATED = "untranslated.csv"


class SourceRecord(FrozenModel):
    """What was translated."""

    name: str
    language: str
    sha256: str
    """Of the file that was translated."""
    licence: str | None = None
    kept_sha256: str
    """Of what the folder keeps of it."""


class TranslatorRecord(FrozenModel):
    """Who translated, and with which settings."""

    name: str
    settings: Mapping[str, str] = Field(default_factory=dict)


class TranslationRecord(FrozenModel):
    """Where a translation comes from."""

    kind: str = "translation"
    language: str
    suffix: str = ".json"
    """How the files end."""
    columns: tuple[str, ...] = ()
    """Those of a table that hold texts."""
    untouched_sha256: str
    source: SourceRecord | None = None
    """None for a file that came from elsewhere."""
    translator: TranslatorRecord | None = None
    fingerprint: str = ""
    """Digest of all that determines the untouched file."""
    created: str = Field(default_factory=now)
    evenhand: str = Field(default_factory=lambda: version("evenhand"))

    @model_validator(mode="after")
    def _names_a_file_of_its_folder(self) -> TranslationRecord:
        if self.suffix not in (".json", *SUFFIXES) or not is_file_name(f"{self.language}{self.suffix}"):
            raise ValueError(f"{self.language + self.suffix!r} is no file of a translation")
        return self

    @property
    def is_table(self) -> bool:
        """Whether it is a table of texts, not a benchmark in StereoSet's layout."""
        return self.suffix != ".json"


def is_translation_folder(path: Path) -> bool:
    """Whether a folder holds a translation."""
    return (path / RECORD).is_file() and any(path.glob(f"{Path(UNTOUCHED).stem}.*"))


def read_record(folder: Path) -> TranslationRecord:
    """The record of a translation.

    Raises:
        TranslationError: If the folder holds none.
    """
    if not is_translation_folder(folder):
        raise TranslationError(
            f"{folder} holds no translation: {RECORD} and {UNTOUCHED} are needed. Make one with: evenhand data "
            "translate, or from a file with: evenhand data repair FILE --out FOLDER."
        )
    try:
        return TranslationRecord.model_validate_json(read_stored(folder / RECORD, error=TranslationError))
    except ValidationError as problem:
        raise TranslationError(
            f"{folder / RECORD} is damaged or of another version: {fault(problem)}. Put it back as it was, or "
            "translate again."
        ) from None


def fingerprint_of_translation(folder: Path) -> str | None:
    """The fingerprint of the translation in a folder; None if there is no folder."""
    return read_record(folder).fingerprint if folder.exists() else None


def read_source(folder: Path, record: TranslationRecord) -> Benchmark | None:
    """The benchmark that was translated, as the folder keeps it; None if it does not.

    Raises:
        TranslationError: If the file was changed.
    """
    path = folder / f"{SOURCE}.json"
    known = record.source
    if known is None or record.is_table or not path.is_file():
        return None
    content = read_stored(path, error=TranslationError)
    if sha256_of(content) != known.kept_sha256:
        raise TranslationError(
            f"{path} was changed: its digest is not the one in {RECORD}. Put it back as it was."
        )
    benchmark = read_stereoset(path, language=known.language, name=known.name, licence=known.licence)
    return replace(benchmark, sha256=known.sha256)


def write_translation(
    folder: Path, content: bytes, record: TranslationRecord, *, source: bytes | None = None
) -> None:
    """Put an untouched translation into a folder that is there.

    Args:
        folder: Where it goes.
        content: The file as the translator left it.
        record: Where it comes from.
        source: What was translated, in the same layout; None if that is not known.
    """
    write_bytes((folder / UNTOUCHED).with_suffix(record.suffix), content)
    write_bytes(folder / f"{record.language}{record.suffix}", content)
    if source is not None:
        write_bytes(folder / f"{SOURCE}{record.suffix}", source)
    write_changes(folder / CHANGES, ())
    write_text(folder / RECORD, record.model_dump_json(indent=2) + "\n")


def write_untranslated(folder: Path, refused: Mapping[str, str]) -> None:
    """List texts that the translator refused, with an empty column for their translations, and its reasons."""
    buffer = io.StringIO(newline="")
    writer = csv.writer(buffer, lineterminator="\n")
    writer.writerow(("source", "target", "reason"))
    writer.writerows((text, "", reason) for text, reason in refused.items())
    write_text(folder / UNTRANSLATED, buffer.getvalue())


def put_aside(folder: Path) -> Path | None:
    """Move a translation that people worked on out of the way; its new place, None where there is no such work."""
    if not is_translation_folder(folder):
        return None
    by_rules = all(is_rule(row.by) for row in read_changes(folder / CHANGES))
    if by_rules and not (folder / REVIEW).exists():
        return None
    number = next(
        number for number in count(1) if not folder.with_name(f"{folder.name}.before-{number}").exists()
    )
    return folder.rename(folder.with_name(f"{folder.name}.before-{number}"))


def adopt_file(path: Path, folder: Path, *, language: str | None = None) -> None:
    """Make a folder from a file that was translated elsewhere.

    Raises:
        TranslationError: If something else is in the folder.
        DatasetError: If the file is not in StereoSet's layout.
    """
    if folder.exists() and any(folder.iterdir()):
        raise TranslationError(f"{folder} is not empty. Choose another folder with --out.")
    document = read_document(path, language=language)
    content = document.to_bytes()
    record = TranslationRecord(language=document.language, untouched_sha256=sha256_of(content))
    folder.mkdir(parents=True, exist_ok=True)
    write_translation(folder, content, record)


class TranslationFolder(Generic[DocumentKind]):
    """A translation that can be changed; open it with ``open_translation`` or ``open_table``."""

    def __init__(
        self,
        path: Path,
        record: TranslationRecord,
        changes: Changes[DocumentKind],
        *,
        read: Callable[[Path], DocumentKind],
    ) -> None:
        self.path = path
        self.record = record
        self.changes: Changes[DocumentKind] = changes
        self._read: Callable[[Path], DocumentKind] = read

    @property
    def current(self) -> Path:
        """The file as it is now."""
        return self.path / f"{self.record.language}{self.record.suffix}"

    def source(self) -> DocumentKind:
        """What was translated, as far as the folder has it.

        Raises:
            TranslationError: If it has not.
        """
        path = self.path / f"{SOURCE}{self.record.suffix}"
        if not path.is_file():
            raise TranslationError(
                f"{self.path} has no {path.name}, what was translated. Put it back as it was."
            )
        return self._read(path)

    def save(self) -> None:
        """Write the rows, and the file that they make."""
        write_changes(self.path / CHANGES, self.changes.rows)
        write_bytes(self.current, self.changes.document.to_bytes())

    def keep_edits(self, person: str) -> int:
        """Make rows of what was edited in the file by hand; how many there are.

        Raises:
            TranslationError: If items were added or removed, something else than texts was edited, or the name is
                that of a rule.
        """
        if is_rule(person):
            raise TranslationError(f"{person!r} is the name of a rule. Name the person who edited the file.")
        edited = self._read(self.current)
        first = len(self.changes.rows)
        if edited.items.keys() != self.changes.document.items.keys():
            raise TranslationError(
                f"{self.current} has other items than {UNTOUCHED}. Items stay in the file; mark those beyond repair."
            )
        for item in self.changes.document:
            self._keep_edits_of(item, edited.items[item.id], person)
        if not self.changes.document.has_same_rest(edited):
            raise TranslationError(
                f"{self.current} was edited in more than its texts: only texts that were translated and beyond_repair "
                "can change. Put the rest back as it was."
            )
        for identity in dict.fromkeys(row.item for row in self.changes.rows[first:]):
            item = self.changes.document.items[identity]
            if isinstance(item, ItemTexts):
                self._rebuild_unless_edited(item, first)
        self.save()
        return len(self.changes.rows) - first

    def _keep_edits_of(self, item: ItemTexts | RowTexts, edited: ItemTexts | RowTexts, person: str) -> None:
        marks: list[str] = [BEYOND_REPAIR] + [DOUBTFUL_TARGET] * isinstance(edited, ItemTexts)
        for name in (*edited.fields(), *marks):
            self.changes.set(item, name, edited[name], by=person)

    def _rebuild_unless_edited(self, item: ItemTexts, first: int) -> None:
        """Make the sentences anew where somebody edited context or words and left the sentences as they were."""
        edited = {row.field.partition("/")[0] for row in self.changes.rows[first:] if row.item == item.id}
        if edited & {CONTEXT, WORD} and SENTENCE not in edited:
            self.changes.rebuild(item, [item.word_of(candidate) for candidate in item.candidate_ids()])

    def edited_by_hand(self) -> bool:
        """Whether the file is not what the rows make of the untouched one."""
        return read_stored(self.current, error=TranslationError) != self.changes.document.to_bytes()

    def refuse_edits(self) -> None:
        """Refuse to go on with a file that was edited by hand: what was edited would be lost.

        Raises:
            TranslationError: If it was.
        """
        if self.edited_by_hand():
            raise TranslationError(
                f"{self.current} is not what {CHANGES} makes of {UNTOUCHED}: one of the two was edited by hand. If it "
                f"was {self.current.name}, record the edits as changes by a person (evenhand data repair {self.path} "
                f"--keep-edits NAME), or throw them away (--discard-edits). If it was {CHANGES}, put it back from a "
                "copy."
            )


@contextmanager
def open_translation(folder: Path) -> Iterator[TranslationFolder[Document]]:
    """Open a translated benchmark, which no other process can change meanwhile.

    Raises:
        BusyError: If another process has it open.
        TranslationError: If it is a table, or the untouched file or the rows are not those that the record knows.
    """
    record = read_record(folder)
    if record.is_table:
        raise TranslationError(f"{folder} holds a translated table, not a benchmark in StereoSet's layout.")

    def parse(content: bytes, path: Path) -> Document:
        return Document(content, language=record.language, path=path)

    def read(path: Path) -> Document:
        return read_document(path, language=record.language)

    with _opened(folder, record, parse) as changes:
        yield TranslationFolder(folder, record, changes, read=read)


@contextmanager
def open_table(folder: Path) -> Iterator[TranslationFolder[TableDocument]]:
    """Open a translated table, which no other process can change meanwhile.

    Raises:
        BusyError: If another process has it open.
        TranslationError: If it is no table, or the untouched file or the rows are not those that the record knows.
    """
    record = read_record(folder)
    if not record.is_table:
        raise TranslationError(f"{folder} holds a benchmark in StereoSet's layout, not a translated table.")

    def parse(content: bytes, path: Path) -> TableDocument:
        return TableDocument(
            content, language=record.language, suffix=record.suffix, path=path, columns=record.columns
        )

    def read(path: Path) -> TableDocument:
        return parse(read_stored(path, error=TranslationError), path)

    with _opened(folder, record, parse) as changes:
        yield TranslationFolder(folder, record, changes, read=read)


@contextmanager
def _opened(
    folder: Path, record: TranslationRecord, parse: Callable[[bytes, Path], DocumentKind]
) -> Iterator[Changes[DocumentKind]]:
    """The untouched file with all changes, as long as nobody else has the folder open."""
    path = (folder / UNTOUCHED).with_suffix(record.suffix)
    with claimed(folder):
        content = read_stored(path, error=TranslationError)
        if sha256_of(content) != record.untouched_sha256:
            raise TranslationError(
                f"{path} was changed: its digest is not the one in {RECORD}. Put it back as it was; "
                f"changes belong into {record.language}{record.suffix}."
            )
        if not (folder / CHANGES).exists():
            raise TranslationError(f"The folder {folder} has lost {CHANGES}. Put it back from a copy.")
        try:
            changes = replay(parse(content, path), read_changes(folder / CHANGES))
        except DatasetError as problem:
            raise TranslationError(str(problem)) from None
        yield changes
