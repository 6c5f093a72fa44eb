"""Does a sentence contain a negation? Word lists per language; Turkish also by its verb suffixes.

A list finds most negations and not all: it serves to find items in which only one of two candidates
is negated, not to analyse language.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from types import MappingProxyType

_PATTERNS: Mapping[str, str] = MappingProxyType(
    {
        "en": r"\b(?:not|no|never|none|nobody|nothing|nowhere|neither|nor|cannot|without|hardly)\b|n['’]t\b|\bnon-",
        "de": r"\b(?:nicht|nichts|nie|niemals|niemand|niemanden|niemandem|ohne|weder|kein(?:e[mnrs]?)?|kaum)\b",
        "fr": r"\b(?:ne|pas|jamais|aucune?|rien|sans|ni|non|guère)\b|\bn['’]",
        "es": r"\b(?:no|nunca|jamás|nada|nadie|ning(?:ún|una|uno)|sin|ni|tampoco)\b",
        "tr": (
            r"\b(?:değil\w*|yok\w*|hiç\w*|asla)\b"
            r"|\w{2,}m(?:[ae]z(?:l?[ae]r|s[ıi]n\w*)?|[ıiuü]yor\w*|[ae]d[ıi]\w*|[ae]y[ae]c[ae]\w*|[ae]m[ıi]ş\w*)\b"
        ),
    }
)

LANGUAGES_WITH_NEGATION = tuple(sorted(_PATTERNS))


def has_negation(text: str, language: str) -> bool:
    """Whether the text contains a negation; the language must be one of ``LANGUAGES_WITH_NEGATION``."""
    return re.search(_PATTERNS[language], text, flags=re.IGNORECASE) is not None
