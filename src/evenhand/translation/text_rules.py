"""Rules for whole texts of a translation whose source is known. Each has a name, which stands in the rows it makes.

``text.spaces``    one space where the translator left several, and none at the ends
``text.case``      a capital at the beginning where the source has one; no capital after a blank or tag at the beginning
                   where the source has none: *BLANK El sastre*
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType

from evenhand.data.text_case import in_case_of_source


def _with_single_spaces(text: str, _source: str, _language: str) -> str:
    return " ".join(text.split())


TEXT_RULES: Mapping[str, Callable[[str, str, str], str]] = MappingProxyType(
    {"text.spaces": _with_single_spaces, "text.case": in_case_of_source}
)
"""From a text, its source and its language to the text as it should be, in the order in which they apply."""
