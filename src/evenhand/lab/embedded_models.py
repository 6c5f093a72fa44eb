"""The models that ship with the package: how they are made, and whether making them again gives the same."""

from __future__ import annotations

import json
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType

import numpy as np

from evenhand.core.files import sha256_of, write_text
from evenhand.core.progress import SILENT, Monitor
from evenhand.instruments.association.instrument import ASSOCIATION, AuditOptions
from evenhand.lab.building import LabFamily, LabSpec, build_model, built_with, command_of, this_platform
from evenhand.lab.items import lab_benchmark
from evenhand.models.backends.lab import (
    MANIFEST_FILE,
    PREFIX,
    EmbeddedModel,
    Manifest,
    embedded_root,
    read_manifest,
)
from evenhand.models.language_model import load_language_model
from evenhand.models.references import ModelRef
from evenhand.stats.resampling import Resampling

EMBEDDED: Mapping[str, LabSpec] = MappingProxyType(
    {
        "masked": LabSpec(LabFamily.MASKED, 2.0),
        "masked-neutral": LabSpec(LabFamily.MASKED, 0.0),
        "decoder": LabSpec(LabFamily.DECODER, 2.0),
        "encoder-decoder": LabSpec(LabFamily.ENCODER_DECODER, 2.0),
        "decoder-regard-en": LabSpec(LabFamily.DECODER, 2.0, "en", regard_gap=-30.0),
        "decoder-regard-de": LabSpec(LabFamily.DECODER, 2.0, "de", regard_gap=-30.0),
    }
)

SAME_BUILD = 1e-4
"""Largest difference between the scores of two builds on one platform with the same libraries."""


def embed_all(root: Path | None = None, *, monitor: Monitor = SILENT) -> None:
    """Build every embedded model anew and write the manifest. For maintainers, after the grammar changed."""
    place = root or embedded_root()
    models = {}
    for name, spec in EMBEDDED.items():
        monitor.note(f"Building {PREFIX}{name}")
        folder = place / name
        shutil.rmtree(folder, ignore_errors=True)
        build_model(spec, folder)
        models[name] = EmbeddedModel(
            command=build_command(spec),
            built_with=built_with(),
            platform=this_platform(),
            files={path.name: sha256_of(path.read_bytes()) for path in sorted(folder.iterdir())},
            regard_gap=spec.regard_gap,
        )
    manifest = Manifest(models=models).model_dump(exclude_none=True)
    write_text(place / MANIFEST_FILE, json.dumps(manifest, indent=1) + "\n")


def build_command(spec: LabSpec) -> str:
    """The command that builds a model of a spec."""
    return f"{command_of(spec)} --out DIR"


@dataclass(frozen=True, slots=True)
class RebuildCheck:
    """How a model that was built again compares with the one that ships."""

    name: str
    same_files: bool
    largest_difference: float
    """Between the scores of candidates of the lab's items."""
    same_platform: bool
    same_libraries: bool
    """Other versions may draw other first weights from one seed: Transformers has changed that."""

    @property
    def agrees(self) -> bool:
        """Whether it is the same, as far as the platform and the libraries can give the same."""
        comparable = self.same_platform and self.same_libraries
        return not comparable or self.largest_difference <= SAME_BUILD


def rebuild(name: str, out: Path) -> RebuildCheck:
    """Build an embedded model again and compare it with the one that ships."""
    spec = EMBEDDED[name]
    build_model(spec, out)
    entry = read_manifest(embedded_root()).models[name]
    same_files = all(
        sha256_of((out / file).read_bytes()) == digest
        for file, digest in entry.files.items()
        if file.endswith((".safetensors", "tokenizer.json"))
    )
    shipped, rebuilt = (
        scores_of(ModelRef(id=model), spec.language) for model in (f"{PREFIX}{name}", str(out))
    )
    return RebuildCheck(
        name,
        same_files=same_files,
        largest_difference=float(np.abs(shipped - rebuilt).max()),
        same_platform=this_platform() == entry.platform,
        same_libraries=_libraries(built_with()) == _libraries(entry.built_with),
    )


def _libraries(versions: Mapping[str, str]) -> dict[str, str]:
    """The versions without our own, which changes with every release while builds stay the same."""
    return {name: version for name, version in versions.items() if name != "evenhand"}


def scores_of(model: ModelRef, language: str) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    """The scores that a model gives to the lab's candidates."""
    options = AuditOptions(data=lab_benchmark(language), resampling=Resampling(resamples=100))
    return ASSOCIATION.prepare(load_language_model(model), options).measure().scores["score"].to_numpy()
