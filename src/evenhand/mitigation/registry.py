"""The mitigations by name. Another package adds its own with an entry point.

[project.entry-points."evenhand.mitigations"]
my-method = "my_package.my_method:MY_METHOD"
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from evenhand.core.registry import Registry, lacks

if TYPE_CHECKING:
    from evenhand.mitigation.mitigation import Mitigation

MITIGATIONS: Registry[Mitigation[Any]] = Registry(
    "mitigation",
    "evenhand.mitigations",
    order=("equalise", "counterfactual"),
    check=lambda entry: lacks(entry, "name", "title", "summary", "options_type", "mitigate"),
)
