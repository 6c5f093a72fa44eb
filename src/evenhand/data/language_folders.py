"""Folders with several languages: one file, one folder or one split of a saved dataset for each.

Files and folders are named after their language by a tag (``en.json``, ``de_DE/``) or by its English name
(``Polish.csv``, ``english/``).
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from evenhand.core.errors import DatasetError, UnknownNameError, shortlist
from evenhand.data.language_names import LANGUAGE_TAG, LANGUAGES_BY_WORD, language_of_whole_name
from evenhand.data.records import is_record_folder


def languages_in(folder: Path, suffixes: Sequence[str]) -> dict[str, Path]:
    """The places of a folder that are named after a language, each with its data; none where nothing is.

    Args:
        folder: The folder.
        suffixes: How files of data end, without ``.gz``.

    Raises:
        DatasetError: If the folder of a language has several files, none of which stands for it.
    """
    found: dict[str, Path] = {}
    for path in _entries(folder):
        if path.is_dir():
            tag = language_of_whole_name(path.name)
            if tag and (place := _data_in(path, suffixes)):
                found.setdefault(tag, place)
        elif (stem := _stem(path, suffixes)) is not None:
            tag = stem if LANGUAGE_TAG.fullmatch(stem) else LANGUAGES_BY_WORD.get(stem.casefold())
            if tag:
                found.setdefault(tag, path)
    return found


def files_passed_over(folder: Path, suffixes: Sequence[str]) -> list[str]:
    """Files of data in a folder of several languages that stand for none of them, by name.

    What the folder of a translation holds beside the translation is there on purpose.
    """
    entries = _entries(folder)
    read = set(languages_in(folder, suffixes).values())
    names = {path.name.partition(".")[0] for path in entries}
    if not read or {"record", "untouched"} <= names:
        return []
    return [
        path.name
        for path in entries
        if path.is_file() and _stem(path, suffixes) is not None and path not in read
    ]


def no_languages(folder: Path, suffixes: Sequence[str]) -> DatasetError:
    """What is wrong with a folder that has no data named after a language."""
    others = [path.name for path in _entries(folder) if path.is_dir() or _stem(path, suffixes) is not None]
    found = f"; it has {shortlist(others, 3)}" if others else ""
    return DatasetError(
        f"{folder} has no files named after a language, such as en.json or Polish.csv, and no Parquet or Arrow file "
        f"within two folders{found}. Rename them, or give a single file, with --language if it does not say its own."
    )


def chosen_language(folder: Path, places: dict[str, Path], language: str | None) -> str:
    """The language of a folder that was asked for, or its only one; ``de`` stands for a single ``de-DE``.

    Raises:
        DatasetError: If there are several, and none was asked for.
        UnknownNameError: If it does not have the one that was asked for.
    """
    if language is None and len(places) > 1:
        raise DatasetError(
            f"{folder} has several languages ({', '.join(places)}). Choose one with --language."
        )
    if language is None or language in places:
        return language or next(iter(places))
    regional = [tag for tag in places if tag.partition("-")[0] == language]
    if len(regional) == 1:
        return regional[0]
    raise UnknownNameError(f"language of {folder}", language, places)


def _entries(folder: Path) -> list[Path]:
    try:
        return sorted(path for path in folder.iterdir() if not path.name.startswith("."))
    except OSError as problem:
        raise DatasetError(f"{folder} cannot be read: {problem.strerror or problem}.") from None


def _stem(path: Path, suffixes: Sequence[str]) -> str | None:
    """The name of a file of data without its ending; None of any other file."""
    name = path.name.removesuffix(".gz")
    return next((name.removesuffix(suffix) for suffix in suffixes if name.endswith(suffix)), None)


def _data_in(folder: Path, suffixes: Sequence[str]) -> Path | None:
    """The folder itself if it holds a stored dataset, or its only file of data; None if it has neither."""
    if is_record_folder(folder):
        return folder
    files = [path for path in _entries(folder) if path.is_file() and _stem(path, suffixes) is not None]
    if len(files) > 1:
        raise DatasetError(
            f"{folder} has several files ({shortlist([path.name for path in files], 3)}). Give one of them, with "
            "--language if it does not say its own."
        )
    return files[0] if files else None
