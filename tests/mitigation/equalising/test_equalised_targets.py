"""EqualisedTargets of equalising against every sequence of a tiny vocabulary, written out one by one."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from evenhand.mitigation.equalising.objective import equalised_targets
from evenhand.mitigation.equalising.term_trees import (
    SETTLED_BITS,
    GenderedGroup,
    TermForest,
    TermTree,
    build_term_tree,
)
from evenhand.models.engine.requests import Tokens

VOCABULARY = 5
Conditionals = Mapping[Tokens, Sequence[float]]
"""The distribution over the next token after each beginning."""

SHARED_STARTS = TermTree(
    (
        GenderedGroup(((0,), (1, 2)), ((1, 3, 0), (2,))),
        GenderedGroup(((3, 0),), ((3, 1), (1, 3, 4))),
    )
)


def random_logs(tree: TermTree, *, sentences: int = 3, seed: int = 0) -> torch.Tensor:
    generator = torch.Generator().manual_seed(seed)
    shape = (sentences, len(tree.nodes), VOCABULARY)
    return torch.randn(shape, generator=generator, dtype=torch.float64).log_softmax(-1)


def conditionals(tree: TermTree, logs: torch.Tensor) -> Conditionals:
    return {node: logs[place].exp().tolist() for place, node in enumerate(tree.nodes)}


def sequences(given: Conditionals, length: int) -> dict[Tokens, float]:
    """Every sequence with its probability; what follows elsewhere than in the tree does not matter."""
    even = [1 / VOCABULARY] * VOCABULARY
    return {
        whole: math.prod(given.get(whole[:step], even)[token] for step, token in enumerate(whole))
        for whole in itertools.product(range(VOCABULARY), repeat=length)
    }


def mass(of_sequences: Mapping[Tokens, float], start: Tokens) -> float:
    return sum(share for whole, share in of_sequences.items() if whole[: len(start)] == start)


def side_mass(of_sequences: Mapping[Tokens, float], side: Sequence[Tokens]) -> float:
    return sum(mass(of_sequences, word) for word in side)


def evened_sequences(
    tree: TermTree, before: Mapping[Tokens, float]
) -> tuple[dict[Tokens, float], list[bool]]:
    """All sequences, those that begin with a word scaled like its side; and which groups were open."""
    after, was_open = dict(before), []
    for group in tree.groups:
        male, female = side_mass(before, group.male), side_mass(before, group.female)
        was_open.append(abs(math.log2(male / female)) <= SETTLED_BITS)
        for side, own in ((group.male, male), (group.female, female)):
            scale = (male + female) / 2 / own if was_open[-1] else 1.0
            for word in side:
                for whole in before:
                    if whole[: len(word)] == word:
                        after[whole] *= scale
    return after, was_open


@dataclass
class DenseTargets:
    """Targets over the whole vocabulary."""

    probabilities: torch.Tensor
    weights: torch.Tensor
    is_open: torch.Tensor


def edge_logs(tree: TermTree, logs: torch.Tensor) -> torch.Tensor:
    nodes, tokens = zip(*tree.edges, strict=True)
    return logs[:, nodes, tokens]


def dense_targets(logs: torch.Tensor, tree: TermTree) -> DenseTargets:
    sentences = len(logs)
    forest = TermForest([tree] * sentences, logs.device)
    found = equalised_targets(edge_logs(tree, logs).flatten(), forest)
    factors, edges = found.factors.reshape(sentences, -1, 1), found.edges.reshape(sentences, -1)
    probabilities = logs.exp() * factors
    for number, (node, token) in enumerate(tree.edges):
        probabilities[:, node, token] = edges[:, number]
    return DenseTargets(
        probabilities, found.weights.reshape(sentences, -1), found.is_open.reshape(sentences, -1)
    )


def assert_as_written_out(tree: TermTree, logs: torch.Tensor) -> DenseTargets:
    found = dense_targets(logs, tree)
    length = max(map(len, tree.words))
    for sentence in range(len(logs)):
        before = sequences(conditionals(tree, logs[sentence]), length)
        after, was_open = evened_sequences(tree, before)
        assert found.is_open[sentence].tolist() == [float(known) for known in was_open]
        for place, node in enumerate(tree.nodes):
            wanted = [mass(after, (*node, token)) / mass(after, node) for token in range(VOCABULARY)]
            assert found.probabilities[sentence, place].tolist() == pytest.approx(wanted, rel=1e-9)
            weight = mass(before, node) if any(was_open) else 0.0
            assert found.weights[sentence, place].item() == pytest.approx(weight, rel=1e-9)
    return found


def assert_even(tree: TermTree, logs: torch.Tensor, found: DenseTargets) -> None:
    """A model that answers with the targets has equal sides, and together they have what they had."""
    length = max(map(len, tree.words))
    for sentence in range(len(logs)):
        before = sequences(conditionals(tree, logs[sentence]), length)
        after = sequences(conditionals(tree, found.probabilities[sentence].log()), length)
        for place, group in enumerate(tree.groups):
            old = [side_mass(before, side) for side in (group.male, group.female)]
            new = [side_mass(after, side) for side in (group.male, group.female)]
            if found.is_open[sentence, place]:
                assert new == pytest.approx([sum(old) / 2] * 2, rel=1e-9)
            else:
                assert new == pytest.approx(old, rel=1e-9)


def test_a_pair_of_tokens_shares_what_it_had_and_nothing_else_changes() -> None:
    tree = TermTree((GenderedGroup(((1,),), ((3,),)),))
    before = [0.1, 0.3, 0.25, 0.05, 0.3]
    found = dense_targets(torch.tensor([[before]], dtype=torch.float64).log(), tree)
    assert found.probabilities[0, 0].tolist() == pytest.approx([0.1, 0.175, 0.25, 0.175, 0.3], rel=1e-12)
    assert found.weights.tolist() == [[1.0]]
    assert found.is_open.tolist() == [[1.0]]


def test_groups_have_half_each_and_keep_their_shape() -> None:
    tree = TermTree((GenderedGroup(((0,), (1,)), ((2,), (3,))),))
    found = dense_targets(torch.tensor([[[0.3, 0.2, 0.04, 0.06, 0.4]]], dtype=torch.float64).log(), tree)
    assert found.probabilities[0, 0].tolist() == pytest.approx([0.18, 0.12, 0.12, 0.18, 0.4], rel=1e-12)


def test_several_groups_are_evened_each_by_itself() -> None:
    tree = TermTree((GenderedGroup(((0,),), ((1,),)), GenderedGroup(((2,),), ((3,),))))
    found = dense_targets(torch.tensor([[[0.3, 0.1, 0.02, 0.18, 0.4]]], dtype=torch.float64).log(), tree)
    assert found.probabilities[0, 0].tolist() == pytest.approx([0.2, 0.2, 0.1, 0.1, 0.4], rel=1e-12)


def test_words_that_share_tokens_are_as_when_every_sequence_is_written_out() -> None:
    logs = random_logs(SHARED_STARTS, sentences=20)
    assert_even(SHARED_STARTS, logs, assert_as_written_out(SHARED_STARTS, logs))


def test_the_probabilities_of_words_and_nodes_are_products_over_their_steps() -> None:
    logs = random_logs(SHARED_STARTS, sentences=4)
    forest, edges = TermForest([SHARED_STARTS] * 4, logs.device), edge_logs(SHARED_STARTS, logs).flatten()
    words, nodes = forest.word_logs(edges), forest.node_logs(edges).reshape(4, -1)
    words, sides = words.reshape(4, -1), forest.side_logs(words).reshape(4, -1, 2)
    for sentence in range(4):
        every = sequences(conditionals(SHARED_STARTS, logs[sentence]), 3)
        assert words[sentence].exp().tolist() == pytest.approx([mass(every, w) for w in SHARED_STARTS.words])
        assert nodes[sentence].exp().tolist() == pytest.approx([mass(every, n) for n in SHARED_STARTS.nodes])
        assert sides[sentence].exp().tolist() == [
            pytest.approx([side_mass(every, group.male), side_mass(every, group.female)])
            for group in SHARED_STARTS.groups
        ]


def test_gaps_with_different_words_do_not_meet() -> None:
    plain = TermTree((GenderedGroup(((0,), (4,)), ((2,),)),))
    settled = TermTree((GenderedGroup(((0,),), ((1,),)), GenderedGroup(((2,),), ((3, 1),))))
    trees = [plain, SHARED_STARTS, settled, plain, SHARED_STARTS]
    logs = [random_logs(tree, sentences=1, seed=seed) for seed, tree in enumerate(trees)]
    logs[2][0, 0, 1] = -20.0  # so far behind that its group is settled
    edges = [edge_logs(tree, own).flatten() for tree, own in zip(trees, logs, strict=True)]
    found = equalised_targets(torch.cat(edges), TermForest(trees, logs[0].device))
    alone = [
        equalised_targets(own, TermForest([tree], own.device)) for tree, own in zip(trees, edges, strict=True)
    ]
    assert alone[2].is_open.tolist() == [0.0, 1.0]
    for name in ("edges", "factors", "weights", "is_open"):
        expected = torch.cat([getattr(own, name) for own in alone])
        assert getattr(found, name).tolist() == pytest.approx(expected.tolist(), rel=1e-12), name


word = st.lists(st.integers(0, VOCABULARY - 1), min_size=1, max_size=3).map(tuple)
side = st.lists(word, min_size=1, max_size=4).map(tuple)
raw_groups = st.lists(st.builds(GenderedGroup, side, side), min_size=1, max_size=3)


@settings(max_examples=60, deadline=None)
@given(raw_groups, st.integers(0, 2**31), st.floats(0.1, 3.0))
def test_any_words_that_are_told_apart_become_even(
    groups: list[GenderedGroup], seed: int, spread: float
) -> None:
    tree = build_term_tree(groups)
    if not tree.groups:
        return
    logs = (random_logs(tree, sentences=1, seed=seed) * spread).log_softmax(-1)
    assert_even(tree, logs, assert_as_written_out(tree, logs))


def are_nested(one: Tokens, other: Tokens) -> bool:
    shorter, longer = sorted((one, other), key=len)
    return one != other and longer[: len(shorter)] == shorter


@settings(max_examples=100, deadline=None)
@given(raw_groups)
def test_words_are_left_out_only_if_another_stands_in_their_way(groups: list[GenderedGroup]) -> None:
    sides = [side for group in groups for side in (group.male, group.female)]
    once = [word for side in sides for word in side if sum(word in other for other in sides) == 1]
    group_of = {word: number for number, side in enumerate(sides) for word in side}
    kept: list[Tokens] = []
    for word in sorted(once, key=lambda word: (group_of[word] // 2, len(word))):
        if not any(are_nested(word, other) for other in kept):
            kept.append(word)
    wanted = []
    for group in groups:
        male, female = (
            tuple(dict.fromkeys(word for word in side if word in kept)) for side in (group.male, group.female)
        )
        wanted += [GenderedGroup(male, female)] if male and female else []
    found = build_term_tree(groups)
    assert found.groups == tuple(wanted)
    assert not any(are_nested(one, other) for one, other in itertools.combinations(found.words, 2))


@pytest.mark.parametrize(("bits", "is_open"), [(7.99, True), (8.01, False), (-7.99, True), (-8.01, False)])
def test_a_context_that_has_settled_the_matter_stays_as_it_is(bits: float, is_open: bool) -> None:
    tree = TermTree((GenderedGroup(((0,),), ((1,),)),))
    male = 0.5 * 2.0**bits / (1 + 2.0**bits)
    before = torch.tensor([[[male, 0.5 - male, 0.2, 0.2, 0.1]]], dtype=torch.float64)
    found = dense_targets(before.log(), tree)
    assert found.is_open.tolist() == [[float(is_open)]]
    assert found.weights.tolist() == [[float(is_open)]]
    wanted = [0.25, 0.25, 0.2, 0.2, 0.1] if is_open else before[0, 0].tolist()
    assert found.probabilities[0, 0].tolist() == pytest.approx(wanted, rel=1e-12)


def test_a_settled_group_does_not_keep_another_from_being_evened() -> None:
    tree = TermTree((GenderedGroup(((0,),), ((1,),)), GenderedGroup(((2,),), ((3,),))))
    found = dense_targets(torch.tensor([[[0.3999, 0.0001, 0.3, 0.1, 0.2]]], dtype=torch.float64).log(), tree)
    assert found.is_open.tolist() == [[0.0, 1.0]]
    assert found.weights.tolist() == [[1.0]]
    assert found.probabilities[0, 0].tolist() == pytest.approx([0.3999, 0.0001, 0.2, 0.2, 0.2], rel=1e-12)


def test_words_spelt_the_same_on_both_sides_are_left_out() -> None:
    tree = build_term_tree([GenderedGroup(((0,), (1,), (1,)), ((0,), (2, 3)))])
    assert tree.groups == (GenderedGroup(((1,),), ((2, 3),)),)
    assert tree.words == ((1,), (2, 3))
    assert tree.nodes == ((), (2,))
    assert tree.fitting == tree.groups
    assert build_term_tree([GenderedGroup(((0,),), ((0,),))]).groups == ()


def test_of_two_words_of_which_one_begins_with_the_other_one_is_left_out() -> None:
    """What the model expects of "Paul" includes "Paul" + "a": the two cannot be scaled apart."""
    paul, paula, mary = (1,), (1, 2), (3,)
    assert build_term_tree([GenderedGroup((paul,), (paula, mary))]).groups == (
        GenderedGroup((paul,), (mary,)),
    )


def test_groups_that_fit_are_counted_without_those_that_are_lost() -> None:
    pronouns, names, lost = (
        GenderedGroup(((1,),), ((2,),)),
        GenderedGroup(((3,),), ((4,),)),
        GenderedGroup(((5,),), ((5,),)),
    )
    assert build_term_tree([pronouns, names, lost], 2).fitting == (pronouns, names)
    assert build_term_tree([pronouns, lost, names], 2).fitting == (pronouns,)
    assert build_term_tree([pronouns, names]).fitting == (pronouns,)


def test_a_gaps_own_terms_come_before_those_of_other_experiments() -> None:
    """Where "her" is "he" + "r", a gap for his and her is still one, and so is a gap for he and she."""
    he, she, his, her = (1,), (2,), (3,), (1, 4)
    pronouns, possessives = GenderedGroup((he,), (she,)), GenderedGroup((his,), (her,))
    assert build_term_tree([pronouns, possessives]).groups == (pronouns,)
    assert build_term_tree([possessives, pronouns]).groups == (possessives,)
