"""How much memory PyTorch takes for a piece of work, from what its allocator says."""

from __future__ import annotations

from collections.abc import Callable

from torch.profiler import ProfilerActivity, profile


def peak_of(work: Callable[[], object]) -> int:
    """The most bytes on the processor at any moment of the work, above those before it."""
    with profile(activities=[ProfilerActivity.CPU], profile_memory=True) as record:
        work()
    taken = most = 0
    for event in record.profiler.kineto_results.events():
        if event.name() == "[memory]":
            taken += event.nbytes()
            most = max(most, taken)
    return most
