"""Term tables: what a word of a translation is replaced with, in which texts, when and at which stage of a repair.

A CSV file with the columns ``before`` and ``after``. The other columns are for those who need them:

``fields``  the texts that are changed, by spaces: ``target``, ``context``, ``word``, ``sentence``; all if empty
``task``    ``intrasentence`` or ``intersentence``; both if empty
``when``    ``always``; ``missing``: in items whose target does not occur in their context when the stage begins;
            ``fits``: where the target does not occur before the replacement, and does after it
``stage``   ``terms``, ``closest`` or ``people``: with which of them the row is applied

A term is replaced as it is written, alone or at the beginning of a longer word, so that endings stay. Where the text
has the new term already, as *Sierra Leone* for *Sierra Leon*, nothing happens.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum
from importlib import resources
from pathlib import Path
from typing import TypeVar

from evenhand.core.errors import DatasetError, UnknownNameError
from evenhand.core.items import Task
from evenhand.data.csv_files import CsvRow, read_table
from evenhand.translation.documents import CONTEXT, SENTENCE, TARGET, WORD, ItemTexts

FIELD_KINDS = (TARGET, CONTEXT, WORD, SENTENCE)


class When(StrEnum):
    """In which items a term is replaced."""

    ALWAYS = "always"
    MISSING = "missing"
    FITS = "fits"


class RepairStage(StrEnum):
    """The stages of a repair, in their order."""

    TERMS = "terms"
    CLOSEST = "closest"
    PEOPLE = "people"


Choice = TypeVar("Choice", bound=StrEnum)


@dataclass(frozen=True, slots=True)
class TermRow:
    """One row of a term table."""

    before: str
    after: str
    fields: tuple[str, ...] = FIELD_KINDS
    tasks: tuple[Task, ...] = tuple(Task)
    when: When = When.ALWAYS
    stage: RepairStage = RepairStage.TERMS

    def replacements(self, item: ItemTexts) -> dict[str, str]:
        """The texts of an item that the row changes, by field, as they become.

        Sentences that are rebuilt from context and word are left to that.
        """
        changed = {}
        for name in item.fields():
            if name.partition("/")[0] in self.fields and not item.is_rebuilt(name):
                text = self.replaced(item[name])
                if text != item[name]:
                    changed[name] = text
        return changed

    def replaced(self, text: str) -> str:
        """A text with the term replaced."""
        if self.before not in text:
            return text
        rest = self.after.removeprefix(self.before)
        unless = f"(?!{re.escape(rest)})" if rest != self.after and rest else ""
        return re.sub(rf"(?<!\w){re.escape(self.before)}{unless}", lambda _: self.after, text)


def read_term_table(path: Path) -> tuple[TermRow, ...]:
    """The rows of a term table, in their order.

    Raises:
        DatasetError: If a row cannot be understood.
    """
    return tuple(_term_row(row) for row in read_table(path, needed=("before", "after")).rows)


def bundled_term_table(language: str) -> tuple[TermRow, ...]:
    """The term table that comes with the package for a language; empty if there is none."""
    path = Path(str(resources.files("evenhand.translation") / "resources" / "terms" / f"{language}.csv"))
    return read_term_table(path) if path.exists() else ()


def _term_row(row: CsvRow) -> TermRow:
    if not row["before"] or not row["after"]:
        raise DatasetError(f"{row.place}: 'before' and 'after' both need a text.")
    names = tuple(row["fields"].split()) or FIELD_KINDS
    for name in names:
        if name not in FIELD_KINDS:
            raise DatasetError(f"{row.place}: {UnknownNameError('field', name, FIELD_KINDS)}")
    return TermRow(
        before=row["before"],
        after=row["after"],
        fields=names,
        tasks=(_choice(Task, row, "task"),) if row["task"] else tuple(Task),
        when=_choice(When, row, "when") if row["when"] else When.ALWAYS,
        stage=_choice(RepairStage, row, "stage") if row["stage"] else RepairStage.TERMS,
    )


def _choice(kind: type[Choice], row: CsvRow, column: str) -> Choice:
    try:
        return kind(row[column])
    except ValueError:
        known = [choice.value for choice in kind]
        raise DatasetError(f"{row.place}: {UnknownNameError(column, row[column], known)}") from None
