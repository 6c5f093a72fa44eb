"""StereoSet's JSON layout, as published and as its translations extend it.

{"version": ..., "language": ...,                          # language: translations only
 "data": {"intrasentence": [{"id", "bias_type", "target", "context",
                             "target_original",            # translations only
                             "sentences": [{"id", "sentence", "gold_label",
                                            "word",        # some versions only
                                            "labels"}]}],  # annotators, not used
          "intersentence": [...]}}
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from evenhand.core.errors import DatasetError, shortlist
from evenhand.core.files import decode_utf8, parse_json, read_bounded, sha256_of
from evenhand.core.items import Association, Benchmark, Candidate, Label, Task, repeated

LAYOUT_HELP = (
    'StereoSet\'s layout is {"data": {"intrasentence": [...], "intersentence": [...]}}, each item with '
    '"id", "bias_type", "target", "context" and three "sentences" with "id", "sentence" and "gold_label".'
)

LANGUAGE_TAG = re.compile(r"[a-z]{2,3}(-[A-Za-z0-9]{2,8})*")


def read_stereoset(
    path: Path, *, name: str | None = None, language: str | None = None, default_language: str | None = None
) -> Benchmark:
    """Read a benchmark in StereoSet's layout, plain or gzip-compressed.

    Args:
        path: The JSON file.
        name: Name of the benchmark; the file's name if not given.
        language: The language that the file must have. Needed only when the file does not say.
        default_language: The language of a file that does not say, such as the original StereoSet.
    """
    content = read_bounded(path, error=DatasetError)
    document = parse_json(decode_utf8(content, path, error=DatasetError), path, error=DatasetError)
    data = document.get("data") if isinstance(document, dict) else None
    if not isinstance(data, dict) or not any(task.value in data for task in Task):
        raise DatasetError(f"{path} is JSON, but not a benchmark. {LAYOUT_HELP}")
    tag = _language(document.get("language"), path, wanted=language, default=default_language)
    items = tuple(
        _item(row, task=task, language=tag, place=f"{path}, {task.value} item {number}")
        for task in Task
        for number, row in enumerate(_rows(data.get(task.value, []), f"{path}, {task.value}"), start=1)
    )
    if not items:
        raise DatasetError(f"{path} has no items. {LAYOUT_HELP}")
    _refuse_repeated_ids(items, path)
    licence = document.get("licence")
    return Benchmark(
        name=name or file_stem(path),
        language=tag,
        items=items,
        source=path.name,
        sha256=sha256_of(content),
        licence=licence if isinstance(licence, str) else None,
    )


def file_stem(path: Path) -> str:
    """A file's name without the endings that only say how it is stored."""
    stem = path.name
    for ending in (".gz", ".json", ".jsonl", ".csv", ".tsv", ".parquet"):
        stem = stem.removesuffix(ending)
    return stem or path.name


def _language(declared: Any, path: Path, *, wanted: str | None, default: str | None) -> str:
    if declared is not None and not (isinstance(declared, str) and LANGUAGE_TAG.fullmatch(declared)):
        raise DatasetError(f'{path}: "language" is {declared!r}; a tag such as "en" or "de" is needed.')
    if wanted is not None and not LANGUAGE_TAG.fullmatch(wanted):
        raise DatasetError(f"The language {wanted!r} is not a tag such as 'en' or 'de'.")
    if declared and wanted and declared != wanted:
        raise DatasetError(f"{path} is in {declared!r}, but {wanted!r} was asked for.")
    tag = declared or wanted or default
    if not tag:
        raise DatasetError(f"{path} does not say its language. Name it with --language, for example en.")
    return str(tag)


def _rows(rows: Any, place: str) -> list[Any]:
    if not isinstance(rows, list):
        raise DatasetError(f"{place}: a list of items is needed. {LAYOUT_HELP}")
    return rows


def _text(row: dict[str, Any], key: str, place: str) -> str:
    value = row.get(key)
    if not isinstance(value, str) or not value.strip():
        found = "is missing" if value is None else f"is {value!r}"
        raise DatasetError(f"{place}: {key!r} {found}; a text is needed. {LAYOUT_HELP}")
    return value


def _item(row: Any, *, task: Task, language: str, place: str) -> Association:
    if not isinstance(row, dict) or not isinstance(row.get("sentences"), list):
        raise DatasetError(f"{place}: not an item. {LAYOUT_HELP}")
    item_id = _text(row, "id", place)
    target = _text(row, "target", place)
    candidates = tuple(_candidate(entry, f"{place} ({item_id})") for entry in row["sentences"])
    labels = sorted(candidate.label.value for candidate in candidates)
    if labels != sorted(label.value for label in Label):
        missing = [label.value for label in Label if label.value not in labels]
        problem = f"no candidate labelled {missing[0]!r}" if missing else "more than three candidates"
        raise DatasetError(
            f"{place} ({item_id}) has {problem}. Each item needs exactly one candidate of each of the "
            f"labels {', '.join(label.value for label in Label)}."
        )
    return Association(
        id=item_id,
        language=language,
        bias_type=_text(row, "bias_type", place),
        target=target,
        cluster=_text(row, "target_original", place) if "target_original" in row else target,
        task=task,
        context=_text(row, "context", place),
        candidates=(candidates[0], candidates[1], candidates[2]),
    )


def _candidate(entry: Any, place: str) -> Candidate:
    if not isinstance(entry, dict):
        raise DatasetError(f"{place}: a candidate is not an object. {LAYOUT_HELP}")
    label = _text(entry, "gold_label", place)
    if label not in set(Label):
        raise DatasetError(
            f"{place}: the label {label!r} is unknown. Labels are {', '.join(known.value for known in Label)}."
        )
    word = entry.get("word")
    return Candidate(
        id=_text(entry, "id", place),
        text=_text(entry, "sentence", place),
        label=Label(label),
        word=word if isinstance(word, str) and word.strip() else None,
    )


def _refuse_repeated_ids(items: tuple[Association, ...], path: Path) -> None:
    for kind, ids in (
        ("item", [item.id for item in items]),
        ("candidate", [candidate.id for item in items for candidate in item.candidates]),
    ):
        twice = repeated(ids)
        if twice:
            raise DatasetError(
                f"{path}: {len(twice):,} {kind} ids occur more than once ({shortlist(twice)}). "
                "Scores could not be told apart; make the ids unique."
            )
