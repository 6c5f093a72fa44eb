"""The loss of equalising as its definition reads: one row at a time, whole vocabularies, plain loops."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import torch
from torch import Tensor

from evenhand.mitigation.equalising.objective import EVIDENCE, GapPiece
from evenhand.mitigation.equalising.replay import ReplayedRow
from evenhand.mitigation.equalising.term_trees import GenderedGroup, TermTree
from evenhand.models.engine.requests import Tokens
from evenhand.models.families.sentinel import SENTINEL
from evenhand.models.language_model import LanguageModel
from evenhand.models.objectives.gap_contexts import GapRows
from evenhand.models.objectives.objective import InputRow


def distributions(network: Any, model: LanguageModel, row: InputRow) -> Tensor:
    """What a network expects at every place of one row."""
    inputs = {"input_ids": torch.tensor([row.ids])}
    if model.family is SENTINEL:
        inputs = {"input_ids": torch.tensor([row.source]), "decoder_input_ids": torch.tensor([row.ids])}
    return torch.as_tensor(network(**inputs)[0][0]).double().softmax(-1)


def kl(wanted: Tensor, found: Tensor) -> Tensor:
    possible = wanted > 0
    return (wanted[possible] * (wanted[possible] / found[possible]).log()).sum()


def of_word(word: Tokens, given: Mapping[Tokens, Tensor]) -> Tensor:
    return torch.stack(
        [given[()].new_ones(()), *(given[word[:n]][token] for n, token in enumerate(word))]
    ).prod()


def loss_at_gap(tree: TermTree, original: Mapping[Tokens, Tensor], found: Mapping[Tokens, Tensor]) -> Tensor:
    """Of one gap: the divergence at every node, and the shares within every group."""
    scale: dict[Tokens, float] = {}
    total = torch.zeros((), dtype=torch.float64)
    for group in tree.groups:
        male, female = (float(share) for share in sums(group, original))
        if abs(math.log2(male / female)) > 8:
            continue
        for side, own in ((group.male, male), (group.female, female)):
            scale |= dict.fromkeys(side, (male + female) / 2 / own)
        shares = torch.stack(sums(group, found))
        total = total + kl(torch.full((2,), 0.5, dtype=torch.float64), shares / shares.sum())
    if not scale:
        return total
    for node in tree.nodes:
        reached = of_word(node, original)
        joint = reached * original[node]
        for word in tree.words:
            if word[: len(node)] == node and word in scale:
                joint[word[len(node)]] += (scale[word] - 1) * of_word(word, original)
        total = total + reached * kl(joint / joint.sum(), found[node])
    return total


def sums(group: GenderedGroup, given: Mapping[Tokens, Tensor]) -> tuple[Tensor, Tensor]:
    male, female = (
        torch.stack([of_word(word, given) for word in side]).sum() for side in (group.male, group.female)
    )
    return male, female


def slow_loss(
    pieces: Sequence[GapPiece | ReplayedRow],
    *,
    trees: Sequence[TermTree],
    open_groups: Sequence[GenderedGroup],
    telling: tuple[Sequence[int], Sequence[int]],
    model: LanguageModel,
    original: Any,
    trained: Any,
    weight: float,
) -> Tensor:
    """The loss of a batch, with gradients. ``telling`` are tokens of words for men, and of words for women."""
    gendered = [*telling[0], *telling[1]]
    total = torch.zeros((), dtype=torch.float64)
    for piece in pieces:
        if isinstance(piece, GapPiece):
            tree = trees[piece.tree]
            uneven = slow_gap_loss(
                piece.shown, tree, gendered, model=model, original=original, trained=trained
            )
            total = total + piece.weight * uneven
    ordinary = [piece for piece in pieces if isinstance(piece, ReplayedRow)]
    special = set(model.loaded.tokenizer.all_special_ids)
    text = sum(token not in special for row in ordinary for token in row.targets)
    settled = max(1, sum(len(row.settled) for row in ordinary))
    for row in ordinary:
        differences = changes(row, open_groups, telling, model=model, original=original, trained=trained)
        for number, (changed, uneven, moved) in enumerate(differences):
            is_told = row.targets[number] in gendered and number >= row.open_places
            total = total + (max(1, 2 * weight) if is_told else 1) * (changed + weight * uneven) / text
            if number in row.settled:
                total = total + EVIDENCE * weight * moved / settled
    return total


def slow_gap_loss(
    shown: GapRows,
    tree: TermTree,
    telling: Sequence[int],
    *,
    model: LanguageModel,
    original: Any,
    trained: Any,
) -> Tensor:
    before = [distributions(original, model, row).detach() for row in shown.rows]
    after = [distributions(trained, model, row) for row in shown.rows]
    uneven = torch.zeros((), dtype=torch.float64)
    if shown.nodes:
        places = dict(zip(tree.nodes, shown.nodes, strict=True))
        uneven = loss_at_gap(
            tree,
            {node: before[row][column] for node, (row, column) in places.items()},
            {node: after[row][column] for node, (row, column) in places.items()},
        )
    for (man, first), (woman, second) in zip(shown.after_male, shown.after_female, strict=True):
        sides = before[man][first], before[woman][second]
        found = after[man][first], after[woman][second]
        middle = (sides[0] + sides[1]) / 2
        share = sum(float(middle[token]) for token in telling)
        for own, seen in zip(sides, found, strict=True):
            wanted = middle.clone()
            whole = sum(float(own[token]) for token in telling)
            for token in telling:
                wanted[token] = own[token] * share / whole
            uneven = uneven + kl(wanted, seen) / 2
        counts = middle ** (2 / 3)
        for token in telling:
            counts[token] = 0
        for token, count in enumerate(counts / counts.sum()):
            if count > 0:
                both = torch.stack([own[token] for own in found])
                uneven = uneven + 8 * count * kl(
                    torch.full((2,), 0.5, dtype=torch.float64), both / both.sum()
                )
    return uneven


def odds(given: Tensor, telling: tuple[Sequence[int], Sequence[int]]) -> Tensor:
    male, female = (torch.stack([given[token] for token in side]).sum() for side in telling)
    return (male / female).log()


def changes(
    row: ReplayedRow,
    open_groups: Sequence[GenderedGroup],
    telling: tuple[Sequence[int], Sequence[int]],
    *,
    model: LanguageModel,
    original: Any,
    trained: Any,
) -> Iterator[tuple[Tensor, Tensor, Tensor]]:
    """By how much the model differs from the original, from even sides and from the original's odds of the genders."""
    before = distributions(original, model, row).detach()
    after = distributions(trained, model, row)
    for number, place in enumerate(row.places):
        wanted = before[place].clone()
        uneven = torch.zeros((), dtype=torch.float64)
        for group in open_groups if number < row.open_places else ():
            male, female = (
                sum(float(wanted[token]) for (token,) in side) for side in (group.male, group.female)
            )
            if abs(math.log2(male / female)) <= 8:
                for side, own in zip((group.male, group.female), (male, female), strict=True):
                    for (token,) in side:
                        wanted[token] *= (male + female) / 2 / own
                if male + female > 1e-3:
                    found = torch.stack(
                        [
                            torch.stack([after[place][token] for (token,) in side]).sum()
                            for side in (group.male, group.female)
                        ]
                    )
                    uneven = uneven + kl(torch.full((2,), 0.5, dtype=torch.float64), found / found.sum())
        # KL(half and half || shares) of shares whose odds are those of the model over those of the original.
        share = torch.sigmoid(odds(after[place], telling) - odds(before[place], telling))
        moved = kl(torch.full((2,), 0.5, dtype=torch.float64), torch.stack([share, 1 - share]))
        yield kl(wanted, after[place]), uneven, moved
