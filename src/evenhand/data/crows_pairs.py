"""CrowS-Pairs and files in its layout, one row per pair.

    id, sent_more, sent_less, stereo_antistereo, bias_type

Other columns are allowed. The original English file has no name for the first column, which holds
the ids, and further columns about its annotators; the French file and those of other languages have the five above.
They come as text with commas, semicolons or tabs, and on the hub as JSON Lines or Parquet, where directions and bias
types may be integers. Pairs without ids are known by their numbers, from 0 on.

In the published French file one pair lacks a sentence. Such a pair is kept, so that it is counted as one that
could not be scored; a file in which all pairs are like that is refused.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType

from evenhand.core.errors import DatasetError
from evenhand.core.items import PairDirection, PairSet, SentencePair
from evenhand.data.datasets import PinnedDataset
from evenhand.data.language_names import LANGUAGE_TAG, file_stem, language_of_whole_name, language_within_name
from evenhand.data.layouts import DatasetLayout, load_dataset
from evenhand.data.records import Record, RecordTable, has_fields, read_records

CROWS_PAIRS = PinnedDataset(
    name="crows-pairs",
    title="CrowS-Pairs: 1,508 pairs of sentences, English (Nangia et al. 2020)",
    licence="CC BY-SA 4.0",
    language="en",
    repository="nyu-mll/crows-pairs",
    commit="8aaac11c485473159ec9328a65253a5be9a479dc",
    path="data/crows_pairs_anonymized.csv",
    git_blob_sha1="28fa7d906a83d441001fb2a0eeae28c6d64a99e1",
    used_by="probe --test crows-pairs",
)

COLUMNS = ("sent_more", "sent_less", "stereo_antistereo", "bias_type")

HUB_NAMES: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "stereo_antistereo": (PairDirection.STEREO.value, PairDirection.ANTISTEREO.value),
        "bias_type": (
            "race-color",
            "socioeconomic",
            "gender",
            "disability",
            "nationality",
            "sexual-orientation",
            "physical-appearance",
            "religion",
            "age",
            "autre",
        ),
    }
)
"""What integers mean in the hub's CrowS-Pairs, where a file does not name its labels itself; the French ones have one
type more than the English ones."""

_ORIGINAL_COLUMNS = ("", *COLUMNS, "annotations", "anon_writer", "anon_annotators")
"""The header of the original English file, which no other file is likely to have."""


def load_pairs(data: str | Path, *, language: str | None = None, encoding: str | None = None) -> PairSet:
    """Pairs of sentences by name or from a file.

    Args:
        data: ``crows-pairs``, which is fetched when it is first used, or a file in the layout of CrowS-Pairs, SHADES,
            EuroGEST or another one of pairs.
        language: The language of a file that does not say it by its name. The named pairs have one of their own.
        encoding: Of a text file, if not UTF-8.

    Raises:
        DatasetError: If the file cannot be read, or its rows break the layout.
        UnknownNameError: If there are no pairs of this name.
    """
    return load_dataset(data, language=language, kind=PairSet, encoding=encoding)


def read_pairs(
    path: Path,
    *,
    language: str | None = None,
    name: str | None = None,
    licence: str | None = None,
    encoding: str | None = None,
) -> PairSet:
    """Read pairs in the layout of CrowS-Pairs, from text, JSON Lines, Parquet or a saved dataset.

    Args:
        path: The file or folder.
        language: Its language. Needed unless the file is the original English one or its name says it.
        name: Name of the set; the file's name if not given.
        licence: The licence, where it is known.
        encoding: Of a text file, if not UTF-8.
    """
    table = read_records(path, needed=COLUMNS, encoding=encoding)
    tag = language_of_pairs(path, table.fields, chosen=language)
    ids = ids_of(table)
    return pair_set(
        path,
        [
            (_pair(record, identifier, table, language=tag), record)
            for record, identifier in zip(table.records, ids, strict=True)
        ],
        name=name,
        sha256=table.sha256,
        licence=licence,
    )


def ids_of(table: RecordTable) -> list[str]:
    """The ids of the records of a table; their numbers from 0 on where it has none, as lm-evaluation-harness counts."""
    column = next((name for name in ("id", "") if name in table.fields), None)
    return [
        str(number) if column is None else record.text(column) for number, record in enumerate(table.records)
    ]


def pair_set(
    path: Path,
    pairs: Sequence[tuple[SentencePair, Record]],
    *,
    name: str | None,
    sha256: str,
    licence: str | None,
) -> PairSet:
    """The pairs of a file, each with the record that it comes from, refusing those that could not be told apart."""
    by_id: dict[str, SentencePair] = {}
    for pair, record in pairs:
        if by_id.setdefault(pair.id, pair) is not pair:
            raise DatasetError(
                f"{record.place}: the id {pair.id!r} occurs a second time. Scores could not be told apart; "
                "make the ids unique."
            )
    if not any(pair.complete for pair in by_id.values()):
        first, record = pairs[0]
        empty = "sent_less" if first.more else "sent_more"
        raise DatasetError(
            f"{record.place}: {empty} is empty, and no pair of the file has both sentences. Two sentences "
            "per row are needed."
        )
    return PairSet(
        name=name or _name_from_path(path),
        language=pairs[0][0].language,
        pairs=tuple(by_id.values()),
        source=path.name,
        sha256=sha256,
        licence=licence,
    )


def _pair(record: Record, identifier: str, table: RecordTable, *, language: str) -> SentencePair:
    if not identifier:
        raise DatasetError(f"{record.place}: the pair has no id; each pair needs one of its own.")
    more, less = record.text("sent_more"), record.text("sent_less")
    place = f"{record.place} (id {identifier})"
    if not more and not less:
        raise DatasetError(f"{place}: sent_more and sent_less are empty; texts are needed.")
    direction, bias_type = named_labels(record, table, place=place)
    if not bias_type:
        raise DatasetError(f"{place}: bias_type is empty; a word such as gender is needed.")
    if direction not in set(PairDirection):
        directions = " or ".join(known.value for known in PairDirection)
        raise DatasetError(f"{place}: stereo_antistereo is {direction!r}; {directions} is needed.")
    return SentencePair(
        id=identifier,
        language=language,
        bias_type=bias_type,
        direction=PairDirection(direction),
        more=more,
        less=less,
        beyond_repair=record.text("beyond_repair"),
    )


def named_labels(record: Record, table: RecordTable, *, place: str) -> tuple[str, str]:
    """Direction and bias type as words, also where the file has integers for both."""
    direction, bias_type = record.text("stereo_antistereo"), record.text("bias_type")
    if not direction.isdecimal():
        return direction, bias_type
    return (
        _named_label("stereo_antistereo", direction, table, place=place),
        _named_label("bias_type", bias_type, table, place=place),
    )


def _named_label(name: str, text: str, table: RecordTable, *, place: str) -> str:
    if not text.isdecimal():
        return text
    names = table.class_names.get(name, HUB_NAMES[name])
    if int(text) >= len(names):
        known = ", ".join(f"{number} ({label})" for number, label in enumerate(names))
        raise DatasetError(f"{place}: {name} is {text}; it is one of {known}.")
    return names[int(text)]


def language_of_pairs(path: Path, columns: tuple[str, ...], *, chosen: str | None) -> str:
    """The language of a file of pairs: the one that was chosen, or the one that its name or its columns show."""
    if chosen is not None:
        if not LANGUAGE_TAG.fullmatch(chosen):
            raise DatasetError(f"The language {chosen!r} is not a tag such as 'en' or 'fr'.")
        return chosen
    tag = language_within_name(path) or ("en" if columns == _ORIGINAL_COLUMNS else None)
    if tag is None:
        raise DatasetError(f"{path} does not say its language. Name it with --language, for example fr.")
    return tag


def _name_from_path(path: Path) -> str:
    """The file's name, or its folder's where the file is only named after a language."""
    return path.resolve().parent.name if language_of_whole_name(file_stem(path)) else file_stem(path)


CROWS_PAIRS_LAYOUT = DatasetLayout(
    name="crows-pairs",
    description="pairs of sentences",
    kind=PairSet,
    suffixes=(".csv", ".tsv", ".jsonl", ".parquet"),
    recognises=has_fields(*COLUMNS),
    read=read_pairs,
    datasets=(CROWS_PAIRS,),
    fields=COLUMNS,
)
