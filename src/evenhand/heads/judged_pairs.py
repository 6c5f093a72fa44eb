"""What a judge answers about encoded pairs, and how often it is right."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from evenhand.core.estimates import Estimate
from evenhand.heads.encoded_pairs import EncodedPairs, PairExample
from evenhand.models.judges import Judge
from evenhand.models.objectives.objective import padded
from evenhand.stats.cluster_shares import profile_interval
from evenhand.training.micro_batches import MOST_TOKENS, grouped

CONFIDENCE = 0.95
NEITHER = -1
"""The answer of a judge that wrote something other than a label."""


@dataclass(frozen=True, slots=True)
class JudgedPairs:
    """The answers of a judge beside the classes of the pairs."""

    answers: npt.NDArray[np.int64]
    classes: npt.NDArray[np.int64]
    articles: npt.NDArray[np.uint64]

    @property
    def right(self) -> npt.NDArray[np.bool_]:
        """For each pair, whether its class was answered."""
        right: npt.NDArray[np.bool_] = self.answers == self.classes
        return right

    @property
    def without_label(self) -> int:
        """Pairs about which the judge wrote neither label."""
        return int((self.answers == NEITHER).sum())

    @property
    def accuracy(self) -> Estimate:
        """The share that is right, with its interval over articles."""
        return accuracy_estimate(self.right, self.articles)


def accuracy_estimate(right: npt.NDArray[np.bool_], articles: npt.NDArray[np.uint64]) -> Estimate:
    """The share that is right, with its interval over articles."""
    _, clusters = np.unique(articles, return_inverse=True)
    sizes = np.bincount(clusters).astype(float)
    if len(sizes) < 2:
        return Estimate.undefined("all pairs are of one article", n=len(right), clusters=len(sizes))
    interval = profile_interval(
        np.bincount(clusters, weights=right).astype(float), sizes, confidence=CONFIDENCE
    )
    return interval.around(float(right.mean()), n=len(right), clusters=len(sizes))


def judge_inputs(
    examples: Sequence[PairExample], *, pad: int, device: torch.device
) -> tuple[Tensor, Tensor, Tensor]:
    """Tokens, what is real of them, and their sentences, filled up to the longest."""
    ids = padded([example.ids.tolist() for example in examples], pad)
    mask = padded([[1] * len(example) for example in examples], 0)
    types = padded([example.types.tolist() for example in examples], 0)
    return ids.to(device), mask.to(device), types.to(device)


def judge_pairs(judge: Judge, examples: EncodedPairs, *, pad: int, most: int | None = None) -> JudgedPairs:
    """Ask a judge about pairs, evenly spaced where they are more than ``most``; those of about one length together."""
    device = next(judge.parameters()).device
    count = len(examples) if most is None else min(most, len(examples))
    places = np.linspace(0, len(examples) - 1, count).round().astype(np.int64)
    numbered = [_Numbered(examples[int(place)], number) for number, place in enumerate(places)]
    answers = np.full(count, NEITHER, dtype=np.int64)
    with _evaluating(judge):
        for group in grouped(numbered, MOST_TOKENS.get(device.type, MOST_TOKENS["cpu"])):
            members = [own for own in group if isinstance(own, _Numbered)]
            given = judge.answers(*judge_inputs([own.example for own in members], pad=pad, device=device))
            answers[[own.number for own in members]] = given.cpu().numpy()
    classes = np.array([own.example.label for own in numbered], dtype=np.int64)
    return JudgedPairs(answers, classes, examples.articles[places])


@dataclass(frozen=True, slots=True)
class _Numbered:
    example: PairExample
    number: int
    rows: int = 1

    @property
    def length(self) -> int:
        return len(self.example)

    @property
    def tokens(self) -> int:
        return len(self.example)


@contextmanager
def _evaluating(judge: Judge) -> Iterator[None]:
    training = judge.training
    judge.eval()
    try:
        with torch.no_grad():
            yield
    finally:
        judge.train(training)
