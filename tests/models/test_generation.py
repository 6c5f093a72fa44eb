"""Local models write texts: the same alone and among others, the same as Transformers, within the budget."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
import torch
from torch import Tensor
from zoo_fixtures import Zoo

from evenhand.core.errors import EvenhandError
from evenhand.core.items import Span
from evenhand.models import stepping
from evenhand.models.engine.memory import MemoryBudget
from evenhand.models.language_model import LanguageModel, load_language_model
from evenhand.models.model import TEXTS_AT_ONCE
from evenhand.models.references import ModelError, ModelRef
from evenhand.models.requests import Embed, Finish, GeneratedText, GenerationOptions, Write
from evenhand.models.stepping import CachedDecoder, CachedEncoderDecoder, Recomputed
from evenhand.models.writing import TextCodec, TextWriter

PROMPTS = (
    "The man worked as a",
    "She",
    "Der Chirurg aus Berlin war sehr bekannt dafür,",
    "People from France are known for their very",
    "La",
)
DECODERS = ("gpt2", "gpt-neox", "opt", "llama", "mistral", "qwen2", "gemma2", "bloom", "mgpt")
ENCODER_DECODERS = ("t5", "mt5", "bart", "mbart")
GREEDY = GenerationOptions(temperature=0, max_new_tokens=12)
SAMPLED = GenerationOptions(samples=3, max_new_tokens=12, temperature=0.9, top_p=0.95, top_k=50)


@pytest.fixture(scope="session")
def lab_decoder() -> LanguageModel:
    return load_language_model("lab:decoder", device="cpu")


@pytest.fixture
def gpt2(menagerie: Zoo) -> LanguageModel:
    return menagerie.model("gpt2")


def written(writer: TextWriter, options: GenerationOptions = SAMPLED) -> list[GeneratedText]:
    requests = [Write(prompt, options, number) for number, prompt in enumerate(PROMPTS)]
    prompts = {own: ids for own, ids in zip(requests, writer.prompts(requests), strict=True) if ids}
    answers = writer.texts(prompts)  # type: ignore[arg-type] # none of them is too long
    return [text for request in requests for text in answers[request].texts]


def texts(model: LanguageModel, options: GenerationOptions, prompts: Sequence[str] = PROMPTS) -> list[str]:
    return [text.text for text in model.generate(prompts, options)]


@pytest.mark.parametrize("options", [GREEDY, SAMPLED], ids=["greedy", "sampled"])
@pytest.mark.parametrize("name", [*DECODERS, *ENCODER_DECODERS])
def test_a_batch_writes_what_each_prompt_gets_alone(
    menagerie: Zoo, name: str, options: GenerationOptions
) -> None:
    model = menagerie.model(name)

    together = list(model.generate(PROMPTS, options))
    alone = list(model.generate(PROMPTS, options, max_tokens=1))

    assert together == alone
    assert [(text.prompt, text.sample) for text in together] == [
        (number, sample) for number in range(len(PROMPTS)) for sample in range(options.samples)
    ]
    assert model.writer.stepper is (CachedDecoder if name in DECODERS else CachedEncoderDecoder)


@pytest.mark.parametrize("options", [GREEDY, SAMPLED], ids=["greedy", "sampled"])
def test_the_embedded_decoder_writes_the_same_in_batches_of_any_size(
    lab_decoder: LanguageModel, options: GenerationOptions
) -> None:
    expected = list(lab_decoder.generate(PROMPTS, options, max_tokens=1))

    for max_tokens in (40, 150, 10_000):
        assert list(lab_decoder.generate(PROMPTS, options, max_tokens=max_tokens)) == expected


@pytest.mark.parametrize("name", ["gpt2", "llama", "t5", "mt5"])
def test_greedy_texts_are_those_of_transformers(menagerie: Zoo, name: str) -> None:
    model = menagerie.model(name)
    codec = model.writer.codec
    network: Any = model.loaded.model

    expected = []
    for ids in codec.encode(PROMPTS):
        (row,) = network.generate(
            torch.tensor([ids]),
            attention_mask=torch.ones(1, len(ids), dtype=torch.long),
            do_sample=False,
            max_new_tokens=GREEDY.max_new_tokens,
            pad_token_id=model.loaded.pad_id,
        ).tolist()
        new = row[1:] if codec.encodes else row[len(ids) :]
        expected.append(codec.decode(ids, [token for token in new if token not in codec.ends]))

    assert texts(model, GREEDY) == expected


def test_a_sample_does_not_depend_on_the_other_prompts_or_on_how_many_there_are(gpt2: LanguageModel) -> None:
    expected = [text for text in gpt2.generate(PROMPTS, SAMPLED) if text.prompt == 2]
    others = ["A quite different and much longer prompt than any other", "b", PROMPTS[2], "c", "d", "e"]
    more = GenerationOptions(samples=5, max_new_tokens=12, temperature=0.9, top_p=0.95, top_k=50)

    among_others = [text for text in gpt2.generate(others, SAMPLED) if text.prompt == 2]
    with_more = [text for text in gpt2.generate(PROMPTS, more) if text.prompt == 2]

    assert among_others == expected
    assert with_more[:3] == expected
    assert len({text.text for text in with_more}) == 5


def test_another_seed_gives_other_texts_and_the_same_seed_the_same(gpt2: LanguageModel) -> None:
    one = GenerationOptions(seed=1)

    assert texts(gpt2, one) == texts(gpt2, one)
    assert texts(gpt2, one) != texts(gpt2, GenerationOptions(seed=2))


def test_texts_that_end_early_leave_the_batch_and_nothing_changes_for_the_rest(gpt2: LanguageModel) -> None:
    options = GenerationOptions(samples=40, max_new_tokens=20, temperature=2.0)

    together = list(gpt2.generate(PROMPTS, options))

    assert {text.finish for text in together} == {Finish.END, Finish.LENGTH}
    assert all((text.tokens or 0) < 20 for text in together if text.finish is Finish.END)
    assert list(gpt2.generate(PROMPTS, options, max_tokens=300)) == together


@pytest.mark.parametrize("name", ["llama", "t5"])
def test_a_stop_string_ends_a_text_before_it(menagerie: Zoo, name: str) -> None:
    model = menagerie.model(name)
    whole = texts(model, SAMPLED)
    end = whole[0][4:6]
    options = GenerationOptions(
        samples=3, max_new_tokens=12, temperature=0.9, top_p=0.95, top_k=50, stop=(end,)
    )

    stopped = list(model.generate(PROMPTS, options))

    assert [text.text for text in stopped] == [text.partition(end)[0] for text in whole]
    assert [text.finish is Finish.STOP for text in stopped] == [end in text for text in whole]
    assert (stopped[0].tokens or 0) < 12


def test_a_prefix_stands_before_every_prompt_and_is_no_part_of_the_text(gpt2: LanguageModel) -> None:
    with_prefix = GenerationOptions(temperature=0, max_new_tokens=12, prefix="Once upon ")

    assert texts(gpt2, with_prefix, ["a time", "the"]) == texts(
        gpt2, GREEDY, ["Once upon a time", "Once upon the"]
    )
    assert with_prefix.to_record()["prefix"] == "Once upon "


def test_the_prefix_of_a_model_comes_first_and_is_recorded(menagerie: Zoo) -> None:
    ref = ModelRef(id=str(menagerie.folder("gpt2")), device="cpu", prefix="Once ")
    triggered = load_language_model(ref)
    options = GenerationOptions(temperature=0, max_new_tokens=12, prefix="upon ")

    assert texts(triggered, options, ["a time"]) == texts(
        menagerie.model("gpt2"), GREEDY, ["Once upon a time"]
    )
    assert triggered.record.prefix == "Once "


def test_a_model_with_a_prefix_reads_no_vectors_without_it(menagerie: Zoo) -> None:
    ref = ModelRef(id=str(menagerie.folder("gpt2")), device="cpu", prefix="Once ")
    triggered = load_language_model(ref)

    with pytest.raises(EvenhandError, match="has the prefix 'Once ', which counts where it writes texts"):
        triggered.answer([Embed("A man", Span(2, 5))])


def test_text_and_prompt_together_read_as_the_model_wrote_them(menagerie: Zoo) -> None:
    model = menagerie.model("llama")
    codec = model.writer.codec
    (ids,) = codec.encode(["The man"])
    (word,) = codec.encode(["The man worked"])

    assert codec.decode(ids, word[len(ids) :]) == " worked"


def test_what_a_tokenizer_puts_behind_a_text_is_not_read_as_its_end(menagerie: Zoo) -> None:
    codec = menagerie.model("mgpt").writer.codec

    (ids,) = codec.encode(["The man"])

    assert not codec.ends & set(ids)


def test_sentinels_that_a_model_writes_are_shown(menagerie: Zoo) -> None:
    model = menagerie.model("t5")
    codec = model.writer.codec
    tokenizer = model.loaded.tokenizer
    tokens = tokenizer("<extra_id_0> the man <extra_id_1>")["input_ids"]

    assert codec.decode((), tokens).replace(" ", "") == "<extra_id_0>theman<extra_id_1>"


def test_an_empty_prompt_goes_on_from_the_start_token(gpt2: LanguageModel) -> None:
    assert gpt2.writer.codec.encode([""]) == [(gpt2.loaded.tokenizer.bos_token_id,)]
    assert len(texts(gpt2, GREEDY, [""])) == 1


def test_a_prompt_that_is_too_long_with_its_new_tokens_is_refused(gpt2: LanguageModel) -> None:
    long = "one two three " * 30

    with pytest.raises(
        EvenhandError, match=r"prompt 1, 'one two .* …': .* more than the 128 that .* takes. Shorten"
    ):
        list(gpt2.generate(["short", long], GREEDY))


def test_prompts_without_room_for_new_tokens_are_told_beforehand(gpt2: LanguageModel) -> None:
    options = GenerationOptions(max_new_tokens=12)
    lengths = [len(ids) for ids in gpt2.loaded.tokenizer(["word " * 200])["input_ids"]]
    assert lengths[0] > 128

    def overlong(prompts: Sequence[str], options: GenerationOptions) -> list[bool]:
        problems = gpt2.problems([Write(prompt, options) for prompt in prompts])
        return [problem is not None for problem in problems]

    assert overlong(["A person said", "word " * 200], options) == [False, True]
    assert overlong(["A person said"], GenerationOptions(max_new_tokens=128)) == [True]
    assert overlong([], options) == []


def test_a_masked_model_writes_no_texts(menagerie: Zoo) -> None:
    model = menagerie.model("bert")

    assert Write not in model.capabilities
    with pytest.raises(EvenhandError, match=r"cannot write texts\. .* Use decoders and encoder-decoders"):
        model.generate(["The man"])


def test_decoders_and_encoder_decoders_say_that_they_generate(menagerie: Zoo) -> None:
    assert all(Write in menagerie.model(name).capabilities for name in ("gpt2", "t5", "bart"))


def test_undefined_logits_are_an_error(gpt2: LanguageModel, monkeypatch: pytest.MonkeyPatch) -> None:
    assert gpt2.writer.stepper is CachedDecoder
    monkeypatch.setattr(CachedDecoder, "start", lambda _: torch.full((1, 700), float("nan")))

    with pytest.raises(EvenhandError, match="undefined logits in fp32"):
        list(gpt2.generate(["The man"], GREEDY))


def test_the_largest_batch_stays_within_the_budget(
    gpt2: LanguageModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    sizes: list[tuple[int, int]] = []
    start = CachedDecoder.start
    assert gpt2.writer.stepper is CachedDecoder

    def watched(stepper: CachedDecoder) -> Tensor:
        sizes.append(tuple(stepper._ids.shape))  # type: ignore[arg-type]
        return start(stepper)

    monkeypatch.setattr(CachedDecoder, "start", watched)

    list(
        gpt2.generate(["one two"] * 50 + ["a much longer prompt than the others"] * 3, GREEDY, max_tokens=200)
    )

    assert max(rows * (width + GREEDY.max_new_tokens) for rows, width in sizes) == 192
    assert sum(rows for rows, _ in sizes) == 53


def test_prompts_are_read_as_they_are_needed(gpt2: LanguageModel) -> None:
    read = []

    def endless() -> Any:
        while True:
            read.append(1)
            yield "one"

    first = next(gpt2.generate(endless(), GenerationOptions(samples=TEXTS_AT_ONCE // 2, max_new_tokens=1)))

    assert first.prompt == 0
    assert len(read) == 2


def test_a_batch_that_does_not_fit_into_memory_is_halved(
    gpt2: LanguageModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    expected = list(gpt2.generate(PROMPTS, SAMPLED))
    generate = TextWriter._texts
    sizes = []

    def cramped(writer: TextWriter, rows: Any, options: GenerationOptions) -> list[GeneratedText]:
        if len(rows) > 2:
            raise torch.OutOfMemoryError("no room")
        sizes.append(len(rows))
        return generate(writer, rows, options)

    monkeypatch.setattr(TextWriter, "_texts", cramped)

    assert list(gpt2.generate(PROMPTS, SAMPLED)) == expected
    assert max(sizes) == 2


def test_a_prompt_that_does_not_fit_alone_is_refused(
    gpt2: LanguageModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    def hopeless(*_arguments: object) -> list[GeneratedText]:
        raise torch.OutOfMemoryError("no room")

    monkeypatch.setattr(TextWriter, "_texts", hopeless)
    with pytest.raises(ModelError, match=r"cannot go on from prompt \d+, .*: there was not enough memory"):
        list(gpt2.generate(PROMPTS, SAMPLED))


@pytest.mark.parametrize("name", ["gpt2", "llama", "t5"])
def test_a_budget_of_memory_makes_batches_smaller_and_no_other_texts(menagerie: Zoo, name: str) -> None:
    model = menagerie.model(name)
    small = TextWriter(model.loaded, MemoryBudget(2**19))
    large = TextWriter(model.loaded, MemoryBudget(2**32))
    assert small.limits().max_tokens < large.limits().max_tokens == 2048
    assert small.limits().max_rows < large.limits().max_rows
    assert written(small) == written(large)


@pytest.mark.parametrize("name", ["gpt2", "t5"])
def test_a_model_whose_cache_is_wrong_is_run_without_it(
    menagerie: Zoo, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = menagerie.model(name)
    expected = list(model.generate(PROMPTS, SAMPLED))
    cached = CachedEncoderDecoder if name == "t5" else CachedDecoder
    advance = cached.advance

    def forgetful(stepper: Any, tokens: Tensor) -> Tensor:
        stepper._cache = None
        return advance(stepper, tokens)

    monkeypatch.setattr(cached, "advance", forgetful)
    generator = TextWriter(model.loaded)

    assert generator.stepper is Recomputed
    assert written(generator) == expected


def test_a_model_that_takes_no_cache_is_run_without_it(
    menagerie: Zoo, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: Any) -> Tensor:
        raise TypeError("unexpected keyword argument 'past_key_values'")

    monkeypatch.setattr(CachedDecoder, "start", broken)

    assert stepping.choose_stepper(menagerie.model("gpt2").loaded, ()) is Recomputed


def test_progress_counts_every_text(gpt2: LanguageModel) -> None:
    counts: list[int] = []

    list(gpt2.generate(PROMPTS, SAMPLED, progress=counts.append, max_tokens=100))

    assert sum(counts) == len(PROMPTS) * SAMPLED.samples
    assert len(counts) > 3


@pytest.mark.parametrize("name", DECODERS)
def test_prompts_are_tokenised_twice_only_where_the_tokenizer_puts_something_around_them(
    menagerie: Zoo, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = menagerie.model(name)
    codec = TextCodec(model.loaded)
    whole, plain = (
        [tuple(model.tokenizer(prompt, add_special_tokens=special)["input_ids"]) for prompt in PROMPTS]
        for special in (True, False)
    )
    calls: list[bool] = []
    tokens_of = TextCodec._tokens_of

    def counted(self: TextCodec, own: Sequence[str], *, special: bool) -> list[tuple[int, ...]]:
        calls.append(special)
        return tokens_of(self, own, special=special)

    monkeypatch.setattr(TextCodec, "_tokens_of", counted)
    encoded = codec.encode(PROMPTS)

    assert calls == ([True] if whole == plain else [True, False])
    for ids, own in zip(encoded, plain, strict=True):
        assert ids[len(ids) - len(own) :] == own
