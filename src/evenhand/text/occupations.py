"""Occupations in texts: nouns of a list, by their lemma, with gendered forms joined.

*Verkäuferin* and *Verkäufer* are one occupation, as are *waitress* and *waiter*: what differs between groups is then
what people do, and not how it is called. A German compound that is not listed counts as its last part: a
*Grundschullehrerin* is a teacher.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from importlib import resources
from pathlib import Path

from evenhand.core.errors import DatasetError
from evenhand.data.csv_files import read_table
from evenhand.text.lemmas import LemmatisedWord, PhraseFinder, forms_of, lemmatised_words

_RESOURCES = resources.files("evenhand.data") / "resources" / "regard"

OCCUPATION_LANGUAGES = ("de", "en")
"""Languages in which occupations ship."""

_SEPARATOR = "|"

COMPOUNDING_LANGUAGES = ("de",)
_SHORTEST_HEAD = 4
_SHORTEST_BEGINNING = 3
"""Letters of the last part of a compound, and of what stands before it."""


@dataclass(frozen=True)
class OccupationList:
    """Occupations with their gendered forms, in one language."""

    language: str
    forms: Mapping[str, tuple[str, ...]]
    """By the name that an occupation is shown under, which is a form too."""
    name: str
    sha256: str

    @cached_property
    def _single(self) -> dict[str, str]:
        """Occupations by the lower case of a form; how a form is written goes before a lemma."""
        listed = [(form, name) for name, forms in self.forms.items() for form in forms if " " not in form]
        found = {form.casefold(): name for form, name in listed}
        for form, name in listed:
            for lemma in sorted(forms_of(form, self.language)):
                found.setdefault(lemma, name)
        return found

    @cached_property
    def _phrases(self) -> tuple[PhraseFinder, dict[str, str]]:
        """Forms of several words, and the occupation of each."""
        owners = {form: name for name, forms in self.forms.items() for form in forms if " " in form}
        return PhraseFinder(owners, self.language), owners

    def find(self, text: str, *, start: int = 0) -> list[str]:
        """The occupations that a text names behind a place, each once, as they first occur."""
        words = [word for word in lemmatised_words(text, self.language) if word.span.start >= start]
        found: dict[str, None] = {}
        place = 0
        while place < len(words):
            name, length = self._at(words, place)
            if name is not None:
                found[name] = None
            place += length
        return list(found)

    def _at(self, words: Sequence[LemmatisedWord], place: int) -> tuple[str | None, int]:
        """The occupation that begins at a place, and how many words it has."""
        phrases, owners = self._phrases
        phrase = phrases.at(words, place)
        if phrase is not None:
            return owners[phrase], len(phrase.split())
        forms = sorted(words[place].forms)
        known = next((self._single[form] for form in forms if form in self._single), None)
        return known or self._head(forms), 1

    def _head(self, forms: Sequence[str]) -> str | None:
        """The occupation that a compound ends with: the longest there is."""
        if self.language not in COMPOUNDING_LANGUAGES:
            return None
        for form in forms:
            for cut in range(_SHORTEST_BEGINNING, len(form) - _SHORTEST_HEAD + 1):
                if form[cut:] in self._single:
                    return self._single[form[cut:]]
        return None


def load_occupations(language: str, path: Path | None = None) -> OccupationList:
    """The occupations that ship in a language, or those of a CSV file with ``occupation`` and perhaps ``forms``.

    Raises:
        DatasetError: If there are none, or the file cannot be used.
    """
    chosen = path or Path(str(_RESOURCES / f"occupations_{language}.csv"))
    if path is None and language not in OCCUPATION_LANGUAGES:
        raise DatasetError(
            f"No occupations ship in the language {language!r}. Give a file with --occupations, a CSV file with "
            "occupation and forms."
        )
    table = read_table(chosen, needed=("occupation",))
    forms: dict[str, tuple[str, ...]] = {}
    owners: dict[str, str] = {}
    for row in table.rows:
        name = row["occupation"]
        if not name:
            raise DatasetError(f"{row.place}: the occupation is empty. Give it a name, or remove the row.")
        further = [form.strip() for form in row["forms"].split(_SEPARATOR) if form.strip()]
        own = tuple(dict.fromkeys((name, *further)))
        for form in own:
            if form.casefold() in owners:
                raise DatasetError(
                    f"{row.place}: {form!r} belongs to {owners[form.casefold()]} already. A form can have one "
                    "occupation only."
                )
            owners[form.casefold()] = name
        forms[name] = own
    return OccupationList(language, forms, chosen.stem, table.sha256)
