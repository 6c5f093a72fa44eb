"""Annotations as Label Studio and doccano keep them.

Label Studio has one JSON file with a list of tasks, each with its annotations. doccano has one JSON Lines file per
annotator. Both have one text per id, so a text that annotators changed is written as the first of them saw it. What
they have no field for is written into fields of its own and read back: the label that an unsure annotator leans to in
both; seconds and decisions in doccano; the name of the annotator in Label Studio, which takes ``completed_by`` only of
its own accounts and refuses a file with any other name.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any
from xml.sax.saxutils import quoteattr

from evenhand.core.errors import DatasetError
from evenhand.core.files import decode_utf8, is_file_name, load_json, parse_json, read_bounded, write_text
from evenhand.core.labels import FALLBACK_LANGUAGE, LabelScheme
from evenhand.data.annotation_files import DOCCANO, LABEL_STUDIO, AnnotationColumns, AnnotationLayout
from evenhand.data.annotations import Annotation, AnnotationTable, about_changed_texts
from evenhand.data.label_schemes import REGARD, load_scheme

LEANING = "leaning"
"""The field of a label beside unsure."""

ANNOTATOR = "annotator"
"""The text area of the annotator's name."""

INTERFACE_ENDING = ".xml"
"""Of the labelling interface, which stands beside tasks and has no annotations."""

_TEXT_ID = "text_id"


def read_label_studio(
    paths: Sequence[Path], *, scheme: LabelScheme | None, columns: AnnotationColumns
) -> AnnotationTable:
    """Annotations from Label Studio's JSON export: choices, comments in a text area, seconds, and ground truth."""
    chosen = scheme or load_scheme(REGARD)
    annotations: list[Annotation] = []
    for path in [path for path in paths if path.suffix.lower() != INTERFACE_ENDING]:
        tasks = parse_json(
            decode_utf8(read_bounded(path, error=DatasetError), path, error=DatasetError),
            path,
            error=DatasetError,
        )
        if not isinstance(tasks, list):
            raise DatasetError(f"{path} is not an export of Label Studio, which is a list of tasks.")
        for number, task in enumerate(tasks, start=1):
            place = f"{path}, task {number}"
            annotations.extend(_of_task(_record(task, place), chosen, columns, place))
    return AnnotationTable(chosen, tuple(annotations), tuple(about_changed_texts(annotations)))


def write_label_studio(table: AnnotationTable, out: Path) -> tuple[Path, ...]:
    """Write a list of tasks that Label Studio imports, and beside it the labelling interface that shows them."""
    tasks: dict[str, dict[str, Any]] = {
        text_id: {"id": number, "data": {"text": text, _TEXT_ID: text_id}, "annotations": []}
        for number, (text_id, text) in enumerate(table.texts.items(), start=1)
    }
    for row in table:
        answer = table.scheme.unsure.code if row.unsure else row.label
        result = [
            *([_choice("label", answer)] if answer else []),
            *([_choice(LEANING, row.label)] if row.unsure and row.label else []),
            *([_written("comment", row.comment)] if row.comment else []),
            _written(ANNOTATOR, row.annotator),
        ]
        tasks[row.text_id]["annotations"].append(
            {
                "result": result,
                "was_cancelled": answer is None,
                "ground_truth": row.adjudicated,
                "lead_time": row.seconds,
            }
        )
    interface = out.with_suffix(INTERFACE_ENDING)
    write_text(out, json.dumps(list(tasks.values()), ensure_ascii=False, indent=1) + "\n")
    write_text(interface, labelling_interface(table.scheme))
    return (out, interface)


def labelling_interface(scheme: LabelScheme, language: str = FALLBACK_LANGUAGE) -> str:
    """The labelling interface of a scheme, as Label Studio has it in the settings of a project."""
    choices = [
        f"    <Choice value={quoteattr(option.title_in(language))} alias={quoteattr(option.code)}/>"
        for option in (*scheme.labels, scheme.unsure)
    ]
    return "\n".join(
        [
            "<View>",
            '  <Text name="text" value="$text"/>',
            '  <Choices name="label" toName="text" choice="single">',
            *choices,
            "  </Choices>",
            f'  <Choices name="{LEANING}" toName="text" choice="single">',
            *choices[:-1],
            "  </Choices>",
            '  <TextArea name="comment" toName="text"/>',
            f'  <TextArea name="{ANNOTATOR}" toName="text" editable="false"/>',
            "</View>",
            "",
        ]
    )


def read_doccano(
    paths: Sequence[Path], *, scheme: LabelScheme | None, columns: AnnotationColumns
) -> AnnotationTable:
    """Annotations from doccano's JSON Lines, one file per annotator, who is called like it unless a field says so."""
    chosen = scheme or load_scheme(REGARD)
    annotations = []
    for path in paths:
        annotator = path.name.removesuffix(".gz").rpartition(".")[0]
        for place, record in _lines(path):
            labels = record.get("label", record.get("labels", []))
            given = labels if isinstance(labels, list) else [labels]
            label, unsure = _answer([str(label) for label in given if label is not None], chosen, place)
            leaning = record.get(LEANING)
            annotations.append(
                Annotation(
                    text_id=_identity(record, place),
                    text=_text(record, columns, place),
                    annotator=str(record.get("annotator") or annotator),
                    label=label if leaning is None else chosen.read_code(str(leaning), place=place),
                    unsure=unsure,
                    comment="\n".join(str(comment) for comment in _entries(record, "Comments", place)),
                    seconds=_seconds(record.get("seconds"), place),
                    adjudicated=bool(record.get("adjudicated")),
                )
            )
    return AnnotationTable(chosen, tuple(annotations), tuple(about_changed_texts(annotations)))


def write_doccano(table: AnnotationTable, out: Path) -> tuple[Path, ...]:
    """Write one JSON Lines file per annotator into a folder."""
    lines: dict[str, list[str]] = {}
    for row in table:
        if not is_file_name(row.annotator):
            raise DatasetError(
                f"{row.annotator!r} cannot be the name of a file. Write the long layout instead."
            )
        answer = table.scheme.unsure.code if row.unsure else row.label
        record: dict[str, Any] = {
            "id": row.text_id,
            "text": table.texts[row.text_id],
            "label": [answer] if answer else [],
            "annotator": row.annotator,
            "Comments": [row.comment] if row.comment else [],
        }
        if row.unsure and row.label:
            record[LEANING] = row.label
        if row.seconds is not None:
            record["seconds"] = row.seconds
        if row.adjudicated:
            record["adjudicated"] = True
        lines.setdefault(row.annotator, []).append(json.dumps(record, ensure_ascii=False) + "\n")
    for annotator, own in lines.items():
        write_text(out / f"{annotator}.jsonl", "".join(own))
    return tuple(out / f"{annotator}.jsonl" for annotator in lines)


def _of_task(
    task: Mapping[str, Any], scheme: LabelScheme, columns: AnnotationColumns, place: str
) -> Iterator[Annotation]:
    data = _record(task.get("data"), f"{place}, data")
    text_id = str(data[_TEXT_ID]) if _TEXT_ID in data else _identity({**task, **data}, place)
    for entry in _entries(task, "annotations", place):
        annotation = _record(entry, place)
        results = [_record(result, place) for result in _entries(annotation, "result", place)]
        choices: dict[str, list[str]] = {"label": [], LEANING: []}
        written: dict[str, list[str]] = {"comment": [], ANNOTATOR: []}
        for result in results:
            value = _record(result.get("value"), place)
            name = LEANING if result.get("from_name") == LEANING else "label"
            choices[name].extend(str(choice) for choice in _entries(value, "choices", place))
            if result.get("type") == "textarea":
                area = ANNOTATOR if result.get("from_name") == ANNOTATOR else "comment"
                written[area].extend(str(line) for line in _entries(value, "text", place))
        label, unsure = _answer([] if annotation.get("was_cancelled") else choices["label"], scheme, place)
        leaning = choices[LEANING]
        yield Annotation(
            text_id=text_id,
            text=_text(data, columns, place),
            annotator="".join(written[ANNOTATOR]) or _annotator(annotation.get("completed_by"), place),
            label=scheme.read_code(leaning[0], place=place) if leaning else label,
            unsure=unsure,
            comment="\n".join(written["comment"]),
            seconds=_seconds(annotation.get("lead_time"), place),
            adjudicated=bool(annotation.get("ground_truth")),
        )


def _annotator(completed_by: object, place: str) -> str:
    """Label Studio names an annotator by number, by name, or by an object with both."""
    if isinstance(completed_by, dict):
        completed_by = next(
            (completed_by[key] for key in ("email", "username", "id") if completed_by.get(key)), None
        )
    if completed_by is None or completed_by == "":
        raise DatasetError(f"{place}: an annotation does not say who made it (completed_by).")
    return str(completed_by)


def _choice(name: str, code: str | None) -> dict[str, Any]:
    return {"type": "choices", "from_name": name, "to_name": "text", "value": {"choices": [code]}}


def _written(name: str, text: str) -> dict[str, Any]:
    return {"type": "textarea", "from_name": name, "to_name": "text", "value": {"text": [text]}}


def _answer(given: Sequence[str], scheme: LabelScheme, place: str) -> tuple[str | None, bool]:
    """The label, and whether the annotator was unsure."""
    if len(given) > 1:
        raise DatasetError(
            f"{place}: the labels {' and '.join(given)} are given. One label per text is needed."
        )
    if not given or not given[0].strip():
        return None, False
    if scheme.means_unsure(given[0]):
        return None, True
    return scheme.read_code(given[0], place=place), False


def _lines(path: Path) -> Iterator[tuple[str, Mapping[str, Any]]]:
    text = decode_utf8(read_bounded(path, error=DatasetError), path, error=DatasetError)
    for number, line in enumerate(text.split("\n"), start=1):  # U+2028 and its like may stand within a text
        if not line.strip():
            continue
        place = f"{path}, line {number}"
        try:
            record = load_json(line)
        except ValueError as problem:
            raise DatasetError(f"{place}: not valid JSON ({problem}).") from None
        yield place, _record(record, place)


def _record(value: object, place: str) -> Mapping[str, Any]:
    if not isinstance(value, dict):
        raise DatasetError(
            f"{place}: an object with named fields is needed, and this is {type(value).__name__}."
        )
    return value


def _entries(record: Mapping[str, Any], field: str, place: str) -> list[Any]:
    """The list in a field; empty if there is none."""
    entries = record.get(field) or []
    if not isinstance(entries, list):
        raise DatasetError(f"{place}: {field} is {type(entries).__name__}, and a list is needed.")
    return entries


def _identity(record: Mapping[str, Any], place: str) -> str:
    identity = record.get("id")
    if identity is None or not str(identity).strip():
        raise DatasetError(f"{place}: the id of the text is missing.")
    return str(identity)


def _text(record: Mapping[str, Any], columns: AnnotationColumns, place: str) -> str:
    text = record.get(columns.text, record.get("text"))
    if not isinstance(text, str) or not text.strip():
        raise DatasetError(f"{place}: the text is missing or empty. Give every text its words.")
    return text


def _seconds(value: object, place: str) -> float | None:
    if value is None:
        return None
    if not isinstance(value, int | float) or not 0 <= value < math.inf:
        raise DatasetError(f"{place}: {value!r} is not a number of seconds. Correct it or leave it out.")
    return float(value)


def _ends_in(path: Path, *endings: str) -> bool:
    return path.name.lower().removesuffix(".gz").endswith(endings)


LABEL_STUDIO_LAYOUT = AnnotationLayout(
    name=LABEL_STUDIO,
    description="JSON as Label Studio exports it",
    recognises=lambda path: _ends_in(path, ".json"),
    read=read_label_studio,
    write=write_label_studio,
)
DOCCANO_LAYOUT = AnnotationLayout(
    name=DOCCANO,
    description="JSON Lines as doccano exports it, one file per annotator",
    recognises=lambda path: _ends_in(path, ".jsonl", ".ndjson"),
    read=read_doccano,
    write=write_doccano,
)
