"""Packages that import their names when they are first used."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path

import pytest

from evenhand.core.errors import MissingExtraError

PACKAGE = """
from typing import TYPE_CHECKING

from evenhand.core.lazy_exports import lazy_exports

if TYPE_CHECKING:
    from toys.parts import Wheel as Wheel
    from toys.parts import roll as roll
    from toys.parts import hidden
    from toys.heavy import Engine as Engine

    shown = hidden

lazy_exports(__name__)
"""


@pytest.fixture
def toys(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> object:
    (tmp_path / "toys").mkdir()
    (tmp_path / "toys" / "__init__.py").write_text(PACKAGE)
    (tmp_path / "toys" / "parts.py").write_text("Wheel, roll, hidden = 1, 2, 3")
    (tmp_path / "toys" / "heavy.py").write_text("raise ModuleNotFoundError(name='torch')")
    monkeypatch.syspath_prepend(str(tmp_path))
    for name in ("toys", "toys.parts", "toys.heavy"):
        monkeypatch.delitem(sys.modules, name, raising=False)
    return importlib.import_module("toys")


def test_a_name_is_imported_when_it_is_first_used(toys: object) -> None:
    assert "toys.parts" not in sys.modules
    assert toys.Wheel == 1  # type: ignore[attr-defined]
    assert "toys.parts" in sys.modules


def test_what_is_exported_follows_from_the_imports_for_type_checkers(toys: object) -> None:
    names = ["Engine", "Wheel", "roll", "shown"]
    assert dir(toys) == names
    assert vars(toys)["__all__"] == names
    assert toys.shown == 3  # type: ignore[attr-defined]


def test_another_name_is_an_attribute_error(toys: object) -> None:
    assert not hasattr(toys, "hidden")
    with pytest.raises(AttributeError, match="module 'toys' has no attribute 'nothing'"):
        toys.nothing  # type: ignore[attr-defined]  # noqa: B018


def test_a_missing_library_is_named_with_its_extra(toys: object) -> None:
    with pytest.raises(MissingExtraError, match=r"toys\.Engine"):
        toys.Engine  # type: ignore[attr-defined]  # noqa: B018
