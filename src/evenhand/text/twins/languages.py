"""The languages that twins can be written in."""

from __future__ import annotations

from evenhand.core.errors import UnknownNameError
from evenhand.text.twins.twin import Swapper

SWAPPED_LANGUAGES = ("de", "en")


def swapper_for(language: str) -> Swapper:
    """The swapper of a language."""
    match language:
        case "en":
            from evenhand.text.twins.en.swapper import EnglishSwapper

            return EnglishSwapper()
        case "de":
            from evenhand.text.twins.de.swapper import GermanSwapper

            return GermanSwapper()
        case _:
            raise UnknownNameError("language for counterfactual data", language, SWAPPED_LANGUAGES)
