"""Changes to the texts of a document: one row each, which can be undone, and from which a file can be made again."""

from __future__ import annotations

import csv
import io
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import astuple, dataclass, field, fields
from datetime import UTC, datetime
from pathlib import Path
from typing import Generic, TypeVar

from evenhand.core.errors import DatasetError, EvenhandError
from evenhand.core.files import decode_utf8, read_stored, write_text
from evenhand.core.items import BLANK, Task
from evenhand.data.csv_files import plain_cell, spreadsheet_cell
from evenhand.translation.blanks import BLANK_RULES
from evenhand.translation.documents import (
    BEYOND_REPAIR,
    CONTEXT,
    DOUBTFUL_TARGET,
    OWN_ITEM,
    SENTENCE,
    TARGET,
    WORD,
    Document,
    ItemTexts,
)
from evenhand.translation.makers import CLOSEST, REBUILD, UNDO
from evenhand.translation.table_documents import RowTexts, TableDocument
from evenhand.translation.text_rules import TEXT_RULES


@dataclass(frozen=True, slots=True)
class Change:
    """One text of an item before and after, who changed it (a rule or a person), and when.

    An empty text means that the field is not there.
    """

    item: str
    field: str
    before: str
    after: str
    by: str
    time: str


def now() -> str:
    """The time in UTC, to the second."""
    return datetime.now(UTC).isoformat(timespec="seconds")


DocumentKind = TypeVar("DocumentKind", Document, TableDocument)


@dataclass(slots=True)
class Changes(Generic[DocumentKind]):
    """A document and the changes that have been made to it since it was untouched."""

    document: DocumentKind
    rows: list[Change] = field(default_factory=list)
    clock: Callable[[], str] = now

    def set(self, item: ItemTexts | RowTexts, field_name: str, text: str, *, by: str) -> bool:
        """Set a text and keep the row; whether it was another text before."""
        before = item[field_name]
        if before == text:
            return False
        self.rows.append(Change(item.id, field_name, before, text, by, self.clock()))
        item[field_name] = text
        if field_name == TARGET and isinstance(item, ItemTexts) and by not in (CLOSEST, UNDO):
            self.set(item, DOUBTFUL_TARGET, "", by=by)  # a person or a term table has chosen another
        return True

    def set_own_item(self, identity: str, text: str, *, by: str) -> None:
        """Add an item that people wrote for this language, or take it out, and keep the row."""
        before = self.document.own_item(identity)
        self.document.put_own_item(identity, text)
        self.rows.append(Change(identity, OWN_ITEM, before, text, by, self.clock()))

    def rebuild(self, item: ItemTexts, words: Sequence[str]) -> None:
        """Make the sentences of an intra-sentence item anew from its context and its words.

        Args:
            item: What is rebuilt; one whose context has no blank stays as it is.
            words: What fills the blank in each candidate, in the order of the file.
        """
        if item.task is not Task.INTRASENTENCE or BLANK not in item.context:
            return
        for candidate, word in zip(item.candidate_ids(), words, strict=True):
            if word:
                sentence = item.context.replace(BLANK, word)
                self.set(item, f"{SENTENCE}/{candidate}", sentence, by=REBUILD)

    def undo(self, selected: str) -> int:
        """Take changes back, the last first; the number of rows that this adds.

        Args:
            selected: An item's id, a rule or a person, or ``all``.

        Raises:
            EvenhandError: If nothing is selected, or a later change stands in the way.
        """
        standing = self.standing()
        taken = [row for row in standing if selected in ("all", row.item, row.by)]
        if not standing:
            raise EvenhandError("There is nothing left to undo.")
        if not taken:
            makers = ", ".join(dict.fromkeys(row.by for row in standing))
            raise EvenhandError(
                f"There are no changes of {selected!r} to undo. Name an item's id, all, or who made them: {makers}."
            )
        count = len(self.rows)
        for row in reversed(taken):
            if row.field == OWN_ITEM:
                if row.after and row.item in self.document.items:
                    self.set_own_item(row.item, "", by=UNDO)
                continue
            item = self.document.items.get(row.item)
            if item is None:
                continue  # an own item that was taken out
            if item[row.field] == row.after:
                self.set(item, row.field, row.before, by=UNDO)
            elif item[row.field] != row.before and row.by != REBUILD:
                later = [other for other in self.rows if (other.item, other.field) == (row.item, row.field)]
                raise EvenhandError(
                    f"{row.field} of the item {row.item} was changed again later, by {later[-1].by}. Undo the item: "
                    f"--undo {row.item}."
                )
        for identity in dict.fromkeys(row.item for row in taken):
            if identity in self.document.items:
                self._restore_sentences(self.document.items[identity])
        return len(self.rows) - count

    def standing(self) -> list[Change]:
        """The changes that nobody has undone."""
        numbers: dict[tuple[str, str], list[int]] = {}
        for number, row in enumerate(self.rows):
            own = numbers.setdefault((row.item, row.field), [])
            if row.by != UNDO:
                own.append(number)
                continue
            # An undo may take a text back over several changes. One that makes a sentence anew takes none back.
            back_to = [place for place, other in enumerate(own) if self.rows[other].before == row.after]
            if back_to:
                del own[back_to[-1] :]
        return [self.rows[number] for number in sorted(number for own in numbers.values() for number in own)]

    def _restore_sentences(self, item: ItemTexts | RowTexts) -> None:
        """After an undo: sentences as they first were if context and words are so again, otherwise rebuilt."""
        rebuilt = [row for row in self.rows if row.item == item.id and row.by == REBUILD]
        if isinstance(item, RowTexts) or not rebuilt:
            return
        candidates: list[str] = item.candidate_ids()
        first: dict[str, str] = {}
        for row in self.rows:
            if row.item == item.id:
                first.setdefault(row.field, row.before)
        parts = [CONTEXT, *(f"{WORD}/{candidate}" for candidate in candidates)]
        is_as_first = all(item[part] == first.get(part, item[part]) for part in parts)
        for candidate in candidates:
            name = f"{SENTENCE}/{candidate}"
            if is_as_first:
                self.set(item, name, first.get(name, item[name]), by=UNDO)
            elif BLANK in item.context and item.word_of(candidate):
                self.set(item, name, item.context.replace(BLANK, item.word_of(candidate)), by=UNDO)


def replay(document: DocumentKind, rows: Iterable[Change]) -> Changes[DocumentKind]:
    """Make all changes again, in their order.

    Raises:
        EvenhandError: If a row does not fit: another file, or rows that were edited by hand.
    """
    changes: Changes[DocumentKind] = Changes(document)
    for number, row in enumerate(rows, start=1):
        if row.field == OWN_ITEM and document.own_item(row.item) == row.before:
            document.put_own_item(row.item, row.after)
            changes.rows.append(row)
            continue
        item = document.items.get(row.item)
        if item is None:
            raise EvenhandError(
                f"Change {number:,} is about the item {row.item}, which the file does not have."
            )
        if item[row.field] != row.before:
            raise EvenhandError(
                f"Change {number:,} expects {row.field} of the item {row.item} to be {row.before!r}, but it is "
                f"{item[row.field]!r}. The rows belong to another file, or were edited by hand; put both back."
            )
        item[row.field] = row.after
        changes.rows.append(row)
    return changes


def repaired_items(rows: Iterable[Change]) -> frozenset[str]:
    """The items that have another text now than before, beside cleaned blanks, case and spaces, and what follows."""
    before: dict[tuple[str, str], str] = {}
    after: dict[tuple[str, str], str] = {}
    makers: dict[tuple[str, str], set[str]] = {}
    for row in rows:
        text = (row.item, row.field)
        before.setdefault(text, row.before)
        after[text] = row.after
        makers.setdefault(text, set()).add(row.by)
    return frozenset(
        item
        for (item, name), was in before.items()
        if after[item, name] != was
        and name not in (BEYOND_REPAIR, DOUBTFUL_TARGET, OWN_ITEM)
        and not makers[item, name] <= {*BLANK_RULES, *TEXT_RULES, REBUILD, UNDO}
    )


def texts_by_maker(rows: Iterable[Change]) -> list[tuple[str, int]]:
    """How many texts each rule and person changed, the busiest first; marks of doubtful guesses are no texts."""
    return Counter(row.by for row in rows if row.field != DOUBTFUL_TARGET).most_common()


_COLUMNS = tuple(column.name for column in fields(Change))


def write_changes(path: Path, rows: Iterable[Change]) -> None:
    """Write rows as a CSV file."""
    buffer = io.StringIO(newline="")
    writer = csv.writer(buffer, lineterminator="\n", quoting=csv.QUOTE_ALL)
    writer.writerow(_COLUMNS)
    writer.writerows(map(spreadsheet_cell, astuple(row)) for row in rows)
    write_text(path, buffer.getvalue())


def read_changes(path: Path) -> list[Change]:
    """Read rows as they were written: white space counts.

    Raises:
        DatasetError: If the file is not a table of changes.
    """
    text = decode_utf8(read_stored(path, error=DatasetError), path, error=DatasetError)
    try:
        header, *rows = csv.reader(io.StringIO(text, newline=""), strict=True)
    except (csv.Error, ValueError) as problem:
        raise DatasetError(f"{path} is not valid CSV ({problem}). Put it back as it was.") from None
    if tuple(header) != _COLUMNS or any(len(row) != len(_COLUMNS) for row in rows):
        raise DatasetError(f"{path} is not a table of changes: its columns must be {', '.join(_COLUMNS)}.")
    return [Change(*map(plain_cell, row)) for row in rows]
