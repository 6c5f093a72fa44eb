"""CrowS-Pairs and files in its layout, one row per pair.

    id, sent_more, sent_less, stereo_antistereo, bias_type

Other columns are allowed. The original English file has no name for the first column, which holds
the ids, and further columns about its annotators; the French file has the five above.

In the published French file one pair lacks a sentence. Such a pair is kept, so that it is counted as one that
could not be scored; a file in which all pairs are like that is refused.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from types import MappingProxyType

from evenhand.core.errors import DatasetError
from evenhand.core.items import PairDirection, PairSet, SentencePair
from evenhand.data.csv_files import CsvRow, has_columns, read_table
from evenhand.data.datasets import PinnedDataset
from evenhand.data.layouts import LANGUAGE_TAG, DatasetLayout, file_stem, language_named_by, load_dataset

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

_ORIGINAL_COLUMNS = ("", *COLUMNS, "annotations", "anon_writer", "anon_annotators")
"""The header of the original English file, which no other file is likely to have."""

_LANGUAGES: Mapping[str, str] = MappingProxyType(
    {
        "arabic": "ar",
        "catalan": "ca",
        "chinese": "zh",
        "english": "en",
        "french": "fr",
        "german": "de",
        "italian": "it",
        "maltese": "mt",
        "spanish": "es",
        "turkish": "tr",
    }
)
"""Languages that are known by name: those that CrowS-Pairs exists in, and those of the starter set."""


def load_pairs(data: str | Path, *, language: str | None = None) -> PairSet:
    """Pairs of sentences by name or from a file.

    Args:
        data: ``crows-pairs``, which is fetched when it is first used, or a CSV or TSV file in its layout.
        language: The language of a file that does not say it by its name. The named pairs have one of their own.

    Raises:
        DatasetError: If the file cannot be read, or its rows break the layout.
        UnknownNameError: If there are no pairs of this name.
    """
    return load_dataset(data, language=language, kind=PairSet)


def read_pairs(
    path: Path, *, language: str | None = None, name: str | None = None, licence: str | None = None
) -> PairSet:
    """Read a file in the layout of CrowS-Pairs, plain or gzip-compressed.

    Args:
        path: The file; with tabs between the columns if its name ends in ``.tsv``.
        language: Its language. Needed unless the file is the original English one or its name says it.
        name: Name of the set; the file's name if not given.
        licence: The licence, where it is known.
    """
    table = read_table(path, needed=COLUMNS)
    tag = _language(path, table.columns, chosen=language)
    id_column = "id" if "id" in table.columns else ""
    if id_column not in table.columns:
        raise DatasetError(
            f"{path} has the columns {', '.join(table.columns)}; none of them holds the ids of the pairs. "
            "Name the column with the ids: id."
        )
    pairs: dict[str, SentencePair] = {}
    for row in table.rows:
        pair = _pair(row, row[id_column], language=tag)
        if pairs.setdefault(pair.id, pair) is not pair:
            raise DatasetError(
                f"{row.place}: the id {pair.id!r} occurs a second time. Scores could not be told apart; "
                "make the ids unique."
            )
    if not any(pair.complete for pair in pairs.values()):
        empty = "sent_less" if next(iter(pairs.values())).more else "sent_more"
        raise DatasetError(
            f"{table.rows[0].place}: {empty} is empty, and no pair of the file has both sentences. Two sentences "
            "per row are needed."
        )
    return PairSet(
        name=name or _name_from_path(path),
        language=tag,
        pairs=tuple(pairs.values()),
        source=path.name,
        sha256=table.sha256,
        licence=licence,
    )


def _pair(row: CsvRow, identifier: str, *, language: str) -> SentencePair:
    if not identifier:
        raise DatasetError(f"{row.place}: the pair has no id; each pair needs one of its own.")
    if not row["sent_more"] and not row["sent_less"]:
        raise DatasetError(
            f"{row.place} (id {identifier}): sent_more and sent_less are empty; texts are needed."
        )
    if not row["bias_type"]:
        raise DatasetError(
            f"{row.place} (id {identifier}): bias_type is empty; a word such as gender is needed."
        )
    direction = row["stereo_antistereo"]
    if direction not in set(PairDirection):
        directions = " or ".join(known.value for known in PairDirection)
        raise DatasetError(
            f"{row.place} (id {identifier}): stereo_antistereo is {direction!r}; {directions} is needed."
        )
    return SentencePair(
        id=identifier,
        language=language,
        bias_type=row["bias_type"],
        direction=PairDirection(direction),
        more=row["sent_more"],
        less=row["sent_less"],
    )


def _language(path: Path, columns: tuple[str, ...], *, chosen: str | None) -> str:
    if chosen is not None:
        if not LANGUAGE_TAG.fullmatch(chosen):
            raise DatasetError(f"The language {chosen!r} is not a tag such as 'en' or 'fr'.")
        return chosen
    tag = _language_from_name(path) or ("en" if columns == _ORIGINAL_COLUMNS else None)
    if tag is None:
        raise DatasetError(f"{path} does not say its language. Name it with --language, for example fr.")
    return tag


def _language_from_name(path: Path) -> str | None:
    """The only language in a file's name: as a word such as ``french``, or at its end as a tag such as ``fr``.

    A name that is nothing but a tag with a region, such as ``pt-BR``, says it too; ``my`` is hardly ever Burmese.
    """
    whole = language_named_by(path)
    if whole and "-" in whole:
        return whole
    words = re.split(r"[\W_]+", file_stem(path).casefold())
    tags = {_LANGUAGES[word] for word in words if word in _LANGUAGES}
    if words[-1] in _LANGUAGES.values():
        tags.add(words[-1])
    return tags.pop() if len(tags) == 1 else None


def _name_from_path(path: Path) -> str:
    """The file's name, or its folder's where the file is only named after a language."""
    stem = file_stem(path)
    only_language = (
        stem.casefold() in {*_LANGUAGES, *_LANGUAGES.values()} or _language_from_name(path) == stem
    )
    return path.resolve().parent.name if only_language else stem


CROWS_PAIRS_LAYOUT = DatasetLayout(
    name="crows-pairs",
    description="pairs of sentences",
    kind=PairSet,
    suffixes=(".csv", ".tsv"),
    recognises=partial(has_columns, columns=COLUMNS),
    read=read_pairs,
    datasets=(CROWS_PAIRS,),
)
