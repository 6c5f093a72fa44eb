"""Measures of the context association test: one file each, pure functions of scores, no model in sight.

Another package adds one with an entry point of the group ``evenhand.measures``.
"""

from evenhand.core.registry import Registry, lacks
from evenhand.instruments.association.measures.measure import ClusterTotals, Measure, Preferences

_ROOM = "evenhand.instruments.association.measures"

MEASURES: Registry[Measure] = Registry(
    "measure",
    "evenhand.measures",
    {
        "LMS": f"{_ROOM}.language_modelling_score:LMS",
        "SS": f"{_ROOM}.stereotype_score:SS",
        "ICAT": f"{_ROOM}.icat:ICAT",
        "mean_LMS": f"{_ROOM}.class_means:MEAN_LMS",
        "mean_SS": f"{_ROOM}.class_means:MEAN_SS",
        "macro_ICAT": f"{_ROOM}.class_icat:MACRO_ICAT",
        "macro_ICAT_corrected": f"{_ROOM}.class_icat:MACRO_ICAT_CORRECTED",
        "micro_ICAT": f"{_ROOM}.class_icat:MICRO_ICAT",
        "log_ratio": f"{_ROOM}.log_ratio:LOG_RATIO",
    },
    check=lambda entry: lacks(entry, "name", "version", "title", "neutral", "compute", "doc"),
)
"""Every measure by name, in the order in which they are shown."""

__all__ = ["MEASURES", "ClusterTotals", "Measure", "Preferences"]
