"""The items of a review: what people see of each, beside its source, with what is wrong and what rules changed."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict
from typing import Any

from evenhand.core.items import Association, Benchmark, Task
from evenhand.data.defects import TARGET_GUESSED, fill_of
from evenhand.data.inspection import CheckReport, DefectNote, check
from evenhand.studio.tables import ReviewItemRow
from evenhand.translation import Change, Document, ItemTexts, RowTexts, TableDocument
from evenhand.translation.makers import REBUILD, UNDO, is_rule
from evenhand.translation.table_documents import table_problems

TABLE = "table"
"""What stands for the task of an item that is a row of a table."""

_TERM_COLUMNS = ("bias_type", "experiment", "kind", "group")
"""Columns of a table that its rows are told apart by, the first that is there."""


def texts_of(row: ReviewItemRow) -> ItemTexts | RowTexts:
    """The texts of an item as the reviewers see them."""
    if row.task == TABLE:
        return RowTexts(row.key, row.entry, tuple(row.source["columns"]))
    return ItemTexts(Task(row.task), row.entry)


def table_rows(document: TableDocument, source: TableDocument) -> list[dict[str, Any]]:
    """One row per row of the table that is not marked, those with problems first."""
    problems = table_problems(document, source)
    items = [row for row in document if not row.is_beyond_repair]
    order = sorted(range(len(items)), key=lambda place: (-len(problems.get(items[place].id, ())), place))
    rows = []
    for position, place in enumerate(order):
        item = items[place]
        term = next((item.cells[column] for column in _TERM_COLUMNS if item.cells.get(column)), "")
        texts = source.items[item.id].texts() if item.id in source.items else {}
        rows.append(
            {
                "key": item.id,
                "position": position,
                "place": place,
                "task": TABLE,
                "bias_type": term,
                "term": term,
                "entry": item.cells,
                "source": {"columns": list(item.columns), "texts": texts},
                "problems": [
                    _problem(DefectNote(name, says, True)) for name, says in problems.get(item.id, {}).items()
                ],
            }
        )
    return rows


def item_rows(
    document: Document, benchmark: Benchmark, source: Benchmark, changes: Iterable[Change]
) -> list[dict[str, Any]]:
    """One row per item that is not marked, those with problems of the translation first.

    Args:
        document: The translation as texts.
        benchmark: The translation as items.
        source: What it was translated from.
        changes: What was changed since the translator, so that people see what rules did.
    """
    sources = {item.id: item for item in source}
    problems = _problems_by_item(check(benchmark, source=source), check(source))
    # The source's term where there is one: a file may not say what its targets were before.
    known = {item.id: sources.get(item.id, item) for item in benchmark}
    items = [item for item in document if not item.is_beyond_repair]
    repairs = _repairs_by_item(changes)
    order = sorted(range(len(items)), key=lambda place: (*_urgency(problems.get(items[place].id, ())), place))
    return [
        {
            "key": items[place].id,
            "position": position,
            "place": place,
            "task": items[place].task.value,
            "bias_type": known[items[place].id].bias_type,
            "term": known[items[place].id].cluster,
            "entry": items[place].row,
            "source": {
                **_source(sources.get(items[place].id)),
                "repairs": repairs.get(items[place].id, []),
            },
            "problems": problems.get(items[place].id, []),
        }
        for position, place in enumerate(order)
    ]


def _problem(note: DefectNote, *, in_source: bool = False) -> dict[str, Any]:
    return {**asdict(note), "in_source": in_source}


def _problems_by_item(report: CheckReport, source: CheckReport) -> dict[str, list[dict[str, Any]]]:
    """What is wrong with each item, and whether its source has the same defect."""
    also = source.defects_by_item()
    return {
        identity: [_problem(note, in_source=note.name in also.get(identity, ())) for note in notes]
        for identity, notes in report.notes_by_item().items()
    }


def _urgency(problems: Iterable[Mapping[str, Any]]) -> tuple[bool, bool, int]:
    """What people should see first: guesses of a rule, then what can move a score, then whatever has most problems."""
    own = [problem for problem in problems if not problem["in_source"]]
    is_guessed = any(problem["name"] == TARGET_GUESSED for problem in own)
    return not is_guessed, not any(problem["flagged"] for problem in own), -len(own)


def _repairs_by_item(changes: Iterable[Change]) -> dict[str, list[dict[str, str]]]:
    """The changes that rules made to the texts of each item; what follows from others is left out."""
    repairs: dict[str, list[dict[str, str]]] = {}
    for row in changes:
        if is_rule(row.by) and row.by not in (REBUILD, UNDO) and row.before and row.after:
            repairs.setdefault(row.item, []).append(
                {"by": row.by, "field": row.field, "before": row.before, "after": row.after}
            )
    return repairs


def _source(item: Association | None) -> dict[str, Any]:
    """What a reviewer sees of the source; nothing for an item that is not in it."""
    if item is None:
        return {}
    return {
        "target": item.target,
        "context": item.context,
        "candidates": {
            candidate.id: (candidate.word or fill_of(item, candidate) or candidate.text)
            if item.task is Task.INTRASENTENCE
            else candidate.text
            for candidate in item.candidates
        },
    }
