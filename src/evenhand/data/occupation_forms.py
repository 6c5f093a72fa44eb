"""The forms of occupations: one in most languages, a masculine and a feminine one with cases in German."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from evenhand.core.errors import DatasetError
from evenhand.core.probes import Case, DeclinedNoun, GrammaticalGender, OccupationForm
from evenhand.data.rows import Row

GERMAN = "de"

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


def single_form(noun: str) -> tuple[OccupationForm, ...]:
    """The form of an occupation in a language that does not mark gender on it."""
    return (OccupationForm(noun=noun),)


def german_forms(row: Row) -> tuple[OccupationForm, ...]:
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
    row: Row, gender: GrammaticalGender, *, declension: Mapping[Case, tuple[str, str]]
) -> OccupationForm:
    declined = tuple(
        DeclinedNoun(case=case, article=article, noun=row[column])
        for case, (article, column) in declension.items()
    )
    return OccupationForm(noun=declined[0].noun, gender=gender, declined=declined)
