"""The lab's tokenizers: the same in every process, at home in the whole language, fair to both words of a pair."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from functools import cache
from typing import Any

import pytest
from lab_language import LANGUAGES, probabilities

from evenhand.core.items import BLANK, Label, Task
from evenhand.lab.items import lab_benchmark
from evenhand.lab.tokenizers import bert_tokenizer, gpt2_tokenizer, t5_tokenizer
from evenhand.models.backends.lab import embedded_folder

MAKERS: dict[str, Callable[[str], Any]] = {
    "WordPiece": bert_tokenizer,
    "byte-level": gpt2_tokenizer,
    "Unigram": t5_tokenizer,
}

kinds = pytest.mark.parametrize("kind", MAKERS)
both_languages = pytest.mark.parametrize("tag", LANGUAGES)


@cache
def tokenizer(kind: str, tag: str) -> Any:
    return MAKERS[kind](tag)


def in_full(made: Any) -> Any:
    """All that decides how a tokenizer splits: pieces, merges, scores."""
    return json.loads(made.backend_tokenizer.to_str())


def test_another_process_makes_the_same_tokenizers() -> None:
    program = (
        "import json, sys; from evenhand.lab import tokenizers as made; "
        "makers = (made.bert_tokenizer, made.gpt2_tokenizer, made.t5_tokenizer); "
        "json.dump([json.loads(make(tag).backend_tokenizer.to_str()) for make in makers for tag in ('en', 'de')], "
        "sys.stdout)"
    )
    done = subprocess.run(
        [sys.executable, "-c", program],
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, "PYTHONHASHSEED": "12345"},
    )

    assert json.loads(done.stdout) == [in_full(make(tag)) for make in MAKERS.values() for tag in ("en", "de")]


@pytest.mark.parametrize(
    ("kind", "model"),
    [("WordPiece", "masked"), ("byte-level", "decoder"), ("Unigram", "encoder-decoder")],
)
def test_embedded_models_split_words_as_models_built_today(kind: str, model: str) -> None:
    shipped = json.loads((embedded_folder(f"lab:{model}") / "tokenizer.json").read_text(encoding="utf-8"))

    assert shipped["model"] == in_full(tokenizer(kind, "en"))["model"]


@kinds
@both_languages
def test_no_word_of_the_language_is_unknown(kind: str, tag: str) -> None:
    made = tokenizer(kind, tag)
    texts = [" ".join(document) for document in probabilities(tag, 0.0)]
    used = {token for ids in made(texts)["input_ids"] for token in ids}

    if (
        made.unk_token_id != made.eos_token_id
    ):  # byte-level: there are no unknown words, one token does for all
        assert made.unk_token_id not in used
    assert len(used) > 200


@kinds
@both_languages
def test_texts_come_back_from_their_tokens(kind: str, tag: str) -> None:
    made = tokenizer(kind, tag)
    texts = [" ".join(document) for document in list(probabilities(tag, 0.0))[::97]]
    back = [made.decode(ids, skip_special_tokens=True) for ids in made(texts)["input_ids"]]

    lowered = [text.lower() for text in texts] if kind == "WordPiece" else texts
    assert [text.replace(" ", "") for text in back] == [text.replace(" ", "") for text in lowered]


@kinds
@both_languages
def test_a_quarter_of_the_items_has_a_candidate_of_several_tokens(kind: str, tag: str) -> None:
    items = lab_benchmark(tag).of_task(Task.INTRASENTENCE)
    several = [
        item
        for item in items
        if any(
            tokens_of_fill(kind, tag, item.context, candidate.text) > 1
            for candidate in item.candidates
            if candidate.label is not Label.UNRELATED
        )
    ]

    assert len(items) / 4 <= len(several) < len(items)


@pytest.mark.parametrize("kind", ["WordPiece"])
@both_languages
@pytest.mark.parametrize("task", Task)
def test_stereotype_and_anti_stereotype_have_as_many_tokens(kind: str, tag: str, task: Task) -> None:
    made = tokenizer(kind, tag)
    counts = {
        item.id: [
            len(made(item.candidate(label).text)["input_ids"])
            for label in (Label.STEREOTYPE, Label.ANTI_STEREOTYPE)
        ]
        for item in lab_benchmark(tag).of_task(task)
    }

    assert {item: pair for item, pair in counts.items() if pair[0] != pair[1]} == {}


def tokens_of_fill(kind: str, tag: str, context: str, text: str) -> int:
    """Tokens that touch what stands in the blank."""
    before, after = context.split(BLANK)
    encoded = tokenizer(kind, tag)(text, return_offsets_mapping=True)
    start, end = len(before), len(text) - len(after)
    return sum(first < end and last > start and last > first for first, last in encoded["offset_mapping"])
