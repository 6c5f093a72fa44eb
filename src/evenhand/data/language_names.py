"""Languages by the names of files and folders: tags such as ``pt-BR``, and English names such as ``Polish``."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType

LANGUAGE_TAG = re.compile(r"[a-z]{2,3}(-[A-Za-z0-9]{2,8})*")

LANGUAGE_NAMES = {
    "ar": "Arabic", "de": "German", "en": "English", "es": "Spanish", "fa": "Persian", "fr": "French", "he": "Hebrew",
    "it": "Italian", "ja": "Japanese", "nl": "Dutch", "pl": "Polish", "pt": "Portuguese", "ru": "Russian",
    "tr": "Turkish", "zh": "Chinese",
}  # fmt: skip
"""English names of languages; another language is known by its tag."""

_CERTAIN_TAG = re.compile(r"[a-z]{2}(-[A-Za-z]{2,4})?")

_STORAGE_SUFFIXES = (".gz", ".json", ".jsonl", ".csv", ".tsv", ".parquet", ".eval")

PAIR_LANGUAGES: Mapping[str, str] = MappingProxyType(
    {
        "arabic": "ar",
        "catalan": "ca",
        "chinese": "zh",
        "english": "en",
        "french": "fr",
        "german": "de",
        "italian": "it",
        "maltese": "mt",
        "spanish": "es",
        "turkish": "tr",
    }
)
"""Languages that CrowS-Pairs exists in, and those of the starter set."""

LANGUAGES_BY_WORD: Mapping[str, str] = MappingProxyType(
    {
        **PAIR_LANGUAGES,
        "bulgarian": "bg",
        "croatian": "hr",
        "czech": "cs",
        "danish": "da",
        "dutch": "nl",
        "estonian": "et",
        "finnish": "fi",
        "galician": "gl",
        "greek": "el",
        "hungarian": "hu",
        "irish": "ga",
        "latvian": "lv",
        "lithuanian": "lt",
        "norwegian": "no",
        "polish": "pl",
        "portuguese": "pt",
        "romanian": "ro",
        "russian": "ru",
        "slovak": "sk",
        "slovenian": "sl",
        "swedish": "sv",
        "ukrainian": "uk",
    }
)
"""Those and the ones of EuroGEST, whose tags are too often a word of a file's name, such as ``no``."""


def file_stem(path: Path) -> str:
    """A file's name without the endings that only say how it is stored."""
    stem = path.name
    for ending in _STORAGE_SUFFIXES:
        stem = stem.removesuffix(ending)
    return stem or path.name


def language_named_by(path: Path) -> str | None:
    """The language that a file is certainly named after: ``pt-BR.json``. ``dev`` could be one but hardly ever is."""
    stem = file_stem(path).partition(".")[0]
    return stem if _CERTAIN_TAG.fullmatch(stem) else None


def language_of_whole_name(name: str) -> str | None:
    """The language that a whole name stands for: ``Polish``, ``de_DE``, ``pt-BR``."""
    tag = name.replace("_", "-")
    if _CERTAIN_TAG.fullmatch(tag):
        return tag
    return LANGUAGES_BY_WORD.get(name.casefold())


def language_within_name(path: Path) -> str | None:
    """The only language in a file's name: a word such as ``french``, or a tag at its end or in capitals, ``FR``.

    A name that is nothing but a tag with a region, such as ``pt-BR``, says it too; ``my`` is hardly ever Burmese.
    """
    whole = language_of_whole_name(file_stem(path))
    if whole and "-" in whole:
        return whole
    spelled = re.split(r"[\W_]+", file_stem(path))
    words = [word.casefold() for word in spelled]
    tags = {LANGUAGES_BY_WORD[word] for word in words if word in LANGUAGES_BY_WORD}
    known = set(PAIR_LANGUAGES.values())
    tags |= {word.lower() for word in spelled if word.isupper() and word.lower() in known}
    if words[-1] in known:
        tags.add(words[-1])
    return tags.pop() if len(tags) == 1 else None
