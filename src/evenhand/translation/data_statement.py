"""The data statement of a translation: origin, items, checks, changes and review, as Markdown."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable
from typing import TypeAlias, cast

from evenhand.core.counts import plural
from evenhand.core.files import sha256_of
from evenhand.core.items import BLANK, Benchmark, Task
from evenhand.data.defects import DefectClass
from evenhand.data.inspection import CheckReport, check
from evenhand.data.stereoset import read_stereoset
from evenhand.translation.changes import texts_by_maker
from evenhand.translation.documents import OWN_ITEM, Document
from evenhand.translation.folder import REVIEW, TranslationFolder
from evenhand.translation.review_records import ReviewSummary, read_review, summary_of
from evenhand.translation.reviews import ReviewOutcome, ReviewState
from evenhand.translation.table_documents import EQUAL_TEXTS, LOST_TAGS, TableDocument, table_problems

AnyTranslation: TypeAlias = TranslationFolder[Document] | TranslationFolder[TableDocument]

_WORDS = {
    ReviewOutcome.ACCEPT: "accepted as they were",
    ReviewOutcome.EDIT: "edited",
    ReviewOutcome.BEYOND_REPAIR: "beyond repair",
    ReviewOutcome.CULTURE_SPECIFIC: "culture-specific",
}


def data_statement(
    translation: AnyTranslation,
    content: bytes,
    *,
    licence: str,
    name: str,
    source: Benchmark | None = None,
) -> str:
    """The data statement of a translation as it is now.

    Args:
        translation: What it is about.
        content: The published file.
        licence: Of the published file.
        name: Of the published file.
        source: What was translated, for the checks of a benchmark; None if it is not known.
    """
    document, rows = translation.changes.document, translation.changes.rows
    own_items = {row.item for row in rows if row.field == OWN_ITEM and row.item in document.items}
    summary = summary_of(read_review(translation.path / REVIEW), document, own_items=own_items)
    lines = [
        f"# {name}",
        "",
        "Content warning: the items name stereotypes, many of them offensive, in order to measure them.",
        "",
        "## Origin",
        "",
        *_origin(translation),
        f"- Licence: {licence}.",
        f"- SHA-256 of this file: {sha256_of(content)}.",
        "",
        "## Items",
        "",
        *_items(translation),
        "",
        "## Checks",
        "",
        *_checks(translation, source),
        "",
        "## Changes since the translator",
        "",
        *(_table("by", "texts", texts_by_maker(rows))[1:] or ["None."]),
        "",
        "## Review",
        "",
        *_review(summary),
    ]
    return "\n".join(lines) + "\n"


def _origin(translation: AnyTranslation) -> list[str]:
    record = translation.record
    lines = ["- Translated elsewhere; the source was not recorded."]
    if record.source:
        lines = [
            f"- Translated from {record.source.name} ({record.source.language}), SHA-256 {record.source.sha256}."
        ]
    if record.translator:
        lines.append(f"- Translator: {record.translator.name}.")
        lines += [f"  - {key}: {value}" for key, value in sorted(record.translator.settings.items())]
    return [*lines, f"- Made on {record.created} with Evenhand {record.evenhand}."]


def _items(translation: AnyTranslation) -> list[str]:
    document = translation.changes.document
    return (
        _rows_of_tasks(document)
        if isinstance(document, Document)
        else _rows_of_table(document, _table_source(translation))
    )


def _table_source(translation: AnyTranslation) -> TableDocument:
    """What a table was translated from."""
    return cast("TableDocument", translation.source())


def _rows_of_tasks(document: Document) -> list[str]:
    lines = [
        "| task | items | without exactly one blank | target not in context | beyond repair |",
        "|---|---:|---:|---:|---:|",
    ]
    for task in Task:
        items = document.of_task(task)
        blanks = (
            f"{sum(item.context.count(BLANK) != 1 for item in items):,}"
            if task is Task.INTRASENTENCE
            else "–"
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


def _checks(translation: AnyTranslation, source: Benchmark | None) -> list[str]:
    document = translation.changes.document
    if isinstance(document, TableDocument):
        problems = table_problems(document, _table_source(translation))
        counts = Counter(name for own in problems.values() for name in own)
        lines = [f"{len(problems):,} of {len(document):,} rows have a problem that their source shows."]
        return [*lines, *_table("problem", "rows", counts.most_common())]
    benchmark = read_stereoset(translation.current, language=translation.record.language)
    report = check(benchmark, source=source)
    lines = [] if source else ["It was not checked against its source, which is not known here.", ""]
    lines.append(
        f"{len(report.flagged_items()):,} of {len(benchmark):,} items have a defect that can move a score."
    )
    return [*lines, *_table("defect", "found in", _found(report))]


def _found(report: CheckReport) -> list[tuple[str, str]]:
    """The defects that can move a score, with how often each was found; the most frequent first."""
    counts: Counter[DefectClass] = Counter()
    for finding in report.findings:
        if finding.defect.flagged:
            counts[finding.defect] += finding.count
    return [
        (f"{defect.name}: {defect.description}", defect.counted(number))
        for defect, number in counts.most_common()
        if number
    ]


def _table(first: str, second: str, rows: Iterable[tuple[str, int | str]]) -> list[str]:
    """A table after an empty line; nothing if there are no rows."""
    body = [
        f"| {name.replace('|', '¦')} | {number if isinstance(number, str) else f'{number:,}'} |"
        for name, number in rows
    ]
    return ["", f"| {first} | {second} |", "|---|---:|", *body] if body else []


def _review(summary: ReviewSummary) -> list[str]:
    seen = sum(summary.states.values())
    if not seen:
        return ["No review was recorded."]
    settled, agreement = summary.states.get(ReviewState.SETTLED, 0), summary.agreement
    lines = [
        f"- {settled:,} of {plural(summary.items, 'item')} settled by reviewers ({', '.join(summary.reviewers)}); "
        f"{summary.items - seen:,} not looked at."
    ]
    for arbiter, number in sorted(summary.arbiters.items()):
        lines.append(f"- {arbiter} settled {plural(number, 'item')} on which the reviewers differed.")
    outcomes = [
        f"{summary.outcomes[known]:,} {_WORDS[known]}" for known in _WORDS if summary.outcomes.get(known)
    ]
    if outcomes:
        lines.append(f"- Of the settled items: {', '.join(outcomes)}.")
    single = summary.states.get(ReviewState.OPEN, 0)
    if single:
        lines.append(f"- {plural(single, 'item was', 'items were')} looked at by one person only.")
    disputed = summary.states.get(ReviewState.DISPUTED, 0)
    if disputed:
        lines.append(f"- The reviewers differ on {plural(disputed, 'item')}, and nobody has settled that.")
    if agreement.both:
        kappa = "is undefined" if math.isnan(agreement.kappa) else f"is {agreement.kappa:.2f}"
        lines.append(
            f"- Two reviewers decided about {plural(agreement.both, 'item')} and came to the same result on "
            f"{agreement.same:,} ({agreement.same / agreement.both:.0%}). Cohen's kappa of their verdicts {kappa}."
        )
    if summary.changed:
        lines.append(f"- {plural(summary.changed, 'item was', 'items were')} changed after the review.")
    return lines
