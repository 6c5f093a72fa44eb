"""How far weights moved, in words."""

from __future__ import annotations

import math

from evenhand.store.weights_changes import WeightsChange


def weights_words(weights: WeightsChange) -> str:
    """How the weights of two models differ."""
    shared = weights.tensors - len(weights.only_before)
    parts = []
    if not weights.any:
        parts.append("No tensor differs.")
    elif not shared:
        parts.append(f"The models have no tensor in common ({weights.parameters:,} parameters before).")
    else:
        parts.append(
            f"{weights.changed:,} of {weights.tensors:,} tensors differ{_moved_words(weights)} "
            f"({weights.parameters:,} parameters)."
        )
    if weights.largest:
        parts.append(f"Most in {weights.largest[0].name}.")
    if weights.only_before or weights.only_after:
        parts.append(
            f"{_tensors(len(weights.only_before))} in the model before alone and {len(weights.only_after):,} in the "
            "model after alone."
        )
    if weights.adapter:
        parts.append(f"An adapter ({weights.adapter}) is loaded and merged into the weights.")
    return " ".join(parts)


def _moved_words(weights: WeightsChange) -> str:
    if not math.isfinite(weights.relative):
        return ""
    return f"; taken together, the weights moved by {100 * weights.relative:.3g}% of their size"


def _tensors(count: int) -> str:
    return "1 tensor is" if count == 1 else f"{count:,} tensors are"
