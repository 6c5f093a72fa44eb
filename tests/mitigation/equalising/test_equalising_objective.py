"""The loss of equalising against its definition, for every family of models."""

from __future__ import annotations

import copy
import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pytest
import torch
from slow_equalising import RecordingReplay, slow_loss
from torch import nn
from torch.distributed import HashStore  # type: ignore[attr-defined]
from torch.nn.parallel import DistributedDataParallel
from zoo_fixtures import Zoo

from evenhand.core.probes import Experiment, TermPairs
from evenhand.core.recipes import LoraRecipe
from evenhand.mitigation.equalising.gaps import GapCollector, SentenceGap, vocabulary_finder
from evenhand.mitigation.equalising.objective import Balance, EqualisingObjective
from evenhand.mitigation.equalising.term_trees import GenderedGroup, TermTree
from evenhand.models.engine.projection import WholeProjection
from evenhand.models.families.sentinel import SENTINEL
from evenhand.models.language_model import LanguageModel
from evenhand.training.adapters import Adapters
from evenhand.training.pretraining import pretraining_objective

TERMS = {
    Experiment.HE_SHE: TermPairs(("he",), ("she",)),
    Experiment.NAMES: TermPairs(("James", "Robert"), ("Mary", "Annemarie")),
}
SENTENCES = (
    "The doctor said that he was late.",
    "She likes tea.",
    "We asked Robert, the doctor.",
    "Every night she sleeps.",
)
ORDINARY = (
    "The sea is very cold in winter.",
    "My neighbour has a dog that barks at night.",
    "Tea.",
    "They said that it was late, and left.",
)
NAMES = ("bert", "roberta", "distilbert", "albert", "gpt2", "llama", "t5", "mt5")
BALANCE = Balance(weight=0.7, replayed=6)
TOLERANCE = 1e-5


@dataclass
class Lesson:
    """A model of one's own, its objective, and the model as it was."""

    model: LanguageModel
    objective: EqualisingObjective
    replay: RecordingReplay
    original: nn.Module

    def batch(self, seed: int = 0) -> dict[str, torch.Tensor]:
        examples = self.objective.examples
        return self.objective.collate(examples, np.random.default_rng(seed))

    def slow(self, batch: dict[str, torch.Tensor], trained: nn.Module) -> float:
        return slow_loss(
            batch,
            self.replay.batches[-1],
            trees=self.objective.trees,
            model=self.model,
            original=self.original,
            trained=trained,
            weight=self.objective.balance.weight,
        )


def own_copy(menagerie: Zoo, name: str) -> LanguageModel:
    """A model that may be changed."""
    loaded = menagerie.model(name).loaded
    model: Any = copy.deepcopy(loaded.model)
    if loaded.family is SENTINEL:
        # T5 of the zoo expects all tokens about equally; so there would be nothing to even out.
        with torch.no_grad():
            model.decoder.final_layer_norm.weight *= 3
    return LanguageModel(replace(loaded, model=model))


def with_words_of_like_length(gaps: GapCollector) -> None:
    """Other words for T5's gaps: its tokenizer parts "she" and not "he", and a model that knows neither word is sure
    that the shorter one stands there."""
    gaps.trees[:] = [
        TermTree(
            (
                GenderedGroup(((200,), (210, 211)), ((220,), (210, 212))),
                GenderedGroup(((230, 231),), ((230, 232),)),
            )
        ),
        TermTree((GenderedGroup(((240,),), ((250,),)),)),
    ]
    gaps.gaps[:] = [
        replace(gap, tree=number % 2, word=((200,), (250,))[number % 2])
        for number, gap in enumerate(gaps.gaps)
    ]


def lesson(model: LanguageModel, gaps: GapCollector | None = None, balance: Balance = BALANCE) -> Lesson:
    if gaps is None:
        gaps = GapCollector(model)
        assert not list(gaps.collect(SENTENCES, vocabulary_finder(TERMS, frozenset(), language="en")))
        assert len(gaps.gaps) == len(SENTENCES)
        if model.family is SENTINEL:
            with_words_of_like_length(gaps)
    replay = RecordingReplay(pretraining_objective(ORDINARY, model))
    original = copy.deepcopy(model.loaded.model)
    return Lesson(model, EqualisingObjective(model, gaps, replay=replay, balance=balance), replay, original)


def perturb(model: nn.Module, *, named: str = "", seed: int = 5) -> None:
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for name, weight in model.named_parameters():
            if named in name:
                weight.add_(0.1 * torch.randn(weight.shape, generator=generator))


@pytest.mark.parametrize("name", NAMES)
def test_the_loss_is_that_of_its_definition(menagerie: Zoo, name: str) -> None:
    given = lesson(own_copy(menagerie, name))
    assert given.model.is_split
    trained = given.model.loaded.model
    assert given.objective.loss(trained, given.batch()).item() > 0.01, "there is nothing to even out"
    # In place: what was the model before it is changed is the original, for good.
    perturb(trained)
    for seed in (0, 1):
        batch = given.batch(seed)
        wanted = given.slow(batch, trained)
        assert wanted > 0.01
        assert given.objective.loss(trained, batch).item() == pytest.approx(
            wanted, rel=TOLERANCE, abs=TOLERANCE
        )


@pytest.mark.parametrize("name", ["bert", "gpt2", "t5"])
def test_without_evening_out_only_change_counts(menagerie: Zoo, name: str) -> None:
    given = lesson(own_copy(menagerie, name), balance=replace(BALANCE, weight=0.0))
    batch = given.batch()
    trained = given.model.loaded.model
    assert given.objective.loss(trained, batch).item() == pytest.approx(0, abs=TOLERANCE)
    perturb(trained)
    assert given.objective.loss(trained, batch).item() == pytest.approx(
        given.slow(batch, trained), rel=TOLERANCE
    )


def even_gaps(model: LanguageModel) -> GapCollector:
    """A gap for two tokens that the model cannot tell apart, nor expect one rather than the other."""
    gaps = GapCollector(model)
    list(gaps.collect(SENTENCES[:1], vocabulary_finder(TERMS, frozenset(), language="en")))
    (sentence,) = gaps.gaps
    one, other = 200, 300
    gaps.trees[:] = [TermTree((GenderedGroup(((one,),), ((other,),)),))]
    gaps.gaps[:] = [SentenceGap(sentence.before, sentence.after, 0, (one,))] * 2
    inner: Any = model.loaded.model
    head = inner.get_output_embeddings()
    with torch.no_grad():
        for weight in (inner.get_input_embeddings().weight, head.weight, getattr(head, "bias", None)):
            if weight is not None:
                weight[other] = weight[one]
    return gaps


@pytest.mark.parametrize("name", ["bert", "distilbert", "gpt2", "llama", "t5", "mt5"])
def test_a_model_that_is_even_has_nothing_to_learn(menagerie: Zoo, name: str) -> None:
    model = own_copy(menagerie, name)
    given = lesson(model, even_gaps(model))
    assert given.objective.loss(model.loaded.model, given.batch()).item() == pytest.approx(0, abs=TOLERANCE)
    perturb(model.loaded.model)
    assert given.objective.loss(model.loaded.model, given.batch()).item() > 0.01


@pytest.mark.parametrize("name", ["bert", "gpt2", "t5"])
def test_the_loss_is_never_negative(menagerie: Zoo, name: str) -> None:
    given = lesson(own_copy(menagerie, name))
    for seed in range(5):
        assert given.objective.loss(given.model.loaded.model, given.batch(seed)).item() >= 0
        perturb(given.model.loaded.model, seed=seed)


@pytest.mark.parametrize("name", ["bert", "gpt2", "t5"])
def test_the_model_learns_and_the_original_stays(menagerie: Zoo, name: str) -> None:
    given = lesson(own_copy(menagerie, name))
    trained: Any = given.model.loaded.model
    trained.train()
    batch = given.batch()
    given.objective.loss(trained, batch).backward()  # type: ignore[no-untyped-call]
    without = [known for known, weight in trained.named_parameters() if weight.grad is None]
    # BERT's next-sentence head and pooler take no part.
    assert all("seq_relationship" in known or "pooler" in known for known in without)
    assert any(weight.grad is not None and weight.grad.abs().max() > 0 for weight in trained.parameters())
    frozen = given.objective._original
    assert not frozen.training
    assert not any(weight.requires_grad or weight.grad is not None for weight in frozen.parameters())


@pytest.mark.parametrize("name", ["bert", "gpt2", "t5"])
def test_a_few_steps_lower_the_loss_and_leave_the_original(menagerie: Zoo, name: str) -> None:
    given = lesson(own_copy(menagerie, name))
    trained: Any = given.model.loaded.model
    batch = given.batch()
    optimiser = torch.optim.AdamW(trained.parameters(), lr=1e-3)
    losses = []
    for _ in range(8):
        optimiser.zero_grad()
        loss = given.objective.loss(trained, batch)
        loss.backward()  # type: ignore[no-untyped-call]
        optimiser.step()
        losses.append(loss.item())
    assert losses[-1] < 0.8 * losses[0]
    weights = zip(given.objective._original.parameters(), given.original.parameters(), strict=True)
    assert all(torch.equal(one, other) for one, other in weights)


@pytest.mark.parametrize("name", ["bert", "gpt2", "t5"])
def test_a_batch_depends_on_the_generator_alone(menagerie: Zoo, name: str) -> None:
    given = lesson(menagerie.model(name))
    first, again, other = given.batch(1), given.batch(1), given.batch(2)
    assert first.keys() == again.keys()
    assert all(torch.equal(values, again[known]) for known, values in first.items())
    assert not torch.equal(first["input_ids"], other["input_ids"])
    reordered = given.objective.collate(given.objective.examples[::-1], np.random.default_rng(1))
    assert reordered["trees"].tolist() == sorted(reordered["trees"].tolist())


@pytest.mark.parametrize("name", ["bert", "gpt2", "t5"])
def test_a_model_that_cannot_be_split_has_the_same_loss(menagerie: Zoo, name: str) -> None:
    model = own_copy(menagerie, name)
    model.__dict__["projection"] = WholeProjection(model.loaded.model)
    assert not model.is_split
    given = lesson(model)
    perturb(model.loaded.model)
    batch = given.batch()
    found = given.objective.loss(model.loaded.model, batch)
    assert found.item() == pytest.approx(given.slow(batch, model.loaded.model), rel=TOLERANCE)
    assert found.requires_grad


@pytest.mark.parametrize("name", ["bert", "gpt2", "t5"])
def test_adapters_take_part(menagerie: Zoo, name: str) -> None:
    given = lesson(own_copy(menagerie, name))
    inner = given.model.loaded.model
    wrapped: Any = Adapters(inner, LoraRecipe(rank=2))._wrapped
    batch = given.batch()
    untouched = given.objective.loss(wrapped, batch).item()
    assert untouched == pytest.approx(given.slow(batch, given.original), rel=TOLERANCE)
    perturb(wrapped, named="lora_B")
    wanted = given.slow(batch, wrapped)
    assert abs(wanted - untouched) > 1e-3
    # Fitting hands over the model itself, in which the adapters are; accelerate may hand over the wrapper.
    for handed in (wrapped, inner):
        loss = given.objective.loss(handed, batch)
        assert loss.item() == pytest.approx(wanted, rel=TOLERANCE)
    loss.backward()  # type: ignore[no-untyped-call]
    learning = {known for known, weight in wrapped.named_parameters() if weight.grad is not None}
    assert learning
    assert all("lora_" in known for known in learning)


@pytest.fixture
def one_process() -> Iterator[None]:
    torch.distributed.init_process_group("gloo", rank=0, world_size=1, store=HashStore())
    yield
    torch.distributed.destroy_process_group()


@pytest.mark.usefixtures("one_process")
def test_a_model_spread_over_processes_has_the_same_loss(menagerie: Zoo) -> None:
    given = lesson(own_copy(menagerie, "gpt2"))
    spread = DistributedDataParallel(given.model.loaded.model)
    perturb(given.model.loaded.model)
    batch = given.batch()
    loss = given.objective.loss(spread, batch)
    assert loss.item() == pytest.approx(given.slow(batch, given.model.loaded.model), rel=TOLERANCE)
    loss.backward()  # type: ignore[no-untyped-call]
    assert all(weight.grad is not None for weight in spread.parameters())


@pytest.mark.parametrize("name", ["bert", "gpt2", "t5"])
def test_half_precision_gives_about_the_same(menagerie: Zoo, name: str) -> None:
    given = lesson(own_copy(menagerie, name))
    trained = given.model.loaded.model
    perturb(trained)
    batch = given.batch()
    with torch.autocast("cpu", torch.bfloat16):
        loss = given.objective.loss(trained, batch)
    assert loss.dtype is torch.float32
    assert loss.item() == pytest.approx(given.slow(batch, trained), rel=0.1)
    loss.backward()  # type: ignore[no-untyped-call]
    assert all(math.isfinite(w.grad.sum()) for w in trained.parameters() if w.grad is not None)


def test_a_batch_of_settled_gaps_costs_nothing_where_nothing_changed(menagerie: Zoo) -> None:
    model = own_copy(menagerie, "bert")
    gaps = even_gaps(model)
    inner: Any = model.loaded.model
    with torch.no_grad():
        inner.get_output_embeddings().bias[200] += 9 * math.log(2)
    given = lesson(model, gaps)
    batch = given.batch()
    assert given.objective.loss(inner, batch).item() == pytest.approx(0, abs=TOLERANCE)
    assert given.slow(batch, inner) == pytest.approx(0, abs=TOLERANCE)


def test_a_batch_that_asks_for_no_ordinary_token_counts_the_gaps_alone(
    menagerie: Zoo, monkeypatch: pytest.MonkeyPatch
) -> None:
    given = lesson(own_copy(menagerie, "bert"))
    collate = given.replay.collate

    def asks_nothing(*arguments: Any) -> dict[str, torch.Tensor]:
        made = collate(*arguments)
        given.replay.batches[-1]["labels"][:] = -100
        return {**made, "labels": torch.full_like(made["labels"], -100)}

    monkeypatch.setattr(given.replay, "collate", asks_nothing)
    batch = given.batch()
    assert batch["ordinary"].shape == (2, 0)
    trained = given.model.loaded.model
    perturb(trained)
    assert given.objective.loss(trained, batch).item() == pytest.approx(
        given.slow(batch, trained), rel=TOLERANCE
    )
