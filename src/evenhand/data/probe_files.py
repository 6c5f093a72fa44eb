"""Files of structures, occupations and gendered terms, bundled with the package or a user's own.

An occupation has one form in most languages. In German it has a masculine and a feminine form, each in four cases.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType

from evenhand.core.errors import DatasetError
from evenhand.core.experiments import Experiment
from evenhand.core.items import BLANK
from evenhand.core.probes import (
    BARE_STEM,
    GENDERS,
    Case,
    DeclinedNoun,
    GapKind,
    GrammaticalGender,
    Occupation,
    OccupationForm,
    Structure,
    StructureGap,
    TermPairs,
    find_gaps,
)
from evenhand.data.csv_files import CsvRow, has_columns, read_table

GERMAN = "de"

EXPERIMENT = "experiment"

GERMAN_COLUMNS = ("masculine", "masculine_acc", "masculine_dat", "masculine_gen", "feminine")
"""Feminine nouns have the same form in every case."""

_MASCULINE = MappingProxyType(
    {
        Case.NOMINATIVE: ("der", "masculine"),
        Case.ACCUSATIVE: ("den", "masculine_acc"),
        Case.DATIVE: ("dem", "masculine_dat"),
        Case.GENITIVE: ("des", "masculine_gen"),
    }
)
_FEMININE = MappingProxyType(
    {
        Case.NOMINATIVE: ("die", "feminine"),
        Case.ACCUSATIVE: ("die", "feminine"),
        Case.DATIVE: ("der", "feminine"),
        Case.GENITIVE: ("der", "feminine"),
    }
)
GAP_FORMS: Mapping[str, Mapping[GapKind, tuple[str, ...]]] = MappingProxyType(
    {
        GERMAN: MappingProxyType(
            {
                GapKind.TERM: (BARE_STEM, "e", "en", "em", "er", "es"),
                GapKind.OCCUPATION: tuple(case.value for case in Case),
            }
        )
    }
)
"""What may follow the colon of a gap, by language."""


def single_form(noun: str) -> tuple[OccupationForm, ...]:
    """The form of an occupation in a language that does not mark gender on it."""
    return (OccupationForm(noun=noun),)


def german_forms(row: CsvRow) -> tuple[OccupationForm, ...]:
    """The masculine and the feminine form from a row with ``GERMAN_COLUMNS``."""
    missing = [column for column in GERMAN_COLUMNS if not row[column]]
    if missing:
        raise DatasetError(
            f"{row.place}: {row['occupation']!r} has no {' and no '.join(missing)}. German needs all of "
            f"{', '.join(GERMAN_COLUMNS)}, because the article and the noun change with gender and case."
        )
    return (
        _form(row, GrammaticalGender.MASCULINE, declension=_MASCULINE),
        _form(row, GrammaticalGender.FEMININE, declension=_FEMININE),
    )


def _form(
    row: CsvRow, gender: GrammaticalGender, *, declension: Mapping[Case, tuple[str, str]]
) -> OccupationForm:
    declined = tuple(
        DeclinedNoun(case=case, article=article, noun=row[column])
        for case, (article, column) in declension.items()
    )
    return OccupationForm(noun=declined[0].noun, gender=gender, declined=declined)


@dataclass(frozen=True, slots=True)
class StructuresFile:
    """The structures of a file, repeats included."""

    structures: tuple[Structure, ...]
    sha256: str
    beyond_repair: tuple[Structure, ...] = ()
    """Those that people marked in the column ``beyond_repair``; they are not asked, and may lack a gap."""


@dataclass(frozen=True, slots=True)
class OccupationsFile:
    """The occupations of a file."""

    occupations: tuple[Occupation, ...]
    sha256: str


@dataclass(frozen=True, slots=True)
class TermsFile:
    """The pairs of terms of a file by experiment; None for those without one."""

    terms: Mapping[Experiment | None, TermPairs]
    sha256: str


def read_structures(path: Path, *, language: str) -> StructuresFile:
    """Read structures from a CSV file with the columns ``experiment``, ``number`` and ``structure``.

    Those with a reason in the column ``beyond_repair`` are set aside.

    Raises:
        DatasetError: If the file cannot be read, or a structure cannot be asked in this language.
    """
    table = read_table(path, needed=("experiment", "number", "structure"))
    structures: dict[tuple[Experiment, int], Structure] = {}
    marked: list[Structure] = []
    for row in table.rows:
        if row["beyond_repair"]:
            marked.append(_unchecked_structure(row))
            continue
        structure = _structure(row, language)
        if structures.setdefault((structure.experiment, structure.number), structure) is not structure:
            raise DatasetError(
                f"{row.place}: {structure.experiment.value} has the number {structure.number} a second "
                "time. Results could not be told apart; number the structures of an experiment differently."
            )
    if not structures:
        raise DatasetError(f"{path}: every structure is marked as beyond repair. At least one is needed.")
    return StructuresFile(tuple(structures.values()), table.sha256, tuple(marked))


def read_occupations(path: Path, *, language: str, bundled: Iterable[Occupation] = ()) -> OccupationsFile:
    """Read occupations from a CSV file with the column ``occupation``, or from a plain list, one per line.

    Args:
        path: The file. It may have the column ``field``, and for German it may have ``GERMAN_COLUMNS``.
        language: German occupations need their forms, from the file or from ``bundled``.
        bundled: Occupations whose field and forms are used where the file does not give them.
    """
    table = read_table(path, needed=("occupation",), list_of="occupation")
    by_word = {word.casefold(): occupation for occupation in bundled for word in _words(occupation)}
    occupations: dict[str, Occupation] = {}
    for row in table.rows:
        occupation = _occupation(row, table.columns, language=language, by_word=by_word)
        key = occupation.name.casefold()
        if key in occupations:
            raise DatasetError(
                f"{row.place}: {row['occupation']!r} is the occupation {occupations[key].name!r}, which the "
                "file already has. Remove the row."
            )
        occupations[key] = occupation
    return OccupationsFile(occupations=tuple(occupations.values()), sha256=table.sha256)


def read_terms(path: Path) -> TermsFile:
    """Read pairs of terms from a CSV file with the columns ``male``, ``female`` and perhaps ``experiment``.

    Other groups than men and women have columns of their own: ``experiment`` and the names of the two groups.
    """
    has_genders = has_columns(path, GENDERS) or not has_columns(path, (EXPERIMENT,))
    table = read_table(path, needed=GENDERS if has_genders else (EXPERIMENT,))
    groups = GENDERS if has_genders else _groups(table.spelled, path)
    pairs: dict[Experiment | None, list[tuple[str, str]]] = {}
    for row in table.rows:
        pair = row[groups[0].lower()], row[groups[1].lower()]
        for side, term, other in zip(groups, pair, pair[::-1], strict=True):
            if not term:
                raise DatasetError(
                    f"{row.place}: no {side} term beside {other!r}. Terms are compared in pairs; "
                    "give both or remove the row."
                )
        if not has_genders and not row[EXPERIMENT]:
            raise DatasetError(f"{row.place}: the pair has no experiment. Name one in every row.")
        of_experiment = pairs.setdefault(_experiment(row) if row[EXPERIMENT] else None, [])
        if pair in of_experiment:
            raise DatasetError(f"{row.place}: the pair {' and '.join(pair)} occurs a second time.")
        of_experiment.append(pair)
        both = {first for first, _ in of_experiment} & {second for _, second in of_experiment}
        if both:
            raise DatasetError(
                f"{row.place}: {both.pop()!r} is a {groups[0]} and a {groups[1]} term; it cannot tell them apart."
            )
    return TermsFile(
        terms={
            experiment: TermPairs(
                male=tuple(first for first, _ in listed),
                female=tuple(second for _, second in listed),
                groups=groups,
            )
            for experiment, listed in pairs.items()
        },
        sha256=table.sha256,
    )


def _groups(columns: tuple[str, ...], path: Path) -> tuple[str, str]:
    """The two groups that a file of terms names in its header."""
    groups = tuple(column for column in columns if column and column.lower() != EXPERIMENT)
    if len(groups) != 2:
        raise DatasetError(
            f"{path} has the columns {', '.join(columns)}. Terms of two groups are compared: beside {EXPERIMENT} it "
            "needs one column for each of the two, such as male and female."
        )
    return groups[0], groups[1]


def _experiment(row: CsvRow) -> Experiment:
    try:
        return Experiment.named(row[EXPERIMENT].lower())
    except ValueError as problem:
        raise DatasetError(f"{row.place}: {problem}") from None


def _unchecked_structure(row: CsvRow) -> Structure:
    number = row["number"]
    if not re.fullmatch(r"[0-9]{1,9}", number):
        raise DatasetError(f"{row.place}: the number is {number!r}; a whole number such as 1 is needed.")
    return Structure(_experiment(row), int(number), " ".join(row["structure"].split()))


def _structure(row: CsvRow, language: str) -> Structure:
    structure = _unchecked_structure(row)
    text = structure.text
    if BLANK in text:
        raise DatasetError(f"{row.place}: {text!r} has the word {BLANK}, which marks an open gap. Reword it.")
    gaps = find_gaps(text)
    for kind in GapKind:
        count = sum(gap.kind is kind for gap in gaps)
        if count != 1:
            raise DatasetError(
                f"{row.place}: {text!r} has {count or 'no'} [{kind.value}]; exactly one is needed, "
                "[MASK] for the term and [OCC] for the occupation."
            )
    for gap in gaps:
        _refuse_form(gap, structure.experiment, language=language, place=row.place)
    return structure


def _refuse_form(gap: StructureGap, experiment: Experiment, *, language: str, place: str) -> None:
    if gap.form is None:
        return
    forms = GAP_FORMS.get(language, {}).get(gap.kind, ())
    if gap.kind is GapKind.TERM and experiment != Experiment.HIS_HER:
        forms = ()
    if gap.form not in forms:
        options = ", ".join(f"[{gap.kind.value}:{form}]" for form in forms)
        raise DatasetError(
            f"{place}: [{gap.kind.value}:{gap.form}] is not a gap of {experiment.value} in {language!r}. "
            f"Write [{gap.kind.value}]{f', or one of {options}' if options else ''}."
        )


def _words(occupation: Occupation) -> tuple[str, ...]:
    return (occupation.name, *(form.noun for form in occupation.forms))


def _occupation(
    row: CsvRow, columns: tuple[str, ...], *, language: str, by_word: Mapping[str, Occupation]
) -> Occupation:
    name = row["occupation"]
    if not name:
        raise DatasetError(f"{row.place}: no occupation in this row.")
    bundled = by_word.get(name.casefold())
    return Occupation(
        name=bundled.name if bundled else name,
        field=row["field"] or (bundled.field if bundled else None),
        forms=_forms(row, columns, language=language, bundled=bundled),
    )


def _forms(
    row: CsvRow, columns: tuple[str, ...], *, language: str, bundled: Occupation | None
) -> tuple[OccupationForm, ...]:
    if language != GERMAN:
        return single_form(row["occupation"])
    if bundled and not any(row[column] for column in GERMAN_COLUMNS):
        return bundled.forms
    if not set(GERMAN_COLUMNS) & set(columns):
        raise DatasetError(
            f"{row.place}: {row['occupation']!r} is not among the bundled German occupations, so its forms are "
            f"not known. Add the columns {', '.join(GERMAN_COLUMNS)}."
        )
    return german_forms(row)
