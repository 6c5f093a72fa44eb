"""Memory in bytes: how people write an amount of it, and how much of the computer's is free."""

from __future__ import annotations

import re
from pathlib import Path

from evenhand.core.errors import EvenhandError

_UNITS = {
    **{unit: 1000**power for power, unit in enumerate(("b", "kb", "mb", "gb", "tb"))},
    **{unit: 1024**power for power, unit in enumerate(("b", "kib", "mib", "gib", "tib"))},
}
_AMOUNT = re.compile(r"(?P<number>\d+(\.\d+)?)\s*(?P<unit>[a-z]*)", re.IGNORECASE)

SMALLEST_MEMORY = 2**20
"""Less than this is a slip of the pen: a single token can take more."""

_GROUP_FILES = (("memory.max", "memory.current"), ("memory.limit_in_bytes", "memory.usage_in_bytes"))
"""Where Linux tells what a group of processes may take and what it takes, in the two versions of its groups."""


def parse_memory(text: str) -> int:
    """Bytes of an amount such as 4GB, 512MiB or 1.5 GB."""
    match = _AMOUNT.fullmatch(text.strip())
    unit = _UNITS.get(match["unit"].lower()) if match and match["unit"] else None
    if match is None or unit is None:
        raise EvenhandError(
            f"{text!r} is no amount of memory. Write a number and a unit, such as 4GB or 512MB."
        )
    amount = int(float(match["number"]) * unit)
    if amount < SMALLEST_MEMORY:
        raise EvenhandError(
            f"{text!r} is too little memory for a model's work. Give 1MiB or more, such as 4GB."
        )
    return amount


def show_memory(amount: int) -> str:
    """An amount as people write it."""
    for unit in ("tb", "gb", "mb", "kb"):
        if amount >= _UNITS[unit]:
            return f"{amount / _UNITS[unit]:.3g} {unit.upper()}"
    return f"{amount} B"


def free_memory() -> int:
    """Bytes that this process can still take without anything being moved to disk.

    In a container that is what its own limit leaves, however much the computer has.
    """
    import psutil

    free = int(psutil.virtual_memory().available)
    return max(0, min([free, *_left_in_groups(Path("/proc/self/cgroup"), Path("/sys/fs/cgroup"))]))


def _left_in_groups(membership: Path, mount: Path) -> list[int]:
    """What the limits of the process's groups leave, where it is in groups that have limits."""
    try:
        lines = membership.read_text(encoding="utf-8").splitlines()
    except OSError:
        return []
    folders = {mount, mount / "memory"}
    for line in lines:
        _, controllers, path = line.split(":", 2)
        if controllers in ("", "memory"):
            folders.add(mount / controllers / path.lstrip("/"))
    found = []
    for folder in folders:
        for limit, usage in _GROUP_FILES:
            try:
                most, taken = ((folder / name).read_text(encoding="utf-8").strip() for name in (limit, usage))
            except OSError:
                continue
            if most.isdecimal() and taken.isdecimal():
                found.append(int(most) - int(taken))
    return found
