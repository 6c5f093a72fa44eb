"""Answers of translators: asked for in batches, checked, and kept, so that nothing is asked or paid for twice."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, field
from pathlib import Path

from evenhand.core.errors import TranslationError
from evenhand.core.files import cannot_write, home, sha256_of
from evenhand.core.progress import Progress, no_progress
from evenhand.translation.translators import LanguagePair, RefusedText, Translator, is_batch_bound

MANY_REFUSED = 20
"""Refused texts after which a translator is given up that refuses most of them."""


class AnswerCache:
    """The answers of one translator with one choice of settings, by text.

    One line of JSON per answer, added as they come. A line that a killed process left half-written is passed over. Of
    a translator whose answers depend on the other texts of a batch, one line per batch: a batch is known as a whole or
    not at all, so that a translation is the same however often it was stopped.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._answers: dict[str, str] = {}
        self._batches: dict[str, dict[str, str]] = {}
        self._given: dict[str, str] = {}
        try:
            lines = path.read_bytes().splitlines() if path.exists() else []
        except OSError as problem:
            raise TranslationError(f"{path} cannot be read: {problem.strerror or problem}.") from None
        for line in lines:
            try:
                entry = json.loads(line)
                if isinstance(entry, dict):
                    self._batches[entry["batch"]] = dict(entry["answers"])
                    self._answers |= self._batches[entry["batch"]]
                    continue
                text, answer = entry
            except (ValueError, TypeError, KeyError):
                continue
            self._answers[text] = answer

    @classmethod
    def of(cls, name: str, settings: Mapping[str, str], languages: LanguagePair) -> AnswerCache:
        """The answers of a translator, kept below ``home()``."""
        kind = name.partition(":")[0]
        key = json.dumps([kind, languages.source, languages.target, sorted(settings.items())])
        return cls(home() / "translations" / f"{kind}-{sha256_of(key.encode())[:16]}.jsonl")

    def __contains__(self, text: object) -> bool:
        return text in self._answers or (isinstance(text, str) and text.strip() in self._given)

    def __getitem__(self, text: str) -> str:
        return self._given.get(text.strip()) or self._answers[text]

    def prefer(self, given: Mapping[str, str]) -> None:
        """Take translations that people gave, in the place of any answers; they are not written.

        Args:
            given: By text, without white space around it, as tables have it.
        """
        self._given |= given

    def put(self, answers: Mapping[str, str]) -> None:
        """Keep answers.

        Raises:
            OutputError: If they cannot be written.
        """
        self._answers |= answers
        self._write("".join(json.dumps(pair, ensure_ascii=False) + "\n" for pair in answers.items()))

    def put_batch(self, texts: Sequence[str], answers: Mapping[str, str]) -> None:
        """Keep the answers to a batch as a whole.

        Raises:
            OutputError: If they cannot be written.
        """
        key = _batch_key(texts)
        self._batches[key] = dict(answers)
        self._write(json.dumps({"batch": key, "answers": dict(answers)}, ensure_ascii=False) + "\n")

    def use_batch(self, texts: Sequence[str]) -> bool:
        """Answer with what was said to this very batch; whether it is known."""
        known = self._batches.get(_batch_key(texts))
        if known is not None:
            self._answers |= known
        return known is not None

    def _write(self, lines: str) -> None:
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            with self.path.open("ab") as stream:
                # What a killed process left half-written must not swallow the next line.
                stream.write(b"\n" + lines.encode() if stream.tell() else lines.encode())
                stream.flush()
                os.fsync(stream.fileno())
        except OSError as problem:
            raise cannot_write(self.path, problem) from None


def _batch_key(texts: Sequence[str]) -> str:
    return sha256_of(json.dumps(list(texts)).encode())


def unanswered(texts: Iterable[str], cache: AnswerCache) -> list[str]:
    """The texts that still have to be asked for, each once."""
    return [text for text in dict.fromkeys(texts) if text not in cache]


@dataclass(slots=True)
class _Tally:
    """What was asked for and what was refused so far."""

    answered: int = 0
    refused: dict[str, str] = field(default_factory=dict)

    def add(self, answers: Mapping[str, str | RefusedText]) -> None:
        for text, answer in answers.items():
            if isinstance(answer, RefusedText):
                self.refused[text] = answer.reason
            else:
                self.answered += 1

    def refuse_most(self) -> None:
        """Give a translator up that refuses most texts.

        Raises:
            TranslationError: If it does.
        """
        if len(self.refused) >= MANY_REFUSED and len(self.refused) > self.answered:
            reason = list(self.refused.values())[-1]
            raise TranslationError(
                f"The translator refuses most texts, {len(self.refused):,} of {len(self.refused) + self.answered:,} so "
                f"far, the last because {reason}. Use another one; what was translated before is kept."
            )


def answer_all(
    translator: Translator, texts: Iterable[str], cache: AnswerCache, *, progress: Progress = no_progress
) -> dict[str, str]:
    """Ask for all texts that the cache lacks; answers are kept as they come, also when a later one fails.

    Returns:
        The texts that the translator refuses, with its reasons. They have no answer.

    Raises:
        TranslationError: If the translator fails, refuses most texts, or does not give an answer for each text.
        OutputError: If the answers cannot be kept.
    """
    is_bound = is_batch_bound(translator)
    wanted = list(dict.fromkeys(texts)) if is_bound else unanswered(texts, cache)
    size = translator.batch_size
    batches = [wanted[start : start + size] for start in range(0, len(wanted), size)]
    if is_bound:
        batches = [batch for batch in batches if not cache.use_batch(batch)]
    total, done, tally = sum(map(len, batches)), 0, _Tally()
    with ThreadPoolExecutor(max_workers=translator.concurrency) as pool:
        for start in range(0, len(batches), translator.concurrency):
            group = batches[start : start + translator.concurrency]
            futures = [pool.submit(_answers, translator, batch) for batch in group]
            try:
                wait(futures)
            finally:
                # After Ctrl-C as well: what is under way is paid for.
                wait(futures)
                for batch, future in zip(group, futures, strict=True):
                    _keep(batch, future, cache, is_bound=is_bound)
            for future in futures:
                tally.add(future.result())
            tally.refuse_most()
            done += sum(map(len, group))
            progress(done, total)
    return tally.refused


def _keep(
    batch: Sequence[str], future: Future[dict[str, str | RefusedText]], cache: AnswerCache, *, is_bound: bool
) -> None:
    if future.exception() is not None:
        return
    answered = {text: answer for text, answer in future.result().items() if isinstance(answer, str)}
    if is_bound:
        cache.put_batch(batch, answered)
        cache.use_batch(batch)
    elif answered:
        cache.put(answered)


def _answers(translator: Translator, texts: Sequence[str]) -> dict[str, str | RefusedText]:
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
