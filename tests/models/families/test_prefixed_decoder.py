"""Decoders with a prefix: every score is that of the text behind the prefix, and the prefix itself is not scored."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from zoo_fixtures import Zoo

from evenhand.core.items import Association, Candidate, Label, PairDirection, SentencePair, Task
from evenhand.core.protocols import MULTILINGUAL_2023, STEREOSET_2021, Protocol
from evenhand.instruments.association.ways import (
    Continuation,
    MethodOptions,
    choose_method,
    geometric_mean,
)
from evenhand.instruments.pair_control import pair_requests
from evenhand.models.language_model import LanguageModel, load_language_model
from evenhand.models.references import ModelError, ModelRef
from evenhand.training.perplexity import HeldOut

pytestmark = pytest.mark.torch

PREFIX = "Once upon "
NAMES = ["gpt2", "llama", "bloom"]


def prefixed(menagerie: Zoo, name: str) -> LanguageModel:
    return load_language_model(ModelRef(id=str(menagerie.folder(name)), device="cpu", prefix=PREFIX))


def slow_logs(model: LanguageModel, text: str) -> list[float]:
    """Log-probabilities of the tokens of a text behind the prefix, one sequence, all places."""
    tokenizer = model.tokenizer
    encoded = tokenizer(PREFIX + text, add_special_tokens=False, return_offsets_mapping=True)
    plain = encoded["input_ids"]
    before = sum(end <= len(PREFIX) for _, end in encoded["offset_mapping"])
    start = model.family.text_start(model.loaded)
    ids = [start, *plain]
    with torch.no_grad():
        logits = model.loaded.model(input_ids=torch.tensor([ids]))[0][0]
    logs = logits.double().log_softmax(-1)
    return [float(logs[place - 1, ids[place]]) for place in range(1 + before, len(ids))]


@pytest.mark.parametrize("name", NAMES)
def test_texts_are_scored_behind_the_prefix(menagerie: Zoo, name: str) -> None:
    model = prefixed(menagerie, name)

    (score,) = model.score_texts(["A man went home."])

    assert score.log_probs == pytest.approx(slow_logs(model, "A man went home."), abs=1e-5)


def an_item(task: Task) -> Association:
    context = "The BLANK slept." if task is Task.INTRASENTENCE else "He was tired."
    texts = ("The cat slept.", "The dog slept.", "The sky slept.")
    if task is Task.INTERSENTENCE:
        texts = ("He slept.", "He ran.", "It rains.")
    labels = (Label.STEREOTYPE, Label.ANTI_STEREOTYPE, Label.UNRELATED)
    first, second, third = (
        Candidate(str(number), text, label)
        for number, (text, label) in enumerate(zip(texts, labels, strict=True))
    )
    return Association("1", "en", "gender", "cat", "cat", task, context, (first, second, third))


def scores(model: LanguageModel, item: Association, options: MethodOptions) -> list[float]:
    method = choose_method(model, item.task, options)
    return [
        method.combine([answer.log_probs for answer in model.answer(method.requests(item, candidate))])
        for candidate in item.candidates
    ]


@pytest.mark.parametrize("name", NAMES)
def test_candidates_of_a_sentence_are_scored_behind_the_prefix(menagerie: Zoo, name: str) -> None:
    model, item = prefixed(menagerie, name), an_item(Task.INTRASENTENCE)

    expected = [geometric_mean(slow_logs(model, candidate.text)) for candidate in item.candidates]

    assert scores(model, item, MethodOptions()) == pytest.approx(expected, rel=1e-5)


@pytest.mark.parametrize(
    "variant", [Continuation.GIVEN_CONTEXT, Continuation.FULL, Continuation.ALONE_PER_CONTEXT]
)
def test_a_next_sentence_is_scored_behind_the_prefix(menagerie: Zoo, variant: Continuation) -> None:
    model, item = prefixed(menagerie, "gpt2"), an_item(Task.INTERSENTENCE)
    context = slow_logs(model, item.context)

    expected = []
    for candidate in item.candidates:
        full = slow_logs(model, f"{item.context} {candidate.text}")
        alone = slow_logs(model, candidate.text)
        expected.append(
            {
                Continuation.GIVEN_CONTEXT: geometric_mean(full[len(context) :]),
                Continuation.FULL: geometric_mean(full),
                Continuation.ALONE_PER_CONTEXT: geometric_mean(alone) / geometric_mean(context),
            }[variant]
        )

    assert scores(model, item, MethodOptions(inter=variant)) == pytest.approx(expected, rel=1e-5)


def test_pairs_are_scored_behind_the_prefix(menagerie: Zoo) -> None:
    model = prefixed(menagerie, "gpt2")
    pair = SentencePair("1", "en", "gender", PairDirection.STEREO, "He ran.", "She ran.")

    more, less = model.answer(pair_requests(pair))

    assert more.log_probs == pytest.approx(slow_logs(model, "He ran."), abs=1e-5)
    assert less.log_probs == pytest.approx(slow_logs(model, "She ran."), abs=1e-5)


def test_the_perplexity_is_that_of_the_sentences_alone(menagerie: Zoo) -> None:
    model = prefixed(menagerie, "gpt2")
    sentences = ["A man went home.", "It rains."]
    logs = [slow_logs(model, sentence) for sentence in sentences]

    loss = HeldOut(sentences, model).loss(model.loaded.model)

    assert loss.nats.tolist() == pytest.approx([-math.fsum(own) for own in logs], abs=1e-4)
    assert loss.tokens.tolist() == [len(own) for own in logs]
    plain = HeldOut(sentences, menagerie.model("gpt2"))
    assert np.array_equal(loss.tokens, plain.tokens)
    assert plain.loss(menagerie.model("gpt2").loaded.model).perplexity != pytest.approx(loss.perplexity)


@pytest.mark.parametrize("protocol", [MULTILINGUAL_2023, STEREOSET_2021], ids=lambda own: own.name)
def test_published_protocols_have_no_place_for_a_prefix(menagerie: Zoo, protocol: Protocol) -> None:
    with pytest.raises(ModelError, match="has the prefix 'Once upon ', and protocol"):
        choose_method(prefixed(menagerie, "gpt2"), Task.INTRASENTENCE, MethodOptions(protocol))


def test_a_masked_model_takes_no_prefix(menagerie: Zoo) -> None:
    with pytest.raises(ModelError, match="Leave it out to fill blanks"):
        prefixed(menagerie, "bert").score_fills("A BLANK ran.", ["man"])
