"""Staged repair of a translated table: tags and terms, then people's tables; counted after each stage.

What is counted are rows that lost a tag such as [MASK], and rows whose texts became the same. Two rules bring tags
back. Each is the name in the rows of the changes that it makes.

``tag.case``   a tag that came back in another case: *[mask]*
``tag.leak``   the only thing in brackets or braces that the source does not have, where one tag is missing: *[MÁSCARA]*

Then the rules for whole texts apply (``text_rules``).
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType

from evenhand.core.progress import Progress, no_progress
from evenhand.translation.changes import Changes
from evenhand.translation.makers import TERMS
from evenhand.translation.repairs import SO_FAR, UNTOUCHED, RepairOptions
from evenhand.translation.table_documents import (
    EQUAL_TEXTS,
    LOST_TAGS,
    RowTexts,
    TableDocument,
    table_problems,
)
from evenhand.translation.table_files import TAG
from evenhand.translation.term_tables import FIELD_KINDS, RepairStage, When
from evenhand.translation.text_rules import TEXT_RULES
from evenhand.translation.translating import keeps_tags

TABLE_STAGES = (RepairStage.TERMS, RepairStage.PEOPLE)
"""Tables have no targets, so no closest word takes the place of one."""

_BRACKETED = re.compile(r"\[[^\]\n]*\]|\{[^}\n]*\}")


@dataclass(frozen=True, slots=True)
class TableStageCount:
    """How many rows have lost a tag, and how many have texts that became the same, after a stage."""

    name: str
    lost_tags: int
    equal_texts: int


def repair_table(
    changes: Changes[TableDocument],
    source: TableDocument,
    options: RepairOptions,
    *,
    progress: Progress = no_progress,
) -> list[TableStageCount]:
    """Repair a table in stages; the counts before the first stage and after each.

    Args:
        changes: The table, and the rows to which those of the repair are added.
        source: What it was translated from.
        options: Stages and tables. Terms are replaced in all texts; rows of a term table for certain fields, tasks or
            cases are for association items and are left aside.
        progress: Told how many stages are done.
    """
    document = changes.document
    counts = [_count(SO_FAR if changes.rows else UNTOUCHED, document, source)]
    chosen = [stage for stage in TABLE_STAGES if stage in options.stages]
    for number, stage in enumerate(chosen, start=1):
        if stage is RepairStage.TERMS:
            _restore_tags(changes, source)
            _clean_texts(changes, source)
            _replace_terms(changes, options)
        else:
            for person_row in options.people:
                row = document.items[person_row.item]
                for name, text in person_row.texts(row).items():
                    changes.set(row, name, text, by=person_row.person)
        counts.append(_count(stage.value, document, source))
        progress(number, len(chosen))
    return counts


def _count(name: str, document: TableDocument, source: TableDocument) -> TableStageCount:
    problems = Counter(
        problem
        for identity, own in table_problems(document, source).items()
        if not document.items[identity].is_beyond_repair
        for problem in own
    )
    return TableStageCount(name, problems[LOST_TAGS], problems[EQUAL_TEXTS])


def _restore_tags(changes: Changes[TableDocument], source: TableDocument) -> None:
    for row in changes.document:
        if row.id not in source.items:
            continue
        for column in row.columns:
            for name, rule in TAG_RULES.items():
                original = source.items[row.id][column]
                if not keeps_tags(row[column], original, TAG):
                    changes.set(row, column, rule(row[column], original), by=name)


def _clean_texts(changes: Changes[TableDocument], source: TableDocument) -> None:
    for row in changes.document:
        if row.id in source.items and not row.is_beyond_repair:
            for column in row.columns:
                original = source.items[row.id][column]
                for rule, clean in TEXT_RULES.items():
                    changes.set(row, column, clean(row[column], original, changes.document.language), by=rule)


def _in_case_of_tags(text: str, original: str) -> str:
    for tag in dict.fromkeys(TAG.findall(original)):
        text = tag.join(re.split(rf"(?<!\w){re.escape(tag)}(?!\w)", text, flags=re.IGNORECASE))
    return text


def _without_leaked_tag(text: str, original: str) -> str:
    missing = Counter(TAG.findall(original)) - Counter(TAG.findall(text))
    strange = [found for found in _BRACKETED.findall(text) if found not in original]
    if missing.total() != 1 or len(strange) != 1:
        return text  # what is right cannot be told
    return text.replace(strange[0], next(iter(missing)))


TAG_RULES: Mapping[str, Callable[[str, str], str]] = MappingProxyType(
    {"tag.case": _in_case_of_tags, "tag.leak": _without_leaked_tag}
)
"""From a text and its source to the text as it should be, in the order in which they apply."""


def _replace_terms(changes: Changes[TableDocument], options: RepairOptions) -> None:
    terms = [
        term
        for term in options.terms
        if (term.fields, term.when, term.stage) == (FIELD_KINDS, When.ALWAYS, RepairStage.TERMS)
    ]
    for row in changes.document:
        for column in row.columns:
            for term in terms:
                _set_unless_tags_change(changes, row, column, term.replaced(row[column]))


def _set_unless_tags_change(changes: Changes[TableDocument], row: RowTexts, column: str, text: str) -> None:
    if keeps_tags(text, row[column], TAG):
        changes.set(row, column, text, by=TERMS)
