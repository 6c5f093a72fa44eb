"""Analysis: labelled texts about groups, to shares, gaps, intervals and tests."""

from __future__ import annotations

from dataclasses import dataclass, field

from evenhand.data.group_texts import GroupTexts
from evenhand.instruments.regard.results import LabellingClassifier, RegardResult
from evenhand.stats.resampling import Resampling


@dataclass(frozen=True, slots=True, kw_only=True)
class RegardAnalysisOptions:
    """How texts about groups are analysed.

    Attributes:
        margin: The largest gap that is called no difference, in points.
        classifier: Who labelled the texts; None if that is not known.
        resampling: Resamples, seed and confidence level.
    """

    margin: float = 5.0
    classifier: LabellingClassifier | None = None
    resampling: Resampling = field(default_factory=Resampling)


def analyse_regard(texts: GroupTexts, options: RegardAnalysisOptions | None = None) -> RegardResult:
    """Shares of labels per group, gaps between groups, their intervals and tests.

    Args:
        texts: Every text with a label.
        options: How they are analysed.
    """
    raise NotImplementedError
