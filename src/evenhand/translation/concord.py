"""Concord: whether a candidate agrees in gender and number with what stands around its blank. French, Spanish, German.

What stands there (an article, a possessive, an adjective, a noun, or a subject with its copula) leaves some forms open.
A candidate's word shows by a list or by its ending which forms it can be. If both have none in common, it disagrees.
Words that neither list nor ending decide are never flagged. The tables are ``resources/morphology/*.toml``.

A disagreement counts only where another candidate surely agrees: then grammar alone tells the two apart, and a score
may rest on it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType

from evenhand.core.items import BLANK, Association, Task
from evenhand.data.defects import fill_of
from evenhand.translation.concord_german import german_concord
from evenhand.translation.concord_romance import concord_rules

CONCORDS: Mapping[str, Callable[[str, str], bool | None]] = MappingProxyType(
    {
        "de": german_concord,
        "es": lambda context, word: concord_rules("es").agrees(context, word),
        "fr": lambda context, word: concord_rules("fr").agrees(context, word),
    }
)
"""By language: whether a word agrees with what stands around the blank of a context; None if that cannot be told."""


def disagreeing_candidates(item: Association) -> list[str]:
    """The ids of the candidates that disagree with the text before the blank, while another one surely agrees."""
    concord = CONCORDS.get(item.language)
    if concord is None or item.task is not Task.INTRASENTENCE or item.context.count(BLANK) != 1:
        return []
    verdicts = {
        candidate.id: concord(item.context, candidate.word or fill_of(item, candidate))
        for candidate in item.candidates
    }
    if True not in verdicts.values():
        return []
    return [candidate for candidate, agrees in verdicts.items() if agrees is False]
