"""Settled sentences: bundled ones by language, a user's own file, and those that running text has.

A language is added with a file: ``resources/probes/LANGUAGE/settled.csv``.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from enum import StrEnum
from importlib import resources
from itertools import cycle, islice
from pathlib import Path
from typing import TypeVar

from evenhand.core.errors import DatasetError, UnknownNameError
from evenhand.core.files import sha256_of
from evenhand.core.items import BLANK, Span
from evenhand.core.settled import (
    PronounRole,
    SettledBy,
    SettledSentence,
    SettledSet,
    settled_twins,
)
from evenhand.data.csv_files import CsvRow, read_table
from evenhand.text.swappers import Rejected, Role, Swap, Twin, swapper_for

COLUMNS = ("number", "settled_by", "pronoun", "nonsense", "sentence")

FROM_TEXT = "sentences of text"

_ROLES = {
    Role.SUBJECT: PronounRole.SUBJECT,
    Role.OBJECT: PronounRole.OBJECT,
    Role.POSSESSIVE: PronounRole.POSSESSIVE,
    Role.REFLEXIVE: PronounRole.REFLEXIVE,
}
_SETTLES = {
    Role.NAME: SettledBy.NAME,
    Role.TITLE: SettledBy.TITLE,
    Role.NOUN: SettledBy.NOUN,
    **dict.fromkeys(_ROLES, SettledBy.PRONOUN),
}
_Named = TypeVar("_Named", bound=StrEnum)


def settled_languages() -> tuple[str, ...]:
    """The languages whose settled sentences are bundled."""
    folders = (resources.files("evenhand.data") / "resources" / "probes").iterdir()
    return tuple(sorted(folder.name for folder in folders if (folder / "settled.csv").is_file()))


def load_settled(language: str = "en") -> SettledSet:
    """The bundled settled sentences of a language.

    Raises:
        UnknownNameError: If none are bundled in it.
    """
    if language not in settled_languages():
        raise UnknownNameError("language of the bundled settled sentences", language, settled_languages())
    folder = resources.files("evenhand.data") / "resources" / "probes" / language
    return read_settled(Path(str(folder / "settled.csv")), language=language)


def read_settled(path: Path, *, language: str) -> SettledSet:
    """Settled sentences from a CSV file with the columns ``COLUMNS``.

    Raises:
        DatasetError: If the file cannot be read, or a row is no pair of twins.
        UnknownNameError: If a row names an unknown kind of word or pronoun.
    """
    table = read_table(path, needed=COLUMNS)
    sentences: dict[str, tuple[SettledSentence, SettledSentence]] = {}
    for row in table.rows:
        twins = _twins(row)
        if sentences.setdefault(twins[0].pair, twins) is not twins:
            raise DatasetError(f"{row.place}: the number {twins[0].pair} is there a second time.")
    return SettledSet(
        name=path.stem,
        language=language,
        sentences=tuple(sentence for twins in sentences.values() for sentence in twins),
        sha256=table.sha256,
    )


def _twins(row: CsvRow) -> tuple[SettledSentence, SettledSentence]:
    empty = [column for column in COLUMNS if not row[column]]
    if empty:
        raise DatasetError(f"{row.place}: {' and '.join(empty)} must not be empty.")
    try:
        return settled_twins(
            row["sentence"],
            pair=row["number"],
            nonsense=row["nonsense"],
            settled_by=_named(SettledBy, row["settled_by"], "kind of word that settles a gender"),
            role=_named(PronounRole, row["pronoun"], "kind of pronoun"),
        )
    except DatasetError as problem:
        raise DatasetError(f"{row.place}: {problem}") from None


def _named(kinds: type[_Named], name: str, kind: str) -> _Named:
    if name not in set(kinds):
        raise UnknownNameError(kind, name, [known.value for known in kinds])
    return kinds(name)


MOST_IN_TEXT = 500
"""Pairs of sentences that are taken from text."""


def settled_in_text(texts: Iterable[str], *, language: str, most: int = MOST_IN_TEXT) -> SettledSet:
    """The settled sentences that running text has, by the rules of twins, each with its twin.

    Counted is a sentence whose twin is known, in which every gendered word is of one gender, and in which the last
    pronoun has another of these words before it. Nonsense words are those of the bundled sentences.

    Args:
        texts: Sentences.
        language: Of the text; twins and bundled sentences must be known in it.
        most: Pairs to take, the first of the text.
    """
    swapper = swapper_for(language)
    nonsense = cycle(dict.fromkeys(sentence.nonsense for sentence in load_settled(language).sentences))
    swapped = ((text, swapper.twin(text)) for text in _once(texts))
    pairs = (
        _twins_in_text(text, twin, nonsense=nonsense)
        for text, twin in swapped
        if not isinstance(twin, Rejected)
    )
    found = [
        replace(sentence, pair=f"text {number}")
        for number, twins in enumerate(islice(filter(None, pairs), most), start=1)
        for sentence in twins
    ]
    return SettledSet(
        name=FROM_TEXT,
        language=language,
        sentences=tuple(found),
        sha256=sha256_of("\n".join(f"{sentence.text} {sentence.right}" for sentence in found).encode()),
    )


def joined(first: SettledSet, second: SettledSet) -> SettledSet:
    """The sentences of two sets in one."""
    return SettledSet(
        name=f"{first.name} and {second.name}",
        language=first.language,
        sentences=first.sentences + second.sentences,
        sha256=sha256_of(f"{first.sha256} {second.sha256}".encode()),
    )


def _once(texts: Iterable[str]) -> Iterator[str]:
    seen: set[str] = set()
    for text in texts:
        if text not in seen:
            seen.add(text)
            yield text


def _twins_in_text(text: str, twin: Twin, *, nonsense: Iterator[str]) -> list[SettledSentence]:
    """A sentence and its twin with the last pronoun open; none where nothing before it settles its gender."""
    places = [number for number, swap in enumerate(twin.swaps) if swap.role in _ROLES]
    if BLANK in text or not places or len({swap.male for swap in twin.swaps}) > 1:
        return []
    gap = twin.swaps[places[-1]]
    settling = [swap for swap in twin.swaps[: places[-1]] if swap.role in _SETTLES]
    if not settling or gap.old.casefold() == gap.new.casefold():
        return []
    word = next(nonsense)
    sides = [
        SettledSentence(
            pair="",
            is_male=is_male,
            text=f"{own[: span.start]}{BLANK}{own[span.end :]}",
            right=right,
            wrong=wrong,
            nonsense=word,
            settled_by=_SETTLES[settling[0].role],
            role=_ROLES[gap.role],
        )
        for own, span, right, wrong, is_male in (
            (text, gap.span, gap.old, gap.new, gap.male),
            (twin.text, _span_in_twin(twin.swaps, gap), gap.new, gap.old, not gap.male),
        )
    ]
    return sorted(sides, key=lambda sentence: not sentence.is_male)


def _span_in_twin(swaps: tuple[Swap, ...], gap: Swap) -> Span:
    """Where the new word of a swap stands in the twin."""
    moved = sum(len(swap.new) - len(swap.old) for swap in swaps if swap.span.start < gap.span.start)
    return Span(gap.span.start + moved, gap.span.start + moved + len(gap.new))
