"""Measures of the context association test: one file each, pure functions of scores, no model in sight.

Another package adds one with an entry point of the group ``evenhand.measures``.
"""

from evenhand.core.registry import Registry, lacks
from evenhand.instruments.association.measures.measure import ClusterTotals, Measure, Preferences

MEASURES: Registry[Measure] = Registry(
    "measure",
    "evenhand.measures",
    order=(
        "LMS",
        "SS",
        "ICAT",
        "mean_LMS",
        "mean_SS",
        "macro_ICAT",
        "macro_ICAT_corrected",
        "micro_ICAT",
        "log_ratio",
    ),
    check=lambda entry: lacks(entry, "name", "version", "title", "neutral", "compute", "doc"),
)
"""Every measure by name, in the order in which they are shown."""

__all__ = ["MEASURES", "ClusterTotals", "Measure", "Preferences"]
