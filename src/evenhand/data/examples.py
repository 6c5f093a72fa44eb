"""Example scores for the starter set, so that everything can be tried without a model.

They come from a simulated scorer with a known lean, not from a language model; see
``examples/simulate_scores.py``.
"""

from __future__ import annotations

from importlib import resources
from pathlib import Path

from evenhand.core.errors import UnknownNameError

EXAMPLES = ("leaning", "neutral")


def example_scores(name: str) -> Path:
    """The file of simulated scores of this name: ``leaning`` or ``neutral``."""
    if name not in EXAMPLES:
        raise UnknownNameError("example", name, EXAMPLES)
    folder = resources.files("evenhand.data") / "resources" / "starter" / "example_scores"
    return Path(str(folder / f"simulated-{name}.json"))
