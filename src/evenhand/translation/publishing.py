"""Publish a translation: the file in the layout of its source, a data statement, its licence, and every change."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

from evenhand.core.errors import TranslationError
from evenhand.core.files import sha256_of, write_bytes, write_text
from evenhand.core.items import BLANK, Task
from evenhand.translation.changes import DocumentKind, write_changes
from evenhand.translation.documents import Document
from evenhand.translation.folder import TranslationFolder
from evenhand.translation.table_documents import EQUAL_TEXTS, LOST_TAGS, TableDocument, table_problems


def publish(
    translation: TranslationFolder[DocumentKind], path: Path, *, licence: str | None = None
) -> list[Path]:
    """Write the file, its data statement and its changes beside each other; the files that were written.

    Args:
        translation: What is published.
        path: The file; the others are named after it.
        licence: Of the translation; that of the source if not given.

    Raises:
        TranslationError: If no licence is known, the name does not end as the file does, or that was edited by hand.
    """
    ending = translation.record.suffix
    if path.suffix != ending:
        raise TranslationError(
            f"{path} does not end in {ending}. Name the file after its language: fr{ending}."
        )
    translation.refuse_edits()
    source = translation.record.source
    licence = licence or (source.licence if source else None)
    if not licence:
        raise TranslationError(
            "The licence of the source is not known, and a translation may only be published under one that it allows. "
            "Name it with --licence."
        )
    content = translation.changes.document.to_bytes()
    if not translation.record.is_table:
        content = _licensed(content, licence)
    statement, changes = path.with_suffix(".md"), path.with_suffix(".changes.csv")
    write_bytes(path, content)
    write_text(statement, _statement(translation, content, licence=licence, name=path.name))
    write_changes(changes, translation.changes.rows)
    return [path, statement, changes]


def _licensed(content: bytes, licence: str) -> bytes:
    document = json.loads(content)
    head = {key: document[key] for key in ("version", "language") if key in document}
    rest = {key: value for key, value in document.items() if key not in (*head, "licence")}
    return json.dumps(
        {**head, "licence": licence, **rest}, ensure_ascii=False, separators=(",", ":")
    ).encode()


def _statement(
    translation: TranslationFolder[DocumentKind], content: bytes, *, licence: str, name: str
) -> str:
    """The data statement, as Markdown."""
    record, document, rows = translation.record, translation.changes.document, translation.changes.rows
    lines = [f"# {name}", ""]
    lines += [
        "Content warning: the items name stereotypes, many of them offensive, in order to measure them.",
        "",
    ]
    lines += ["## Origin", ""]
    if record.source:
        lines.append(
            f"- Translated from {record.source.name} ({record.source.language}), SHA-256 {record.source.sha256}."
        )
    else:
        lines.append("- Translated elsewhere; the source was not recorded.")
    if record.translator:
        lines.append(f"- Translator: {record.translator.name}.")
        lines += [f"  - {key}: {value}" for key, value in sorted(record.translator.settings.items())]
    lines += [
        f"- Made on {record.created} with Evenhand {record.evenhand}.",
        f"- Licence: {licence}.",
        f"- SHA-256 of this file: {sha256_of(content)}.",
        "",
        "## Items",
        "",
    ]
    if isinstance(document, TableDocument):
        lines += _rows_of_table(document, translation.source())
    else:
        lines += _rows_of_tasks(document)
    lines += ["", "## Changes since the translator", ""]
    makers = Counter(row.by for row in rows)
    if makers:
        lines += ["| by | texts |", "|---|---:|"]
        lines += [f"| {maker} | {count:,} |" for maker, count in makers.most_common()]
    else:
        lines.append("None. Nobody has reviewed this translation.")
    return "\n".join(lines) + "\n"


def _rows_of_tasks(document: Document) -> list[str]:
    lines = [
        "| task | items | without exactly one blank | target not in context | beyond repair |",
        "|---|---:|---:|---:|---:|",
    ]
    for task in Task:
        items = document.of_task(task)
        blanks = (
            f"{sum(item.context.count(BLANK) != 1 for item in items):,}" if task is Task.INTRASENTENCE else ""
        )
        marked = sum(item.is_beyond_repair for item in items)
        lines.append(
            f"| {task.value} | {len(items):,} | {blanks} | {document.missing_targets(task):,} | {marked:,} |"
        )
    return lines


def _rows_of_table(document: TableDocument, source: TableDocument) -> list[str]:
    problems = Counter(name for own in table_problems(document, source).values() for name in own)
    marked = sum(row.is_beyond_repair for row in document)
    return [
        "| texts in | rows | without their tags | texts that became the same | beyond repair |",
        "|---|---:|---:|---:|---:|",
        f"| {', '.join(document.text_columns)} | {len(document):,} | {problems[LOST_TAGS]:,} | "
        f"{problems[EQUAL_TEXTS]:,} | {marked:,} |",
    ]
