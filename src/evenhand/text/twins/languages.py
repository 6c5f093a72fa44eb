"""The languages that twins can be written in; other packages add theirs.

A language is a class with a ``language`` and a ``twin`` method (see ``Swapper``). Another package registers it with an
entry point:

    [project.entry-points."evenhand.swappers"]
    fr = "my_package.french:FrenchSwapper"
"""

from __future__ import annotations

from collections.abc import Callable

from evenhand.core.registry import Registry, lacks
from evenhand.text.twins.twin import Swapper

SWAPPERS: Registry[Callable[[], Swapper]] = Registry(
    "language of twins",
    "evenhand.swappers",
    {
        "de": "evenhand.text.twins.de.swapper:GermanSwapper",
        "en": "evenhand.text.twins.en.swapper:EnglishSwapper",
    },
    check=lambda entry: lacks(entry, "language", "twin"),
)
"""Swapper classes by language."""


def swapper_for(language: str) -> Swapper:
    """A swapper of this language.

    Raises:
        UnknownNameError: If no package has one.
        PluginError: If another package has one that cannot be used.
    """
    return SWAPPERS.get(language)()
