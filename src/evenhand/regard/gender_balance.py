"""Texts about persons, balanced between women and men, so that a classifier cannot learn from the person's gender.

Each text is told once, of a woman or of a man, or twice, of both. Only words about the person change. Told once, texts
that tell no gender are given one so that both are equally frequent; those that tell one are left as they are, or told
of the other gender where there are not enough of the others. Texts that cannot be told with certainty are left out and
counted by the reason.
"""

from __future__ import annotations

import csv
import io
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

import numpy as np

from evenhand.core.errors import DatasetError
from evenhand.core.files import refuse_to_replace, write_text
from evenhand.data.csv_files import CsvRow, CsvTable, read_table
from evenhand.regard.texts import is_text_file, read_plain_texts
from evenhand.text.person_texts import Gender, PersonVersions, person_texts_for
from evenhand.text.swappers import Rejected

GENDER_COLUMN, TOLD_COLUMN, SOURCE_COLUMN = "gender", "gender_told", "source_text"


class BalanceMode(StrEnum):
    """How often each text is told."""

    ONCE = "once"
    """Of a woman or of a man, as many of each as can be."""
    BOTH = "both"
    """Of a woman and of a man."""


@dataclass(frozen=True, slots=True)
class BalancedText:
    """A text told of a woman or of a man.

    Attributes:
        number: Its place among the texts that were given, from 0.
        text: As it is told.
        gender: Whom it is told of.
        told: The gender that the text itself tells; None if it tells none.
    """

    number: int
    text: str
    gender: Gender
    told: Gender | None


@dataclass(frozen=True, slots=True)
class GenderBalance:
    """Balanced texts, in the order of those that were given, and why others were left out.

    Attributes:
        texts: Those that could be told.
        left_out: How many could not, by the reason, the most frequent first.
    """

    texts: tuple[BalancedText, ...]
    left_out: Mapping[str, int]

    def count(self, gender: Gender) -> int:
        """How many texts are told of this gender."""
        return sum(text.gender is gender for text in self.texts)


def balance_genders(
    texts: Sequence[str], *, language: str, mode: BalanceMode = BalanceMode.ONCE, seed: int = 0
) -> GenderBalance:
    """Tell texts of women and of men, evenly.

    Args:
        texts: About persons: *The person lost their keys*.
        language: Of the texts.
        mode: Whether each is told once or of both.
        seed: Chooses which texts are told of whom, where that is open.

    Raises:
        UnknownNameError: If no package tells texts of this language.
    """
    teller = person_texts_for(language)
    reasons: Counter[str] = Counter()
    versions: dict[int, PersonVersions] = {}
    for number, text in enumerate(texts):
        found = teller.versions(text)
        if isinstance(found, Rejected):
            reasons[found.reason] += 1
        else:
            versions[number] = found
    chosen = _both(versions) if mode is BalanceMode.BOTH else _once(versions, np.random.default_rng(seed))
    return GenderBalance(
        texts=tuple(
            BalancedText(number, versions[number].of(gender), gender, versions[number].told)
            for number, gender in chosen
        ),
        left_out=dict(reasons.most_common()),
    )


def balance_file(
    path: str | Path,
    out: str | Path,
    *,
    language: str,
    text: str = "text",
    mode: BalanceMode = BalanceMode.ONCE,
    seed: int = 0,
) -> GenderBalance:
    """Balance the texts of a file, and write its rows as CSV with the texts as they are told.

    The columns ``gender``, ``gender_told`` and ``source_text`` are added.

    Args:
        path: A table with a column of texts, whose other columns are kept, or a text file with one text per line.
        out: The file to write.
        language: Of the texts.
        text: The column of texts.
        mode: Whether each is told once or of both.
        seed: Chooses which texts are told of whom, where that is open.

    Raises:
        DatasetError: If the file cannot be read, or no text can be told.
        OutputError: If the result would replace the file that was read.
    """
    refuse_to_replace(Path(out), inputs=[Path(path)], replace=True)
    column = text.lower()
    table = _table(Path(path), column)
    taken = [name for name in (GENDER_COLUMN, TOLD_COLUMN, SOURCE_COLUMN) if name in table.columns]
    columns = [name for name in table.columns if name and name not in taken]
    balance = balance_genders([row[column] for row in table.rows], language=language, mode=mode, seed=seed)
    if not balance.texts:
        reason = next(iter(balance.left_out))
        raise DatasetError(
            f"No text of {path} can be told of a woman and of a man; the most frequent reason is: {reason}. Texts need "
            "the word for person in their language, such as 'The person', or somebody whose gender can be swapped."
        )
    stream = io.StringIO(newline="")
    writer = csv.writer(stream, lineterminator="\n")
    writer.writerow([*columns, GENDER_COLUMN, TOLD_COLUMN, SOURCE_COLUMN])
    for balanced in balance.texts:
        row: CsvRow = table.rows[balanced.number]
        cells = [balanced.text if name == column else row[name] for name in columns]
        writer.writerow([*cells, balanced.gender.value, balanced.told or "", row[column]])
    write_text(Path(out), stream.getvalue())
    return balance


def _table(path: Path, column: str) -> CsvTable:
    """The rows of a table, or the lines of a text file as rows of one column."""
    if not is_text_file(path):
        return read_table(path, needed=(column,))
    rows = tuple(CsvRow(str(path), {column: line}) for line in read_plain_texts(path))
    return CsvTable((column,), rows, sha256="")


def _both(versions: Mapping[int, PersonVersions]) -> list[tuple[int, Gender]]:
    return [(number, gender) for number in versions for gender in Gender]


def _once(versions: Mapping[int, PersonVersions], generator: np.random.Generator) -> list[tuple[int, Gender]]:
    """Half of each: open ones fill up what is missing, and of the more frequent gender some are swapped if need be."""
    genders = {number: found.told for number, found in versions.items()}
    of_women = {number for number, gender in genders.items() if gender is Gender.FEMALE}
    of_men = {number for number, gender in genders.items() if gender is Gender.MALE}
    still_open = [number for number, gender in genders.items() if gender is None]
    half = len(versions) // 2
    shuffled = [still_open[place] for place in generator.permutation(len(still_open))]
    missing = min(len(shuffled), max(0, half - len(of_women)))
    of_women |= set(shuffled[:missing])
    of_men |= set(shuffled[missing:])
    larger = sorted(of_women if len(of_women) > len(of_men) else of_men)
    surplus = max(0, len(larger) - (len(versions) - half))
    of_women ^= {larger[place] for place in generator.permutation(len(larger))[:surplus]}
    return [(number, Gender.FEMALE if number in of_women else Gender.MALE) for number in versions]
