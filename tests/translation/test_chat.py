"""A chat model is asked at temperature 0 for JSON, and what it answers otherwise is not taken."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from translation_servers import FakeService, chat_answer, chat_message, serving

from evenhand.core.errors import TranslationError
from evenhand.translation.translators import LanguagePair
from evenhand.translation.translators.chat import CHAT, ChatTranslator


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


@pytest.mark.parametrize(
    "fault",
    [
        chat_message({"1": "only one"}),
        chat_message(["a", "b"]),
        chat_message({"1": "a", "2": ""}),
        (200, {"choices": [{"message": {"content": "Sure! Here are your translations:"}}]}),
    ],
)
def test_an_answer_that_is_not_whole_is_asked_for_again_in_halves(
    service: FakeService, fault: tuple[int, dict[str, object]]
) -> None:
    service.faults.append(fault)

    assert opened().translate(["ab", "cd"]) == ["ba", "dc"]
    assert len(service.requests) == 3


def test_a_text_that_the_model_does_not_translate_is_named(service: FakeService) -> None:
    service.faults.append(chat_message({}))

    with pytest.raises(TranslationError, match=r"small gives no translation of 'ab': .* other texts"):
        opened().translate(["ab"])


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
