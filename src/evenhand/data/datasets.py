"""Datasets that have a name: bundled with a package, or public files that are fetched and checked.

A public file is pinned to a commit and to the hash that git itself gives the file. So what is fetched is what the name
promises, whoever serves it.

The example scores let people try everything without a model. They come from a simulated scorer with a known lean, not
from a language model; see ``examples/simulate_scores.py``.
"""

from __future__ import annotations

import hashlib
import json
import os
from dataclasses import dataclass
from functools import cache
from importlib import resources
from pathlib import Path

from evenhand.core.errors import DatasetUnavailableError, EvenhandError, UnknownNameError, fault
from evenhand.core.files import MAX_BYTES, home, load_json, read_stored, sha256_of, write_bytes
from evenhand.core.items import Benchmark
from evenhand.store.calibration import SCHEMA_VERSION, Calibration
from evenhand.store.records import refuse_other_format

OFFLINE_VARIABLE = "EVENHAND_OFFLINE"


@dataclass(frozen=True, slots=True)
class BundledDataset:
    """A dataset inside a package, one file per language.

    Attributes:
        name: What users call it.
        title: One line for ``evenhand data list``.
        licence: Of the content.
        languages: Those that it has, in the order of a table.
        default_language: The one that is read if none is chosen.
        used_by: The command that takes it.
        package: The package that holds the files.
        folder: The folder of the package with one file per language, such as ``en.json``.
        suffix: How the files end.
    """

    name: str
    title: str
    licence: str
    languages: tuple[str, ...]
    default_language: str
    folder: str
    used_by: str = "audit"
    package: str = "evenhand.data"
    suffix: str = ".json"

    def language_for(self, language: str | None) -> str:
        """The language that is read where this one, or none, is chosen."""
        chosen = language or self.default_language
        if chosen not in self.languages:
            raise UnknownNameError(f"language of {self.name}", chosen, self.languages)
        return chosen

    def file(self, language: str | None = None) -> Path:
        """The file of one language."""
        name = f"{self.language_for(language)}{self.suffix}"
        return Path(str(resources.files(self.package).joinpath(*self.folder.split("/"), name)))

    @property
    def whereabouts(self) -> str:
        """Where it is, in words."""
        return "bundled"


@dataclass(frozen=True, slots=True)
class LocalTranslation:
    """A translation of a pinned dataset that can only be used from a copy on this machine.

    The authors publish it as pickles, which can run code when they are read, so they are never fetched. The items of a
    copy are checked instead of its bytes: people convert the files differently.

    Attributes:
        language: Of the translation.
        published_at: Where the authors have it, in words.
        items_sha256: Digest of its items, as ``items_sha256`` computes it.
    """

    language: str
    published_at: str
    items_sha256: str


@dataclass(frozen=True, slots=True)
class PinnedDataset:
    """A public file at a fixed commit.

    Attributes:
        name: What users call it.
        title: One line for ``evenhand data list``.
        licence: Of the content.
        language: Of the pinned file.
        repository: Owner and name on GitHub.
        commit: The full hash of the commit.
        path: The file within the repository.
        git_blob_sha1: The hash that git gives the file.
        used_by: The command that takes it.
        option: The option that takes it.
        translations: Those that can be used from a copy on this machine.
    """

    name: str
    title: str
    licence: str
    language: str
    repository: str
    commit: str
    path: str
    git_blob_sha1: str
    used_by: str = "audit"
    option: str = "--data"
    translations: tuple[LocalTranslation, ...] = ()

    @property
    def url(self) -> str:
        """Where the file is served."""
        return f"https://raw.githubusercontent.com/{self.repository}/{self.commit}/{self.path}"

    @property
    def local_path(self) -> Path:
        """Where a copy is kept, or can be put by hand."""
        return home() / "datasets" / self.name / f"{self.commit[:12]}{Path(self.path).suffix}"

    @property
    def languages(self) -> tuple[str, ...]:
        """The language of the pinned file, then those of its translations."""
        return (self.language, *(translation.language for translation in self.translations))

    @property
    def whereabouts(self) -> str:
        """Where it is, in words."""
        place = "on this machine" if self.local_path.exists() else "fetched when first used"
        return f"{place}; translations from copies" if self.translations else place

    def language_for(self, language: str | None) -> str:
        """The language that is read where this one, or none, is chosen; one that it lacks is refused."""
        chosen = language or self.language
        if chosen not in self.languages:
            known = f"is in {self.language!r} only"
            if self.translations:
                known = f"has the languages {', '.join(self.languages)}"
            raise DatasetUnavailableError(
                f"{self.name} {known}. For another translation, give its file: "
                f"{self.option} PATH/{language}{Path(self.path).suffix}."
            )
        return chosen

    def translation_path(self, language: str) -> Path:
        """Where the copy of a translation is looked for."""
        return self.local_path.with_name(f"{language}{Path(self.path).suffix}")

    def file(self, language: str | None = None) -> Path:
        """The local copy, fetched if there is none, and surely the file that was pinned; or that of a translation."""
        chosen = self.language_for(language)
        if chosen != self.language:
            return self._file_of_translation(chosen)
        path = self.local_path
        content = path.read_bytes() if path.exists() else fetch(self)
        digest = git_blob_sha1(content)
        if digest != self.git_blob_sha1:
            raise DatasetUnavailableError(
                f"The copy of {self.name} is not the pinned file: its git hash is {digest}, "
                f"{self.git_blob_sha1} is needed. Remove {path} and try again, or use another file knowingly "
                f"with {self.option} PATH."
            )
        if not path.exists():
            write_bytes(path, content)
        return path

    def refuse_other_items(self, benchmark: Benchmark) -> None:
        """Refuse a copy of a translation that has other items than the one that the name promises.

        Raises:
            DatasetUnavailableError: If it has.
        """
        pinned = {translation.language: translation.items_sha256 for translation in self.translations}
        if benchmark.language in pinned and items_sha256(benchmark) != pinned[benchmark.language]:
            path = self.translation_path(benchmark.language)
            raise DatasetUnavailableError(
                f"{path} is not the published translation: the digest of its items is {items_sha256(benchmark)}, "
                f"{pinned[benchmark.language]} is needed. Remove it, or use it knowingly with {self.option} {path}."
            )

    def _file_of_translation(self, language: str) -> Path:
        path = self.translation_path(language)
        if not path.exists():
            translation = next(one for one in self.translations if one.language == language)
            raise DatasetUnavailableError(
                f"{self.name} in {language!r} is not on this machine, and it is not fetched: its authors publish it as "
                f"pickles ({translation.published_at}), which can run code when they are read. Convert it to JSON in "
                f"StereoSet's layout, for which docs/data.md has a recipe, and put it at {path}, or give any copy with "
                f"{self.option} PATH."
            )
        return path


NamedDataset = BundledDataset | PinnedDataset


def fetch(dataset: PinnedDataset) -> bytes:
    """Download a pinned file, within bounds."""
    import httpx

    advice = (
        f"To use it offline, put {dataset.path} of github.com/{dataset.repository} at commit "
        f"{dataset.commit[:12]} into {dataset.local_path}, or give any copy with {dataset.option} PATH."
    )
    if os.environ.get(OFFLINE_VARIABLE, "") not in ("", "0"):
        raise DatasetUnavailableError(
            f"{dataset.name} is not on this machine, and {OFFLINE_VARIABLE} forbids fetching it. {advice}"
        )
    content = bytearray()
    try:
        with httpx.stream("GET", dataset.url, follow_redirects=True, timeout=30) as response:
            response.raise_for_status()
            for chunk in response.iter_bytes():
                content += chunk
                if len(content) > MAX_BYTES:
                    raise DatasetUnavailableError(f"{dataset.url} sends more than it should. {advice}")
    except (httpx.HTTPError, httpx.InvalidURL, OSError) as problem:
        raise DatasetUnavailableError(
            f"{dataset.name} is not on this machine and could not be fetched ({type(problem).__name__}: "
            f"{problem}). {advice}"
        ) from None
    return bytes(content)


def git_blob_sha1(content: bytes) -> str:
    """The name that git gives to a file with this content."""
    return hashlib.sha1(b"blob %d\0" % len(content) + content, usedforsecurity=False).hexdigest()


def items_sha256(benchmark: Benchmark) -> str:
    """Digest of the texts and labels of a benchmark, whatever the order and the layout of its file."""
    rows = sorted(
        [
            *(item.id, item.task.value, item.bias_type, item.cluster, item.target, item.context),
            *sorted(
                f"{candidate.id} {candidate.label.value} {candidate.text}" for candidate in item.candidates
            ),
        ]
        for item in benchmark
    )
    return sha256_of(json.dumps(rows, ensure_ascii=False).encode())


EXAMPLES = ("leaning", "neutral")


def example_scores(name: str) -> Path:
    """The file of simulated scores of this name: ``leaning`` or ``neutral``."""
    if name not in EXAMPLES:
        raise UnknownNameError("example", name, EXAMPLES)
    folder = resources.files("evenhand.data") / "resources" / "starter" / "example_scores"
    return Path(str(folder / f"simulated-{name}.json"))


def bundled_calibration_path() -> Path:
    """The path of the bundled calibration."""
    return Path(str(resources.files("evenhand.data") / "resources" / "lab" / "calibration.json"))


@cache
def bundled_calibration() -> Calibration:
    """The calibration of every measure that ships with the package."""
    return read_calibration(bundled_calibration_path())


def read_calibration(path: Path) -> Calibration:
    """A calibration from its file.

    Raises:
        EvenhandError: If it cannot be read.
    """
    try:
        document = load_json(read_stored(path, error=EvenhandError).decode())
        refuse_other_format(document, SCHEMA_VERSION, path, advice="Make it again: evenhand lab calibrate.")
        return Calibration.model_validate(document)
    except ValueError as problem:
        raise EvenhandError(
            f"The calibration {path} is damaged ({fault(problem)}). Install Evenhand again."
        ) from None
