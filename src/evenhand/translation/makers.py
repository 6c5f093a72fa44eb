"""Who makes changes: rules, by their names, and everybody else, who is a person or a person's table."""

from __future__ import annotations

TERMS = "terms"
CLOSEST = "closest"
REBUILD = "rebuild"
UNDO = "undo"

_RULES = frozenset({TERMS, CLOSEST, REBUILD, UNDO})
_RULE_FAMILIES = ("blank.", "tag.", "text.")


def is_rule(maker: str) -> bool:
    """Whether changes were made by a rule, not by a person."""
    return maker in _RULES or maker.startswith(_RULE_FAMILIES)
