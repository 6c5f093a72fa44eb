"""Nothing is asked or paid for twice, and an answer that does not fit its text is not kept."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from concurrent.futures import Future, wait
from pathlib import Path

import pytest

from evenhand.core.errors import TranslationError
from evenhand.translation.answers import AnswerCache, answer_all
from evenhand.translation.translators import FREE, LanguagePair, RefusedText


class Recorder:
    """Translates by capital letters, and keeps what it was asked."""

    concurrency = 2
    settings: Mapping[str, str] = {"model": "capitals"}
    cost = FREE

    def __init__(self, *, batch_size: int = 2, fails_at: str | None = None, drops: bool = False) -> None:
        self.batch_size = batch_size
        self.asked: list[str] = []
        self._fails_at = fails_at
        self._drops = drops

    def translate(self, texts: Sequence[str]) -> Sequence[str | RefusedText]:
        if self._fails_at in texts:
            raise TranslationError("quota")
        self.asked += texts
        answers = [text.upper() for text in texts]
        return answers[1:] if self._drops and len(answers) > 1 else answers


def test_a_text_is_asked_for_once_however_often_it_occurs(tmp_path: Path) -> None:
    translator = Recorder()
    cache = AnswerCache(tmp_path / "answers.jsonl")

    answer_all(translator, ["a", "b", "a", "c", "b"], cache)

    assert sorted(translator.asked) == ["a", "b", "c"]
    assert [cache[text] for text in "abc"] == ["A", "B", "C"]


def test_what_was_answered_before_a_failure_is_kept_and_not_asked_for_again(tmp_path: Path) -> None:
    texts = ["a", "b", "c", "d", "e", "f", "g"]
    with pytest.raises(TranslationError, match="quota"):
        answer_all(Recorder(batch_size=1, fails_at="f"), texts, AnswerCache(tmp_path / "answers.jsonl"))

    translator = Recorder(batch_size=1)
    answer_all(translator, texts, AnswerCache(tmp_path / "answers.jsonl"))

    assert translator.asked == ["f", "g"]


def test_what_is_under_way_when_somebody_stops_it_is_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls: list[object] = []

    def interrupted(futures: Iterable[Future[dict[str, str]]]) -> None:
        calls.append(futures)
        if len(calls) == 1:
            raise KeyboardInterrupt
        wait(futures)

    monkeypatch.setattr("evenhand.translation.answers.wait", interrupted)
    cache = AnswerCache(tmp_path / "answers.jsonl")
    with pytest.raises(KeyboardInterrupt):
        answer_all(Recorder(batch_size=1), ["a", "b", "c"], cache)

    assert "a" in cache
    assert "b" in cache
    assert "c" not in cache


def test_a_line_that_was_left_half_written_is_passed_over(tmp_path: Path) -> None:
    path = tmp_path / "answers.jsonl"
    AnswerCache(path).put({"a": "A", "b": "B"})
    path.write_bytes(path.read_bytes()[:-4])

    cache = AnswerCache(path)
    cache.put({"c": "C"})

    again = AnswerCache(path)
    assert "a" in again
    assert "b" not in again
    assert again["c"] == "C"


def test_a_translator_that_drops_texts_of_a_batch_is_asked_one_by_one(tmp_path: Path) -> None:
    cache = AnswerCache(tmp_path / "answers.jsonl")

    answer_all(Recorder(batch_size=3, drops=True), ["a", "b", "c"], cache)

    assert [cache[text] for text in "abc"] == ["A", "B", "C"]


def test_a_translator_that_gives_no_answer_at_all_is_refused(tmp_path: Path) -> None:
    class Silent(Recorder):
        def translate(self, texts: Sequence[str]) -> list[str]:  # noqa: ARG002
            return []

    with pytest.raises(TranslationError, match="0 answers for the text 'a'"):
        answer_all(Silent(), ["a"], AnswerCache(tmp_path / "answers.jsonl"))


def test_other_settings_and_languages_have_answers_of_their_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("EVENHAND_HOME", str(tmp_path))
    english = LanguagePair("en", "de")

    paths = {
        AnswerCache.of("marian:a", {"model": "a"}, english).path,
        AnswerCache.of("marian:b", {"model": "b"}, english).path,
        AnswerCache.of("marian:a", {"model": "a"}, LanguagePair("en", "fr")).path,
    }

    assert len(paths) == 3
    assert AnswerCache.of("marian:a", {"model": "a"}, english).path in paths


class Choosy(Recorder):
    """Refuses some texts."""

    def __init__(self, refused: Collection[str], *, batch_size: int = 2) -> None:
        super().__init__(batch_size=batch_size)
        self._refused = refused

    def translate(self, texts: Sequence[str]) -> list[str | RefusedText]:
        self.asked += texts
        return [RefusedText("it is rude") if text in self._refused else text.upper() for text in texts]


def test_a_refused_text_is_told_and_the_others_are_kept(tmp_path: Path) -> None:
    cache = AnswerCache(tmp_path / "answers.jsonl")

    refused = answer_all(Choosy({"b"}), ["a", "b", "c"], cache)

    assert refused == {"b": "it is rude"}
    assert (cache["a"], cache["c"]) == ("A", "C")
    assert "b" not in cache


def test_a_translator_that_refuses_most_texts_is_given_up(tmp_path: Path) -> None:
    texts = [str(number) for number in range(100)]
    translator = Choosy(texts[:60], batch_size=1)

    with pytest.raises(
        TranslationError, match=r"refuses most texts, 20 of 20 so far, the last because it is rude"
    ):
        answer_all(translator, texts, AnswerCache(tmp_path / "answers.jsonl"))
    assert len(translator.asked) == 20
    half = Choosy(texts[::2], batch_size=1)
    assert len(answer_all(half, texts, AnswerCache(tmp_path / "other.jsonl"))) == 50


def test_translations_of_people_go_before_those_of_a_translator(tmp_path: Path) -> None:
    cache = AnswerCache(tmp_path / "answers.jsonl")
    cache.put({"a": "A"})
    cache.prefer({"a": "person's a", "b": "person's b"})
    translator = Recorder()

    answer_all(translator, ["a", " b ", "c"], cache)

    assert translator.asked == ["c"]
    assert [cache[text] for text in ("a", " b ", "c")] == ["person's a", "person's b", "C"]
    assert "b" not in AnswerCache(tmp_path / "answers.jsonl"), "they are not the translator's"


class Forgetful(Recorder):
    """Answers with the first text of the batch too, as a translator with a state does."""

    batch_bound = True
    concurrency = 1

    def translate(self, texts: Sequence[str]) -> list[str]:
        if self._fails_at in texts:
            raise TranslationError("quota")
        self.asked += texts
        return [f"{texts[0]}+{text}" for text in texts]


def test_a_translator_with_a_state_gives_the_same_however_often_it_was_stopped(tmp_path: Path) -> None:
    texts = ["a", "b", "c", "d", "e"]
    whole = AnswerCache(tmp_path / "whole.jsonl")
    answer_all(Forgetful(), texts, whole)
    path = tmp_path / "stopped.jsonl"
    answer_all(Forgetful(), ["b", "d"], AnswerCache(path))  # another benchmark, with some of the texts
    with pytest.raises(TranslationError, match="quota"):
        answer_all(Forgetful(fails_at="c"), texts, AnswerCache(path))
    stopped = AnswerCache(path)
    again = Forgetful()
    answer_all(again, texts, stopped)

    expected = ["a+a", "a+b", "c+c", "c+d", "e+e"]
    assert [whole[text] for text in texts] == expected
    assert [stopped[text] for text in texts] == expected
    assert again.asked == ["c", "d", "e"], "a batch that was kept is not asked for again"
