"""Translate texts with their tags protected, and benchmarks into files in StereoSet's layout."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from string import ascii_lowercase
from typing import Any

from evenhand.core.counts import plural
from evenhand.core.items import BLANK, Association, Benchmark, Candidate, Task
from evenhand.core.progress import SILENT, Monitor
from evenhand.data.defects import fill_of
from evenhand.data.stereoset import stereoset_bytes
from evenhand.translation.answers import AnswerCache, answer_all
from evenhand.translation.translators import Translator

PLACEHOLDERS = ("Zxq", "QX7", "___")
"""What stands for a tag in what a translator sees, where the tag itself is translated, doubled or lost."""

BLANK_TAG = re.compile(BLANK)


@dataclass(frozen=True, slots=True)
class TranslatedFile:
    """A file in another language, and the texts that the translator refused, with its reasons; those stay."""

    content: bytes
    refused: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class AssociationSource:
    """A benchmark of association items; what is translated are contexts, targets, and candidate words or sentences."""

    benchmark: Benchmark
    suffix: str = ".json"
    translated: tuple[str, ...] = ()
    """The columns of a table that hold texts; none for a benchmark, whose layout says it."""
    tags: re.Pattern[str] = BLANK_TAG
    """What may not change in a text."""

    def original(self) -> bytes:
        """The benchmark in StereoSet's layout."""
        return stereoset_bytes(self.benchmark)

    @property
    def name(self) -> str:
        """The benchmark's."""
        return self.benchmark.name

    @property
    def language(self) -> str:
        """The benchmark's."""
        return self.benchmark.language

    @property
    def sha256(self) -> str:
        """The benchmark's."""
        return self.benchmark.sha256

    @property
    def licence(self) -> str | None:
        """The benchmark's."""
        return self.benchmark.licence

    def texts(self) -> list[str]:
        """Contexts with their blanks last."""
        contexts, others = _texts_of(self.benchmark)
        return [*others, *contexts]

    def tagged_texts(self) -> list[str]:
        """Contexts with their blanks."""
        return list(_texts_of(self.benchmark)[0])

    def translate(
        self, translator: Translator, cache: AnswerCache, *, language: str, monitor: Monitor = SILENT
    ) -> TranslatedFile:
        """The file in StereoSet's layout."""
        return _translated_file(self.benchmark, translator, cache, language=language, monitor=monitor)


def _texts_of(benchmark: Benchmark) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The contexts with blanks, and all other texts."""
    contexts: list[str] = []
    others: list[str] = []
    for item in benchmark:
        (contexts if BLANK in item.context else others).append(item.context)
        others.append(item.target)
        others += [_translatable(item, candidate) for candidate in item.candidates]
    return tuple(dict.fromkeys(contexts)), tuple(dict.fromkeys(others))


def _translated_file(
    benchmark: Benchmark, translator: Translator, cache: AnswerCache, *, language: str, monitor: Monitor
) -> TranslatedFile:
    blanks, others = _texts_of(benchmark)
    with monitor.stage("Translating", "texts") as progress:
        refused = answer_all(translator, (*others, *blanks), cache, progress=progress)
    contexts = translate_tagged(blanks, BLANK_TAG, translator, cache, refused=refused, monitor=monitor)
    answers = {text: answer_of(text, cache) for text in others} | contexts
    lost = sum(context.count(BLANK) != source.count(BLANK) for source, context in contexts.items())
    if lost:
        monitor.warn(
            f"{plural(lost, 'context lost its blank or has', 'contexts lost their blank or have')} more than one. "
            "evenhand data repair mends known leaks; the rest is for people."
        )
    warn_of_empty(answers, refused, cache, monitor=monitor)
    data = {task.value: [_row(item, answers) for item in benchmark.of_task(task)] for task in Task}
    document = {
        "version": "1.1",
        "language": language,
        **({"licence": benchmark.licence} if benchmark.licence else {}),
        "data": data,
    }
    return TranslatedFile(json.dumps(document, ensure_ascii=False, separators=(",", ":")).encode(), refused)


def answer_of(text: str, cache: AnswerCache) -> str:
    """What a translator made of a text; the text itself where it gave nothing."""
    return (cache[text].strip() if text in cache else "") or text


def warn_of_empty(
    answers: Mapping[str, str], refused: Mapping[str, str], cache: AnswerCache, *, monitor: Monitor
) -> None:
    """Say how many texts came back empty and are as they were in the source."""
    empty = sum(
        answer == text and text not in refused and not cache[text].strip() for text, answer in answers.items()
    )
    if empty:
        says = plural(empty, "text came back empty and stays", "texts came back empty and stay")
        monitor.warn(f"{says} as in the source.")


def translate_tagged(
    texts: Sequence[str],
    tags: re.Pattern[str],
    translator: Translator,
    cache: AnswerCache,
    *,
    refused: Mapping[str, str],
    monitor: Monitor = SILENT,
) -> dict[str, str]:
    """Translations of texts with tags that must survive, by text.

    A text whose tags do not survive is asked for again with placeholders in their stead. If none saves them, the
    translation is what the translator made of the text itself, which shows what became of the tag.

    Args:
        texts: What is translated; the cache has the answers to the texts themselves.
        tags: What may not change.
        translator: Who translates.
        cache: The translator's earlier answers; new ones are added.
        refused: Texts that the translator does not translate; they stay as they are.
        monitor: Told about the progress.
    """
    translated = {text: answer_of(text, cache) for text in texts}
    lacking = [text for text in texts if text not in refused and not _survives(text, translated, tags)]
    for placeholder in (None, *PLACEHOLDERS):
        asked = {text: with_placeholder(text, tags, placeholder) for text in lacking}
        if placeholder is not None and lacking:
            with monitor.stage(f"Translating with {placeholder} in the place of tags", "texts") as progress:
                answer_all(translator, [sent.text for sent in asked.values()], cache, progress=progress)
        for text, sent in asked.items():
            answer = cache[sent.text].strip() if sent.text in cache else ""
            restored = _restored(answer, sent.names)
            if keeps_tags(restored, text, tags):
                translated[text] = restored
        lacking = [text for text in lacking if not _survives(text, translated, tags)]
    return translated


def _survives(text: str, translated: Mapping[str, str], tags: re.Pattern[str]) -> bool:
    return keeps_tags(translated[text], text, tags)


@dataclass(frozen=True, slots=True)
class SentText:
    """A text as a translator sees it, and what stands in it for each tag."""

    text: str
    names: Mapping[str, str]


def with_placeholder(text: str, tags: re.Pattern[str], placeholder: str | None) -> SentText:
    """A text with a placeholder in the place of its tags; with the tags themselves if there is none."""
    names = _names(tags.findall(text), placeholder)
    return SentText(_renamed(text, names), names)


def keeps_tags(translation: str, text: str, tags: re.Pattern[str]) -> bool:
    """Whether a translation has each tag as often as its text."""
    return not differing_tags(translation, text, tags)


def differing_tags(translation: str, text: str, tags: re.Pattern[str]) -> list[str]:
    """The tags that a translation does not have as often as its text."""
    own, needed = Counter(tags.findall(translation)), Counter(tags.findall(text))
    return [tag for tag in (needed | own) if own[tag] != needed[tag]]


def _names(tags: Sequence[str], placeholder: str | None) -> dict[str, str]:
    """What stands for each tag of a text in what a translator sees: the tag itself, or a placeholder."""
    different = list(dict.fromkeys(tags))
    if placeholder is None:
        return {tag: tag for tag in different}
    if len(different) == 1:
        return {different[0]: placeholder}
    return {tag: f"{placeholder}{letter}" for tag, letter in zip(different, ascii_lowercase, strict=False)}


def _renamed(text: str, names: Mapping[str, str]) -> str:
    for tag, name in names.items():
        text = text.replace(tag, name)
    return text


def _restored(answer: str, names: Mapping[str, str]) -> str:
    """An answer with its tags again, in whatever case their names came back; a suffix on a placeholder stays."""
    for tag, name in names.items():
        # German *blankste* is a word, not a blank.
        after = r"(?!\w)" if name == tag and name[-1].isalnum() else ""
        answer = tag.join(re.split(rf"(?<!\w){re.escape(name)}{after}", answer, flags=re.IGNORECASE))
    return answer


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
