"""Registries: lazy, open, and clear about what another package did wrong."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from importlib import metadata
from importlib.metadata import EntryPoint
from types import SimpleNamespace
from typing import Any

import pytest

from evenhand.core import registry as registry_module
from evenhand.core.errors import UnknownNameError
from evenhand.core.registry import PLUGINS_VARIABLE, PluginError, Registry, StaleInstallationError, lacks

GROUP = "evenhand.numbers"

Install = Callable[..., None]


def numbers(*order: str) -> Registry[Any]:
    return Registry("number", GROUP, order=order, check=lambda entry: lacks(entry, "real", "imag"))


@pytest.fixture
def install(monkeypatch: pytest.MonkeyPatch) -> Iterator[Install]:
    """Pretend that packages are installed which add these entries; ``evenhand`` is ours."""
    installed: list[EntryPoint] = []

    def package(name: str, **entries: str) -> None:
        for entry, value in entries.items():
            installed.append(EntryPoint(entry, value, GROUP))
            vars(installed[-1])["dist"] = SimpleNamespace(name=name)
        _forget()

    monkeypatch.setattr(registry_module, "entry_points", lambda: metadata.EntryPoints(installed))
    monkeypatch.setattr(registry_module, "_in_checkout", lambda: None)
    _forget()
    yield package
    _forget()


def _forget() -> None:
    registry_module._entry_points.cache_clear()
    registry_module._all_entry_points.cache_clear()


def test_packages_are_looked_through_once_for_a_path(
    install: Install, monkeypatch: pytest.MonkeyPatch
) -> None:
    looked: list[int] = []
    installed: Callable[[], metadata.EntryPoints] = vars(registry_module)["entry_points"]

    def look() -> metadata.EntryPoints:
        looked.append(1)
        return installed()

    monkeypatch.setattr(registry_module, "entry_points", look)
    install("evenhand", tau="math:tau")
    assert [numbers().names() for _ in range(3)] == [("tau",)] * 3
    assert len(looked) == 1

    monkeypatch.syspath_prepend("/another/folder")
    numbers().names()
    assert len(looked) == 2


def test_an_entry_is_imported_when_it_is_asked_for(install: Install) -> None:
    install("evenhand", tau="math:tau", missing="no_such_module:THING")

    assert numbers().names() == ("missing", "tau")
    assert numbers().get("tau") == pytest.approx(6.283185307)
    with pytest.raises(ModuleNotFoundError):
        numbers().get("missing")


def test_ours_come_first_and_in_their_order(install: Install) -> None:
    install("another", b="math:e", a="math:e")
    install("evenhand", **dict.fromkeys("wxyz", "math:tau"))

    assert numbers("z", "x", "of-a-package-that-is-gone").names() == ("z", "x", "w", "y", "a", "b")


def test_an_installation_that_is_not_of_the_code_is_refused(
    install: Install, monkeypatch: pytest.MonkeyPatch
) -> None:
    install("another", a="math:e")
    with pytest.raises(StaleInstallationError, match=r"pip install -e \."):
        numbers().names()

    install("evenhand", tau="math:tau")
    assert numbers().names() == ("tau", "a")

    monkeypatch.setattr(registry_module, "_in_checkout", lambda: {(GROUP, "tau", "math:pi")})
    _forget()
    with pytest.raises(StaleInstallationError, match=r"pip install -e \."):
        numbers().names()


def test_an_unknown_name_gets_a_suggestion(install: Install) -> None:
    install("evenhand", tau="math:tau")

    with pytest.raises(UnknownNameError, match="Did you mean 'tau'"):
        numbers().get("tauu")


def test_another_package_adds_an_entry(install: Install) -> None:
    install("evenhand", tau="math:tau")
    install("another", e="math:e")

    known = numbers()

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
    install: Install, value: str, said: str
) -> None:
    install("evenhand", tau="math:tau")
    install("another", e=value)
    known = numbers()

    assert known.get("tau")
    with pytest.raises(PluginError, match=said):
        known.get("e")


def test_a_name_that_is_taken_is_refused(install: Install) -> None:
    install("evenhand", tau="math:tau")
    install("another", tau="math:e")

    with pytest.raises(PluginError, match="a name that evenhand has taken"):
        numbers().names()


def test_other_packages_can_be_left_out(install: Install, monkeypatch: pytest.MonkeyPatch) -> None:
    install("evenhand", tau="math:tau")
    install("another", tau="math:e")
    monkeypatch.setenv(PLUGINS_VARIABLE, "off")

    assert numbers().get("tau") == pytest.approx(6.283185307)


def test_an_entry_can_be_added_for_this_process_and_taken_back(install: Install) -> None:
    install("evenhand", tau="math:tau")
    known = numbers()
    known.register("two", 2)

    assert known.get("two") == 2
    with pytest.raises(PluginError, match="already"):
        known.register("two", 3)
    known.unregister("two")
    assert "two" not in known
