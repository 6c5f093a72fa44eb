"""What a batch may take: a budget in bytes, given or a share of what the device has free.

It bounds all that stands beside the weights while a batch is computed: tokens, mask, hidden values and scores over the
vocabulary. Where it is too small all the same, or somebody else took the memory, work is halved.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch

from evenhand.core.memory import free_memory

SHARE = 0.25
"""Of the free memory: the rest is for what libraries keep, and for other processes."""

MOST = {"cpu": 2**30, "cuda": 4 * 2**30}
"""By device, where nothing else was asked for: larger batches are not faster."""

LEAST = 2**26
"""A device without free memory is tried all the same."""


@dataclass(frozen=True, slots=True)
class MemoryBudget:
    """Most bytes that one batch takes beside the weights."""

    bytes: int

    @classmethod
    def on(cls, device: torch.device, memory: int | None = None) -> MemoryBudget:
        """The budget on a device.

        A share of what is free is rounded down to a power of two. So batches, and with them the last bits of scores,
        seldom depend on what else the computer is doing.

        Args:
            device: Where the work is done.
            memory: Bytes that somebody asked for; a share of what is free if not given.
        """
        if memory is not None:
            return cls(memory)
        share = min(MOST.get(device.type, MOST["cpu"]), max(LEAST, int(SHARE * free_on(device))))
        return cls(1 << (share.bit_length() - 1))


def free_on(device: torch.device) -> int:
    """Bytes that a device has free."""
    if device.type != "cuda":
        return free_memory()
    free, _ = torch.cuda.mem_get_info(device)
    return int(free) + torch.cuda.memory_reserved(device) - torch.cuda.memory_allocated(device)


def is_out_of_memory(problem: BaseException) -> bool:
    """Whether there was no memory left; PyTorch has a class of its own for that on a GPU only."""
    if isinstance(problem, torch.OutOfMemoryError | MemoryError):
        return True
    if not isinstance(problem, RuntimeError):
        return False
    return "not enough memory" in str(problem) or "can't allocate memory" in str(problem)


def give_back_memory() -> None:
    """Give memory back that PyTorch keeps for later, before work that did not fit is tried in halves."""
    if torch.cuda.is_available():
        torch.cuda.empty_cache()
