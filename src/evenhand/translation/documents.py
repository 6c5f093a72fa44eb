"""The texts of a benchmark file in StereoSet's layout, each with a name, so that every change to one can be told.

A text is named by its item and its *field*: ``target``, ``context``, ``word/ID`` and ``sentence/ID``, where the id is
the candidate's. Whatever else the file holds stays as it is.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from evenhand.core.errors import DatasetError
from evenhand.core.files import decode_utf8, parse_json, read_bounded
from evenhand.core.items import BLANK, Task, contains_term, filled_spans
from evenhand.data.stereoset import read_stereoset

TARGET = "target"
CONTEXT = "context"
WORD = "word"
SENTENCE = "sentence"
BEYOND_REPAIR = "beyond_repair"
"""The mark of an item that nobody could mend, with the reason. The item stays in the file."""
DOUBTFUL_TARGET = "doubtful_target"
"""The target of an item before a rule guessed another, where the guess is doubtful. A person's edit takes it away."""
OWN_ITEM = "item"
"""The field of an item that people wrote for this language; its text is the task and the item as JSON."""


@dataclass(frozen=True, slots=True)
class ItemTexts:
    """One item of a document; its texts can be read and set by field."""

    task: Task
    row: dict[str, Any]

    @property
    def id(self) -> str:
        """The id, which all languages share."""
        return str(self.row["id"])

    @property
    def target(self) -> str:
        """The target term as this language has it."""
        return self[TARGET]

    @property
    def context(self) -> str:
        """The context, with its blank if it has one."""
        return self[CONTEXT]

    @property
    def is_beyond_repair(self) -> bool:
        """Whether somebody marked it so."""
        return bool(self[BEYOND_REPAIR])

    @property
    def lacks_target(self) -> bool:
        """Whether the target term does not occur in the context."""
        return not contains_term(self.context, self.target)

    def fields(self) -> list[str]:
        """The fields that hold text: target and context first, then each candidate's word and sentence."""
        names = [TARGET, CONTEXT]
        for candidate in self.row["sentences"]:
            names += [f"{kind}/{candidate['id']}" for kind in (WORD, SENTENCE) if kind in candidate]
        return names

    def __getitem__(self, field: str) -> str:
        holder, key = self._holder(field)
        return str(holder.get(key) or "")

    def __setitem__(self, field: str, text: str) -> None:
        holder, key = self._holder(field)
        if text:
            holder[key] = text
        else:
            holder.pop(key, None)

    def candidate_ids(self) -> list[str]:
        """The ids of the candidates, in the order of the file."""
        return [str(candidate["id"]) for candidate in self.row["sentences"]]

    def word_of(self, candidate: str) -> str:
        """What fills the blank in a candidate: as the file says, or as the sentence shows; empty if neither does."""
        stated = self[f"{WORD}/{candidate}"]
        sentence = self[f"{SENTENCE}/{candidate}"]
        spans = () if stated else filled_spans(self.context, sentence)
        return spans[0].of(sentence) if spans else stated

    def is_rebuilt(self, field: str) -> bool:
        """Whether a field is a sentence that context and stated word make up."""
        kind, _, candidate = field.partition("/")
        has_blank = self.task is Task.INTRASENTENCE and BLANK in self.context
        return kind == SENTENCE and has_blank and bool(self[f"{WORD}/{candidate}"])

    def _holder(self, field: str) -> tuple[dict[str, Any], str]:
        kind, _, candidate = field.partition("/")
        if not candidate and kind in (TARGET, CONTEXT, BEYOND_REPAIR, DOUBTFUL_TARGET):
            return self.row, kind
        if kind in (WORD, SENTENCE):
            for entry in self.row["sentences"]:
                if entry["id"] == candidate:
                    return entry, kind
        raise DatasetError(
            f"The item {self.id} has no field {field!r}. Fields are {', '.join([*self.fields(), BEYOND_REPAIR])}."
        )


def _items(document: Any, path: Path) -> Iterator[tuple[Task, dict[str, Any]]]:
    """The items of a file, each with an id and candidates that have one; a file without them is refused."""
    data = document.get("data") if isinstance(document, dict) else None
    tasks = {task: data.get(task.value, []) for task in Task} if isinstance(data, dict) else {}
    if not tasks or not all(isinstance(rows, list) for rows in tasks.values()):
        raise DatasetError(
            f"{path} is not in StereoSet's layout: its data has no lists of items under "
            f"{' and '.join(task.value for task in Task)}. Restore the file, or translate again."
        )
    for task, rows in tasks.items():
        for number, row in enumerate(rows, start=1):
            if not _has_texts(row):
                raise DatasetError(
                    f"{path}: item {number} of {task.value} has no id, or no sentences with ids. Restore the file, or "
                    "translate again."
                )
            yield task, row


def _has_texts(row: Any) -> bool:
    return (
        isinstance(row, dict)
        and isinstance(row.get("id"), str)
        and isinstance(row.get("sentences"), list)
        and all(isinstance(entry, dict) and isinstance(entry.get("id"), str) for entry in row["sentences"])
    )


class Document:
    """A benchmark file whose texts can change. What it is written as depends on its texts alone."""

    def __init__(self, content: bytes, *, language: str, path: Path) -> None:
        self.language = language
        self._content = content
        self._json: Any = parse_json(decode_utf8(content, path, error=DatasetError), path, error=DatasetError)
        self.items = {row["id"]: ItemTexts(task, row) for task, row in _items(self._json, path)}
        self._untouched = json.dumps(self._json)

    def __iter__(self) -> Iterator[ItemTexts]:
        return iter(self.items.values())

    def __len__(self) -> int:
        return len(self.items)

    def own_item(self, identity: str) -> str:
        """An item as JSON with its task; empty if there is none of this id."""
        item = self.items.get(identity)
        return json.dumps({item.task.value: item.row}, ensure_ascii=False) if item else ""

    def put_own_item(self, identity: str, text: str) -> None:
        """Add an item that people wrote for this language, or take it out again if the text is empty.

        Raises:
            DatasetError: If the text is no item of this id.
        """
        if not text:
            item = self.items.pop(identity)
            self._json["data"][item.task.value].remove(item.row)
            return
        try:
            ((task, row),) = json.loads(text).items()
            item = ItemTexts(Task(task), row)
            fits = item.id == identity and identity not in self.items and bool(item.fields())
        except (ValueError, AttributeError, KeyError, TypeError):
            fits = False
        if not fits:
            raise DatasetError(f"What is added as the item {identity} is no item of that id: {text[:80]!r}.")
        self._json["data"].setdefault(task, []).append(row)
        self.items[identity] = item

    def of_task(self, task: Task) -> list[ItemTexts]:
        """The items of one task, in file order."""
        return [item for item in self if item.task is task]

    def missing_targets(self, task: Task) -> int:
        """How many items of a task have a target that does not occur in their context; marked ones do not count."""
        return sum(item.lacks_target and not item.is_beyond_repair for item in self.of_task(task))

    def has_same_rest(self, other: Document) -> bool:
        """Whether another document with the same texts is the same in everything else too."""
        return bool(self._json == other._json)

    def to_bytes(self) -> bytes:
        """The file: byte for byte what was read if no text differs from it, otherwise compact JSON in UTF-8."""
        if json.dumps(self._json) == self._untouched:
            return self._content
        return json.dumps(self._json, ensure_ascii=False, separators=(",", ":")).encode()


def read_document(path: Path, *, language: str | None = None) -> Document:
    """Read a benchmark file as texts.

    Raises:
        DatasetError: If it is not in StereoSet's layout.
    """
    benchmark = read_stereoset(path, language=language)
    return Document(read_bounded(path, error=DatasetError), language=benchmark.language, path=path)
