"""Held-out perplexity against the models' own loss, a sentence at a time."""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
import zoo
from torch import nn

from evenhand.core.errors import DatasetError
from evenhand.models.engine.memory import MemoryBudget
from evenhand.models.families import FAMILIES
from evenhand.models.language_model import LanguageModel
from evenhand.models.objectives.held_out import random_spans
from evenhand.models.references import ModelError
from evenhand.store.held_out_losses import HeldOutLoss
from evenhand.training.perplexity import HeldOut

SENTENCES = (
    "The baker likes fresh bread.",
    "Bread.",
    "The gardener planted two tall old trees near the gate, and the neighbour watered them every evening after work.",
    "Yesterday she sold the house.",
    "He walks to the river because the bridge is closed and the ferry does not run on a cold Sunday in winter.",
)

MASKED = ("bert", "roberta", "albert", "flaubert", "modernbert")
DECODERS = ("gpt2", "llama", "bloom")
SENTINELS = ("t5", "mt5")


def held_out(loaded: Any, sentences: tuple[str, ...] = SENTENCES, **options: Any) -> HeldOut:
    return HeldOut(sentences, LanguageModel(loaded), **options)


class Spy:
    """Remembers, row by row and without padding, what a model is shown while it is asked."""

    def __init__(self, model: nn.Module) -> None:
        self.shown: list[tuple[list[int], list[int]]] = []
        self._handle = model.register_forward_pre_hook(self._note, with_kwargs=True)

    def _note(self, _model: nn.Module, _arguments: Any, inputs: dict[str, Any]) -> None:
        if "attention_mask" not in inputs:
            return  # it is only its head that runs
        decoder = inputs.get("decoder_input_ids", inputs["input_ids"])
        for ids, mask, written in zip(inputs["input_ids"], inputs["attention_mask"], decoder, strict=True):
            self.shown.append((ids[mask.bool()].tolist(), written.tolist()))

    def __enter__(self) -> Spy:
        return self

    def __exit__(self, *_: object) -> None:
        self._handle.remove()


def nats_by_the_model(model: Any, labels: list[int], **inputs: list[int]) -> float:
    """The model's own loss over the labels that count, one row."""
    tensors = {name: torch.tensor([row]) for name, row in inputs.items()}
    with torch.no_grad():
        mean = model(**tensors, labels=torch.tensor([labels])).loss
    return float(mean) * sum(label != -100 for label in labels)


@pytest.mark.parametrize("name", MASKED)
def test_masked_models_lose_what_their_own_loss_says_at_the_hidden_tokens(menagerie: Any, name: str) -> None:
    loaded = menagerie.model(name).loaded
    asked = held_out(loaded)
    with Spy(loaded.model) as spy:
        found = asked.loss(loaded.model)
    assert len(spy.shown) == len(SENTENCES)
    mask = loaded.tokenizer.mask_token_id
    for number, sentence in enumerate(SENTENCES):
        ids = loaded.tokenizer(sentence)["input_ids"]
        (shown,) = [
            shown
            for shown, _ in spy.shown
            if len(shown) == len(ids)
            and all(seen in (mask, token) for seen, token in zip(shown, ids, strict=True))
        ]
        hidden = [token == mask for token in shown]
        words = len(loaded.tokenizer(sentence, add_special_tokens=False)["input_ids"])
        assert sum(hidden) == found.tokens[number] == max(1, round(0.15 * words))
        if name == "flaubert":
            with torch.no_grad():
                logs = loaded.model(torch.tensor([shown])).logits[0].log_softmax(-1)
            expected = -sum(float(logs[place, ids[place]]) for place, gone in enumerate(hidden) if gone)
        else:
            labels = [token if gone else -100 for token, gone in zip(ids, hidden, strict=True)]
            expected = nats_by_the_model(loaded.model, labels, input_ids=shown)
        assert found.nats[number] == pytest.approx(expected, rel=1e-4)


@pytest.mark.parametrize("name", DECODERS)
def test_decoders_lose_what_their_own_loss_says_over_the_whole_sentence(menagerie: Any, name: str) -> None:
    loaded = menagerie.model(name).loaded
    prepared = held_out(loaded)
    found = prepared.loss(loaded.model)
    start = loaded.tokenizer.convert_tokens_to_ids(zoo.SPECIES[name].start)
    for number, sentence in enumerate(SENTENCES):
        ids = [start, *loaded.tokenizer(sentence, add_special_tokens=False)["input_ids"]]
        assert found.tokens[number] == len(ids) - 1
        assert found.nats[number] == pytest.approx(
            nats_by_the_model(loaded.model, [-100, *ids[1:]], input_ids=ids), rel=1e-4
        )
    assert prepared.whole.all()


@pytest.mark.parametrize("name", SENTINELS)
def test_models_with_sentinels_are_asked_for_the_hidden_spans_alone(menagerie: Any, name: str) -> None:
    loaded = menagerie.model(name).loaded
    asked = held_out(loaded)
    with Spy(loaded.model) as spy:
        found = asked.loss(loaded.model)
    sentinels = loaded.tokenizer.convert_tokens_to_ids([f"<extra_id_{number}>" for number in range(5)])
    seen = set()
    for shown, written in spy.shown:
        # The decoder's input lacks what it is asked for last, so the encoder's sentences tell which one it is.
        number = next(
            number
            for number, sentence in enumerate(SENTENCES)
            if _fits(loaded.tokenizer(sentence)["input_ids"], shown, sentinels)
        )
        seen.add(number)
        ids = loaded.tokenizer(SENTENCES[number])["input_ids"]
        spans = _hidden_spans(ids, shown, sentinels)
        text = [
            token for sentinel, span in zip(sentinels, spans, strict=False) for token in (sentinel, *span)
        ]
        assert written[: len(text)] == [loaded.config.decoder_start_token_id, *text[:-1]]
        labels = [-100 if token in sentinels else token for token in text]
        expected = nats_by_the_model(
            loaded.model, labels, input_ids=shown, decoder_input_ids=written[: len(text)]
        )
        assert found.nats[number] == pytest.approx(expected, rel=1e-4)
        assert found.tokens[number] == max(1, round(0.15 * (len(ids) - 1))) == sum(map(len, spans))
    assert seen == set(range(len(SENTENCES)))


def _fits(ids: list[int], shown: list[int], sentinels: list[int]) -> bool:
    kept = [token for token in shown if token not in sentinels]
    rest = iter(ids)
    return len(ids) > len(kept) > 0.6 * len(ids) - 2 and all(token in rest for token in kept)


def _hidden_spans(ids: list[int], shown: list[int], sentinels: list[int]) -> list[list[int]]:
    """What stands for each sentinel, by trying all lengths."""

    def match(place: int, at: int) -> list[list[int]] | None:
        if place == len(shown):
            return [] if at == len(ids) else None
        if shown[place] not in sentinels:
            fits = at < len(ids) and ids[at] == shown[place]
            return match(place + 1, at + 1) if fits else None
        tried = ((end, match(place + 1, end)) for end in range(at + 1, len(ids)))
        return next(([ids[at:end], *rest] for end, rest in tried if rest is not None), None)

    spans = match(0, 0)
    assert spans is not None
    return spans


@pytest.mark.parametrize("name", ["bert", "gpt2", "t5"])
def test_the_seed_alone_chooses_and_batches_do_not_matter(menagerie: Any, name: str) -> None:
    loaded = menagerie.model(name).loaded
    first = held_out(loaded, seed=3).loss(loaded.model)
    again = held_out(loaded, seed=3, max_tokens=1).loss(loaded.model)
    np.testing.assert_allclose(first.nats, again.nats, rtol=1e-5)
    other = held_out(loaded, seed=4).loss(loaded.model)
    assert np.array_equal(first.nats, other.nats) == (name == "gpt2")
    # A sentence keeps its hidden tokens whatever comes after it.
    alone = held_out(loaded, SENTENCES[:3], seed=3).loss(loaded.model)
    np.testing.assert_allclose(alone.nats, first.nats[:3], rtol=1e-5)


@contextmanager
def cramped(model: nn.Module, most: int) -> Iterator[list[tuple[int, ...]]]:
    """A device without memory for more than so many tokens at once; the shape of every batch that fits."""
    fitting: list[tuple[int, ...]] = []

    def refuse(_model: nn.Module, _arguments: Any, inputs: dict[str, Any]) -> None:
        if "attention_mask" in inputs:
            if inputs["input_ids"].numel() > most:
                raise torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 2 GiB")
            fitting.append(tuple(inputs["input_ids"].shape))

    handle = model.register_forward_pre_hook(refuse, with_kwargs=True)
    try:
        yield fitting
    finally:
        handle.remove()


@pytest.mark.parametrize("name", ["bert", "gpt2", "t5"])
def test_what_does_not_fit_into_memory_is_asked_in_halves(menagerie: Any, name: str) -> None:
    loaded = menagerie.model(name).loaded
    sentences = SENTENCES * 3
    prepared, plenty = held_out(loaded, sentences), held_out(loaded, sentences).loss(loaded.model)
    with cramped(loaded.model, 120):
        little = prepared.loss(loaded.model)
    np.testing.assert_allclose(little.nats, plenty.nats, rtol=1e-5)
    with Spy(loaded.model) as spy, cramped(loaded.model, 120) as fitting:
        prepared.loss(loaded.model)
    assert len(spy.shown) == len(sentences)  # nothing is tried in vain a second time
    assert len(fitting) > 1


def test_a_sentence_that_never_fits_is_said_in_words(menagerie: Any) -> None:
    loaded = menagerie.model("gpt2").loaded
    prepared = held_out(loaded)
    with (
        cramped(loaded.model, 3),
        pytest.raises(ModelError, match="not enough memory for a held-out sentence of"),
    ):
        prepared.loss(loaded.model)


def test_batches_keep_to_the_memory_of_the_model(menagerie: Any) -> None:
    loaded = menagerie.model("gpt2").loaded
    model = LanguageModel(loaded)
    footprint = model.batch_memory.footprint
    model.memory = MemoryBudget(footprint.of_batch(60, width=40))
    del model.batch_memory
    prepared = HeldOut(SENTENCES * 3, model)
    with cramped(loaded.model, 10_000) as fitting:
        prepared.loss(loaded.model)
    assert sum(rows for rows, _ in fitting) == 3 * len(SENTENCES)
    assert len(fitting) > 3
    for rows, width in fitting:
        assert rows == 1 or footprint.of_batch(rows * width, width=width) <= model.memory.bytes


def test_the_mode_of_the_model_is_left_as_it_was_and_dropout_does_not_act(menagerie: Any) -> None:
    loaded = menagerie.model("bert").loaded
    prepared = held_out(loaded)
    calm = prepared.loss(loaded.model)
    loaded.model.train()
    try:
        busy = prepared.loss(loaded.model)
        assert loaded.model.training
    finally:
        loaded.model.eval()
    np.testing.assert_array_equal(calm.nats, busy.nats)


def test_changed_weights_are_seen_at_the_next_reading(menagerie: Any) -> None:
    loaded = menagerie.model("gpt2").loaded
    prepared = held_out(loaded)
    before = prepared.loss(loaded.model)
    weight = next(loaded.model.parameters())
    kept = weight.detach().clone()
    with torch.no_grad():
        weight.mul_(0.5)
    after = prepared.loss(loaded.model)
    with torch.no_grad():
        weight.copy_(kept)
    assert not np.allclose(before.nats, after.nats)


def test_perplexity_weighs_tokens_not_sentences() -> None:
    loss = HeldOutLoss(np.array([math.log(2) * 3, math.log(8)]), np.array([3, 1]))
    assert loss.perplexity == pytest.approx(2 ** (6 / 4))


def test_empty_sentences_count_nothing_and_long_ones_are_cut(menagerie: Any) -> None:
    loaded = menagerie.model("gpt2").loaded
    prepared = held_out(loaded, ("", "The baker likes bread.", "bread " * 500))
    found = prepared.loss(loaded.model)
    assert found.tokens[0] == 0
    assert found.nats[0] == 0
    assert 0 < found.tokens[2] < 128
    assert prepared.whole.tolist() == [False, True, False]
    masked = menagerie.model("roberta").loaded
    assert held_out(masked, ("", "bread " * 500)).loss(masked.model).nats[1] > 0


def test_text_without_a_word_is_refused(menagerie: Any) -> None:
    loaded = menagerie.model("bert").loaded
    for sentences in ((), ("", "")):
        with pytest.raises(DatasetError, match="held-out text has no word"):
            held_out(loaded, sentences)


def test_models_that_write_sentences_anew_are_refused(menagerie: Any) -> None:
    with pytest.raises(ModelError, match="cannot be asked for hidden tokens"):
        held_out(menagerie.model("bart").loaded)


def test_tokenizers_without_mask_or_sentinel_are_refused(menagerie: Any) -> None:
    loaded = menagerie.model("gpt2").loaded
    for family, missing in ((FAMILIES.get("masked"), "mask token"), (FAMILIES.get("sentinel"), "sentinel")):
        with pytest.raises(ModelError, match=missing):
            held_out(replace(loaded, family=family))


@pytest.mark.parametrize("length", [1, 2, 3, 7, 20, 100, 255])
@pytest.mark.parametrize("most", [1, 2, 100])
def test_spans_hide_fifteen_per_cent_and_never_touch(length: int, most: int) -> None:
    for seed in range(20):
        spans = random_spans(length, most, np.random.default_rng(seed))
        assert 1 <= len(spans) <= most
        assert sum(end - begin for begin, end in spans) == max(1, round(0.15 * length))
        assert all(0 <= begin < end <= length for begin, end in spans)
        assert all(spans[number][1] < spans[number + 1][0] for number in range(len(spans) - 1))


def test_spans_are_anywhere() -> None:
    generator = np.random.default_rng(0)
    covered = np.zeros(10)
    for _ in range(4000):
        for begin, end in random_spans(10, 5, generator):
            covered[begin:end] += 1
    # 2 of 10 tokens in one span: the outer ones are in one of nine spans, the others in two.
    expected = np.array([1, *[2] * 8, 1]) / 9
    np.testing.assert_allclose(covered / 4000, expected, atol=0.04)
