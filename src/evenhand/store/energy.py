"""Energy that a GPU takes while something runs, as its own counter has it; where there is no counter, why not.

NVIDIA GPUs since Volta count their energy in millijoules. The counter is of the whole GPU, so what other processes do
there at the same time is in it. Processors and memory are not.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from evenhand.core.estimates import Number
from evenhand.core.frozen import FrozenModel

NO_GPU = "no NVIDIA GPU was used, and other hardware is not measured"
NO_LIBRARY = "nvidia-ml-py is not installed; it comes with the extra energy"

_MILLIJOULES = 3.6e9
"""In a kilowatt-hour."""

_CUDA = re.compile(r"cuda(?::(\d+))?")


class EnergyRecord(FrozenModel):
    """What a run or a training took, of the process that finished it."""

    kilowatt_hours: Number | None = None
    source: str | None = None
    """What counted it."""
    reason: str | None = None
    """Why it is not known."""

    def __str__(self) -> str:
        if self.kilowatt_hours is None:
            return f"not measured: {self.reason}"
        return f"{self.kilowatt_hours:.3g} kWh ({self.source}; whatever else ran there is in it)"


@dataclass(slots=True)
class EnergyMeter:
    """Becomes a record when the work is done."""

    record: EnergyRecord


@contextmanager
def energy_meter(device: str | None) -> Iterator[EnergyMeter]:
    """Count the energy of a device while the block runs.

    Args:
        device: Where a model is, as PyTorch calls it; None where there is none.
    """
    match = _CUDA.match(device or "")
    if match is None:
        yield EnergyMeter(EnergyRecord(reason=NO_GPU))
        return
    try:
        import pynvml
    except ModuleNotFoundError:
        yield EnergyMeter(EnergyRecord(reason=NO_LIBRARY))
        return
    try:
        pynvml.nvmlInit()
        gpu = _handle(pynvml, None if match[1] is None else int(match[1]))
        started = pynvml.nvmlDeviceGetTotalEnergyConsumption(gpu)
    except pynvml.NVMLError as problem:
        yield EnergyMeter(EnergyRecord(reason=f"the GPU does not count its energy ({problem})"))
        return
    meter = EnergyMeter(EnergyRecord(reason="the work did not finish"))
    try:
        yield meter
        meter.record = _counted(pynvml, gpu, started)
    finally:
        pynvml.nvmlShutdown()


def _handle(pynvml: Any, number: int | None) -> Any:
    """The counter of the GPU that PyTorch calls by this number, or that it uses if none is given.

    NVML counts all GPUs in the order of the bus, PyTorch only those that CUDA_VISIBLE_DEVICES shows and in an order of
    its own. Their UUIDs are the same in both. Whoever has a model on a GPU has loaded PyTorch, so it is not imported.
    """
    cuda = sys.modules["torch"].cuda
    properties = cuda.get_device_properties(cuda.current_device() if number is None else number)
    return pynvml.nvmlDeviceGetHandleByUUID(f"GPU-{properties.uuid}")


def _counted(pynvml: Any, gpu: Any, started: int) -> EnergyRecord:
    try:
        taken = pynvml.nvmlDeviceGetTotalEnergyConsumption(gpu) - started
        name = pynvml.nvmlDeviceGetName(gpu)
    except pynvml.NVMLError as problem:
        return EnergyRecord(reason=f"the GPU stopped counting its energy ({problem})")
    shown = name.decode() if isinstance(name, bytes) else name
    return EnergyRecord(kilowatt_hours=taken / _MILLIJOULES, source=f"counter of the GPU, {shown}")
