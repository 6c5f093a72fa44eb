"""Measures: one file each, pure functions of scores, no model in sight."""

from collections.abc import Mapping
from types import MappingProxyType

from evenhand.core.errors import UnknownNameError
from evenhand.instruments.association.measures.class_icat import MACRO_ICAT, MICRO_ICAT
from evenhand.instruments.association.measures.class_means import MEAN_LMS, MEAN_SS
from evenhand.instruments.association.measures.icat import ICAT
from evenhand.instruments.association.measures.language_modelling_score import LMS
from evenhand.instruments.association.measures.log_ratio import LOG_RATIO
from evenhand.instruments.association.measures.measure import Measure
from evenhand.instruments.association.measures.stereotype_score import SS
from evenhand.instruments.association.measures.totals import ClusterTotals, Preferences

ASSOCIATION_MEASURES = (LMS, SS, ICAT, MEAN_LMS, MEAN_SS, MACRO_ICAT, MICRO_ICAT, LOG_RATIO)
"""The measures of the context association tests, in the order in which they are shown."""

MEASURES: Mapping[str, Measure] = MappingProxyType(
    {measure.name: measure for measure in ASSOCIATION_MEASURES}
)
"""Every measure that exists, by name. A new one joins here and is then checked by the contract tests."""


PROBE_MEASURES = ("MALoR",)
"""The measures of the probes, by name."""


def get_measure(name: str) -> Measure:
    """The measure of this name."""
    try:
        return MEASURES[name]
    except KeyError:
        raise UnknownNameError("measure", name, MEASURES) from None


__all__ = [
    "ASSOCIATION_MEASURES",
    "MEASURES",
    "PROBE_MEASURES",
    "ClusterTotals",
    "Measure",
    "Preferences",
    "get_measure",
]
