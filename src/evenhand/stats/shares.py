"""Intervals of shares whose observations do not depend on each other."""

from __future__ import annotations

import math

from scipy import stats

from evenhand.stats.intervals import Interval

WILSON = "Wilson score"


def wilson_interval(share: float, n: int, *, confidence: float) -> Interval:
    """Wilson's interval of a share of ``n`` independent observations.

    An observation may count half, as a tie does; the interval is then a little wider than it need be, because a
    share made of halves varies less than one of ones and zeros.
    """
    if n == 0:
        return Interval.missing("there is nothing to take a share of")
    z = float(stats.norm.ppf((1 + confidence) / 2))
    centre = (share + z * z / (2 * n)) / (1 + z * z / n)
    reach = z / (1 + z * z / n) * math.sqrt(share * (1 - share) / n + z * z / (4 * n * n))
    # At 0 and 1 the share is an end of its interval, which rounding must not move past it.
    return Interval(max(0.0, min(share, centre - reach)), min(1.0, max(share, centre + reach)), WILSON)
