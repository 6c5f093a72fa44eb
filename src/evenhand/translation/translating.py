"""Translate the texts of a benchmark, with its blanks protected, into a file in StereoSet's layout."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from evenhand.core.items import BLANK, Association, Benchmark, Candidate, Task
from evenhand.core.progress import SILENT, Monitor
from evenhand.data.defects import fill_of
from evenhand.translation.answers import AnswerCache, answer_all, unanswered
from evenhand.translation.translators import Translator

PLACEHOLDERS = (BLANK, "Zxq", "QX7", "___")
"""What stands for a blank in what a translator sees. If one is translated, doubled or lost, the next is tried."""


@dataclass(frozen=True, slots=True)
class BenchmarkTexts:
    """The texts of a benchmark that are translated: contexts with their blanks, and all others."""

    contexts: tuple[str, ...]
    others: tuple[str, ...]


def texts_of(benchmark: Benchmark) -> BenchmarkTexts:
    """What is translated: context, target, and candidate words (intra-sentence) or sentences (inter-sentence)."""
    contexts: list[str] = []
    others: list[str] = []
    for item in benchmark:
        (contexts if BLANK in item.context else others).append(item.context)
        others.append(item.target)
        others += [_translatable(item, candidate) for candidate in item.candidates]
    return BenchmarkTexts(tuple(dict.fromkeys(contexts)), tuple(dict.fromkeys(others)))


def open_texts(benchmark: Benchmark, cache: AnswerCache) -> list[str]:
    """The texts that a translator still has to be asked for."""
    texts = texts_of(benchmark)
    return unanswered((*texts.contexts, *texts.others), cache)


def translated_file(
    benchmark: Benchmark,
    translator: Translator,
    cache: AnswerCache,
    *,
    language: str,
    monitor: Monitor = SILENT,
) -> bytes:
    """A benchmark in another language, as the translator gives it.

    Args:
        benchmark: What is translated.
        translator: Who translates.
        cache: The translator's earlier answers; new ones are added.
        language: The tag of the new language.
        monitor: Told about the progress.

    Raises:
        TranslationError: If the translator fails; what it gave before is kept.
    """
    texts = texts_of(benchmark)
    with monitor.stage("Translating", "texts") as progress:
        answer_all(translator, (*texts.others, *texts.contexts), cache, progress=progress)
    contexts = _contexts(texts.contexts, translator, cache, monitor)
    answers = {text: cache[text].strip() or text for text in texts.others} | contexts
    lost = sum(context.count(BLANK) != source.count(BLANK) for source, context in contexts.items())
    if lost:
        monitor.warn(
            f"Contexts without their blank, or with one more: {lost:,}. evenhand data repair mends known leaks; the "
            "rest is for people."
        )
    unchanged = sum(not cache[text].strip() for text in texts.others)
    if unchanged:
        monitor.warn(f"Texts that came back empty, and stay as they are in the source: {unchanged:,}.")
    data = {task.value: [_row(item, answers) for item in benchmark.of_task(task)] for task in Task}
    document = {
        "version": "1.1",
        "language": language,
        **({"licence": benchmark.licence} if benchmark.licence else {}),
        "data": data,
    }
    return json.dumps(document, ensure_ascii=False, separators=(",", ":")).encode()


def _contexts(
    contexts: tuple[str, ...], translator: Translator, cache: AnswerCache, monitor: Monitor
) -> dict[str, str]:
    """Contexts by their source; a context whose blanks do not survive is asked for with another placeholder."""
    translated: dict[str, str] = {}
    lacking = list(contexts)
    for placeholder in PLACEHOLDERS:
        asked = {context: context.replace(BLANK, placeholder) for context in lacking}
        if placeholder != BLANK:
            with monitor.stage(f"Translating with {placeholder} as the blank", "contexts") as progress:
                answer_all(translator, asked.values(), cache, progress=progress)
        for context, text in asked.items():
            answer = cache[text].strip() or text
            restored = _restored(answer, placeholder)
            if restored.count(BLANK) == context.count(BLANK):
                translated[context] = restored
            elif placeholder == BLANK:
                translated[context] = answer  # what the translator makes of the word itself shows the leak
        lacking = [context for context in lacking if translated[context].count(BLANK) != context.count(BLANK)]
        if not lacking:
            break
    return translated


def _restored(answer: str, placeholder: str) -> str:
    """An answer with its placeholder as the blank, in whatever case it came back; a suffix on it stays."""
    after = r"(?!\w)" if placeholder == BLANK else ""  # German *blankste* is a word, not a blank
    return re.sub(rf"(?<!\w){re.escape(placeholder)}{after}", BLANK, answer, flags=re.IGNORECASE)


def _translatable(item: Association, candidate: Candidate) -> str:
    """What is translated of a candidate: its word, or its whole sentence."""
    if item.task is Task.INTERSENTENCE:
        return candidate.text
    return candidate.word or fill_of(item, candidate) or candidate.text


def _row(item: Association, answers: Mapping[str, str]) -> dict[str, Any]:
    context = answers[item.context]
    return {
        "id": item.id,
        "target": answers[item.target],
        "target_original": item.cluster,
        "bias_type": item.bias_type,
        "context": context,
        "sentences": [_candidate(item, candidate, context, answers) for candidate in item.candidates],
    }


def _candidate(
    item: Association, candidate: Candidate, context: str, answers: Mapping[str, str]
) -> dict[str, Any]:
    answer = answers[_translatable(item, candidate)]
    row: dict[str, Any] = {
        "id": candidate.id,
        "sentence": answer,
        "gold_label": candidate.label.value,
        "labels": [],
    }
    if item.task is Task.INTRASENTENCE and _translatable(item, candidate) != candidate.text:
        row |= {"sentence": context.replace(BLANK, answer), "word": answer}
    return row
