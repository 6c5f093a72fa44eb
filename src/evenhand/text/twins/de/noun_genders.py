"""The gender of German nouns by a list of some 80,000 forms, in which a compound is found by its last part."""

from __future__ import annotations

import gzip
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from importlib import resources
from pathlib import Path

NOUN_LIST = Path(str(resources.files("evenhand.data") / "resources" / "nouns" / "de.txt.gz"))
"""From the German Wiktionary by way of german-nouns, CC BY-SA 4.0; ``docs/make_noun_genders.py`` makes it."""

_SHORTEST_HEAD = 4
_SHORTEST_MODIFIER = 3


@dataclass(frozen=True, slots=True)
class NounGenders:
    """What the forms of nouns can be: m, f and n in the singular, p in the plural."""

    kinds: Mapping[str, str]

    def of(self, form: str) -> str:
        """The kinds of a form, such as *mp* for *Lehrer*; empty if it is not known."""
        for spelling in _spellings(form):
            found = self.kinds.get(spelling) or self.of_compound(spelling)
            if found:
                return found
        return ""

    def of_compound(self, form: str) -> str:
        """The kinds of the longest last part that is a noun."""
        for start in range(_SHORTEST_MODIFIER, len(form) - _SHORTEST_HEAD + 1):
            found = self.kinds.get(form[start:].capitalize())
            if found:
                return found
        return ""


def _spellings(form: str) -> Iterator[str]:
    """A form as it stands, and as it is spelled today: *Fluß*, *Thür*, and *Teppiches* beside *Teppichs*."""
    yield form
    modern = form.replace("Th", "T").replace("th", "t").replace("ß", "ss")
    if modern != form:
        yield modern
    if form.endswith("es"):
        yield form.removesuffix("es") + "s"


@lru_cache(maxsize=1)
def noun_genders() -> NounGenders:
    """The bundled list, read when it is first needed."""
    lines = gzip.decompress(NOUN_LIST.read_bytes()).decode().splitlines()
    kinds: dict[str, str] = {}
    for line in lines:
        found, *forms = line.split(" ")
        kinds.update(dict.fromkeys(forms, found))
    return NounGenders(kinds)
