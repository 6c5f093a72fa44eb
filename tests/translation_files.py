"""Small translated benchmarks, made up for the tests of repair and review."""

from __future__ import annotations

from pathlib import Path

from builders import document, inter, intra, write_json

from evenhand.core.items import Association
from evenhand.translation import Changes, Document, read_document


def german_items() -> list[Association]:
    """Items with one flaw each: a wrong term, a near word, a leak of the blank, and one that nobody can mend."""
    return [
        intra(
            1,
            target="Bäcker",
            context="Der BLANK-Brötchenmacher backt früh.",
            words=("gute", "alte", "blaue"),
        ),
        intra(2, target="Physikerin", context="Die Physiker sind BLANK.", words=("klug", "laut", "eckig")),
        intra(3, target="Lehrer", context="Der Lehrer war LEER.", words=("streng", "nett", "Gras")),
        intra(4, target="sie selbst", context="Das war BLANK.", words=("gut", "schlecht", "Holz")),
        inter(5, target="Kommandant", context="Der Befehlshaber schläft."),
        inter(6, target="Lehrer", context="Der Lehrer kommt."),
    ]


def write_translation_file(path: Path, *items: Association, language: str = "de") -> Path:
    """A file of these items; of the German ones if none are given."""
    return write_json(path, document(items or german_items(), language=language))


def changes_of(tmp_path: Path, *items: Association, language: str = "de") -> Changes[Document]:
    """A document of these items that nobody has changed yet."""
    path = write_translation_file(tmp_path / f"{language}.json", *items, language=language)
    return Changes(read_document(path), clock=lambda: "2026-01-01T00:00:00+00:00")


def translate_command(source: Path, out: Path, *, to: str, translator: str) -> list[str | Path]:
    """The command that translates a file into a folder."""
    return ["data", "translate", source, "--to", to, "--translator", translator, "--out", out]
