"""Amazon Translate is asked text by text, with BLANK as a term, and again after a pause where that can help."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from translation_servers import FakeService, amazon_fault, serving_amazon

from evenhand.core.errors import TranslationError
from evenhand.translation.translators import LanguagePair, RefusedText
from evenhand.translation.translators.amazon import AMAZON, AmazonTranslator

ConnectionClosedError = pytest.importorskip("botocore.exceptions").ConnectionClosedError


@pytest.fixture
def service(monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeService]:
    with serving_amazon(monkeypatch) as service:
        yield service


@pytest.fixture
def pauses(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    taken: list[float] = []
    monkeypatch.setattr("time.sleep", taken.append)
    return taken


def opened(pauses: list[float], target: str = "de") -> AmazonTranslator:
    translator = AMAZON.open("", LanguagePair("en", target))
    return AmazonTranslator(translator._client, translator.languages, sleep=pauses.append)


def test_texts_are_translated_with_the_blank_as_a_term(service: FakeService, pauses: list[float]) -> None:
    assert opened(pauses).translate(["ab BLANK."]) == ["ba BLANK."]

    (terms,) = service.asked("ImportTerminology")
    assert terms["TerminologyData"]["Format"] == "CSV"
    (request,) = service.asked("TranslateText")
    assert request["TerminologyNames"] == ["evenhand-blank-en-de"]
    assert (request["SourceLanguageCode"], request["TargetLanguageCode"]) == ("en", "de")


def test_throttling_and_faults_are_waited_out_with_longer_pauses(
    service: FakeService, pauses: list[float]
) -> None:
    translator = opened(pauses)
    translator.translate(["first"])
    service.faults += [
        (400, amazon_fault("ThrottlingException", "slow down")),
        (429, amazon_fault("TooManyRequestsException")),
        (500, amazon_fault("InternalServerException")),
    ]

    assert translator.translate(["abc"]) == ["cba"]
    assert len(pauses) == 3
    assert pauses[0] <= 0.5 < pauses[2] <= 2


def test_endless_throttling_ends(service: FakeService, pauses: list[float]) -> None:
    service.faults += [(400, amazon_fault("ThrottlingException"))] * 20

    with pytest.raises(TranslationError, match=r"failed 8 times.*ThrottlingException.*goes on from here"):
        opened(pauses).translate(["abc"])


def test_a_server_that_is_gone_is_told_in_one_sentence(
    service: FakeService, pauses: list[float], monkeypatch: pytest.MonkeyPatch
) -> None:
    translator = opened(pauses)
    gone = ConnectionClosedError(endpoint_url=service.address)

    def fail(**_: object) -> None:
        raise gone

    monkeypatch.setattr(translator._client, "import_terminology", fail)

    with pytest.raises(
        TranslationError, match=r"Connection was closed .*[^.]\. What was translated before is kept"
    ):
        translator.translate(["abc"])


def test_terminology_that_is_refused_is_done_without_and_said(
    service: FakeService, pauses: list[float]
) -> None:
    service.faults.append((400, amazon_fault("InvalidParameterValueException", "no terminology")))
    translator = opened(pauses)
    before = dict(translator.settings)

    (warning,) = translator.prepare()

    assert (
        "refuses the terminology that protects BLANK (InvalidParameterValueException: no terminology)"
        in warning
    )
    assert translator.prepare() == (), "once is enough"
    assert before["terminology"] == "BLANK"
    assert translator.settings["terminology"] == "none (refused)", "answers made without it are kept apart"
    assert translator.translate(["abc"]) == ["cba"]
    assert service.asked("TranslateText")[0]["TerminologyNames"] == []


@pytest.mark.parametrize("answer", [{"foo": 1}, {"TranslatedText": None}])
def test_an_answer_without_a_text_is_an_error(
    service: FakeService, pauses: list[float], answer: dict[str, object]
) -> None:
    translator = opened(pauses)
    translator.prepare()
    service.faults.append((200, answer))

    with pytest.raises(TranslationError, match="gave an answer without a text for 'abc'"):
        translator.translate(["abc"])


def test_a_text_that_the_service_refuses_does_not_end_the_rest(
    service: FakeService, pauses: list[float]
) -> None:
    translator = opened(pauses)
    translator.prepare()
    service.faults.append((400, amazon_fault("InvalidRequestException", "not this one")))

    refused, answered = translator.translate(["rude", "abc"])

    assert refused == RefusedText("Amazon Translate refuses it (InvalidRequestException: not this one)")
    assert answered == "cba"


@pytest.mark.parametrize(
    ("code", "message"),
    [
        ("LimitExceededException", "quota of Amazon Translate is used up"),
        ("UnrecognizedClientException", "refuses the credentials"),
    ],
)
def test_a_refusal_says_what_to_do(
    service: FakeService, pauses: list[float], code: str, message: str
) -> None:
    translator = opened(pauses)
    translator.translate(["first"])
    service.faults.append((400, amazon_fault(code, "no")))

    with pytest.raises(TranslationError, match=message):
        translator.translate(["abc"])
    assert not pauses


def test_a_language_that_the_service_lacks_is_named(service: FakeService, pauses: list[float]) -> None:
    with pytest.raises(TranslationError, match="does not translate 'en' into 'xx'"):
        opened(pauses, "xx").translate(["abc"])
    assert service.requests


def test_missing_credentials_are_named(
    monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory
) -> None:
    empty = tmp_path_factory.mktemp("aws") / "none"
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_PROFILE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", str(empty))
    monkeypatch.setenv("AWS_CONFIG_FILE", str(empty))
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")

    with pytest.raises(TranslationError, match="needs credentials, and none are set"):
        AMAZON.open("", LanguagePair("en", "de")).translate(["abc"])


def test_a_text_that_is_too_long_is_translated_in_pieces(service: FakeService, pauses: list[float]) -> None:
    sentence = "abc def."
    text = " ".join([sentence] * 1_500)

    answer = opened(pauses).translate([text])

    assert answer == [" ".join(["cba .fed"] * 1_500)]
    assert all(len(request["Text"]) <= 10_000 for request in service.asked("TranslateText"))
