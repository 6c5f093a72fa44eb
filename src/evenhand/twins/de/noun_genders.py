"""The gender of German nouns by the table of german-nouns, which comes with the extra ``german``.

The table is from the German Wiktionary, CC BY-SA 4.0. Only its file is read: the code of german-nouns, and the parser
that it needs, are never imported.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from importlib.util import find_spec
from operator import itemgetter
from pathlib import Path

from evenhand.core.errors import DatasetError

PACKAGE = "german_nouns"
TABLE = "nouns.csv"
"""A row for each noun, with columns such as *genus 1*, *nominativ singular* and *dativ plural 2*."""

_NO_NOUN = re.compile(
    "Vorname|Nachname|Toponym|Eigenname|Straßenname|Abkürzung|Affix|Gebunden|Wortverbindung|Buchstabe|Redewendung|Symbol"
)
"""Parts of speech of names, abbreviations, parts of words and phrases."""
_ADJECTIVAL = "adjektivische Deklination"
_WORD = re.compile(r"[A-ZÄÖÜ][a-zäöüßéèêàâôçñ]+")
_KINDS = "fmnp"
_PLURAL = 1 << _KINDS.index("p")
_SHORTEST_HEAD = 4
_SHORTEST_MODIFIER = 3


@dataclass(frozen=True, slots=True)
class NounGenders:
    """What the forms of nouns can be: m, f and n in the singular, p in the plural."""

    kinds: Mapping[str, str]
    """Empty where the table is not installed."""
    adjectival: frozenset[str] = frozenset()
    """Stems of nouns for persons that are declined like adjectives: *Krank* of *der Kranke* and *die Kranke*."""

    def of(self, form: str) -> str:
        """The kinds of a form, such as *mp* for *Lehrer*; empty if it is not known."""
        spellings = [*_spellings(form)]
        direct = (self.kinds.get(spelling, "") for spelling in spellings)
        compounds = (self._of_compound(spelling) for spelling in spellings)
        return next(filter(None, (*direct, *compounds)), "")

    def _of_compound(self, form: str) -> str:
        """The kinds of the longest last part that is a noun."""
        for start in range(_SHORTEST_MODIFIER, len(form) - _SHORTEST_HEAD + 1):
            found = self.kinds.get(form[start:].capitalize())
            if found:
                return found
        return ""


def _spellings(form: str) -> Iterator[str]:
    """A form as it stands, and as it is spelled today: *Fluß*, *Thür*, *Strasse*, *Teppiches* beside *Teppichs*."""
    yield form
    modern = form.replace("Th", "T").replace("th", "t").replace("ß", "ss")
    if modern != form:
        yield modern
    if "ss" in form:
        yield form.replace("ss", "ß", 1)
    if form.endswith("es"):
        yield form.removesuffix("es") + "s"


def has_noun_list() -> bool:
    """Whether the extra ``german`` is installed."""
    return find_spec(PACKAGE) is not None


@lru_cache(maxsize=1)
def noun_genders() -> NounGenders:
    """The genders by the table, read when they are first needed; none where it is not installed.

    Raises:
        DatasetError: If german-nouns is installed and its table cannot be read.
    """
    package = find_spec(PACKAGE)
    if package is None:
        return NounGenders({})
    (folder, *_) = package.submodule_search_locations or [""]
    table = Path(folder) / TABLE
    try:
        return read_noun_table(table)
    except (OSError, ValueError, LookupError, csv.Error):
        raise DatasetError(
            f"{table} is not the table of german-nouns that Evenhand knows. Install it again: "
            "pip install --force-reinstall --no-deps german-nouns==1.2.5"
        ) from None


def read_noun_table(path: Path) -> NounGenders:
    """The genders of every form of the singular, and p for one of the plural: *mp* for *Lehrer*.

    The kinds of a form are bits until all rows are read: the table has 100,000 rows, and the first twin waits for it.
    """
    kinds: dict[str, int] = {}
    is_noun: dict[str, bool] = {}
    adjectival: set[str] = set()
    with path.open(encoding="utf-8", newline="") as lines:
        rows = csv.reader(lines)
        header = next(rows, [])
        part_of_speech, lemma = header.index("pos"), header.index("lemma")
        genders_of, singular_of, plural_of = (
            itemgetter(*(at for at, name in enumerate(header) if part in name))
            for part in ("genus", " singular", " plural")
        )
        for row in rows:
            parts = row[part_of_speech]
            if parts not in is_noun:
                is_noun[parts] = _NO_NOUN.search(parts) is None
            if not is_noun[parts]:
                continue
            genders = 0
            for gender in {*genders_of(row)} - {""}:
                genders |= 1 << _KINDS.index(gender)
            if _ADJECTIVAL in parts and row[lemma].endswith("er"):
                adjectival.add(row[lemma].removesuffix("er"))
            for form in {*singular_of(row)}:
                kinds[form] = kinds.get(form, 0) | genders
            for form in {*plural_of(row)}:
                kinds[form] = kinds.get(form, 0) | _PLURAL
    names = [
        "".join(kind for at, kind in enumerate(_KINDS) if bits >> at & 1) for bits in range(1 << len(_KINDS))
    ]
    return NounGenders(
        {form: names[bits] for form, bits in kinds.items() if bits and _WORD.fullmatch(form)},
        frozenset(stem for stem in adjectival if stem + "in" not in kinds),
    )
