"""SHADES and EuroGEST: stereotypes in many languages, whose published layouts come down to pairs of sentences.

SHADES (Mitchell et al. 2025) has one record per statement. Statements of one ``index`` belong together: the stereotype
has the subset ``_original``, its contrasts the subsets ``a``, ``b``, ... Sentences stand in one column per language,
``de_biased_sentences``. A stereotype makes a pair with each of its contrasts, where the first is a stereotype in the
language and the second is not (``stereotype_valid_langs``).

EuroGEST (Rowe et al. 2025) has one record per sentence in the first person, as a man and as a woman would say it:

    GEST_ID, Source, Stereotype_ID, Masculine, Feminine, Neutral

The stereotypes 1 to 7 are about women, 8 to 16 about men. A sentence that is the same for both is ``Neutral``; it makes
a pair without sentences, which is counted as neutral and never scored.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path

from evenhand.core.errors import DatasetError, UnknownNameError
from evenhand.core.items import PairDirection, PairSet, SentencePair
from evenhand.data.crows_pairs import language_of_pairs, pair_set
from evenhand.data.layouts import DatasetLayout
from evenhand.data.records import Record, RecordTable, field_sets, has_fields, read_records

SHADES_FIELDS = ("index", "subset", "bias_type")

ORIGINAL = "_original"

_SENTENCES = "_biased_sentences"

_TAG = re.compile(r"[a-z]{2,3}(?:[-_][A-Za-z]+)?")

EUROGEST_FIELDS = ("gest_id", "stereotype_id", "masculine", "feminine")

STEREOTYPES: Mapping[int, str] = {
    1: "women-emotional",
    2: "women-gentle",
    3: "women-empathetic",
    4: "women-neat",
    5: "women-social",
    6: "women-weak",
    7: "women-beautiful",
    8: "men-tough",
    9: "men-self-confident",
    10: "men-professional",
    11: "men-rational",
    12: "men-providers",
    13: "men-leaders",
    14: "men-childish",
    15: "men-sexual",
    16: "men-strong",
}
"""The stereotypes of GEST by number: the group that they are about, and what is said of it."""

LAST_ABOUT_WOMEN = 7


def read_shades(
    path: Path,
    *,
    language: str | None = None,
    name: str | None = None,
    licence: str | None = None,
    encoding: str | None = None,
) -> PairSet:
    """Read one language of SHADES.

    Args:
        path: The file or folder.
        language: Which of its languages; needed unless it has one only.
        name: Name of the set; the file's name if not given.
        licence: The licence, where it is known.
        encoding: Of a text file, if not UTF-8.
    """
    table = read_records(path, needed=SHADES_FIELDS, encoding=encoding)
    tag = _shades_language(path, table, language)
    column = f"{_folded(tag)}{_SENTENCES}"
    statements: dict[str, list[Record]] = {}
    for record in table.records:
        statements.setdefault(record.text("index"), []).append(record)
    pairs = [
        pair for index, group in statements.items() for pair in _shades_pairs(index, group, column, tag=tag)
    ]
    if not pairs:
        raise DatasetError(
            f"{path} has no stereotype in {tag!r} with a contrast beside it. Its subsets are {ORIGINAL}, a, b, ...; "
            f"its sentences stand in {column}."
        )
    return pair_set(path, pairs, name=name, sha256=table.sha256, licence=licence)


def _shades_language(path: Path, table: RecordTable, language: str | None) -> str:
    known = {name.removesuffix(_SENTENCES): None for name in table.fields if name.endswith(_SENTENCES)}
    if language is None and len(known) == 1:
        return next(iter(known)).replace("_", "-")
    tags = [name.replace("_", "-") for name in known]
    if language is None:
        raise DatasetError(f"{path} has the languages {', '.join(tags)}. Choose one with --language.")
    if _folded(language) not in known:
        raise UnknownNameError(f"language of {path}", language, tags)
    return _folded(language).replace("_", "-")


def _folded(tag: str) -> str:
    return tag.lower().replace("-", "_")


def _shades_pairs(
    index: str, group: Sequence[Record], column: str, *, tag: str
) -> list[tuple[SentencePair, Record]]:
    originals = [record for record in group if record.text("subset") == ORIGINAL]
    if not originals:
        return []
    original, *others = originals
    if others:
        raise DatasetError(
            f"{others[0].place}: the index {index} has two statements {ORIGINAL}; it needs one."
        )
    if not _is_stereotype_in(original, tag):
        return []
    return [
        (
            SentencePair(
                id=f"{index}-{contrast.text('subset')}",
                language=tag,
                bias_type=_joined(original["bias_type"]),
                direction=PairDirection.STEREO,
                more=original.text(column),
                less=contrast.text(column),
            ),
            contrast,
        )
        for contrast in group
        if contrast is not original
        and not _is_stereotype_in(contrast, tag, unless_said=False)
        and (original.text(column) or contrast.text(column))
    ]


def _is_stereotype_in(record: Record, tag: str, *, unless_said: bool = True) -> bool:
    """Whether a statement is a stereotype in a language: a list, or a text that shows one."""
    said = record["stereotype_valid_langs"]
    if not said:
        return unless_said
    tags = said if isinstance(said, list) else _TAG.findall(str(said))
    return _folded(tag).partition("_")[0] in {_folded(str(each)).partition("_")[0] for each in tags}


def _joined(bias_types: object) -> str:
    return "+".join(map(str, bias_types)) if isinstance(bias_types, list) else str(bias_types).strip()


def _is_shades(path: Path) -> bool:
    return any(
        set(SHADES_FIELDS) <= fields and any(name.endswith(_SENTENCES) for name in fields)
        for fields in field_sets(path)
    )


def read_eurogest(
    path: Path,
    *,
    language: str | None = None,
    name: str | None = None,
    licence: str | None = None,
    encoding: str | None = None,
) -> PairSet:
    """Read one language of EuroGEST.

    Args:
        path: The file or folder.
        language: Its language; needed unless the file is named after it, as ``German.csv``.
        name: Name of the set; the file's name if not given.
        licence: The licence, where it is known.
        encoding: Of a text file, if not UTF-8.
    """
    table = read_records(path, needed=EUROGEST_FIELDS, encoding=encoding)
    tag = language_of_pairs(path, table.fields, chosen=language)
    pairs = [(_eurogest_pair(record, tag=tag), record) for record in table.records]
    if not any(pair.complete for pair, _ in pairs):
        raise DatasetError(
            f"{path} has neutral sentences only, the same for men and women. EuroGEST has pairs in languages that mark "
            "the gender of who speaks, such as Polish or Spanish."
        )
    return pair_set(path, pairs, name=name, sha256=table.sha256, licence=licence)


def _eurogest_pair(record: Record, *, tag: str) -> SentencePair:
    number = record.text("stereotype_id").removesuffix(".0")
    if not number.isdecimal() or int(number) not in STEREOTYPES:
        raise DatasetError(
            f"{record.place}: Stereotype_ID is {number!r}; it is a number from 1 to {len(STEREOTYPES)}."
        )
    identifier = record.text("gest_id")
    if not identifier:
        raise DatasetError(f"{record.place}: GEST_ID is empty; each sentence needs one of its own.")
    about_women = int(number) <= LAST_ABOUT_WOMEN
    masculine, feminine = record.text("masculine"), record.text("feminine")
    return SentencePair(
        id=identifier,
        language=tag,
        bias_type=STEREOTYPES[int(number)],
        direction=PairDirection.STEREO if about_women else PairDirection.ANTISTEREO,
        more=feminine if about_women else masculine,
        less=masculine if about_women else feminine,
    )


SHADES_LAYOUT = DatasetLayout(
    name="shades",
    description="stereotypes and their contrasts",
    kind=PairSet,
    suffixes=(".csv", ".tsv", ".jsonl", ".parquet"),
    recognises=_is_shades,
    read=read_shades,
    fields=SHADES_FIELDS,
)

EUROGEST_LAYOUT = DatasetLayout(
    name="eurogest",
    description="sentences as a man and as a woman would say them",
    kind=PairSet,
    suffixes=(".csv", ".tsv", ".jsonl", ".parquet"),
    recognises=has_fields(*EUROGEST_FIELDS),
    read=read_eurogest,
    fields=EUROGEST_FIELDS,
)
