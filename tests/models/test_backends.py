"""Backends: the prefix of an id chooses who loads the model."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import evenhand as eh
from evenhand.core.errors import EvenhandError, UnknownNameError
from evenhand.core.registry import PluginError
from evenhand.models.backends import BACKENDS, backend_of
from evenhand.models.language_model import load_language_model
from evenhand.models.model import Model
from evenhand.models.references import ModelRef


class ShelfModel(Model):
    """A model that lives on a shelf."""

    capabilities = frozenset()

    def __init__(self, ref: ModelRef) -> None:
        self.ref = ref

    @property
    def record(self) -> Any:
        """Nobody asks."""
        raise NotImplementedError


class Shelf:
    """A backend of another package."""

    name = "shelf"
    summary = "a model on a shelf"

    def location(self, ref: ModelRef) -> str:
        """There are no weights to reach."""
        return ref.id

    def load(self, ref: ModelRef) -> ShelfModel:
        """Always there."""
        return ShelfModel(ref)


@pytest.fixture
def shelf() -> Iterator[Shelf]:
    """The backend, registered for a test."""
    shelf = Shelf()
    BACKENDS.register("shelf", shelf)
    yield shelf
    BACKENDS.unregister("shelf")


@pytest.mark.parametrize(
    ("model", "name"),
    [
        ("lab:masked", "lab"),
        ("bert-base-cased", "local"),
        ("org/name", "local"),
        ("./models/lab:masked", "local"),
        ("C:/models/bert", "local"),
        ("C:\\models\\bert", "local"),
    ],
)
def test_the_prefix_of_an_id_names_its_backend(model: str, name: str) -> None:
    assert backend_of(model).name == name


def test_an_unknown_prefix_is_answered_with_the_likeliest_one() -> None:
    with pytest.raises(UnknownNameError, match="Did you mean 'lab'"):
        backend_of("labb:masked")


def test_a_folder_may_have_a_colon_in_its_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "my:model").mkdir()

    assert backend_of("my:model").name == "local"


def test_a_backend_of_another_package_loads_its_models(shelf: Shelf) -> None:
    model = eh.load("shelf:third")

    assert isinstance(model, ShelfModel)
    assert model.ref.location == "shelf:third"
    assert backend_of("shelf:third") is shelf


def test_a_model_that_lives_elsewhere_is_refused_where_weights_are_needed(shelf: Shelf) -> None:
    assert shelf
    with pytest.raises(EvenhandError, match="shelf:third runs outside this process"):
        load_language_model("shelf:third")


def test_a_backend_that_lacks_a_method_is_refused_by_name() -> None:
    BACKENDS.register("empty", object())  # type: ignore[arg-type]
    try:
        with pytest.raises(PluginError, match="it lacks name, summary, location, load"):
            backend_of("empty:model")
    finally:
        BACKENDS.unregister("empty")


def test_the_prefix_of_local_models_can_be_written_out() -> None:
    assert ModelRef(id="local:gpt2").location == "gpt2"
