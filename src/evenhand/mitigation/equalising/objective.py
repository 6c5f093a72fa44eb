"""The equalising objective: even where only the gendered term decides, unchanged everywhere else.

At the gaps the loss is KL(target || model). The target is the original's distribution with the share of the two sides
made equal. For one pair of single tokens, each of the two gets half of what both had. For groups, such as names, each
group gets half of what both had, and the shape within a group is kept. The probability of a word of several tokens is
the product over its steps: whole words are scaled, and each step's distribution follows from the scaled words and from
everything else that shares the step, which keeps its probability.

A pair that is unlikely in a gap hardly counts there, although MALoR reads it all the same; so the shares of the two
sides within each pair are compared once more by themselves, KL(half and half || model). Behind a decoder's gap the
target is the mean of what the original expects after a man and after a woman, but for words that tell a gender
themselves: these stay with whom they agree. Beside all that, on ordinary sentences,
KL(original || model) keeps everything else where it was; who a sentence is about is left even there, until it is told
(see ``replay``).

A target differs from the original's distribution at the few tokens of the words alone; elsewhere it is a multiple of
it. So nothing has to be kept for whole vocabularies: targets and answers are made and compared a chunk of places at a
time.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from evenhand.core.errors import EvenhandError
from evenhand.mitigation.equalising.gaps import GapCollector, SentenceGap
from evenhand.mitigation.equalising.gendered_tokens import GenderedTokens
from evenhand.mitigation.equalising.losses import (
    ReplayedPlaces,
    WantedDistributions,
    loss_at_places,
    loss_behind_gaps,
    loss_elsewhere,
)
from evenhand.mitigation.equalising.original import Original
from evenhand.mitigation.equalising.replay import (
    Replay,
    ReplayedRow,
    ReplayTokens,
    open_flags,
    settled_weights,
)
from evenhand.mitigation.equalising.term_trees import SETTLED_BITS, TermForest
from evenhand.models.engine.positions import PositionStates, StateReader
from evenhand.models.engine.transfer import on_device
from evenhand.models.language_model import LanguageModel
from evenhand.models.objectives.gap_contexts import GapRows, Position
from evenhand.models.objectives.layouts import Ints, tokens_when_joined
from evenhand.models.objectives.objective import TokenQuestions

TOLD = 2.0
"""How much a word that tells a gender counts in ordinary text where the gender has been told, for each unit of the
balance; never less than any other word. The more evening out counts, the more it would take along."""

EVIDENCE = 1.0
"""How much it counts, for each unit of the balance, that the odds of the genders stay where one has been told."""

OPENED = 0.25
"""Share of gaps that a decoder is shown without what stands before, as if they opened a sentence."""


@dataclass(frozen=True, slots=True)
class EqualisedTargets:
    """The target distribution at each node of gaps: given at edges, elsewhere the original's times a factor."""

    edges: Tensor
    """Probabilities at the edges of the trees."""
    factors: Tensor
    """Of the original's probability of any other token, at each node."""
    weights: Tensor
    """How much each node counts: the original's probability to get there, and 0 where the context has settled all
    matters."""
    is_open: Tensor
    """Whether each group is to be even, as 1 or 0."""


def equalised_targets(edges: Tensor, forest: TermForest) -> EqualisedTargets:
    """The targets from the original's log-probabilities at the edges of gaps."""
    words, reached = forest.word_logs(edges), forest.node_logs(edges).exp()
    sides = forest.side_logs(words)
    is_open = (sides[:, 0] - sides[:, 1]).abs() <= SETTLED_BITS * math.log(2)
    shift = sides.logsumexp(dim=1, keepdim=True) - math.log(2) - sides
    shift = forest.of_words(torch.where(is_open[:, None], shift, 0.0))
    change = forest.through_edges((words + shift).exp() - words.exp())
    whole = (reached + forest.behind_nodes(change)).clamp_min(torch.finfo(edges.dtype).tiny)
    joint = edges.exp() * reached[forest.node_of_edge]
    open_groups = is_open.to(edges.dtype)
    return EqualisedTargets(
        (joint + change).clamp_min(0.0) / whole[forest.node_of_edge],
        reached / whole,
        reached * (forest.of_gaps(open_groups) > 0)[forest.gap_of_node],
        open_groups,
    )


@dataclass(frozen=True, slots=True)
class Balance:
    """How much evening out counts beside staying the same, and how many ordinary tokens go with a batch."""

    weight: float = 0.5
    replayed: int = 2_048
    """Tokens of ordinary sentences that the model is asked for."""

    def __post_init__(self) -> None:
        if not 0 <= self.weight < math.inf:
            raise EvenhandError(
                f"The balance is {self.weight:g}; it must be 0 or more. 0.5 is usual; more lowers bias further and "
                "costs more perplexity."
            )


@dataclass(frozen=True, slots=True)
class GapPiece:
    """The rows of a gap, or a part of them."""

    shown: GapRows
    tree: int
    weight: float
    """How much the gap counts."""

    @property
    def rows(self) -> int:
        """How many there are."""
        return len(self.shown.rows)

    @property
    def length(self) -> int:
        """Of the longest row."""
        return max(row.length for row in self.shown.rows)

    @property
    def tokens(self) -> int:
        """Of all rows; what they share counts once, as where they are joined."""
        return tokens_when_joined(self.shown.rows)


class EqualisingObjective:
    """See the module."""

    name = "equalise"

    def __init__(
        self,
        model: LanguageModel,
        collector: GapCollector,
        *,
        replay: Replay,
        original: Original,
        telling: GenderedTokens,
        balance: Balance | None = None,
    ) -> None:
        self.balance = balance or Balance()
        self.trees = tuple(collector.trees)
        self._gaps = collector.gaps
        self._replay = replay
        self._contexts = model.gap_contexts()
        self._layout = model.row_layout
        self._reader = model.position_reader
        self._original = original
        self._tokens: dict[torch.device, ReplayTokens] = {}
        self._trained: tuple[nn.Module, StateReader] | None = None
        self._telling = telling
        self.open_groups = collector.open_groups if self.balance.weight else []

    @property
    def pads(self) -> bool:
        """Whether the model cannot read rows that are joined."""
        return self._layout.pads

    @property
    def examples(self) -> Sequence[SentenceGap]:
        """The gaps."""
        return self._gaps

    def lay_out(
        self, examples: Sequence[SentenceGap], generator: np.random.Generator
    ) -> list[GapPiece | ReplayedRow]:
        """The gaps as rows, and ordinary sentences with tokens hidden as in pre-training."""
        weight = self.balance.weight / len(examples)
        shown = [gap.opening if gap.opening and generator.random() < OPENED else gap for gap in examples]
        gaps = [
            GapPiece(rows, gap.tree, weight * whole.weight)
            for whole, gap in zip(examples, shown, strict=True)
            for rows in self._contexts.lay_out(gap, self.trees[gap.tree], generator)
        ]
        return [*gaps, *self._replay.draw(self.balance.replayed, generator)]

    def loss(self, model: Any, pieces: Sequence[GapPiece | ReplayedRow]) -> Tensor:
        """What is to be lowered."""
        gaps = [piece for piece in pieces if isinstance(piece, GapPiece)]
        ordinary = [piece for piece in pieces if isinstance(piece, ReplayedRow)]
        laid_out = self._layout.lay_out(
            [*(gap.shown.rows for gap in gaps), *([row] for row in ordinary)], model
        )
        device = laid_out.inputs["input_ids"].device
        asked = TokenQuestions.of(ordinary, device=torch.device("cpu"), first=sum(gap.rows for gap in gaps))
        parts = [
            _places(gaps, [gap.shown.nodes for gap in gaps]),
            _places(gaps, [gap.shown.after_male for gap in gaps]),
            _places(gaps, [gap.shown.after_female for gap in gaps]),
            np.stack([asked.rows.numpy(), asked.columns.numpy()]),
        ]
        read, sizes = laid_out.places(*np.concatenate(parts, axis=1)), [part.shape[1] for part in parts]
        original = self._original.states(self._reader, model, laid_out.inputs, rows=read[0], columns=read[1])
        states = self._reader_of(model)(laid_out.inputs, read[0], read[1])
        (nodes, male, female, same), expected = states.split(sizes), original.split(sizes)
        is_open, tokens = open_flags(ordinary), self._tokens_on(device)
        told = torch.isin(asked.targets, self._telling.all) & ~is_open
        weights = asked.weights * torch.where(told, max(1.0, TOLD * self.balance.weight), 1.0)
        behind = torch.tensor([gap.weight for gap in gaps for _ in gap.shown.after_male])
        return (
            self._loss_at_nodes(nodes, expected[0], gaps)
            + loss_behind_gaps((male, female), expected[1:3], on_device(behind, device), tokens.telling.all)
            + loss_elsewhere(
                same,
                expected[3],
                ReplayedPlaces(
                    on_device(weights, device),
                    on_device(is_open, device),
                    on_device(EVIDENCE * settled_weights(ordinary), device),
                ),
                tokens,
                self.balance.weight,
            )
        )

    def _reader_of(self, model: nn.Module) -> StateReader:
        """What reads the model in training; another training has another model."""
        if self._trained is None or self._trained[0] is not model:
            self._trained = model, self._reader.trained(model)
        return self._trained[1]

    def _tokens_on(self, device: torch.device) -> ReplayTokens:
        if device not in self._tokens:
            self._tokens[device] = ReplayTokens.of(self._telling, self.open_groups, device)
        return self._tokens[device]

    def _loss_at_nodes(
        self, states: PositionStates, original: PositionStates, gaps: Sequence[GapPiece]
    ) -> Tensor:
        """How far the model is from the evened out original, and from even sides."""
        read = [gap for gap in gaps if gap.shown.nodes]
        if not read:
            return states.total([])
        device = states.vectors.device
        forest = TermForest([self.trees[gap.tree] for gap in read], device)
        weights = on_device(torch.tensor([gap.weight for gap in read]), device)
        with torch.no_grad():
            goal = equalised_targets(original.token_logs(forest.places, forest.tokens), forest)
        lost, logs = loss_at_places(
            states,
            original,
            WantedDistributions(
                weights=goal.weights * weights[forest.gap_of_node],
                factors=goal.factors,
                places=forest.places,
                tokens=forest.tokens,
                probabilities=goal.edges,
            ),
        )
        shares = functional.log_softmax(forest.side_logs(forest.word_logs(logs)), dim=-1).mean(dim=-1)
        uneven = (-math.log(2) - shares) * goal.is_open * weights[forest.gap_of_group]
        return lost + uneven.sum()


def _places(gaps: Sequence[GapPiece], positions: Sequence[Sequence[Position]]) -> Ints:
    """Rows of the batch, and places in them, (2, places), of positions in the rows of gaps."""
    begins = np.cumsum([0, *(gap.rows for gap in gaps)]).tolist()
    located = [
        (begin + row, column) for begin, own in zip(begins, positions, strict=False) for row, column in own
    ]
    return np.array(located, dtype=np.int64).reshape(-1, 2).T
