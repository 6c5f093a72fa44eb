"""The loss of equalising against its definition, for every family of models."""

from __future__ import annotations

import copy
import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from allocations import peak_of
from large_vocabulary import VOCABULARY, llama_of_large_vocabulary
from slow_equalising import slow_loss
from torch import nn
from torch.distributed import HashStore  # type: ignore[attr-defined]
from torch.nn.parallel import DistributedDataParallel
from zoo_fixtures import Zoo

from evenhand.core.experiments import Experiment
from evenhand.core.probes import TermPairs
from evenhand.core.recipes import LoraRecipe
from evenhand.mitigation.equalising.gaps import (
    GapCollector,
    OrdinarySentence,
    SentenceGap,
    vocabulary_finder,
)
from evenhand.mitigation.equalising.gendered_tokens import GenderedTokens, GenderedWordTokens
from evenhand.mitigation.equalising.objective import Balance, EqualisingObjective, GapPiece
from evenhand.mitigation.equalising.original import FrozenOriginal, Original, OriginalBesideAdapters
from evenhand.mitigation.equalising.replay import Replay, ReplayedRow
from evenhand.mitigation.equalising.term_trees import GenderedGroup, TermTree
from evenhand.models.engine.positions import PositionReader
from evenhand.models.engine.projection import WholeProjection
from evenhand.models.families.sentinel import SENTINEL
from evenhand.models.language_model import LanguageModel, load_language_model
from evenhand.models.references import ModelRef
from evenhand.training.adapters import Adapters
from evenhand.training.micro_batches import grouped

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
    OrdinarySentence("The sea is very cold in winter.", is_neutral=True),
    OrdinarySentence("My neighbour has a dog in the garden, and it was cold.", is_neutral=False),
    OrdinarySentence("Tea.", is_neutral=True),
    OrdinarySentence("It was late, and they left.", is_neutral=False),
)
NAMES = ("bert", "roberta", "distilbert", "albert", "gpt2", "llama", "t5", "mt5")
BALANCE = Balance(weight=0.7, replayed=20)
GENDERED = TermPairs(("a", "was"), ("in", "and"))
"""Words that stand for those that tell a gender: short ones, which are of one token in every vocabulary."""
TOLERANCE = 1e-5


@dataclass
class Lesson:
    """A model of one's own, its objective, and the model as it was."""

    model: LanguageModel
    objective: EqualisingObjective
    original: nn.Module
    telling: GenderedTokens

    def batch(self, seed: int = 0) -> list[GapPiece | ReplayedRow]:
        return self.objective.lay_out(self.objective.examples, np.random.default_rng(seed))

    def slow(self, batch: list[GapPiece | ReplayedRow], trained: nn.Module) -> float:
        return self.slow_tensor(batch, trained).item()

    def slow_tensor(self, batch: list[GapPiece | ReplayedRow], trained: nn.Module) -> torch.Tensor:
        return slow_loss(
            batch,
            trees=self.objective.trees,
            open_groups=self.objective.open_groups,
            telling=(self.telling.male.tolist(), self.telling.female.tolist()),
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
    gaps._numbers = {((), " "): 0, ((), ""): 1}


def lesson(
    model: LanguageModel,
    gaps: GapCollector | None = None,
    balance: Balance = BALANCE,
    make_original: Callable[[nn.Module], Original] = FrozenOriginal,
) -> Lesson:
    if gaps is None:
        gaps = GapCollector(model)
        assert not list(gaps.collect(SENTENCES, vocabulary_finder(TERMS, frozenset(), language="en")))
        assert len(gaps.gaps) == len(SENTENCES)
        if model.family is SENTINEL:
            with_words_of_like_length(gaps)
    words = GenderedWordTokens.of([GENDERED], gaps.tokens_of)
    assert len(words.tokens.male)
    assert len(words.tokens.female)
    replay = Replay(ORDINARY, model, words=words)
    original = copy.deepcopy(model.loaded.model)
    objective = EqualisingObjective(
        model,
        gaps,
        replay=replay,
        original=make_original(model.loaded.model),
        balance=balance,
        telling=words.tokens,
    )
    return Lesson(model, objective, original, words.tokens)


def test_each_experiment_counts_the_same_as_a_whole(menagerie: Zoo) -> None:
    given = lesson(own_copy(menagerie, "bert"))
    names = {number for number, gap in enumerate(given.objective.examples) if gap.weight == 2}
    assert names == {2}, "the only sentence with a name"
    pieces = [piece for piece in given.batch() if isinstance(piece, GapPiece)]
    weights = [piece.weight for piece in pieces]
    assert len(pieces) == len(SENTENCES)
    assert weights[2] == pytest.approx(BALANCE.weight / 2)
    assert sum(weights) - weights[2] == pytest.approx(BALANCE.weight / 2)


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
    rows = [row for seed in (0, 1) for row in given.batch(seed) if isinstance(row, ReplayedRow)]
    assert any(row.settled for row in rows), "no word is settled by another"
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
    gaps._numbers = {((), " "): 0}
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


def frozen_network(given: Lesson) -> nn.Module:
    original = given.objective._original
    assert isinstance(original, FrozenOriginal)
    return original._network


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
    frozen = frozen_network(given)
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
    weights = zip(frozen_network(given).parameters(), given.original.parameters(), strict=True)
    assert all(torch.equal(one, other) for one, other in weights)


@pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA device on this machine")
def test_a_step_does_not_wait_for_the_gpu(menagerie: Zoo) -> None:
    given = lesson(load_language_model(str(menagerie.folder("llama")), device="cuda"))
    network = given.model.loaded.model
    batches = [given.batch(seed) for seed in range(3)]
    for batch in batches * 4:  # what is set up once, recordings among it, may wait
        torch.autograd.backward(given.objective.loss(network, batch))
    torch.cuda.set_sync_debug_mode("error")
    try:
        for batch in batches:
            torch.autograd.backward(given.objective.loss(network, batch))
    finally:
        torch.cuda.set_sync_debug_mode("default")
    gradients = [weight.grad for weight in network.parameters() if weight.grad is not None]
    assert gradients
    assert all(bool(gradient.isfinite().all()) for gradient in gradients)


@pytest.mark.parametrize("name", ["bert", "gpt2", "t5"])
def test_a_batch_depends_on_the_generator_alone(menagerie: Zoo, name: str) -> None:
    given = lesson(menagerie.model(name))
    assert given.batch(1) == given.batch(1)
    assert given.batch(1) != given.batch(2)


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


@pytest.mark.parametrize("make_original", [FrozenOriginal, lambda _: OriginalBesideAdapters()])
@pytest.mark.parametrize("name", ["bert", "gpt2", "t5"])
def test_adapters_take_part(
    menagerie: Zoo, name: str, make_original: Callable[[nn.Module], Original]
) -> None:
    given = lesson(own_copy(menagerie, name), make_original=make_original)
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
    replay: Any = given.objective._replay
    draw = replay.draw

    def asks_nothing(*arguments: Any) -> list[ReplayedRow]:
        return [replace(row, places=(), targets=(), settled=()) for row in draw(*arguments)]

    monkeypatch.setattr(replay, "draw", asks_nothing)
    batch = given.batch()
    assert not any(piece.places for piece in batch if isinstance(piece, ReplayedRow))
    trained = given.model.loaded.model
    perturb(trained)
    assert given.objective.loss(trained, batch).item() == pytest.approx(
        given.slow(batch, trained), rel=TOLERANCE
    )


@pytest.mark.parametrize("at_once", [2, 1_000])
@pytest.mark.parametrize("name", ["bert", "gpt2", "t5"])
def test_chunks_give_the_loss_and_the_gradients_of_whole_vocabularies(
    menagerie: Zoo, monkeypatch: pytest.MonkeyPatch, name: str, at_once: int
) -> None:
    given = lesson(own_copy(menagerie, name))
    trained = given.model.loaded.model
    perturb(trained)
    batch = given.batch()
    wanted = with_gradients(trained, given.slow_tensor(batch, trained))
    monkeypatch.setattr(PositionReader, "_at_once", lambda *_: at_once)
    assert_same_gradients(with_gradients(trained, given.objective.loss(trained, batch)), wanted)


@pytest.mark.parametrize("name", ["bert", "gpt2", "t5"])
def test_however_a_batch_is_split_its_gradients_are_the_same(menagerie: Zoo, name: str) -> None:
    given = lesson(own_copy(menagerie, name))
    trained = given.model.loaded.model
    perturb(trained)
    batch = given.batch()
    whole = with_gradients(trained, given.objective.loss(trained, batch))
    for max_tokens in (1, 30, 100):
        groups = grouped(batch, max_tokens)
        assert len(groups) > 1
        losses = [given.objective.loss(trained, group) for group in groups]  # type: ignore[arg-type]
        assert_same_gradients(with_gradients(trained, *losses), whole)


LossWithGradients = tuple[float, dict[str, torch.Tensor]]


def with_gradients(trained: nn.Module, *losses: torch.Tensor) -> LossWithGradients:
    """The sum of losses, and its gradients."""
    trained.zero_grad()
    for loss in losses:
        loss.backward()  # type: ignore[no-untyped-call]
    gradients = {
        known: weight.grad.clone() for known, weight in trained.named_parameters() if weight.grad is not None
    }
    return sum(loss.item() for loss in losses), gradients


def assert_same_gradients(found: LossWithGradients, wanted: LossWithGradients) -> None:
    assert found[0] == pytest.approx(wanted[0], rel=1e-6, abs=1e-6)
    assert found[1].keys() == wanted[1].keys()
    made, expected = (
        torch.cat([own.flatten() for _, own in sorted(each.items())]) for each in (found[1], wanted[1])
    )
    assert (made - expected).abs().max() <= 4e-6 * max(1.0, expected.abs().max().item())


def test_a_decoder_is_shown_a_quarter_of_the_gaps_without_what_stands_before(menagerie: Zoo) -> None:
    given = lesson(menagerie.model("gpt2"))
    opening = [gap for gap in given.objective.examples if gap.opening is not None]
    assert 0 < len(opening) < len(given.objective.examples)
    shown = [
        piece.shown.rows[0].ids[: len(gap.before)] == gap.before
        for seed in range(100)
        for gap in opening
        for piece in given.objective.lay_out([gap], np.random.default_rng(seed))[:1]
        if isinstance(piece, GapPiece)
    ]
    error = math.sqrt(0.75 * 0.25 / len(shown))
    assert np.mean(shown) == pytest.approx(0.75, abs=4 * error)


def test_a_step_stays_within_the_budget_whatever_the_vocabulary(tmp_path: Path) -> None:
    """Scores over the vocabulary of all tokens at once would take more than three times the budget."""
    budget = 2**25
    source = llama_of_large_vocabulary(tmp_path)
    model = load_language_model(ModelRef(id=str(source), device="cpu", memory=budget))
    given = lesson(model, balance=Balance(weight=0.7, replayed=256))
    pieces = given.batch()
    network = model.loaded.model
    assert 4 * VOCABULARY * sum(piece.tokens for piece in pieces) > 3 * budget

    def step() -> None:
        network.zero_grad(set_to_none=True)
        torch.autograd.backward(given.objective.loss(network, pieces))

    step()
    gradients = sum(weight.numel() * weight.element_size() for weight in network.parameters())
    assert peak_of(step) < budget + 2 * gradients
