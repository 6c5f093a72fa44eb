"""How far a model's distributions are from wanted ones, with gradients in as few passes as they need.

A row of scores over a vocabulary is long, and a step of training has thousands of rows. Left to automatic
differentiation, each place where a few tokens are looked up by themselves would fill another block of that size with
zeros, so what is looked up goes through the same function.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor


def divergence(scores: Tensor, target: Tensor, reads: Tensor) -> tuple[Tensor, Tensor]:
    """KL(target || model) of each row, and what the model expects of some tokens.

    Args:
        scores: Of the model, (rows, vocabulary).
        target: Probabilities that are wanted; they are not changed, and have no gradients.
        reads: The tokens, as row x vocabulary + token, none of them twice.

    Returns:
        The divergence in nats, (rows), and the log-probability of each token that is read, as many as ``reads``.
    """
    lost, logs = _Divergence.apply(scores, target, reads)  # type: ignore[no-untyped-call]
    return lost, logs


class _Divergence(torch.autograd.Function):
    @staticmethod
    def forward(context: Any, scores: Tensor, target: Tensor, reads: Tensor) -> tuple[Tensor, Tensor]:
        norms, whole = scores.logsumexp(dim=-1), target.sum(dim=-1)
        context.save_for_backward(scores, target, reads, norms, whole)
        entropy = torch.xlogy(target, target).sum(dim=-1)
        lost = entropy - torch.linalg.vecdot(target, scores) + whole * norms
        logs = scores.flatten()[reads] - norms[_rows(reads, scores)]
        return lost, logs

    @staticmethod
    def backward(context: Any, *gradients: Tensor) -> tuple[Tensor, None, None]:
        scores, target, reads, norms, whole = context.saved_tensors
        of_lost, of_logs = gradients
        read = torch.zeros_like(norms).index_add(0, _rows(reads, scores), of_logs)
        found = torch.sub(scores, norms[:, None]).exp_()
        found.mul_((of_lost * whole - read)[:, None]).addcmul_(target, of_lost[:, None], value=-1)
        each = found.view(-1)
        each[reads] += of_logs
        return found, None, None


def _rows(reads: Tensor, scores: Tensor) -> Tensor:
    return reads // scores.shape[-1]
