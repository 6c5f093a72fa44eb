"""Models that ship with the package: ``lab:masked`` and its siblings.

A manifest says how each was made and what its files must hash to, so that a damaged installation is noticed before it
is measured.
"""

from __future__ import annotations

import json
from functools import cache
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING

from pydantic import BaseModel, ConfigDict, ValidationError

from evenhand.core.errors import EvenhandError, UnknownNameError
from evenhand.core.files import sha256_of
from evenhand.models.backends.local import LOCAL

if TYPE_CHECKING:
    from evenhand.models.language_model import LanguageModel
    from evenhand.models.references import ModelRef

PREFIX = "lab:"
MANIFEST_FILE = "manifest.json"


class EmbeddedModel(BaseModel):
    """One entry of the manifest."""

    model_config = ConfigDict(frozen=True)

    command: str
    """What builds the same model again."""
    built_with: dict[str, str]
    platform: str
    files: dict[str, str]
    """SHA-256 of each file."""
    regard_gap: float | None = None
    """Points that were planted in regard; None where the model was taught nothing of it."""


class Manifest(BaseModel):
    """How the embedded models were made."""

    model_config = ConfigDict(frozen=True)

    models: dict[str, EmbeddedModel]


def embedded_root() -> Path:
    """Where the embedded models lie."""
    return Path(str(resources.files("evenhand") / "lab" / "resources" / "models"))


@cache
def read_manifest(root: Path) -> Manifest:
    """The manifest of a folder of embedded models."""
    path = root / MANIFEST_FILE
    try:
        return Manifest.model_validate_json(path.read_bytes())
    except (OSError, ValidationError, json.JSONDecodeError) as problem:
        raise EvenhandError(
            f"The list of embedded models {path} cannot be read ({type(problem).__name__}). Install Evenhand again."
        ) from None


def embedded_names() -> tuple[str, ...]:
    """The names of all embedded models, in the order of the manifest."""
    return tuple(f"{PREFIX}{name}" for name in read_manifest(embedded_root()).models)


def audited_names() -> tuple[str, ...]:
    """Those that an audit without models takes: all but the ones that were taught regard besides."""
    models = read_manifest(embedded_root()).models
    return tuple(f"{PREFIX}{name}" for name, entry in models.items() if entry.regard_gap is None)


def embedded_folder(model: str, root: Path | None = None) -> Path:
    """The folder of an embedded model, after a look at whether its files are the ones that were shipped.

    Raises:
        UnknownNameError: If there is no such model.
        EvenhandError: If a file is missing or was changed.
    """
    place = root or embedded_root()
    manifest = read_manifest(place)
    name = model.removeprefix(PREFIX)
    if name not in manifest.models:
        raise UnknownNameError("embedded model", model, [f"{PREFIX}{known}" for known in manifest.models])
    folder = place / name
    for file, digest in manifest.models[name].files.items():
        try:
            actual = sha256_of((folder / file).read_bytes())
        except OSError:
            actual = "missing"
        if actual != digest:
            raise EvenhandError(
                f"The embedded model {model} is damaged: {file} should have the checksum {digest[:12]}, it "
                f"{'is missing' if actual == 'missing' else 'has ' + actual[:12]}. Install Evenhand again."
            )
    return folder


class LabBackend:
    """Finds the embedded models, which are loaded like any other folder."""

    name = "lab"
    summary = "a small model with a known bias that ships with Evenhand"
    extra = "hf"

    def location(self, ref: ModelRef) -> str:
        """The folder of the embedded model."""
        return str(embedded_folder(ref.id))

    def load(self, ref: ModelRef) -> LanguageModel:
        """The model in memory."""
        return LOCAL.load(ref)

    def weights(self, ref: ModelRef) -> str | None:
        """The digest that records have of the weights."""
        return LOCAL.weights(ref)

    def capabilities(self, ref: ModelRef) -> frozenset[type]:
        """What the model can be asked, as far as that is known without its weights."""
        return LOCAL.capabilities(ref)


LAB = LabBackend()
