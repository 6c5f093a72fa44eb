"""Preference margin.

Measures:
    How many more items out of 100 prefer the stereotype than prefer the anti-stereotype.

Reads as:
    0 is neutral, 100 means that the stereotype always wins, -100 that it never does.

Caveats:
    It is the stereotype score on another scale, and shares all of its caveats.

References:
    None; it is an example.
"""

from __future__ import annotations

from evenhand.instruments.association.measures import ClusterTotals, Measure
from evenhand.stats.resampling import Floats


def margin(totals: ClusterTotals, weights: Floats) -> Floats:
    """Wins minus losses for each row of weights over target terms."""
    return 200 * (weights @ totals.stereotype) / (weights @ totals.items) - 100


MARGIN = Measure(
    name="margin",
    version="margin.v1",
    title="Preference margin",
    neutral=0.0,
    ideal=0.0,
    compute=margin,
    doc=__doc__,
    lowest=-100.0,
)
