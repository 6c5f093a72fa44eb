"""Too little memory: batches are halved, trees are cut at a branch, and every read keeps its value."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
import torch
from engine_scores import values_of
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor
from zoo_fixtures import Zoo

from evenhand.models.engine.execution import execute
from evenhand.models.engine.halving import NOT_ENOUGH_MEMORY
from evenhand.models.engine.plan import ForwardInput, make_plan, merge_requests
from evenhand.models.engine.requests import CausalRequest, TokenRequest, Tokens
from evenhand.models.engine.trees import CausalInput

sequences = st.lists(st.lists(st.integers(0, 3), min_size=2, max_size=9).map(tuple), min_size=1, max_size=12)


def value_of(before: Tokens, token: int) -> float:
    """A number of its own for every beginning and token."""
    return float(sum((number + 1) * 5**place for place, number in enumerate((*before, token))))


class PathRunner:
    """Reads a value that depends on all that a place of a tree sees, from so many tokens at a time."""

    def __init__(self, most: int) -> None:
        self.most = most

    def start(self, inputs: Sequence[ForwardInput]) -> Tensor:
        if sum(entry.length for entry in inputs) > self.most:
            raise torch.OutOfMemoryError
        return torch.tensor(
            [
                value_of(self.seen(entry, position), token)
                for entry in inputs
                for position, token in entry.reads
            ],
            dtype=torch.float64,
        )

    @staticmethod
    def seen(entry: ForwardInput, position: int) -> Tokens:
        assert isinstance(entry, CausalInput)
        places = [place for place in range(position + 1) if entry.ends[place] >= position]
        assert [entry.depths[place] for place in places] == list(range(len(places)))
        return tuple(entry.ids[place] for place in places)


@given(sequences, st.integers(1, 30))
def test_parts_of_a_tree_give_the_values_of_the_whole(rows: list[Tokens], most: int) -> None:
    requests = [CausalRequest(ids, 1, "all") for ids in rows]
    forward = merge_requests(requests)
    answers = execute(
        make_plan(forward, max_tokens=100, joined=True), forward, {CausalInput: PathRunner(most)}
    )
    for number, request in enumerate(requests):
        if len(request.ids) - 1 <= most:
            # A sequence that fits may share its beginning with one that does not, and that was read there.
            if answers.problem(number) is None:
                expected = [
                    value_of(request.ids[:place], request.ids[place]) for place in range(1, len(request.ids))
                ]
                assert answers.of(number) == expected
        else:
            assert answers.problem(number) == NOT_ENOUGH_MEMORY


def test_a_tree_is_cut_until_its_sequences_fit() -> None:
    requests = [CausalRequest((1, 2, 3, middle, end, 9), 1, "all") for middle in range(9) for end in range(9)]
    forward = merge_requests(requests)
    answers = execute(make_plan(forward, max_tokens=1000), forward, {CausalInput: PathRunner(6)})
    for number, request in enumerate(requests):
        assert answers.of(number) == [
            value_of(request.ids[:place], request.ids[place]) for place in range(1, 6)
        ]


def branching_requests() -> list[TokenRequest]:
    tokens = [tuple(row) for row in np.random.default_rng(5).integers(20, 300, size=(6, 9)).tolist()]
    return [CausalRequest((*row, end, 8), 1, "") for row in tokens for end in (30, 31)]


@pytest.mark.parametrize("name", ["gpt2", "llama", "gemma2"])
def test_a_model_without_memory_for_a_tree_answers_all_the_same(
    menagerie: Zoo, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = menagerie.model(name)
    requests = branching_requests()
    expected = values_of(model, requests)
    whole = model.projection.log_probabilities
    sizes = []

    def cramped(inputs: dict[str, Tensor], *index: Tensor) -> Tensor:
        sizes.append(inputs["attention_mask"].numel())
        if sizes[-1] > 128 * 30:
            raise RuntimeError("DefaultCPUAllocator: can't allocate memory: you tried to allocate 177 GB")
        return whole(inputs, *index)

    monkeypatch.setattr("evenhand.models.engine.trees.JOINED_ROW", {"cpu": 1})
    monkeypatch.setattr(model.projection, "log_probabilities", cramped)
    np.testing.assert_allclose(values_of(model, requests), expected, rtol=0, atol=1e-4)
    assert max(sizes) > 128 * 30


def test_what_does_not_fit_at_all_is_told_with_a_reason(
    menagerie: Zoo, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = menagerie.model("gpt2")
    requests = branching_requests()

    def hopeless(*_arguments: object) -> Tensor:
        raise MemoryError

    monkeypatch.setattr(model.projection, "log_probabilities", hopeless)
    answers = model.answer_tokens(requests)
    assert [answers.problem(place) for place in range(len(requests))] == [NOT_ENOUGH_MEMORY] * len(requests)
