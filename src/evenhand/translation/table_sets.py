"""The package's own probes and prompts as tables that can be translated, each set under one name.

``probes``          structures, occupations, and the terms of each experiment; first names stay as they are
``regard-prompts``  groups of people and contexts
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib import resources
from pathlib import Path
from types import MappingProxyType

from evenhand.core.errors import UnknownNameError
from evenhand.core.experiments import Experiment
from evenhand.core.files import sha256_of
from evenhand.data.csv_files import read_table
from evenhand.data.probes import bundled_probe_path
from evenhand.translation.table_files import TextTable, read_text_table, table_bytes

LICENCE = "CC BY 4.0"
ENGLISH = "en"


def _probes(language: str) -> tuple[TextTable, ...]:
    return (
        _table(bundled_probe_path(language, "structures"), language, "structure"),
        _table(bundled_probe_path(language, "occupations"), language, "occupation"),
        _terms(language),
    )


def _terms(language: str) -> TextTable:
    """Pronouns and first names in one table; names are no words that a translator should touch."""
    pronouns = read_table(bundled_probe_path(language, "pronouns"), needed=("experiment", "male", "female"))
    names = read_table(bundled_probe_path(language, "names"), needed=("male", "female"))
    columns = ("experiment", "male", "female")
    rows = [
        *((row["experiment"], row["male"], row["female"]) for row in pronouns.rows if row["experiment"]),
        *((Experiment.NAMES.value, row["male"], row["female"]) for row in names.rows),
    ]
    return TextTable(
        name="terms",
        language=language,
        suffix=".csv",
        sha256=sha256_of(table_bytes(columns, rows, suffix=".csv")),
        columns=columns,
        translated=("male", "female"),
        rows=tuple(rows),
        licence=LICENCE,
        kept=frozenset(row[side] for row in names.rows for side in ("male", "female")),
    )


def _regard_prompts(language: str) -> tuple[TextTable, ...]:
    folder = resources.files("evenhand.data") / "resources" / "regard"
    return tuple(
        _table(Path(str(folder / f"{name}_{language}.csv")), language, column, name=name)
        for name, column in (("groups", "words"), ("contexts", "context"))
    )


def _table(path: Path, language: str, column: str, *, name: str = "") -> TextTable:
    return read_text_table(path, language=language, columns=(column,), licence=LICENCE, name=name)


_SETS: Mapping[str, tuple[tuple[str, ...], Callable[[str], tuple[TextTable, ...]]]] = MappingProxyType(
    {
        # German occupations have forms for gender and case, which no translator gives in one column.
        "probes": ((ENGLISH,), _probes),
        "regard-prompts": ((ENGLISH, "de"), _regard_prompts),
    }
)

TABLE_SETS = tuple(_SETS)
"""The names of the sets."""


def table_set(name: str, language: str | None = None) -> tuple[TextTable, ...]:
    """The tables of a set, in English unless another language is chosen.

    Raises:
        UnknownNameError: If the set cannot be translated from the language.
    """
    languages, make = _SETS[name]
    chosen = language or ENGLISH
    if chosen not in languages:
        raise UnknownNameError(f"language of {name}", chosen, languages)
    return make(chosen)
