"""The zoo as a fixture; it is built when it is first asked for, so that other tests need no torch."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from slow_reference import SlowReference

    from evenhand.models.language_model import LanguageModel


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
