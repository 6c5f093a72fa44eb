"""The languages that twins can be written in."""

from __future__ import annotations

from evenhand.core.errors import UnknownNameError
from evenhand.mitigation.counterfactual.twins import Swapper

SWAPPED_LANGUAGES = ("de", "en")


def swapper_for(language: str) -> Swapper:
    """The swapper of a language."""
    match language:
        case "en":
            from evenhand.mitigation.counterfactual.english import EnglishSwapper

            return EnglishSwapper()
        case "de":
            from evenhand.mitigation.counterfactual.german import GermanSwapper

            return GermanSwapper()
        case _:
            raise UnknownNameError("language for counterfactual data", language, SWAPPED_LANGUAGES)
