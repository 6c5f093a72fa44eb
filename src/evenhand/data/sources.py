"""Where datasets come from: bundled, fetched by name and checked, or a path.

A named dataset is pinned to a commit and to the hash that git itself gives the file, so what is
fetched is what the name promises, whoever serves it.
"""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from types import MappingProxyType

from evenhand.core.errors import DatasetError, DatasetUnavailableError, UnknownNameError
from evenhand.core.files import MAX_BYTES, write_bytes
from evenhand.core.items import Benchmark
from evenhand.data.stereoset import file_stem, read_stereoset

HOME_VARIABLE = "EVENHAND_HOME"
OFFLINE_VARIABLE = "EVENHAND_OFFLINE"

_TWO_LETTERS = re.compile(r"[a-z]{2}(-[A-Za-z]{2,4})?")
"""Names of files that are surely languages; ``dev`` could be one and hardly ever is."""


@dataclass(frozen=True, slots=True)
class BundledDataset:
    """A dataset inside the package, one file a language."""

    name: str
    title: str
    licence: str
    languages: tuple[str, ...]
    default_language: str
    used_by: str = "audit"
    """The command that takes it."""


@dataclass(frozen=True, slots=True)
class PinnedDataset:
    """A public file at a fixed commit."""

    name: str
    title: str
    licence: str
    language: str
    repository: str
    commit: str
    path: str
    git_blob_sha1: str
    used_by: str = "audit"
    """The command that takes it."""

    @property
    def url(self) -> str:
        """Where the file is served."""
        return f"https://raw.githubusercontent.com/{self.repository}/{self.commit}/{self.path}"

    @property
    def local_path(self) -> Path:
        """Where a copy is kept, or can be put by hand."""
        return home() / "datasets" / self.name / f"{self.commit[:12]}{Path(self.path).suffix}"


STARTER = BundledDataset(
    name="starter",
    title="Starter set: 96 mild association items, aligned in five languages",
    licence="CC BY 4.0",
    languages=("de", "en", "es", "fr", "tr"),
    default_language="en",
)

LAB = BundledDataset(
    name="lab",
    title="Items of the lab's own small grammar, for models with planted bias",
    licence="CC BY 4.0",
    languages=("de", "en"),
    default_language="en",
)

STEREOSET = PinnedDataset(
    name="stereoset",
    title="StereoSet development set, English (Nadeem et al. 2021)",
    licence="CC BY-SA 4.0",
    language="en",
    repository="moinnadeem/StereoSet",
    commit="ead7d086a64a192a1eca88e0dd2fd163de375218",
    path="data/dev.json",
    git_blob_sha1="637b1e3d284a3c629b74a4659c583b8eca9bd13e",
)

CROWS_PAIRS = PinnedDataset(
    name="crows-pairs",
    title="CrowS-Pairs: 1,508 pairs of sentences, English (Nangia et al. 2020)",
    licence="CC BY-SA 4.0",
    language="en",
    repository="nyu-mll/crows-pairs",
    commit="8aaac11c485473159ec9328a65253a5be9a479dc",
    path="data/crows_pairs_anonymized.csv",
    git_blob_sha1="28fa7d906a83d441001fb2a0eeae28c6d64a99e1",
    used_by="probe --test crows-pairs",
)

NAMED_DATASETS: Mapping[str, BundledDataset | PinnedDataset] = MappingProxyType(
    {dataset.name: dataset for dataset in (STARTER, LAB, STEREOSET)}
)

NAMED_PAIR_SETS: Mapping[str, PinnedDataset] = MappingProxyType({CROWS_PAIRS.name: CROWS_PAIRS})
"""Pairs of sentences, which have no items and are read by ``evenhand.data.crows_pairs``."""


def home() -> Path:
    """The folder for fetched data: ``$EVENHAND_HOME``, or ``~/.cache/evenhand``."""
    chosen = os.environ.get(HOME_VARIABLE)
    return Path(chosen) if chosen else Path.home() / ".cache" / "evenhand"


def load_dataset(data: str | Path, *, language: str | None = None) -> Benchmark:
    """One language of a benchmark.

    Args:
        data: ``starter``, another name that ``evenhand data list`` shows, a file in StereoSet's layout, or a
            folder with one such file a language (``en.json``, ``de.json`` ...).
        language: Needed when ``data`` holds several languages and has no default, or when a file does not say
            its language.
    """
    named = NAMED_DATASETS.get(str(data))
    if isinstance(named, BundledDataset):
        return _load_bundled(named, language)
    if isinstance(named, PinnedDataset):
        return _load_pinned(named, language)
    if str(data) in NAMED_PAIR_SETS:
        raise DatasetError(
            f"{data} has pairs of sentences, not contexts with three candidates. Measure it with: evenhand probe."
        )
    path = Path(data)
    if path.is_dir():
        return _load_from_folder(path, language)
    if not path.exists() and not path.suffix and os.sep not in str(data):
        raise UnknownNameError("dataset", str(data), NAMED_DATASETS)
    return read_stereoset(path, name=_name_from_path(path), language=language)


def languages_of(data: str | Path) -> tuple[str | None, ...]:
    """The languages that ``load_dataset`` can be asked for; None where the file itself decides."""
    named = NAMED_DATASETS.get(str(data))
    if isinstance(named, BundledDataset):
        return named.languages
    if named is None and Path(data).is_dir():
        return tuple(_files_by_language(Path(data)))
    return (None,)


def bundled_path(dataset: BundledDataset, language: str) -> Path:
    """The file of one language of a bundled dataset."""
    return Path(str(resources.files("evenhand.data") / "resources" / dataset.name / f"{language}.json"))


def _load_bundled(dataset: BundledDataset, language: str | None) -> Benchmark:
    chosen = language or dataset.default_language
    if chosen not in dataset.languages:
        raise UnknownNameError(f"language of {dataset.name}", chosen, dataset.languages)
    return read_stereoset(bundled_path(dataset, chosen), name=dataset.name)


def _name_from_path(path: Path) -> str:
    """The file's name, or its folder's where the file is only named after a language."""
    stem = file_stem(path)
    return path.resolve().parent.name if _TWO_LETTERS.fullmatch(stem.split(".")[0]) else stem


def _files_by_language(folder: Path) -> dict[str, Path]:
    found: dict[str, Path] = {}
    for path in sorted(folder.iterdir()):
        stem = path.name.removesuffix(".gz")
        if stem.endswith(".json") and "." not in stem.removesuffix(".json"):
            found[stem.removesuffix(".json")] = path
    return found


def _load_from_folder(folder: Path, language: str | None) -> Benchmark:
    files = _files_by_language(folder)
    if not files:
        raise DatasetError(f"{folder} has no files named after a language, such as en.json.")
    if language is None and len(files) > 1:
        raise DatasetError(
            f"{folder} has several languages ({', '.join(files)}). Choose one with --language."
        )
    chosen = language or next(iter(files))
    if chosen not in files:
        raise UnknownNameError(f"language of {folder}", chosen, files)
    return read_stereoset(files[chosen], name=folder.resolve().name, language=chosen)


def _load_pinned(dataset: PinnedDataset, language: str | None) -> Benchmark:
    path = pinned_file(dataset, language=language)
    return read_stereoset(path, name=dataset.name, default_language=dataset.language)


def pinned_file(dataset: PinnedDataset, *, language: str | None = None) -> Path:
    """The local copy of a pinned file, fetched if there is none, and surely the file that was pinned.

    Args:
        dataset: What is wanted.
        language: Refused if it is another language than the file's.
    """
    if language not in (None, dataset.language):
        ending = Path(dataset.path).suffix
        raise DatasetUnavailableError(
            f"{dataset.name} is in {dataset.language!r} only. For a translation, give its file: "
            f"--data PATH/{language}{ending}."
        )
    path = dataset.local_path
    content = path.read_bytes() if path.exists() else fetch(dataset)
    found = git_blob_sha1(content)
    if found != dataset.git_blob_sha1:
        raise DatasetUnavailableError(
            f"The copy of {dataset.name} is not the pinned file: its git hash is {found}, "
            f"{dataset.git_blob_sha1} is needed. Remove {path} and try again, or use another file knowingly "
            "with --data PATH."
        )
    if not path.exists():
        write_bytes(path, content)
    return path


def fetch(dataset: PinnedDataset) -> bytes:
    """Download a pinned file, within bounds."""
    import httpx

    place = (
        f"To use it offline, put {dataset.path} of github.com/{dataset.repository} at commit "
        f"{dataset.commit[:12]} into {dataset.local_path}, or give any copy with --data PATH."
    )
    if os.environ.get(OFFLINE_VARIABLE, "") not in ("", "0"):
        raise DatasetUnavailableError(
            f"{dataset.name} is not on this machine, and {OFFLINE_VARIABLE} forbids to fetch it. {place}"
        )
    content = bytearray()
    try:
        with httpx.stream("GET", dataset.url, follow_redirects=True, timeout=30) as response:
            response.raise_for_status()
            for chunk in response.iter_bytes():
                content += chunk
                if len(content) > MAX_BYTES:
                    raise DatasetUnavailableError(f"{dataset.url} sends more than it should. {place}")
    except (httpx.HTTPError, httpx.InvalidURL, OSError) as problem:
        raise DatasetUnavailableError(
            f"{dataset.name} is not on this machine and could not be fetched ({type(problem).__name__}: "
            f"{problem}). {place}"
        ) from None
    return bytes(content)


def git_blob_sha1(content: bytes) -> str:
    """The name that git gives to a file with this content."""
    return hashlib.sha1(b"blob %d\0" % len(content) + content, usedforsecurity=False).hexdigest()
