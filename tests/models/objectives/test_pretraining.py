"""Continued pre-training: each family's objective against its specification."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
import zoo_tokenizers
from zoo_fixtures import Zoo

from evenhand.core.errors import EvenhandError
from evenhand.models.engine.positions import PositionReader
from evenhand.models.limits import longest_input
from evenhand.models.objectives.objective import PretrainingOptions, TokenRow, padded
from evenhand.models.objectives.pretraining import (
    MaskedPretraining,
    NextTokenPretraining,
    SpanPretraining,
    TokenisedSentence,
)
from evenhand.models.references import ModelError
from evenhand.training.pretraining import pretraining_objective

SENTENCES = tuple(dict.fromkeys(zoo_tokenizers.sentences()))[:120]
IGNORED = -100


def generator(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


def draws(objective: Any, count: int) -> list[tuple[TokenisedSentence, list[int], list[int]]]:
    """Sentences with what was shown of them and what is asked, many times."""
    found = []
    for number in range(count):
        rows = objective.lay_out(objective.examples, generator(number))
        found += [
            (sentence, list(row.ids), labels(row))
            for sentence, row in zip(objective.examples, rows, strict=True)
        ]
    return found


def labels(row: TokenRow) -> list[int]:
    """What is asked at every place of a row."""
    asked = [IGNORED] * len(row.ids)
    for place, token in zip(row.places, row.targets, strict=True):
        asked[place] = token
    return asked


def within_four_deviations(hits: int, total: int, share: float) -> bool:
    return abs(hits - total * share) < 4 * math.sqrt(total * share * (1 - share))


@pytest.mark.parametrize("name", ["bert", "roberta"])
def test_fifteen_in_a_hundred_tokens_are_chosen_and_treated_in_three_ways(menagerie: Zoo, name: str) -> None:
    model = menagerie.model(name)
    mask = model.loaded.tokenizer.mask_token_id
    kinds: Counter[str] = Counter()
    own = 0
    for sentence, shown, asked in draws(MaskedPretraining(SENTENCES, model, PretrainingOptions()), 30):
        own += len(sentence.own)
        for place, wanted in enumerate(asked):
            if wanted == IGNORED:
                assert shown[place] == sentence.ids[place]
                continue
            assert wanted == sentence.ids[place]
            kinds["mask" if shown[place] == mask else "same" if shown[place] == wanted else "other"] += 1
    chosen = kinds.total()
    assert within_four_deviations(chosen, own, 0.15)
    assert within_four_deviations(kinds["mask"], chosen, 0.8)
    # Another token drawn at random is the same one only once in hundreds of times.
    assert within_four_deviations(kinds["other"], chosen, 0.1)
    assert within_four_deviations(kinds["same"], chosen, 0.1)


@pytest.mark.parametrize("whole_words", [False, True])
def test_special_tokens_are_neither_chosen_nor_put_in(menagerie: Zoo, whole_words: bool) -> None:
    model = menagerie.model("bert")
    tokenizer = model.loaded.tokenizer
    others = set(tokenizer.all_special_ids) - {tokenizer.mask_token_id}
    for _, shown, asked in draws(
        MaskedPretraining(SENTENCES, model, PretrainingOptions(whole_words=whole_words)), 10
    ):
        assert shown[0] == tokenizer.cls_token_id
        assert shown[-1] == tokenizer.sep_token_id
        assert asked[0] == asked[-1] == IGNORED
        hidden = [token for token, wanted in zip(shown, asked, strict=True) if wanted != IGNORED]
        assert not others & set(hidden)


def test_whole_words_are_hidden_together(menagerie: Zoo) -> None:
    model = menagerie.model("bert")
    tokenizer = model.loaded.tokenizer
    words = chosen = several = own = hidden = 0
    for sentence, _, asked in draws(
        MaskedPretraining(SENTENCES, model, PretrainingOptions(whole_words=True)), 20
    ):
        tokens = tokenizer.convert_ids_to_tokens(sentence.ids.tolist())
        for place in range(1, len(tokens) - 1):
            own += 1
            hidden += asked[place] != IGNORED
            if tokens[place].startswith("##"):
                assert (asked[place] == IGNORED) == (asked[place - 1] == IGNORED)
                several += asked[place] != IGNORED
            else:
                words += 1
                chosen += asked[place] != IGNORED
    assert several > 100
    assert within_four_deviations(chosen, words, 0.15)
    assert hidden / own == pytest.approx(0.15, abs=0.02)


def test_the_masked_loss_is_the_mean_surprise_at_what_was_chosen(menagerie: Zoo) -> None:
    model = menagerie.model("bert")
    objective = MaskedPretraining(SENTENCES[:6], model, PretrainingOptions())
    rows = objective.lay_out(objective.examples, generator())
    lost = []
    for row in rows:
        logs = model.loaded.model(torch.tensor([row.ids])).logits[0].log_softmax(-1)
        lost += [-logs[place, wanted].item() for place, wanted in zip(row.places, row.targets, strict=True)]
    assert objective.loss(model.loaded.model, rows).item() == pytest.approx(float(np.mean(lost)), rel=1e-4)


def test_a_batch_in_which_nothing_was_chosen_costs_nothing(menagerie: Zoo) -> None:
    model = menagerie.model("bert")
    objective = MaskedPretraining(["Tea."], model, PretrainingOptions())
    rows = [replace(row, places=(), targets=()) for row in objective.lay_out(objective.examples, generator())]
    loss = objective.loss(model.loaded.model, rows)
    assert loss.item() == 0
    loss.backward()  # type: ignore[no-untyped-call]


@pytest.mark.parametrize("name", ["gpt2", "llama"])
def test_a_decoder_is_asked_for_every_token_after_the_start(menagerie: Zoo, name: str) -> None:
    model = menagerie.model(name)
    objective = NextTokenPretraining(SENTENCES[:6], model, PretrainingOptions())
    rows = objective.lay_out(objective.examples, generator())
    shown = [row.ids for row in rows]
    own = model.loaded.model(
        input_ids=padded(shown, model.loaded.pad_id),
        attention_mask=padded([[1] * len(ids) for ids in shown], 0),
        labels=padded(shown, IGNORED),  # as everywhere in Transformers, wanted one place before its own
        use_cache=False,
    ).loss
    assert objective.loss(model.loaded.model, rows).item() == pytest.approx(own.item(), rel=1e-5)
    tokenizer = model.loaded.tokenizer
    for row, sentence in zip(objective.examples, SENTENCES, strict=False):
        assert row[0] == tokenizer.bos_token_id
        assert tokenizer.decode(row[1:]).strip() == sentence.strip()


def test_spans_put_back_for_their_sentinels_give_the_sentence(menagerie: Zoo) -> None:
    model = menagerie.model("t5")
    tokenizer = model.loaded.tokenizer
    sentinels = [tokenizer.convert_tokens_to_ids(name) for name in zoo_tokenizers.SENTINELS]
    objective = SpanPretraining(
        [" ".join(SENTENCES[n : n + 4]) for n in range(0, 100, 4)], model, PretrainingOptions()
    )
    hidden = own = spans = 0
    for number in range(20):
        rows = objective.lay_out(objective.examples, generator(number))
        for sentence, row in zip(objective.examples, rows, strict=True):
            source, written = row.source, list(row.targets)
            assert written[-1] == tokenizer.eos_token_id
            parts = parted(written[:-1], sentinels)
            used = [sentinel for sentinel, _ in parts]
            assert used == sentinels[: len(used)]
            assert parts[-1][1] == []
            assert all(span for _, span in parts[:-1])
            filled = dict(parts[:-1])
            back = [own for token in source for own in filled.get(token, [token])]
            assert back[: len(sentence)] == sentence.ids.tolist()
            assert row.text_tokens == sum(len(span) for span in filled.values())
            hidden += row.text_tokens
            own += len(sentence.own)
            spans += len(filled)
    assert hidden / own == pytest.approx(0.15, abs=0.01)
    # The tokenizer has five sentinels, so long sentences have fewer and longer spans than T5's three tokens.
    assert 3 <= hidden / spans < 6


def parted(written: list[int], sentinels: list[int]) -> list[tuple[int, list[int]]]:
    parts: list[tuple[int, list[int]]] = []
    for token in written:
        if token in sentinels:
            parts.append((token, []))
        else:
            parts[-1][1].append(token)
    return parts


def test_the_span_loss_is_the_models_own(menagerie: Zoo) -> None:
    model = menagerie.model("t5")
    objective = SpanPretraining(SENTENCES[:6], model, PretrainingOptions())
    rows = objective.lay_out(objective.examples, generator())
    sources = [row.source for row in rows]
    own = model.loaded.model(
        input_ids=padded(sources, model.loaded.pad_id),
        attention_mask=padded([[1] * len(source) for source in sources], 0),
        labels=padded([row.targets for row in rows], IGNORED),
    ).loss
    assert objective.loss(model.loaded.model, rows).item() == pytest.approx(own.item(), rel=1e-5)


@pytest.mark.parametrize(
    ("name", "kind"), [("bert", MaskedPretraining), ("gpt2", NextTokenPretraining), ("mt5", SpanPretraining)]
)
def test_the_objective_is_that_of_the_family(menagerie: Zoo, name: str, kind: type) -> None:
    assert isinstance(pretraining_objective(SENTENCES[:3], menagerie.model(name)), kind)


def test_a_model_that_writes_sentences_anew_has_no_objective(menagerie: Zoo) -> None:
    with pytest.raises(ModelError, match="cannot go on learning from sentences"):
        pretraining_objective(SENTENCES, menagerie.model("bart"))


def test_only_masked_models_have_whole_words_to_hide(menagerie: Zoo) -> None:
    with pytest.raises(ModelError, match="no masked model"):
        pretraining_objective(SENTENCES, menagerie.model("gpt2"), whole_words=True)


@pytest.mark.parametrize("name", ["bert", "gpt2", "t5"])
def test_long_sentences_are_cut_where_asked(menagerie: Zoo, name: str) -> None:
    long = " ".join(SENTENCES)
    model = menagerie.model(name)
    assert max(map(len, pretraining_objective([long], model, max_tokens=20).examples)) == 20
    limit = longest_input(model.loaded)
    if limit:
        assert len(pretraining_objective([long], model).examples[0]) == limit


def test_fewer_than_three_tokens_teach_nothing(menagerie: Zoo) -> None:
    with pytest.raises(EvenhandError, match="at most 2 tokens"):
        pretraining_objective(SENTENCES, menagerie.model("bert"), max_tokens=2)


def test_sentences_without_tokens_are_left_out(menagerie: Zoo) -> None:
    for name in ("bert", "gpt2", "t5"):
        assert len(pretraining_objective(["", "The tea is hot."], menagerie.model(name)).examples) == 1


@pytest.mark.parametrize("name", ["bert", "gpt2", "t5"])
def test_chunks_and_parts_of_a_batch_give_the_loss_and_the_gradients_of_the_whole(
    menagerie: Zoo, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    model = menagerie.model(name)
    network = model.loaded.model
    objective = pretraining_objective(SENTENCES[:6], model)
    rows = objective.lay_out(objective.examples, generator())

    def gradients(*parts: Any) -> tuple[float, torch.Tensor]:
        losses = [objective.loss(network, part) for part in parts]
        weights = [weight for weight in network.parameters() if weight.requires_grad]
        made = torch.autograd.grad(sum(losses), weights, allow_unused=True)  # type: ignore[arg-type]
        return sum(loss.item() for loss in losses), torch.cat(
            [one.flatten() for one in made if one is not None]
        )

    whole = gradients(rows)
    monkeypatch.setattr(PositionReader, "_at_once", lambda *_: 2)
    for parts in ([rows], [rows[:1], rows[1:4], rows[4:]]):
        lost, made = gradients(*parts)
        assert lost == pytest.approx(whole[0], rel=1e-6)
        torch.testing.assert_close(made, whole[1], rtol=1e-5, atol=1e-6)
