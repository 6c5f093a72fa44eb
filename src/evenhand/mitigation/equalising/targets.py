"""What an evened-out model would answer: the original's distribution with the two sides' share made equal.

For one pair of single tokens this is the original distribution in which each of the two has half of what both had. For
groups, such as names, each group has half of what both had, and the shape within a group is kept. Words of several
tokens are treated as what they are: a word's probability is the product over its steps, whole words are scaled, and
each step's distribution follows from the scaled words and from everything else that shares the step, which keeps its
probability.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch
from torch import Tensor

from evenhand.mitigation.equalising.term_trees import TermTree

SETTLED_BITS = 8.0
"""Beyond this the context has settled the matter, by grammar or by what it tells; a stereotype is not that sure."""


@dataclass(frozen=True, slots=True)
class Targets:
    """What is wanted at each node of each sentence."""

    probabilities: Tensor
    """(sentences, nodes, vocabulary)"""
    weights: Tensor
    """How much each node counts, (sentences, nodes): the original's probability to get there, and 0 where the context
    has settled all matters."""
    is_open: Tensor
    """Whether a group is to be even, (sentences, groups), as 1 or 0."""


def equalised(logs: Tensor, tree: TermTree) -> Targets:
    """Targets from the original's log-probabilities, (sentences, nodes, vocabulary)."""
    words, reached = tree.word_logs(logs), tree.node_logs(logs)
    sides = tree.side_logs(words)
    is_open = (sides[:, :, 0] - sides[:, :, 1]).abs() <= SETTLED_BITS * math.log(2)
    shift = sides.logsumexp(dim=2, keepdim=True) - math.log(2) - sides
    shift = torch.where(is_open[:, :, None], shift, 0.0).flatten(start_dim=1)
    change = (words + shift[:, tree.side_of_word.to(logs.device)]).exp() - words.exp()
    joint = logs.exp() * reached.exp()[:, :, None]
    nodes, tokens, of_word = tree.steps.to(logs.device)
    flat = joint.flatten(start_dim=1).index_add(1, nodes * logs.shape[-1] + tokens, change[:, of_word])
    wanted = flat.reshape(joint.shape).clamp_min(0.0)
    return Targets(
        wanted / wanted.sum(dim=-1, keepdim=True).clamp_min(torch.finfo(logs.dtype).tiny),
        reached.exp() * is_open.any(dim=1, keepdim=True).to(logs.dtype),
        is_open.to(logs.dtype),
    )
