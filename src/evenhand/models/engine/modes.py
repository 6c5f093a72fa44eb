"""No garbage collection, or no training, for a while."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from torch import nn


@contextmanager
def gc_disabled() -> Iterator[None]:
    """Pause the garbage collector.

    Libraries and plans are hundreds of thousands of small objects that all stay; looking for garbage among them again
    and again takes longer than making them.
    """
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


@contextmanager
def eval_mode(module: nn.Module) -> Iterator[None]:
    """Put a module into evaluation for a while; each of its parts is left as it was found."""
    in_training = [part for part in module.modules() if part.training]
    module.eval()
    try:
        yield
    finally:
        for part in in_training:
            part.training = True
