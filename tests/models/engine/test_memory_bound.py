"""Memory is planned: a batch stays within its budget, however large a vocabulary and however much sentences share."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest
import torch
from allocations import peak_of
from engine_scores import values_of
from large_vocabulary import VOCABULARY, llama_of_large_vocabulary
from zoo_fixtures import Zoo

from evenhand.models.engine.memory import BatchMemory, Footprint, MemoryBudget
from evenhand.models.engine.projection import WholeProjection
from evenhand.models.engine.requests import CausalRequest, MaskedRequest, Seq2SeqRequest, TokenRequest
from evenhand.models.families.decoder import DECODER
from evenhand.models.families.masked import MASKED
from evenhand.models.language_model import LanguageModel, load_language_model
from evenhand.models.references import ModelRef
from evenhand.training.pretraining import pretraining_objective

BUDGET = 2**26


@pytest.fixture(scope="module")
def large_vocabulary(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A tiny Llama whose vocabulary is as large as that of real ones."""
    return llama_of_large_vocabulary(tmp_path_factory.mktemp("llama"))


def sentences(count: int, *, branches: int = 8) -> list[TokenRequest]:
    """Sentences that all start alike, as those of a probe do: a tree that grows with their number."""
    numbers = np.random.default_rng(3).integers(300, VOCABULARY, size=(count // branches, 6))
    return [
        CausalRequest((1, 2, *middle, 300 + end, 7), 1, "")
        for middle in numbers.tolist()
        for end in range(branches)
    ]


def test_a_tree_of_all_sentences_stays_within_the_budget(large_vocabulary: Path) -> None:
    """Mask, hidden values and scores over the vocabulary together; as one tree they take ten times as much."""
    requests = sentences(400)
    model = load_language_model(ModelRef(id=str(large_vocabulary), device="cpu", memory=BUDGET))
    assert model.shares_prefixes
    assert model.is_split
    found: list[list[float]] = []
    assert peak_of(lambda: found.extend(values_of(model, requests))) < BUDGET
    plenty = load_language_model(ModelRef(id=str(large_vocabulary), device="cpu", memory=2**32))
    some = requests[::40]
    np.testing.assert_allclose(found[::40], values_of(plenty, some), rtol=0, atol=1e-4)


def test_a_step_of_training_stays_within_the_budget_beside_the_gradients(large_vocabulary: Path) -> None:
    """Scores over the vocabulary of all tokens at once would take eight times the budget."""
    model = load_language_model(ModelRef(id=str(large_vocabulary), device="cpu", memory=BUDGET))
    network = model.loaded.model
    text = " ".join(["The baker likes fresh bread and sold the old house near the river."] * 4)
    objective = pretraining_objective([text] * 40, model)
    pieces = objective.lay_out(objective.examples, np.random.default_rng(0))
    asked = sum(piece.tokens for piece in pieces)
    assert 4 * VOCABULARY * asked > 8 * BUDGET

    def step() -> None:
        network.zero_grad(set_to_none=True)
        torch.autograd.backward(objective.loss(network, pieces))

    step()
    gradients = sum(weight.numel() * weight.element_size() for weight in network.parameters())
    assert peak_of(step) < BUDGET + 2 * gradients  # those of a chunk of scores stand beside the sum of all


def test_the_mask_of_a_tree_does_not_grow_with_its_square(large_vocabulary: Path) -> None:
    model = load_language_model(ModelRef(id=str(large_vocabulary), device="cpu", memory=2**24))
    squares = []
    for count in (800, 3200):
        plan, _ = model.plan(sentences(count))
        squares.append(sum(entry.length**2 for entry in plan.inputs))
        for batch in plan.batches:
            longest = max(plan.inputs[number].length for number in batch.inputs)
            tokens = sum(plan.inputs[number].length for number in batch.inputs)
            assert model.batch_memory.footprint.of_batch(tokens, width=longest) <= 2**24
    assert squares[1] < 5 * squares[0]


def long_requests(model: LanguageModel) -> list[TokenRequest]:
    """Inputs as long as a zoo model takes."""
    rng = np.random.default_rng(1)
    rows = [tuple(row) for row in rng.integers(20, 300, size=(8, 120)).tolist()]
    if model.family is DECODER:
        return [CausalRequest(row, 1, str(number)) for number, row in enumerate(rows)]
    if model.family is MASKED:
        return [MaskedRequest(row, place, 30) for row in rows for place in (3, 7)]
    return [Seq2SeqRequest(row, row[:9], (0, 8), (30, 31)) for row in rows]


@pytest.mark.parametrize(
    "name", ["bert", "deberta-v2", "modernbert", "flaubert", "gpt2", "llama", "gemma2", "bloom", "t5", "bart"]
)
def test_what_a_batch_takes_is_no_more_than_was_planned(menagerie: Zoo, name: str) -> None:
    model = menagerie.model(name)
    requests = long_requests(model)
    plan, _ = model.plan(requests, max_tokens=10**6)
    inputs, runner = plan.inputs, model.runners(plan)[type(plan.inputs[0])]
    size = model.loaded.model.get_input_embeddings().num_embeddings  # type: ignore[operator]
    scores = (
        4 * 4 * size * len({(number, place) for number, one in enumerate(inputs) for place, _ in one.reads})
    )
    tokens = sum(entry.length for entry in inputs)
    width = max(entry.length for entry in inputs)
    with torch.inference_mode():
        runner.start(inputs)
        taken = peak_of(lambda: runner.start(inputs))
    assert taken <= model.batch_memory.footprint.of_batch(tokens, width=width) + scores


def test_a_model_that_projects_all_positions_is_planned_with_their_scores(menagerie: Zoo) -> None:
    model = menagerie.model("llama").loaded.model
    size = model.get_input_embeddings().num_embeddings  # type: ignore[operator]
    plain, whole = (Footprint.of_model(model, projects_all=projects_all) for projects_all in (False, True))
    ids = torch.randint(0, size, (1, 100))
    index = torch.arange(100)
    with torch.inference_mode():
        taken = peak_of(
            lambda: WholeProjection(model).log_probabilities(
                {"input_ids": ids}, index * 0, index, index, index
            )
        )
    assert whole.per_token - plain.per_token >= 4 * size
    assert taken <= whole.of_batch(100, width=100)


@pytest.mark.parametrize("per_pair", [12, 100])
def test_the_longest_row_is_the_longest_that_fits(per_pair: int) -> None:
    footprint = Footprint(per_token=5_000, per_pair=per_pair)
    for budget in (2**20, 2**26, 2**31):
        memory = BatchMemory(MemoryBudget(budget), footprint)
        longest = memory.longest_row
        assert memory.holds(longest, width=longest)
        assert not memory.holds(longest + 2, width=longest + 2)
        assert math.isclose(longest * (5_000 + longest * per_pair), budget, rel_tol=0.05)
