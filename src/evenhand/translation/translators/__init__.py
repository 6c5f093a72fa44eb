"""Translators by name. Another package adds its own with an entry point.

[project.entry-points."evenhand.translators"]
my-engine = "my_package.my_engine:MY_ENGINE"
"""

from __future__ import annotations

import csv
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from importlib import resources
from typing import Protocol

from evenhand.core.errors import TranslationError
from evenhand.core.registry import Registry, lacks

THREE_LETTERS: Mapping[str, str] = {
    "ar": "ara",
    "ca": "cat",
    "de": "deu",
    "en": "eng",
    "es": "spa",
    "fa": "fas",
    "fr": "fra",
    "he": "heb",
    "it": "ita",
    "nl": "nld",
    "pl": "pol",
    "pt": "por",
    "ru": "rus",
    "tr": "tur",
    "zh": "zho",
}
"""Tags of ISO 639-3, for translators that name languages so."""


@dataclass(frozen=True, slots=True)
class LanguagePair:
    """From which language into which, as tags."""

    source: str
    target: str


@dataclass(frozen=True, slots=True)
class TranslatorCost:
    """What a translator takes.

    Attributes:
        usd_per_million_characters: 0 where nothing is paid, None where the price is not known.
        characters_per_second: About how fast it is; None where that is not known.
        basis: What the price rests on, with its date.
    """

    usd_per_million_characters: float | None
    characters_per_second: float | None
    basis: str

    def at(self, price: float) -> TranslatorCost:
        """The same at a price that somebody knows."""
        return replace(self, usd_per_million_characters=price, basis="the price that was given")


FREE = TranslatorCost(0.0, None, "nothing is paid")


def listed_cost(name: str) -> TranslatorCost:
    """The cost of a translator by the table of prices, ``resources/prices.csv``."""
    table = resources.files("evenhand.translation") / "resources" / "prices.csv"
    rows = csv.DictReader(table.read_text(encoding="utf-8").splitlines())
    row = next(row for row in rows if row["translator"] == name)
    price = row["usd_per_million_characters"]
    # Prices change without notice, and nothing here can look them up.
    advice = {"": "; give it with --price", "0": ""}.get(
        price, "; check it with the provider, and give another with --price"
    )
    return TranslatorCost(
        float(price) if price else None,
        float(row["characters_per_second"]),
        f"{row['source']}, {row['date']}{advice}",
    )


class Translator(Protocol):
    """Translates texts of one language pair."""

    settings: Mapping[str, str]
    """All that determines its answers, beside the text and the languages. Cached answers belong to them."""
    cost: TranslatorCost
    """What it takes to ask it."""
    batch_size: int
    """Texts that it takes at a time."""
    concurrency: int
    """Batches that may be under way at a time."""

    def translate(self, texts: Sequence[str]) -> list[str]:
        """The translation of each text, in their order.

        Raises:
            TranslationError: If it cannot; answers that it gave before are kept.
        """
        ...


class TranslatorKind(Protocol):
    """A way to translate, such as a service or a program. Any object with these attributes will do."""

    name: str
    """What users call it, before the colon."""
    summary: str
    """What it is, in a line."""

    def open(self, argument: str, languages: LanguagePair) -> Translator:
        """The translator of a language pair, ready to be asked; nothing is paid for yet.

        Args:
            argument: What users wrote after the colon; empty if there is none.
            languages: From which language into which.

        Raises:
            TranslationError: If it lacks a language, or cannot be reached.
        """
        ...


TRANSLATORS: Registry[TranslatorKind] = Registry(
    "translator",
    "evenhand.translators",
    {
        "amazon": "evenhand.translation.translators.amazon:AMAZON",
        "apertium": "evenhand.translation.translators.apertium:APERTIUM",
        "api": "evenhand.translation.translators.chat:CHAT",
        "file": "evenhand.translation.translators.tables:TABLE",
        "marian": "evenhand.translation.translators.seq2seq:SEQ2SEQ",
    },
    check=lambda entry: lacks(entry, "name", "summary", "open"),
)


def open_translator(name: str, languages: LanguagePair) -> Translator:
    """The translator that a name on the command line means: ``apertium``, ``marian:MODEL``, ``file:CSV``.

    Raises:
        UnknownNameError: If there is no such translator.
        TranslationError: If it cannot translate these languages.
    """
    kind, _, argument = name.partition(":")
    if languages.source == languages.target:
        raise TranslationError(
            f"The benchmark is in {languages.source!r} already. Choose another language with --to."
        )
    return TRANSLATORS.get(kind).open(argument, languages)


def need_argument(argument: str, *, form: str) -> str:
    """What stands after the colon of a translator's name.

    Raises:
        TranslationError: If nothing does.
    """
    if not argument:
        raise TranslationError(f"This translator needs more than its name: {form}.")
    return argument
