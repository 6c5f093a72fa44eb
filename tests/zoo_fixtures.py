"""The zoo as a fixture; it is built when it is first asked for, so that other tests need no torch."""

from __future__ import annotations

from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from slow_reference import SlowReference

    from evenhand.models.language_model import LanguageModel


WITHOUT_MODELS = ("test_plan.py",)
"""Tests of scoring that need no model."""


def pytest_ignore_collect(collection_path: Path) -> bool | None:
    """Leave out tests of models where PyTorch is not installed: they could not be imported."""
    needs_torch = collection_path.parent.name == "scoring" and collection_path.name not in WITHOUT_MODELS
    return True if needs_torch and find_spec("torch") is None else None


def pytest_report_header() -> str | None:
    """Say so when tests are left out."""
    return None if find_spec("torch") else "PyTorch is not installed: the tests of models are left out"


class Zoo:
    """Models by name, each built once."""

    def __init__(self, folder: Path) -> None:
        self.base = folder
        self.folder = cache(self._folder)
        self.model = cache(self._model)
        self.reference = cache(self._reference)

    def _folder(self, name: str) -> Path:
        import zoo

        return zoo.build(name, self.base / name)

    def _model(self, name: str) -> LanguageModel:
        from evenhand.models.language_model import load_language_model

        return load_language_model(str(self.folder(name)), device="cpu")

    def _reference(self, name: str) -> SlowReference:
        import zoo
        from slow_reference import SlowReference

        return SlowReference(self.folder(name), start=zoo.SPECIES[name].start)


@pytest.fixture(scope="session")
def menagerie(tmp_path_factory: pytest.TempPathFactory) -> Zoo:
    """Tiny models of every architecture."""
    import torch

    torch.set_num_threads(1)
    return Zoo(tmp_path_factory.mktemp("zoo"))
