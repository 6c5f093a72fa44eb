"""Publish a translation: the file in the layout of its source, a data statement, its licence, changes and verdicts."""

from __future__ import annotations

import json
from pathlib import Path

from evenhand.core.errors import TranslationError
from evenhand.core.files import read_stored, write_bytes, write_text
from evenhand.core.items import Benchmark
from evenhand.translation.changes import DocumentKind, write_changes
from evenhand.translation.data_statement import data_statement
from evenhand.translation.folder import REVIEW, TranslationFolder


def publish(
    translation: TranslationFolder[DocumentKind],
    path: Path,
    *,
    licence: str | None = None,
    source: Benchmark | None = None,
) -> list[Path]:
    """Write the file, its data statement, its changes and its review beside each other; the files that were written.

    Args:
        translation: What is published.
        path: The file; the others are named after it.
        licence: Of the translation; that of the source if not given.
        source: What was translated, where it is a benchmark and known: the statement has what the checks find.

    Raises:
        TranslationError: If no licence is known, the name does not end as the file does, or that was edited by hand.
    """
    ending = translation.record.suffix
    if path.suffix != ending:
        raise TranslationError(
            f"{path} does not end in {ending}. Name the file after its language: {translation.record.language}{ending}."
        )
    translation.refuse_edits()
    known = translation.record.source
    licence = licence or (known.licence if known else None)
    if not licence:
        raise TranslationError(
            "The licence of the source is not known, and a translation may only be published under one that it allows. "
            "Name it with --licence."
        )
    content = translation.changes.document.to_bytes()
    if not translation.record.is_table:
        content = _licensed(content, licence)
    statement, changes = path.with_suffix(".md"), path.with_suffix(".changes.csv")
    text = data_statement(translation, content, licence=licence, name=path.name, source=source)
    write_bytes(path, content)
    write_text(statement, text)
    write_changes(changes, translation.changes.rows)
    verdicts = translation.path / REVIEW
    if not verdicts.is_file():
        return [path, statement, changes]
    review = path.with_suffix(".review.csv")
    write_bytes(review, read_stored(verdicts, error=TranslationError))
    return [path, statement, changes, review]


def _licensed(content: bytes, licence: str) -> bytes:
    document = json.loads(content)
    head = {key: document[key] for key in ("version", "language") if key in document}
    rest = {key: value for key, value in document.items() if key not in (*head, "licence")}
    return json.dumps(
        {**head, "licence": licence, **rest}, ensure_ascii=False, separators=(",", ":")
    ).encode()
