"""Back-translation: contexts that, translated back, say something else than the source."""

from __future__ import annotations

import re
from collections.abc import Iterable
from difflib import SequenceMatcher

from evenhand.core.items import BLANK, Association, Benchmark, Task
from evenhand.core.progress import Progress, no_progress
from evenhand.data.defects import DefectClass, DefectUnit
from evenhand.data.inspection import Finding
from evenhand.translation.answers import AnswerCache, answer_all
from evenhand.translation.translators import Translator

LEAST_SIMILARITY = 0.25
"""Share of words in common below which a back-translation says something else."""

_WORD = re.compile(r"[^\W\d_]+")


def check_back_translation(
    translation: Benchmark,
    source: Benchmark,
    translator: Translator,
    cache: AnswerCache,
    *,
    progress: Progress = no_progress,
) -> tuple[Finding, ...]:
    """Contexts that, translated back, have little in common with those of the source.

    A translator's own faults show as well, so what is found is for people to look at.

    Args:
        translation: What is checked.
        source: What it was translated from.
        translator: From the language of the translation into that of the source.
        cache: The translator's earlier answers; new ones are added.
        progress: Told how many texts are translated.
    """
    contexts = {item.id: item.context for item in source}
    answer_all(
        translator, (item.context for item in translation if item.id in contexts), cache, progress=progress
    )

    def differs(items: Iterable[Association]) -> Iterable[str]:
        return (
            item.id
            for item in items
            if item.id in contexts
            and item.context in cache
            and similarity(cache[item.context], contexts[item.id]) < LEAST_SIMILARITY
        )

    defect = DefectClass(
        "back-translation",
        f"translated back, the context shares fewer than {LEAST_SIMILARITY:.0%} of its words with the source",
        tuple(Task),
        DefectUnit.ITEMS,
        False,
        differs,
    )
    return tuple(
        Finding(defect, task, tuple(defect.find(translation.of_task(task)))) for task in translation.tasks
    )


def similarity(text: str, other: str) -> float:
    """The share of words that two texts have in common, in their order; 1 if all."""
    first, second = (_WORD.findall(one.replace(BLANK, " ").casefold()) for one in (text, other))
    return SequenceMatcher(None, first, second, autojunk=False).ratio()
