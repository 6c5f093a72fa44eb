"""Which kernels compute matrix products in fp32 on a CPU.

PyTorch sends them to MKL, which reaches half of the speed of oneDNN on AMD processors. Permission to round to bf16
sends them to oneDNN instead. Without instructions for matrices in bf16 (AMX), oneDNN still computes in fp32; with them
it would round. So both are timed for a few milliseconds, and oneDNN is used only if it is faster and as exact as fp32,
judged against double precision.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from typing import Any

import torch

from evenhand.core.errors import fault
from evenhand.core.recipes import Kernels

MAX_ERROR = 1.0
"""Largest error of a product, as a multiple of what summing in fp32 one term after the other leaves. Rounding to bf16
leaves about a thousand times as much."""

MIN_SPEEDUP = 1.15
"""Smaller gains are not worth another order of summation."""

ROWS, INNER, COLUMNS = 192, 768, 768
REPEATS = 5
"""One product takes about a millisecond; the fastest of several counts, since other processes slow some down."""

_LOCK = threading.RLock()
"""Whoever measures holds it, so that no other thread changes the kernels meanwhile."""

_UNSET = "none"
_PERMISSION = "bf16"


@dataclass(frozen=True, slots=True)
class MatrixProducts:
    """The chosen kernels, and why."""

    onednn: bool
    reason: str

    def __str__(self) -> str:
        return f"{'oneDNN' if self.onednn else 'as PyTorch chooses'}: {self.reason}"

    @contextmanager
    def in_use(self) -> Iterator[None]:
        """Compute with these kernels for a while; the process is left as it was."""
        if not self.onednn:
            yield
            return
        _enter()
        try:
            yield
        finally:
            _leave()


UNCHANGED = MatrixProducts(False, "chosen by PyTorch")

_users = 0
_is_ours = False
"""Whether the permission that is in force was given here."""


def _enter() -> None:
    global _users, _is_ours  # noqa: PLW0603 - PyTorch's setting is one for the process, and so is the number of its users
    with _LOCK:
        if not _users and _onednn().matmul.fp32_precision == _UNSET:
            _onednn().matmul.fp32_precision = _PERMISSION
            _is_ours = True
        _users += 1


def _leave() -> None:
    global _users, _is_ours  # noqa: PLW0603
    with _LOCK:
        _users -= 1
        if _users or not _is_ours:
            return
        _is_ours = False
        if (
            _onednn().matmul.fp32_precision == _PERMISSION
        ):  # otherwise another thread has changed it meanwhile
            _onednn().matmul.fp32_precision = _UNSET


def _onednn() -> Any:
    return torch.backends.mkldnn


def matrix_products(device: torch.device, dtype: torch.dtype, kernels: Kernels) -> MatrixProducts:
    """The kernels for a model; they are measured once in a process for each number of threads."""
    if device.type != "cpu" or dtype != torch.float32:
        return MatrixProducts(False, f"{dtype} on {device.type}".removeprefix("torch."))
    if kernels is Kernels.DEFAULT:
        return MatrixProducts(False, "chosen by the user")
    if not _onednn().is_available() or not hasattr(_onednn(), "matmul"):
        return MatrixProducts(False, "this PyTorch does not offer oneDNN for products in fp32")
    with _LOCK:
        if (setting := _own_setting()) is not None:
            return MatrixProducts(False, f"this process had set {setting}")
        return _measured(torch.get_num_threads())


@cache
def _measured(_threads: int) -> MatrixProducts:
    """The faster kernels that are exact enough."""
    generator = torch.Generator().manual_seed(0)
    left = torch.randn(ROWS, INNER, generator=generator)
    right = torch.randn(COLUMNS, INNER, generator=generator)
    expected = left.double() @ right.double().T
    fast = MatrixProducts(True, "faster here, with the error of fp32")
    try:
        with torch.inference_mode(), fast.in_use():
            error = _error(left @ right.T, expected)
    except RuntimeError as problem:  # PyTorch's settings may be frozen, or a kernel missing
        return MatrixProducts(False, f"oneDNN cannot be used ({fault(problem)})")
    if not error <= MAX_ERROR:
        return MatrixProducts(False, "oneDNN would round to bf16 on this processor")
    if _users:  # another thread works with oneDNN, and found it faster with another number of threads
        return fast
    usual, other = float("inf"), float("inf")
    for _ in range(REPEATS):  # in turn, so that what else runs on the machine slows both down
        usual = min(usual, _seconds(left, right))
        with fast.in_use():
            other = min(other, _seconds(left, right))
    return fast if usual >= MIN_SPEEDUP * other else MatrixProducts(False, "oneDNN is not faster here")


def _own_setting() -> str | None:
    """What else has been chosen for products in fp32, if anything has."""
    if _is_ours:
        return None
    if not _onednn().enabled:
        return "torch.backends.mkldnn.enabled to False"
    precision = _onednn().matmul.fp32_precision
    return None if precision == _UNSET else f"the precision of products in fp32 to {precision}"


def _seconds(left: torch.Tensor, right: torch.Tensor) -> float:
    with torch.inference_mode():
        started = time.perf_counter()
        _ = left @ right.T
        return time.perf_counter() - started


def _error(product: torch.Tensor, expected: torch.Tensor) -> float:
    """Root mean square error, as a multiple of that of a running sum whose every step is rounded to fp32."""
    error = (product.double() - expected).square().mean().sqrt()
    step = torch.finfo(torch.float32).eps / 2 * expected.square().mean().sqrt()
    return float(error / (step * INNER**0.5))
