"""Make the bundled list of German nouns and their genders from the table of the package german-nouns.

    pip download --no-deps german-nouns==1.2.5 && unzip german_nouns-1.2.5-*.whl german_nouns/nouns.csv
    python docs/make_noun_genders.py german_nouns/nouns.csv

The table is from the German Wiktionary, CC BY-SA 4.0, and so is the list. Names, abbreviations and parts of words are
left out, and so are compounds that have the genders of their last part: a compound is read by its last part anyway.
"""

from __future__ import annotations

import argparse
import csv
import gzip
import re
from collections import defaultdict
from pathlib import Path

from evenhand.text.twins.de.noun_genders import NOUN_LIST, NounGenders

_NO_NOUN = re.compile(
    "Vorname|Nachname|Toponym|Eigenname|Straßenname|Abkürzung|Affix|Gebunden|Wortverbindung|Buchstabe|Redewendung|Symbol"
)
_WORD = re.compile(r"[A-ZÄÖÜ][a-zäöüßéèêàâôçñ]+")


def kinds_by_form(table: Path) -> dict[str, str]:
    """The genders of every form of the singular, and p for one of the plural."""
    kinds: defaultdict[str, set[str]] = defaultdict(set)
    with table.open(encoding="utf-8", newline="") as lines:
        for row in csv.DictReader(lines):
            if _NO_NOUN.search(row["pos"]):
                continue
            genders = {value for name, value in row.items() if name.startswith("genus")} - {""}
            for name, form in row.items():
                if " singular" in name:
                    kinds[form] |= genders
                elif " plural" in name:
                    kinds[form].add("p")
    return {form: "".join(sorted(found)) for form, found in kinds.items() if found and _WORD.fullmatch(form)}


def without_regular_compounds(kinds: dict[str, str]) -> dict[str, str]:
    """The forms that their last part does not tell."""
    kept: dict[str, str] = {}
    shorter = NounGenders(kept)
    for form in sorted(kinds, key=lambda form: (len(form), form)):
        if shorter.of_compound(form) != kinds[form]:
            kept[form] = kinds[form]
    return kept


def main() -> None:
    """Write the list to its place in the package."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("table", type=Path, help="nouns.csv of german-nouns")
    kept = without_regular_compounds(kinds_by_form(parser.parse_args().table))
    forms: defaultdict[str, list[str]] = defaultdict(list)
    for form, found in sorted(kept.items()):
        forms[found].append(form)
    text = "".join(f"{found} {' '.join(words)}\n" for found, words in sorted(forms.items()))
    NOUN_LIST.write_bytes(gzip.compress(text.encode(), 9, mtime=0))


if __name__ == "__main__":
    main()
