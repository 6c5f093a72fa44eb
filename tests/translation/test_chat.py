"""A chat model is asked at temperature 0 for JSON, and what it answers otherwise is not taken."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from typing import Any

import pytest
from translation_servers import FakeService, chat_answer, chat_message, serving, spell_backwards

from evenhand.core.errors import TranslationError
from evenhand.translation.translators import LanguagePair, RefusedText
from evenhand.translation.translators.chat import CHAT, ChatTranslator, is_out_of_order


@pytest.fixture
def service(monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeService]:
    with serving(FakeService(chat_answer)) as service:
        monkeypatch.setenv("EVENHAND_API_BASE", service.address)
        yield service


def opened() -> ChatTranslator:
    return CHAT.open("small", LanguagePair("en", "de"))


def test_texts_come_back_in_their_order_whatever_the_order_of_the_answer(service: FakeService) -> None:
    assert opened().translate(["ab", "cd BLANK", "ef"]) == ["ba", "dc BLANK", "fe"]

    (_, request) = service.requests[0]
    assert request["temperature"] == 0
    assert request["model"] == "small"
    assert "from English into German" in request["messages"][0]["content"]


def fenced(texts: dict[str, str]) -> tuple[int, dict[str, object]]:
    content = json.dumps({"translations": {key: spell_backwards(text) for key, text in texts.items()}})
    return 200, {"choices": [{"message": {"content": f"Here you are:\n```json\n{content}\n```"}}]}


@pytest.mark.parametrize(
    "fault",
    [
        chat_message({"1": "only one"}),
        chat_message(["a", "b"]),
        (200, {"choices": [{"message": {"content": "Sure! Here are your translations:"}}]}),
    ],
)
def test_an_answer_that_is_not_whole_is_asked_for_again_in_halves(
    service: FakeService, fault: tuple[int, dict[str, object]]
) -> None:
    service.faults.append(fault)

    assert opened().translate(["ab", "cd"]) == ["ba", "dc"]
    assert len(service.requests) == 3


def test_texts_are_known_by_digests_which_a_model_can_only_repeat(service: FakeService) -> None:
    opened().translate(["ab", "cd", "ab"])

    (_, request) = service.requests[0]
    keys = list(json.loads(request["messages"][1]["content"]))
    assert keys[:2] == [hashlib.sha256(text.encode()).hexdigest()[:6] for text in ("ab", "cd")]
    assert len(set(keys)) == 3


def test_json_in_a_code_block_is_read(service: FakeService) -> None:
    service.answer = lambda _, request: fenced(json.loads(request["messages"][1]["content"]))

    assert opened().translate(["ab", "cd"]) == ["ba", "dc"]


def test_a_text_that_the_model_does_not_translate_is_told_and_the_others_are_kept(
    service: FakeService,
) -> None:
    def choosy(_: str, request: dict[str, Any]) -> tuple[int, dict[str, object]]:
        texts = json.loads(request["messages"][1]["content"])
        return chat_message({key: spell_backwards(text) for key, text in texts.items() if text != "bad"})

    service.answer = choosy

    first, second, third = opened().translate(["ab", "bad", "cd"])

    assert (first, third) == ("ba", "dc")
    assert second == RefusedText(
        "small gives no translation: its answer has other texts than those that were asked for"
    )


def test_translations_under_the_keys_of_other_texts_are_not_taken(service: FakeService) -> None:
    texts = [
        "a",
        "a rather long sentence about bread",
        "two words",
        "and quite another sentence, longer still",
    ]

    def shifted(_: str, request: dict[str, Any]) -> tuple[int, dict[str, object]]:
        given = json.loads(request["messages"][1]["content"])
        answers = [spell_backwards(text) for text in given.values()]
        return chat_message(dict(zip(given, [*answers[1:], answers[0]], strict=True)))

    service.answer = shifted

    assert opened().translate(texts) == [spell_backwards(text) for text in texts], "each was asked for alone"


@pytest.mark.parametrize(
    ("texts", "answers", "is_out"),
    [
        (["bread", "The baker likes bread."], ["pan", "Al panadero le gusta el pan."], False),
        (["bread", "The baker likes bread."], ["Al panadero le gusta el pan.", "pan"], True),
        (["bread", "wine", "milk"], ["vino", "pan", "leche"], False),  # nothing shows it
        (["It is BLANK.", "It is red."], ["Es rojo.", "Es BLANK."], True),
        (["It is BLANK.", "It is red."], ["Es.", "Es rojo."], False),  # lost, not exchanged
        (["one"], ["a very long answer to a short text"], False),
    ],
)
def test_an_exchange_shows_by_blanks_and_lengths(texts: list[str], answers: list[str], is_out: bool) -> None:
    assert is_out_of_order(texts, answers) is is_out


def test_a_model_must_be_named() -> None:
    with pytest.raises(TranslationError, match="api:NAME"):
        CHAT.open("", LanguagePair("en", "de"))


def test_the_cost_is_that_of_the_prices_in_the_environment(
    service: FakeService, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert opened().cost.usd_per_million_characters is None
    monkeypatch.setenv("EVENHAND_API_INPUT_PRICE", "2")
    monkeypatch.setenv("EVENHAND_API_OUTPUT_PRICE", "6")

    assert opened().cost.usd_per_million_characters == 2
    assert not service.requests
