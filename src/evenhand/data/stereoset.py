"""StereoSet's JSON layout, as published and as its translations extend it.

{"version": ..., "language": ...,                          # language: translations only
 "data": {"intrasentence": [{"id", "bias_type", "target", "context",
                             "target_original",            # translations only
                             "beyond_repair",              # translations only: why nobody could mend it
                             "doubtful_target",            # translations only: the target before it was guessed
                             "sentences": [{"id", "sentence", "gold_label",
                                            "word",        # some versions only
                                            "labels"}]}],  # annotators, not used
          "intersentence": [...]}}

The hub has the same items as records, one task per file, with integer labels and the candidates either as a list or
as one list per field. Contexts with a BLANK are of the intra-sentence task:

    id, target, bias_type, context, sentences: {"id": [...], "sentence": [...], "gold_label": [1, 0, 2]}
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from evenhand.core.errors import DatasetError, shortlist
from evenhand.core.files import decode_text, decode_utf8, parse_json, read_bounded, sha256_of_text
from evenhand.core.items import BLANK, Association, Benchmark, Candidate, Label, Task, repeated
from evenhand.data.datasets import BundledDataset, LocalTranslation, PinnedDataset
from evenhand.data.language_names import LANGUAGE_TAG, file_stem, language_named_by
from evenhand.data.layouts import DatasetLayout
from evenhand.data.records import Record, RecordTable, has_fields, read_records

STARTER = BundledDataset(
    name="starter",
    title="Starter set: 96 mild association items, aligned in five languages",
    licence="CC BY 4.0",
    languages=("de", "en", "es", "fr", "tr"),
    default_language="en",
    folder="resources/starter",
)

LAB = BundledDataset(
    name="lab",
    title="Items of the lab's own small grammar, for models with planted bias",
    licence="CC BY 4.0",
    languages=("de", "en"),
    default_language="en",
    folder="resources/lab",
)

_TRANSLATIONS = "create_dataset/data of github.com/slds-lmu/stereotypes-multi at commit e1497a2c5740"

STEREOSET = PinnedDataset(
    name="stereoset",
    title="StereoSet development set, English (Nadeem et al. 2021), with four published translations",
    licence="CC BY-SA 4.0",
    language="en",
    repository="moinnadeem/StereoSet",
    commit="ead7d086a64a192a1eca88e0dd2fd163de375218",
    path="data/dev.json",
    git_blob_sha1="637b1e3d284a3c629b74a4659c583b8eca9bd13e",
    translations=(
        LocalTranslation(
            "de", _TRANSLATIONS, "71d2d72e93cb5fe330966b9717e42be03726fad0d247fbdd21359062edf601e4"
        ),
        LocalTranslation(
            "es", _TRANSLATIONS, "50d4d8b9157aa17d7c87f11255805123244ef38fe5bf1a9984edaebcf4c7c9a1"
        ),
        LocalTranslation(
            "fr", _TRANSLATIONS, "584241052bf8787904d327b039c4533e062cca870c25020dfbeb6c25f4862bed"
        ),
        LocalTranslation(
            "tr", _TRANSLATIONS, "b1246453110bf3a0d5aa27cce1fde17a9c28ec69802b90c42ec30acbf50a5eff"
        ),
    ),
)

LAYOUT_HELP = (
    'StereoSet\'s layout is {"data": {"intrasentence": [...], "intersentence": [...]}}, each item with '
    '"id", "bias_type", "target", "context" and three "sentences" with "id", "sentence" and "gold_label".'
)

RECORD_FIELDS = ("id", "target", "bias_type", "context", "sentences")

HUB_LABELS = (Label.ANTI_STEREOTYPE, Label.STEREOTYPE, Label.UNRELATED)
"""What 0, 1 and 2 mean in the hub's StereoSet, where a file does not name its labels itself."""


def read_stereoset(
    path: Path,
    *,
    language: str | None = None,
    name: str | None = None,
    licence: str | None = None,
    encoding: str | None = None,
) -> Benchmark:
    """Read a benchmark in StereoSet's layout, plain or gzip-compressed.

    Args:
        path: The JSON file.
        language: The language that the file must have. Needed only when neither the file nor its name says it, as with
            the original.
        name: Name of the benchmark; if not given, the file's name, or its folder's where the file is only named after
            a language.
        licence: The licence of a file that does not say.
        encoding: Of the file, if not UTF-8.
    """
    content = read_bounded(path, error=DatasetError)
    text = decode_text(content, path, error=DatasetError, encoding=encoding)
    document = parse_json(text, path, error=DatasetError)
    data = _items_by_task(document)
    if data is None:
        raise DatasetError(f"{path} is JSON, but not a benchmark. {LAYOUT_HELP}")
    tag = _language(document.get("language"), path, chosen=language)
    items = tuple(
        _item(row, task=task, language=tag, place=f"{path}, {task.value} item {number}")
        for task in Task
        for number, row in enumerate(_rows(data.get(task.value, []), f"{path}, {task.value}"), start=1)
    )
    if not items:
        raise DatasetError(f"{path} has no items. {LAYOUT_HELP}")
    _refuse_repeated_ids(items, path)
    own_licence = document.get("licence")
    return Benchmark(
        name=name or _name_from_path(path),
        language=tag,
        items=items,
        source=path.name,
        sha256=sha256_of_text(content, text, encoding=encoding),
        licence=own_licence if isinstance(own_licence, str) else licence,
    )


def read_stereoset_records(
    path: Path,
    *,
    language: str | None = None,
    name: str | None = None,
    licence: str | None = None,
    encoding: str | None = None,
) -> Benchmark:
    """Read StereoSet as the hub has it: JSON Lines, Parquet, a saved dataset, or a folder of Parquet files.

    Args:
        path: The file or folder.
        language: Needed unless the name of the file or folder says it.
        name: Name of the benchmark, as for ``read_stereoset``.
        licence: The licence, where it is known.
        encoding: Of a text file, if not UTF-8.
    """
    table = read_records(path, needed=RECORD_FIELDS, encoding=encoding)
    tag = _language(None, path, chosen=language)
    items = tuple(_record_item(record, table, language=tag) for record in table.records)
    _refuse_repeated_ids(items, path)
    return Benchmark(
        name=name or _name_from_path(path),
        language=tag,
        items=items,
        source=path.name,
        sha256=table.sha256,
        licence=licence,
    )


def stereoset_bytes(benchmark: Benchmark) -> bytes:
    """A benchmark as a file in StereoSet's layout, whatever layout it was read from."""
    data: dict[str, list[dict[str, Any]]] = {task.value: [] for task in Task}
    for item in benchmark:
        sentences = [
            {
                "id": candidate.id,
                "sentence": candidate.text,
                "gold_label": candidate.label.value,
                **({"word": candidate.word} if candidate.word else {}),
            }
            for candidate in item.candidates
        ]
        data[item.task.value].append(
            {
                "id": item.id,
                "target": item.target,
                "target_original": item.cluster,
                "bias_type": item.bias_type,
                "context": item.context,
                **{
                    name: mark
                    for name in ("beyond_repair", "doubtful_target")
                    if (mark := getattr(item, name))
                },
                "sentences": sentences,
            }
        )
    licence = {"licence": benchmark.licence} if benchmark.licence else {}
    document = {"version": "1.1", "language": benchmark.language, **licence, "data": data}
    return json.dumps(document, ensure_ascii=False, separators=(",", ":")).encode()


def _record_item(record: Record, table: RecordTable, *, language: str) -> Association:
    """An item from a record, put into the form that StereoSet's own file has."""
    sentences = record["sentences"]
    if isinstance(sentences, dict):
        lists = {key: values for key, values in sentences.items() if isinstance(values, list)}
        if len({len(values) for values in lists.values()}) > 1:
            counts = ", ".join(f"{len(values)} of {key}" for key, values in lists.items())
            raise DatasetError(
                f"{record.place}: the lists of its sentences differ in length ({counts}). Every sentence needs its own "
                "entry in each list."
            )
        sentences = [dict(zip(lists, values, strict=True)) for values in zip(*lists.values(), strict=True)]
    if not isinstance(sentences, list) or not all(isinstance(entry, dict) for entry in sentences):
        raise DatasetError(f'{record.place}: "sentences" holds no candidates. {LAYOUT_HELP}')
    names = table.class_names.get("sentences.gold_label", tuple(label.value for label in HUB_LABELS))
    labelled = [
        {**entry, "gold_label": _named_label(entry.get("gold_label"), names, record.place)}
        for entry in sentences
    ]
    context = record["context"]
    task = Task.INTRASENTENCE if isinstance(context, str) and BLANK in context else Task.INTERSENTENCE
    row = {**record.values, "sentences": labelled}
    return _item(row, task=task, language=language, place=record.place)


def _named_label(label: Any, names: tuple[str, ...], place: str) -> Any:
    """The name of an integer label; any other label as it is."""
    if not isinstance(label, int) or isinstance(label, bool):
        return label
    if not 0 <= label < len(names):
        known = ", ".join(f"{number} ({name})" for number, name in enumerate(names))
        raise DatasetError(f"{place}: gold_label is {label}; it is one of {known}.")
    return names[label]


def _name_from_path(path: Path) -> str:
    return path.resolve().parent.name if language_named_by(path) else file_stem(path)


def _is_stereoset(path: Path) -> bool:
    try:
        content = read_bounded(path, error=DatasetError)
        document = parse_json(decode_utf8(content, path, error=DatasetError), path, error=DatasetError)
    except DatasetError:
        return False
    return _items_by_task(document) is not None


def _items_by_task(document: Any) -> dict[str, Any] | None:
    data = document.get("data") if isinstance(document, dict) else None
    return data if isinstance(data, dict) and any(task.value in data for task in Task) else None


def _language(declared: Any, path: Path, *, chosen: str | None) -> str:
    if declared is not None and not (isinstance(declared, str) and LANGUAGE_TAG.fullmatch(declared)):
        raise DatasetError(f'{path}: "language" is {declared!r}; a tag such as "en" or "de" is needed.')
    if chosen is not None and not LANGUAGE_TAG.fullmatch(chosen):
        raise DatasetError(f"The language {chosen!r} is not a tag such as 'en' or 'de'.")
    if declared and chosen and declared != chosen:
        raise DatasetError(f"{path} is in {declared!r}, but {chosen!r} was asked for.")
    named = language_named_by(path)
    if not declared and chosen and named and named.partition("-")[0] != chosen.partition("-")[0]:
        raise DatasetError(
            f"{path} is named after the language {named!r}, but {chosen!r} was asked for. Leave out --language, or "
            "rename the file."
        )
    tag = declared or chosen or named
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
        problem = "is missing" if value is None else f"is {value!r}"
        raise DatasetError(f"{place}: {key!r} {problem}; a text is needed. {LAYOUT_HELP}")
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
            f"labels {', '.join(option.value for option in Label)}."
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
        beyond_repair=_mark(row.get("beyond_repair")),
        doubtful_target=str(row.get("doubtful_target") or ""),
    )


def _mark(reason: Any) -> str:
    """Why an item is beyond repair; a mark without a reason counts too."""
    return (reason if isinstance(reason, str) else "beyond repair") if reason else ""


def _candidate(entry: Any, place: str) -> Candidate:
    if not isinstance(entry, dict):
        raise DatasetError(f"{place}: a candidate is not an object. {LAYOUT_HELP}")
    label = _text(entry, "gold_label", place)
    if label not in set(Label):
        raise DatasetError(
            f"{place}: the label {label!r} is unknown. Labels are {', '.join(option.value for option in Label)}."
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


STEREOSET_LAYOUT = DatasetLayout(
    name="stereoset",
    description="contexts with three candidates",
    kind=Benchmark,
    suffixes=(".json",),
    recognises=_is_stereoset,
    read=read_stereoset,
    datasets=(STARTER, LAB, STEREOSET),
    fields=("data",),
)

STEREOSET_RECORDS_LAYOUT = DatasetLayout(
    name="stereoset-records",
    description="contexts with three candidates",
    kind=Benchmark,
    suffixes=(".jsonl", ".parquet"),
    recognises=has_fields(*RECORD_FIELDS),
    read=read_stereoset_records,
    fields=RECORD_FIELDS,
)
