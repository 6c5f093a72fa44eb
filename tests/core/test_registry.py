"""Registries: lazy, open, and clear about what another package did wrong."""

from __future__ import annotations

from collections.abc import Iterator
from importlib import metadata
from importlib.metadata import EntryPoint
from typing import Any

import pytest

from evenhand.core import registry as registry_module
from evenhand.core.errors import UnknownNameError
from evenhand.core.registry import PLUGINS_VARIABLE, PluginError, Registry, lacks

GROUP = "evenhand.numbers"


def numbers(**own: str) -> Registry[Any]:
    return Registry("number", GROUP, own, check=lambda entry: lacks(entry, "real", "imag"))


@pytest.fixture
def plug(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """Pretend that a package is installed which adds these entries."""

    def install(**entries: str) -> None:
        found = metadata.EntryPoints(EntryPoint(name, value, GROUP) for name, value in entries.items())
        monkeypatch.setattr(registry_module, "entry_points", lambda group: found.select(group=group))
        registry_module.installed_entry_points.cache_clear()

    yield install
    registry_module.installed_entry_points.cache_clear()


def test_packages_are_looked_through_once_for_a_path(monkeypatch: pytest.MonkeyPatch) -> None:
    looked = []

    def look(group: str) -> metadata.EntryPoints:
        looked.append(group)
        return metadata.EntryPoints()

    monkeypatch.setattr(registry_module, "entry_points", look)
    known = Registry[Any]("number", "evenhand.never-looked-for", {"tau": "math:tau"})
    assert [known.names() for _ in range(3)] == [("tau",)] * 3
    assert len(looked) == 1

    monkeypatch.syspath_prepend("/another/folder")
    known.names()
    assert len(looked) == 2


def test_an_entry_of_ours_is_imported_when_it_is_asked_for() -> None:
    known = numbers(tau="math:tau", missing="no_such_module:THING")

    assert known.names() == ("tau", "missing")
    assert known.get("tau") == pytest.approx(6.283185307)


def test_an_unknown_name_gets_a_suggestion() -> None:
    with pytest.raises(UnknownNameError, match="Did you mean 'tau'"):
        numbers(tau="math:tau").get("tauu")


def test_another_package_adds_an_entry(plug: Any) -> None:
    plug(e="math:e")

    known = numbers(tau="math:tau")

    assert known.names() == ("tau", "e")
    assert known.get("e") == pytest.approx(2.718281828)


@pytest.mark.parametrize(
    ("value", "said"),
    [
        ("no_such_module:E", "cannot be loaded: ModuleNotFoundError"),
        ("math:no_such_attribute", "cannot be loaded: AttributeError"),
        ("math:__name__", "it lacks real, imag"),
    ],
)
def test_what_another_package_did_wrong_is_said_when_it_is_asked_for(
    plug: Any, value: str, said: str
) -> None:
    plug(e=value)
    known = numbers(tau="math:tau")

    assert known.get("tau")
    with pytest.raises(PluginError, match=said):
        known.get("e")


def test_a_name_that_is_taken_is_refused(plug: Any) -> None:
    plug(tau="math:e")

    with pytest.raises(PluginError, match="a name that evenhand has taken"):
        numbers(tau="math:tau").names()


def test_other_packages_can_be_left_out(plug: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    plug(tau="math:e")
    monkeypatch.setenv(PLUGINS_VARIABLE, "off")

    assert numbers(tau="math:tau").get("tau") == pytest.approx(6.283185307)


def test_an_entry_can_be_added_for_this_process_and_taken_back() -> None:
    known = numbers(tau="math:tau")
    known.register("two", 2)

    assert known.get("two") == 2
    with pytest.raises(PluginError, match="already"):
        known.register("two", 3)
    known.unregister("two")
    assert "two" not in known
