"""Answers of translators: asked for in batches, checked, and kept, so that nothing is asked or paid for twice."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from pathlib import Path

from evenhand.core.errors import TranslationError
from evenhand.core.files import cannot_write, home, sha256_of
from evenhand.core.progress import Progress, no_progress
from evenhand.translation.translators import LanguagePair, Translator


class AnswerCache:
    """The answers of one translator with one choice of settings, by text.

    One line of JSON per answer, added as they come. A line that a killed process left half-written is passed over.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._answers: dict[str, str] = {}
        try:
            lines = path.read_bytes().splitlines() if path.exists() else []
        except OSError as problem:
            raise TranslationError(f"{path} cannot be read: {problem.strerror or problem}.") from None
        for line in lines:
            try:
                text, answer = json.loads(line)
            except (ValueError, TypeError):
                continue
            self._answers[text] = answer

    @classmethod
    def of(cls, name: str, settings: Mapping[str, str], languages: LanguagePair) -> AnswerCache:
        """The answers of a translator, kept below ``home()``."""
        kind = name.partition(":")[0]
        key = json.dumps([kind, languages.source, languages.target, sorted(settings.items())])
        return cls(home() / "translations" / f"{kind}-{sha256_of(key.encode())[:16]}.jsonl")

    def __contains__(self, text: object) -> bool:
        return text in self._answers

    def __getitem__(self, text: str) -> str:
        return self._answers[text]

    def put(self, answers: Mapping[str, str]) -> None:
        """Keep answers.

        Raises:
            OutputError: If they cannot be written.
        """
        self._answers.update(answers)
        lines = "".join(json.dumps(pair, ensure_ascii=False) + "\n" for pair in answers.items())
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            with self.path.open("ab") as stream:
                # What a killed process left half-written must not swallow the next line.
                stream.write(b"\n" + lines.encode() if stream.tell() else lines.encode())
                stream.flush()
                os.fsync(stream.fileno())
        except OSError as problem:
            raise cannot_write(self.path, problem) from None


def unanswered(texts: Iterable[str], cache: AnswerCache) -> list[str]:
    """The texts that still have to be asked for, each once."""
    return [text for text in dict.fromkeys(texts) if text not in cache]


def answer_all(
    translator: Translator, texts: Iterable[str], cache: AnswerCache, *, progress: Progress = no_progress
) -> None:
    """Ask for all texts that the cache lacks; answers are kept as they come, also when a later one fails.

    Raises:
        TranslationError: If the translator fails, or does not give an answer for each text.
        OutputError: If the answers cannot be kept.
    """
    open_texts = unanswered(texts, cache)
    size = translator.batch_size
    batches = [open_texts[start : start + size] for start in range(0, len(open_texts), size)]
    done = 0
    with ThreadPoolExecutor(max_workers=translator.concurrency) as pool:
        for start in range(0, len(batches), translator.concurrency):
            group = batches[start : start + translator.concurrency]
            futures = [pool.submit(_answers, translator, batch) for batch in group]
            try:
                wait(futures)
            finally:
                # After Ctrl-C as well: what is under way is paid for.
                wait(futures)
                _keep(futures, cache)
            for future in futures:
                future.result()
            done += sum(map(len, group))
            progress(done, len(open_texts))


def _keep(futures: Iterable[Future[dict[str, str]]], cache: AnswerCache) -> None:
    answered: dict[str, str] = {}
    for future in futures:
        if future.exception() is None:
            answered |= future.result()
    if answered:
        cache.put(answered)


def _answers(translator: Translator, texts: Sequence[str]) -> dict[str, str]:
    answers = translator.translate(texts)
    if len(answers) != len(texts) and len(texts) > 1:
        # Which text an answer belongs to cannot be told any more.
        answers = [answer for text in texts for answer in _answers(translator, [text]).values()]
    if len(answers) != len(texts):
        raise TranslationError(
            f"The translator gave {len(answers)} answers for the text {texts[0][:80]!r}. Use another one, or translate "
            "the text by hand."
        )
    return dict(zip(texts, answers, strict=True))
