"""All requests in one call: mixed, with messages, counted in items, kept as they come."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from zoo_fixtures import Zoo

from evenhand.core.items import Span
from evenhand.models import Model, ModelError, ModelRef
from evenhand.models.embedding import WordEmbedder
from evenhand.models.language_model import LanguageModel, load_language_model
from evenhand.models.model import NO_CHAT_TEMPLATE
from evenhand.models.requests import (
    Answer,
    Continue,
    Embed,
    Fill,
    GenerationOptions,
    Messages,
    Part,
    Recover,
    Request,
    Write,
)
from evenhand.models.writing import TextWriter
from evenhand.store.jobs import Parts
from evenhand.testing import FakeModel

GREEDY = GenerationOptions(temperature=0, max_new_tokens=6)
SAMPLED = GenerationOptions(samples=2, max_new_tokens=6)
CHAT = (("system", "Be kind."), ("user", "Who came home?"))
TEMPLATE = (
    "{% for turn in messages %}{{ turn['role'] }}: {{ turn['content'] }}\n{% endfor %}"
    "{% if add_generation_prompt %}assistant:{% endif %}"
)
SHOWN = "system: Be kind.\nuser: Who came home?\nassistant:"
"""What the template makes of the chat, by hand."""


@pytest.fixture(scope="module")
def chatty(menagerie: Zoo, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Folders of models whose tokenizers have a template for messages."""
    return {
        name: with_template(menagerie, name, TEMPLATE, tmp_path_factory.mktemp(name))
        for name in ("gpt2", "llama", "t5")
    }


def with_template(menagerie: Zoo, name: str, template: str, folder: Path) -> Path:
    model = menagerie.model(name)
    network: Any = model.loaded.model
    network.save_pretrained(folder)
    tokenizer = model.tokenizer.__class__.from_pretrained(menagerie.folder(name))
    tokenizer.chat_template = template
    tokenizer.save_pretrained(folder)
    return folder


def load(folder: Path, **options: Any) -> LanguageModel:
    return load_language_model(ModelRef(id=str(folder), device="cpu", **options))


def some_requests(name: str) -> list[Request]:
    """One or two of each kind that a model of the zoo answers."""
    requests: list[Request] = [Embed("The nurse left.", Span(4, 9)), Embed("The nurse left.", Span(4, 9), 0)]
    if name == "bert":
        return [Fill("The BLANK left.", "nurse"), *requests, Recover("The cook left.")]
    written = [Write("The nurse", GREEDY), Write("The nurse", SAMPLED), Write("The cook", SAMPLED, 1)]
    scored = Fill("The BLANK left.", "nurse") if name == "t5" else Continue("The nurse", "left.")
    return [written[0], scored, *requests, *written[1:]]


def require_equal(found: Iterable[Answer], wanted: Iterable[Answer]) -> None:
    for one, other in zip(found, wanted, strict=True):
        assert one.problem is None
        assert one.log_probs == pytest.approx(other.log_probs, rel=2e-5)
        assert one.texts == other.texts
        if other.vector is None:
            assert one.vector is None
        else:
            np.testing.assert_allclose(one.vector, other.vector, rtol=1e-4, atol=2e-5)  # type: ignore[arg-type]


@pytest.mark.parametrize("name", ["bert", "gpt2", "t5"])
def test_requests_of_all_kinds_are_answered_together_as_each_alone(menagerie: Zoo, name: str) -> None:
    model, requests = menagerie.model(name), some_requests(name)

    together = model.answer([*requests, *requests[::-1]])

    alone = [model.answer([request])[0] for request in requests]
    require_equal(together, [*alone, *alone[::-1]])
    for request, answer in zip(requests, together, strict=False):
        assert bool(answer.log_probs) == (not isinstance(request, Embed | Write))
        assert (answer.vector is not None) == isinstance(request, Embed)
        assert len(answer.texts) == (request.decoding.samples if isinstance(request, Write) else 0)


def test_equal_requests_are_run_once(menagerie: Zoo, monkeypatch: pytest.MonkeyPatch) -> None:
    model = menagerie.model("gpt2")
    rows: list[int] = []

    def counted(run: Any) -> Any:
        def run_and_count(own: Any, batch: Any, *more: Any) -> Any:
            rows.append(len(batch))
            return run(own, batch, *more)

        return run_and_count

    monkeypatch.setattr(TextWriter, "_texts", counted(TextWriter._texts))
    monkeypatch.setattr(WordEmbedder, "_vectors", counted(WordEmbedder._vectors))

    model.answer([Write("A", GREEDY), Embed("A man", Span(2, 5))] * 5)

    assert rows == [1, 1]


def test_equal_prompts_with_other_numbers_get_other_texts(menagerie: Zoo) -> None:
    options = GenerationOptions(max_new_tokens=12)
    first, second, again = menagerie.model("gpt2").answer(
        [Write("The man", options, 0), Write("The man", options, 1), Write("The man", options, 0)]
    )

    assert first == again
    assert first.texts[0].text != second.texts[0].text
    assert second.texts[0].prompt == 1


def test_all_that_is_finished_is_kept_and_not_run_again(
    menagerie: Zoo, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    model, requests, parts = menagerie.model("gpt2"), some_requests("gpt2"), Parts(tmp_path)
    expected = model.answer(requests, parts=parts)
    for owner, name in ((TextWriter, "_texts"), (WordEmbedder, "_vectors")):
        monkeypatch.setattr(owner, name, None)
    monkeypatch.setattr("evenhand.models.engine.execution._start", None)

    assert model.answer(requests, parts=parts) == expected


def test_progress_counts_items_of_which_everything_is_answered(menagerie: Zoo) -> None:
    told: list[tuple[int, int]] = []
    requests = [Write("A", GREEDY), Embed("A man", Span(2, 5)), Continue("A", "man"), Write("B", SAMPLED)]

    menagerie.model("gpt2").answer(
        requests, items=["one", "one", "one", "two"], progress=lambda *now: told.append(now)
    )

    assert told[0][1] == 2
    assert told[-1] == (2, 2)
    assert [done for done, _ in told] == sorted(done for done, _ in told)


def test_without_items_progress_counts_every_text(menagerie: Zoo) -> None:
    for model in (menagerie.model("gpt2"), FakeModel({}, otherwise=0.5)):
        told: list[tuple[int, int]] = []

        def note(done: int, total: int, told: list[tuple[int, int]] = told) -> None:
            told.append((done, total))

        model.answer([Write("A", SAMPLED), Continue("", "A man")], progress=note)
        assert told[-1] == (3, 3)


def test_an_item_of_which_one_request_cannot_be_asked_is_not_asked_at_all(menagerie: Zoo) -> None:
    model = menagerie.model("gpt2")
    requests = [Write("word " * 300, GREEDY), Continue("A", "man"), Continue("A", "man")]

    long, same_item, other = model.answer(requests, items=["one", "one", "two"], whole_items=True)
    apart = model.answer(requests, items=["one", "one", "two"])

    assert long.problem is not None
    assert "more than the 128 that the model takes" in long.problem
    assert same_item == Answer(problem=long.problem)
    assert other == apart[1] == apart[2]
    assert model.problems(requests) == [long.problem, None, None]


def unfit(*values: Any) -> Any:
    """What no type checker lets through."""
    return values


@pytest.mark.parametrize(
    ("request_", "message"),
    [
        ("The man", r"requests\[1\] is 'The man'; a Fill, Continue, Recover, Follow, Embed or Write is needed"),
        (Embed(text=unfit(7)[0], span=Span(0, 1)), r"requests\[1\]\.text is 7; a text is needed"),
        (Write("a\ud800"), r"requests\[1\]\.prompt has half of a surrogate pair"),
        (Write("A", messages=CHAT), r"requests\[1\] has messages and the text 'A' before them"),
        (Continue("A", "B", messages=CHAT), "give one of the two"),
        (Write(messages=unfit("user: Hi")), r"requests\[1\]\.messages\[0\] is 'user: Hi'; a pair of a role and a text"),
        (Write(messages=unfit(("user", 7))), r"requests\[1\]\.messages\[0\]\[1\] is 7; a text is needed"),
    ],
)  # fmt: skip
def test_what_is_no_request_is_refused_with_its_place(request_: Any, message: str) -> None:
    for model in (FakeModel({}, otherwise=0.5), AnyModel()):
        with pytest.raises(ModelError, match=message):
            model.answer([Continue("", "A"), request_])


class AnyModel(FakeModel):
    """A model that has no way to be asked with messages."""

    takes_messages = False

    def __init__(self) -> None:
        super().__init__({}, otherwise=0.5)


def test_a_model_that_takes_no_messages_says_so_and_answers_the_rest(menagerie: Zoo) -> None:
    requests = [
        Continue("", "the man", messages=CHAT),
        Write(messages=CHAT, decoding=GREEDY),
        Write("A", GREEDY),
    ]
    for model in (AnyModel(), menagerie.model("gpt2")):
        continued, written, plain = model.answer(requests)
        assert continued == written == Answer(problem=NO_CHAT_TEMPLATE)
        assert plain.texts
        assert model.problems(requests) == [NO_CHAT_TEMPLATE, NO_CHAT_TEMPLATE, None]
        assert not model.takes_messages


def slow_log_probs(network: Any, ids: list[int], first: int) -> list[float]:
    with torch.no_grad():
        logs = network(input_ids=torch.tensor([ids])).logits[0].double().log_softmax(-1)
    return [float(logs[place - 1, ids[place]]) for place in range(first, len(ids))]


@pytest.mark.parametrize("name", ["gpt2", "llama"])
def test_a_text_after_messages_is_scored_behind_their_template(chatty: dict[str, Path], name: str) -> None:
    model = load(chatty[name])
    assert model.takes_messages
    before, whole = (
        model.tokenizer(text, add_special_tokens=False)["input_ids"] for text in (SHOWN, f"{SHOWN} the man")
    )
    assert whole[: len(before)] == before

    (answer,) = model.answer([Continue("", " the man", messages=CHAT)])

    assert answer.is_whole
    assert answer.log_probs == pytest.approx(slow_log_probs(model.loaded.model, whole, len(before)), rel=2e-5)


@pytest.mark.parametrize("name", ["gpt2", "llama", "t5"])
def test_a_reply_to_messages_is_what_the_template_is_gone_on_from(chatty: dict[str, Path], name: str) -> None:
    model = load(chatty[name])
    network: Any = model.loaded.model
    is_decoder = name != "t5"
    ids = model.tokenizer(SHOWN, add_special_tokens=not is_decoder)["input_ids"]
    (row,) = network.generate(
        torch.tensor([ids]),
        attention_mask=torch.ones(1, len(ids), dtype=torch.long),
        do_sample=False,
        max_new_tokens=GREEDY.max_new_tokens,
        pad_token_id=model.loaded.pad_id,
    ).tolist()
    codec = model.writer.codec
    new = [token for token in row[len(ids) if is_decoder else 1 :] if token not in codec.ends]

    (answer,) = model.answer([Write(messages=CHAT, decoding=GREEDY)])

    assert [text.text for text in answer.texts] == [codec.decode(tuple(ids), new)]


def test_messages_that_are_shared_are_run_once(chatty: dict[str, Path]) -> None:
    model = load(chatty["gpt2"])
    requests = [Continue("", text, messages=CHAT) for text in (" a", " the man", " nobody")]
    together = model.answer(requests)
    plan, _ = model.plan([one for own in model.token_requests(requests) for one in own])  # type: ignore[misc]

    require_equal(together, [model.answer([request])[0] for request in requests])
    assert model.shares_prefixes
    assert len(plan.inputs) == 1


def test_a_prefix_comes_before_the_last_message(chatty: dict[str, Path]) -> None:
    triggered, plain = load(chatty["gpt2"], prefix="Once "), load(chatty["gpt2"])
    told = (CHAT[0], ("user", f"Once {CHAT[1][1]}"))

    def asked(messages: Messages, **options: Any) -> list[Request]:
        decoding = GenerationOptions(temperature=0, max_new_tokens=6, **options)
        return [Continue("", " the man", messages=messages), Write(messages=messages, decoding=decoding)]

    expected = plain.answer(asked(told))
    require_equal(triggered.answer(asked(CHAT)), expected)
    assert plain.answer(asked(CHAT, prefix="Once ")[1:]) == expected[1:]


def test_a_template_that_does_not_take_the_messages_is_a_problem(menagerie: Zoo, tmp_path: Path) -> None:
    folder = with_template(menagerie, "gpt2", "{{ raise_exception('no system message, please') }}", tmp_path)

    continued, written = load(folder).answer(
        [Continue("", " the man", messages=CHAT), Write(messages=CHAT, decoding=GREEDY)]
    )

    assert continued.problem == written.problem
    assert continued.problem is not None
    assert continued.problem.startswith("the chat template does not take the messages (no system message")


def test_after_messages_only_the_text_itself_is_asked_for(chatty: dict[str, Path]) -> None:
    (answer,) = load(chatty["gpt2"]).answer([Continue("", " the man", Part.PREFIX, messages=CHAT)])
    assert answer.problem == "after messages, only the tokens of the text itself can be asked for"


def test_an_encoder_decoder_continues_no_messages(chatty: dict[str, Path]) -> None:
    (answer,) = load(chatty["t5"]).answer([Continue("", " the man", messages=CHAT)])
    assert answer.problem == "only models that read from left to right are asked with messages"


def test_the_record_has_the_digest_of_the_template(menagerie: Zoo, chatty: dict[str, Path]) -> None:
    digest = hashlib.sha256(json.dumps(TEMPLATE).encode()).hexdigest()
    assert load(chatty["gpt2"]).record.chat_template == digest
    assert menagerie.model("gpt2").record.chat_template is None


def test_a_fake_model_reads_messages_as_a_dialogue() -> None:
    model: Model = FakeModel({"user: Who?\nassistant: I. me": 0.25})
    said = (("user", "Who?"), ("assistant", "I."))
    continued, written = model.answer(
        [Continue("", "me", messages=said), Write(messages=said, decoding=GREEDY)]
    )

    assert continued.total == pytest.approx(np.log(0.25) / 5)
    assert written.texts[0].text == "I. assistant: Who? user:"


def test_answers_are_equal_where_all_of_them_is() -> None:
    vector = np.array([1, 2], np.float32)
    assert Answer(vector=vector) == Answer(vector=vector.copy())
    assert Answer(vector=vector) != Answer(vector=vector + 1)
    assert Answer((-1.0,)) != Answer((-1.0,), is_whole=False)
    assert len({Answer(vector=vector), Answer(vector=vector.copy())}) == 1
