"""Works and batches: what is computed once, what shares a row, and in which order it runs."""

from __future__ import annotations

from collections.abc import Sequence

from hypothesis import given
from hypothesis import strategies as st

from evenhand.models.engine.memory import BatchMemory, Footprint, MemoryBudget
from evenhand.models.engine.plan import (
    ForwardInputs,
    ForwardPlan,
    Seq2SeqInput,
    make_plan,
    merge_requests,
)
from evenhand.models.engine.requests import (
    CausalRequest,
    MaskedRequest,
    PairRequest,
    Seq2SeqRequest,
    TokenRequest,
    Tokens,
)
from evenhand.models.engine.trees import CausalInput, Read

tokens = st.lists(st.integers(0, 3), min_size=2, max_size=9).map(tuple)


@st.composite
def causal_requests(draw: st.DrawFn) -> CausalRequest:
    ids = draw(tokens)
    return CausalRequest(ids, draw(st.integers(1, len(ids))), draw(st.sampled_from("ab")))


@st.composite
def masked_requests(draw: st.DrawFn) -> MaskedRequest:
    ids = draw(tokens)
    return MaskedRequest(ids, draw(st.integers(0, len(ids) - 1)), draw(st.integers(0, 3)))


@st.composite
def seq2seq_requests(draw: st.DrawFn) -> Seq2SeqRequest:
    decoder = draw(tokens)
    return Seq2SeqRequest(draw(tokens), decoder, (0, len(decoder) - 1), (1, 2), draw(st.booleans()))


pair_requests = tokens.map(lambda ids: PairRequest(ids, (0,) * len(ids)))
any_requests = st.lists(
    st.one_of(causal_requests(), masked_requests(), seq2seq_requests(), pair_requests),
    min_size=1,
    max_size=25,
)


def plan_of(requests: Sequence[TokenRequest], max_tokens: int = 32) -> ForwardPlan:
    return make_plan(merge_requests(requests), max_tokens=max_tokens)


def path_to(entry: CausalInput, position: int) -> Tokens:
    """The tokens that a place of a tree's row sees, which must be those from the root to it."""
    seen = [place for place in range(position + 1) if entry.ends[place] >= position]
    assert [entry.depths[place] for place in seen] == list(range(len(seen)))
    return tuple(entry.ids[place] for place in seen)


def reads_of(forward: ForwardInputs, request: int) -> list[tuple[CausalInput, Read]]:
    place = forward.places[request]
    if place is None:
        return []
    number, reads = place
    entry = forward.inputs[number]
    assert isinstance(entry, CausalInput)
    return [(entry, entry.reads[read]) for read in reads]


@given(st.lists(causal_requests(), min_size=1, max_size=12), st.booleans())
def test_every_token_is_read_after_exactly_what_precedes_it(
    requests: list[CausalRequest], share: bool
) -> None:
    forward = merge_requests(requests, share_prefixes=share)
    for number, request in enumerate(requests):
        found = [(path_to(entry, position), token) for entry, (position, token) in reads_of(forward, number)]
        asked = range(request.first, len(request.ids))
        assert found == [(request.ids[:place], request.ids[place]) for place in asked]


@given(st.lists(causal_requests(), min_size=1, max_size=25), st.integers(1, 20))
def test_a_tree_that_is_too_long_is_several_with_the_same_reads(
    requests: list[CausalRequest], longest: int
) -> None:
    forward = merge_requests(requests, longest_tree=longest)
    for number, request in enumerate(requests):
        found = [(path_to(entry, position), token) for entry, (position, token) in reads_of(forward, number)]
        asked = range(request.first, len(request.ids))
        assert found == [(request.ids[:place], request.ids[place]) for place in asked]
    for entry in forward.inputs:
        assert isinstance(entry, CausalInput)
        has_branches = entry.depths != tuple(range(entry.length))
        assert entry.length <= longest or not has_branches


def test_a_tree_that_is_not_too_long_stays_as_it_is() -> None:
    requests = [CausalRequest((1, 2, 3, end, 9), 1, "item") for end in (4, 5, 6)]
    assert merge_requests(requests, longest_tree=6).inputs == merge_requests(requests).inputs
    assert [entry.length for entry in merge_requests(requests, longest_tree=5).inputs] == [5, 4]


@given(any_requests)
def test_requests_other_than_sequences_are_read_where_they_say(requests: list[TokenRequest]) -> None:
    forward = merge_requests(requests)
    for request, place in zip(requests, forward.places, strict=True):
        if place is None or isinstance(request, CausalRequest):
            continue
        inputs = [forward.inputs[place[0]]]
        reads = [inputs[0].reads[read] for read in place[1]]
        match request:
            case MaskedRequest():
                assert [(entry.ids, read) for entry, read in zip(inputs, reads, strict=True)] == [  # type: ignore[union-attr]
                    (request.ids, (request.position, request.token))
                ]
            case Seq2SeqRequest():
                assert reads == list(zip(request.positions, request.tokens, strict=True))
                for entry in inputs:
                    assert isinstance(entry, Seq2SeqInput)
                    assert (entry.encoder_ids, entry.decoder_ids) == (
                        request.encoder_ids,
                        request.decoder_ids,
                    )
                    assert entry.greedy_first == request.greedy_first
            case PairRequest():
                assert [(entry.ids, entry.types) for entry in inputs] == [(request.ids, request.types)]  # type: ignore[union-attr]


def test_equal_inputs_are_computed_once() -> None:
    requests: list[TokenRequest] = [
        MaskedRequest((1, 2, 3), 1, 7),
        MaskedRequest((1, 2, 3), 1, 8),
        MaskedRequest((1, 2, 3), 1, 7),
        PairRequest((1, 2), (0, 1)),
        PairRequest((1, 2), (0, 1)),
        Seq2SeqRequest((1, 2), (0,), (0,), (5,)),
        Seq2SeqRequest((1, 2), (0,), (0,), (6,)),
    ]
    inputs = merge_requests(requests).inputs
    assert [len(entry.reads) for entry in inputs] == [2, 1, 2]


def test_sequences_that_start_alike_share_their_beginning() -> None:
    forward = merge_requests([CausalRequest((1, 2, 3, end, 9), 1, "item") for end in (4, 5, 6)])
    (entry,) = forward.inputs
    assert isinstance(entry, CausalInput)
    assert entry.ids == (1, 2, 3, 4, 5, 6)
    assert entry.depths == (0, 1, 2, 3, 3, 3)
    assert entry.ends == (5, 5, 5, 3, 4, 5)
    assert len(entry.reads) == 2 + 3 * 2


def test_sequences_share_as_much_as_any_two_of_them_have_in_common() -> None:
    """Two of three go on together for longer than all three do."""
    forward = merge_requests(
        [CausalRequest(ids, 1, "item") for ids in ((1, 2, 3, 4), (1, 2, 3, 5, 6), (1, 7, 8))]
    )
    (entry,) = forward.inputs
    assert sorted(entry.ids) == [1, 2, 3, 5, 7]  # type: ignore[union-attr]


def test_sequences_of_different_groups_stand_apart() -> None:
    assert len(merge_requests([CausalRequest((1, 2, 3, 4), 1, group) for group in "ab"]).inputs) == 1
    assert (
        len(merge_requests([CausalRequest((1, 2, number, 9), 1, str(number)) for number in (4, 5)]).inputs)
        == 2
    )


def test_a_request_for_no_token_makes_no_work_and_hinders_no_sharing() -> None:
    requests = [CausalRequest((1, 2, 3, end), 3, "item") for end in (4, 5)]
    forward = merge_requests([CausalRequest((), 0, "item"), *requests])
    assert len(forward.inputs) == 1
    assert forward.places[0] is None


@given(any_requests, st.data())
def test_repeated_requests_change_nothing(requests: list[TokenRequest], data: st.DataObject) -> None:
    repeated = data.draw(st.lists(st.sampled_from(requests), max_size=10))
    assert plan_of([*requests, *repeated]) == plan_of(requests)


@given(any_requests)
def test_the_same_requests_have_the_same_fingerprint(requests: list[TokenRequest]) -> None:
    assert plan_of(requests).fingerprint == plan_of(list(requests)).fingerprint


@given(any_requests, st.integers(0, 24))
def test_other_requests_have_another_fingerprint(requests: list[TokenRequest], which: int) -> None:
    changed = MaskedRequest((3,) * 10, which % 10, 0)
    assert plan_of([*requests, changed]).fingerprint != plan_of(requests).fingerprint


def test_another_budget_is_another_plan() -> None:
    requests = [MaskedRequest((1, 2, number), 0, 0) for number in range(8)]
    assert plan_of(requests, 6).fingerprint != plan_of(requests, 24).fingerprint


@given(any_requests, st.integers(1, 60))
def test_batches_hold_every_work_once_within_the_budget(
    requests: list[TokenRequest], max_tokens: int
) -> None:
    plan = plan_of(requests, max_tokens)
    assert sorted(number for batch in plan.batches for number in batch.inputs) == list(
        range(len(plan.inputs))
    )
    for batch in plan.batches:
        inputs = [plan.inputs[number] for number in batch.inputs]
        assert len({type(entry) for entry in inputs}) == 1
        assert len({entry.greedy_first for entry in inputs if isinstance(entry, Seq2SeqInput)}) <= 1
        assert len(inputs) == 1 or max(entry.length for entry in inputs) * len(inputs) <= max_tokens
        assert batch.reads == sum(len(entry.reads) for entry in inputs)


@given(any_requests)
def test_the_longest_works_run_first(requests: list[TokenRequest]) -> None:
    plan = plan_of(requests)
    lengths: dict[str, list[int]] = {}
    for batch in plan.batches:
        for number in batch.inputs:
            entry = plan.inputs[number]
            kind, length = type(entry).__name__, entry.length
            if isinstance(entry, Seq2SeqInput):
                kind, length = f"{kind} {entry.greedy_first}", len(entry.encoder_ids)
            lengths.setdefault(kind, []).append(length)
    assert all(values == sorted(values, reverse=True) for values in lengths.values())


@given(any_requests, st.integers(1, 3_000), st.booleans())
def test_batches_keep_within_the_budget_of_memory(
    requests: list[TokenRequest], budget: int, joined: bool
) -> None:
    footprint = Footprint(per_token=7, per_pair=1)
    memory = BatchMemory(MemoryBudget(budget), footprint)
    plan = make_plan(merge_requests(requests), max_tokens=10**6, memory=memory, joined=joined)
    assert sorted(number for batch in plan.batches for number in batch.inputs) == list(
        range(len(plan.inputs))
    )
    for batch in plan.batches:
        lengths = [plan.inputs[number].length for number in batch.inputs]
        tokens = sum(lengths) if joined else max(lengths) * len(lengths)
        assert len(lengths) == 1 or footprint.of_batch(tokens, width=max(lengths)) <= budget


@given(any_requests, st.integers(1, 64))
def test_a_budget_that_is_not_reached_changes_nothing(requests: list[TokenRequest], max_tokens: int) -> None:
    forward = merge_requests(requests)
    plenty = BatchMemory(MemoryBudget(2**40), Footprint(per_token=1, per_pair=1))
    assert make_plan(forward, max_tokens=max_tokens, memory=plenty) == make_plan(
        forward, max_tokens=max_tokens
    )
