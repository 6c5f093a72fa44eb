"""Rules for the blank of a translated context. Each has a name, which stands in the row of every change it makes.

``blank.leak``         a translated blank becomes BLANK again, where the context has no other: *Das LEERES Haus*
``blank.hyphen``       a hyphen that ties a word to the blank becomes a space: *BLANK-Land*; before a Turkish suffix it
                       goes, and the suffix stays on the blank: *BLANK-dır*
``blank.double``       two blanks beside each other become one: *BLANK BLANK*
``blank.punctuation``  no space before a full stop or comma after the blank, one space after it, none of them twice

A suffix on a blank stays, as in Turkish *BLANK'tır*: to take it off would break the grammar of the sentence. The check
``blank-attached`` flags it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from types import MappingProxyType

from evenhand.core.items import BLANK
from evenhand.translation.defects import leaks_in

_HYPHENS = "-‐‑"
_SUFFIX = r"[a-zçğıöşü]{1,5}(?!\w)"
"""What may be a Turkish suffix; longer words are words of their own."""


def _without_leak(context: str, language: str) -> str:
    leaks = leaks_in(context, language)
    has_other_blank = BLANK in context and leaks not in (["[BLANK]"], ["<BLANK>"])
    if len(leaks) != 1 or has_other_blank:
        return context  # what is right cannot be told
    return re.sub(rf"(?<!\w){re.escape(leaks[0])}(?!\w)", BLANK, context)


def _without_hyphen(context: str, language: str) -> str:
    if language == "tr":
        context = re.sub(rf"{BLANK}[{_HYPHENS}]+(?={_SUFFIX})", BLANK, context)
    context = re.sub(rf"(?<=\w)[{_HYPHENS}]+{BLANK}", f" {BLANK}", context)
    context = re.sub(rf"(?<!\S)[{_HYPHENS}]+{BLANK}", BLANK, context)
    context = re.sub(rf"{BLANK}[{_HYPHENS}]+(?=\w)", f"{BLANK} ", context)
    return re.sub(rf"{BLANK}[{_HYPHENS}]+(?!\S)", BLANK, context)


def _without_double(context: str, _language: str) -> str:
    return re.sub(rf"{BLANK}(?:\s+{BLANK})+", BLANK, context)


def _with_clean_punctuation(context: str, _language: str) -> str:
    context = re.sub(rf"{BLANK} +([.,…])(?!\d)", rf"{BLANK}\1", context)  # French has a space before : ; ! ?
    context = re.sub(rf"{BLANK}([.,])\1(?!\1)", rf"{BLANK}\1", context)  # three full stops are meant
    context = re.sub(rf"{BLANK}([.,;:!?…])(?=[^\W\d_])", rf"{BLANK}\1 ", context)
    context = re.sub(rf"(?<=\w)([.,;:!?…]){BLANK}", rf"\1 {BLANK}", context)
    return re.sub(rf"{BLANK} {{2,}}", f"{BLANK} ", context)


BLANK_RULES: Mapping[str, Callable[[str, str], str]] = MappingProxyType(
    {
        "blank.leak": _without_leak,
        "blank.hyphen": _without_hyphen,
        "blank.double": _without_double,
        "blank.punctuation": _with_clean_punctuation,
    }
)
"""From a context and its language to the context as it should be, in the order in which they apply."""
