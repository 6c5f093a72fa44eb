"""Another package can add a language of twins."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from evenhand.core.errors import UnknownNameError
from evenhand.core.registry import PluginError
from evenhand.twins import SWAPPERS, Rejected, Swapper, Twin, swapper_for


class FrenchSwapper:
    """Rejects everything."""

    language = "fr"

    def twin(self, sentence: str) -> Twin | Rejected:
        return Rejected(f"not read: {sentence}")


@pytest.fixture
def register() -> Iterator[Any]:
    names = []

    def add(name: str, entry: Any) -> None:
        SWAPPERS.register(name, entry)
        names.append(name)

    yield add
    for name in names:
        SWAPPERS.unregister(name)


def test_our_own_languages_are_entries_like_any_other() -> None:
    assert SWAPPERS.names() == ("de", "en")
    for language in SWAPPERS.names():
        swapper: Swapper = swapper_for(language)
        assert swapper.language == language


def test_a_language_of_another_package_is_found_by_its_name(register: Any) -> None:
    register("fr", FrenchSwapper)
    assert swapper_for("fr").twin("Il dort.") == Rejected("not read: Il dort.")


def test_an_unknown_language_is_refused_with_those_that_exist() -> None:
    with pytest.raises(UnknownNameError, match=r"language of twins.*'xx'.*de.*en"):
        swapper_for("xx")


def test_a_class_without_twin_is_refused(register: Any) -> None:
    register("fr", type("Lame", (), {"language": "fr"}))
    with pytest.raises(PluginError, match="it lacks twin"):
        swapper_for("fr")
