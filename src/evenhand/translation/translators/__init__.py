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
        basis: What the price rests on, with its date where there is a price.
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
    advice = f", {row['date']}; check it with the provider, and give another with --price"
    return TranslatorCost(
        float(price) if price else None,
        float(row["characters_per_second"]),
        row["source"] + (advice if price and float(price) else ""),
    )


@dataclass(frozen=True, slots=True)
class RefusedText:
    """What a translator gives for a text that it does not translate."""

    reason: str
    """As the end of a sentence: *because ...*."""


class Translator(Protocol):
    """Translates texts of one language pair.

    Two things are for those that need them. ``batch_bound = True``: answers depend on the other texts of a batch, so
    that a batch is kept as a whole. ``prepare()``: what is to be settled before texts are sent and answers looked up;
    it may change the settings, and returns what users should know.
    """

    settings: Mapping[str, str]
    """All that determines its answers, beside the text and the languages. Cached answers belong to them."""
    cost: TranslatorCost
    """What it takes to ask it."""
    batch_size: int
    """Texts that it takes at a time."""
    concurrency: int
    """Batches that may be under way at a time."""

    def translate(self, texts: Sequence[str]) -> Sequence[str | RefusedText]:
        """The translation of each text, in their order, or why there is none.

        Raises:
            TranslationError: If it cannot; answers that it gave before are kept.
        """
        ...


def is_batch_bound(translator: Translator) -> bool:
    """Whether a translator's answers depend on the other texts of a batch."""
    return bool(getattr(translator, "batch_bound", False))


def prepare(translator: Translator) -> tuple[str, ...]:
    """Let a translator settle what is to be settled before texts are sent; what users should know of it.

    Raises:
        TranslationError: If it cannot be asked.
    """
    settle = getattr(translator, "prepare", None)
    return tuple(settle()) if settle else ()


@dataclass(frozen=True, slots=True)
class TranslatorOptions:
    """How a translator is opened that has something to choose.

    Attributes:
        allow_pickle_weights: Whether a model may be read whose weights are pickled tensors, where it has no others.
    """

    allow_pickle_weights: bool = False


class TranslatorKind(Protocol):
    """A way to translate, such as a service or a program. Any object with these attributes will do.

    One with a method ``open_with(argument, languages, options)`` gets the options of the user as well.
    """

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
    check=lambda entry: lacks(entry, "name", "summary", "open"),
)


def open_translator(
    name: str, languages: LanguagePair, options: TranslatorOptions | None = None
) -> Translator:
    """The translator that a name on the command line means: ``apertium``, ``marian:MODEL``, ``file:CSV``.

    Args:
        name: What users call it, with an argument after a colon.
        languages: From which language into which.
        options: For translators that have something to choose; others refuse what is not the default.

    Raises:
        UnknownNameError: If there is no such translator.
        TranslationError: If it cannot translate these languages, or has no such option.
    """
    kind, _, argument = name.partition(":")
    if languages.source == languages.target:
        raise TranslationError(
            f"The benchmark is in {languages.source!r} already. Choose another language with --to."
        )
    opened = TRANSLATORS.get(kind)
    chosen = options or TranslatorOptions()
    open_with = getattr(opened, "open_with", None)
    if open_with is not None:
        translator: Translator = open_with(argument, languages, chosen)
        return translator
    if chosen.allow_pickle_weights:
        raise TranslationError(f"--allow-pickle-weights is for models; {kind} has no weights. Leave it away.")
    return opened.open(argument, languages)


def need_argument(argument: str, *, form: str) -> str:
    """What stands after the colon of a translator's name.

    Raises:
        TranslationError: If nothing does.
    """
    if not argument:
        raise TranslationError(f"This translator needs more than its name: {form}.")
    return argument
