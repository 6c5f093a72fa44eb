"""Low-rank adapters: train a small part beside the weights, then fold it into them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from torch import nn
from transformers.pytorch_utils import Conv1D

from evenhand.core.errors import require_extra
from evenhand.core.recipes import LoraRecipe
from evenhand.models.references import ModelError


class Adapters:
    """Adapters inside a model. The model stays the same object; its own weights are not trained."""

    def __init__(self, model: nn.Module, recipe: LoraRecipe) -> None:
        peft = _peft()
        targets: Any = list(recipe.targets) or "all-linear"
        config = peft.LoraConfig(
            r=recipe.rank,
            lora_alpha=recipe.alpha,
            lora_dropout=recipe.dropout,
            target_modules=targets,
            # GPT-2's layers have their weights the other way round.
            fan_in_fan_out=any(isinstance(module, Conv1D) for module in model.modules()),
        )
        try:
            self._wrapped = peft.get_peft_model(model, config)
        except ValueError as problem:
            raise ModelError(
                f"No adapter can be put into {type(model).__name__}: {problem}. Name its linear modules with "
                "--lora-target."
            ) from None

    def save(self, folder: Path) -> None:
        """Write the adapters alone, as peft loads them."""
        self._wrapped.save_pretrained(folder)
        (folder / "README.md").unlink(missing_ok=True)  # an empty form; the model's own card says what it is

    def fold_in(self) -> None:
        """Add the adapters to the weights that they stand beside, and leave the model as it was built."""
        folded = self._wrapped.merge_and_unload()
        for weight in folded.parameters():
            weight.requires_grad_(True)


@contextmanager
def adapters_disabled(model: nn.Module) -> Iterator[None]:
    """Switch the adapters inside a model off for a while; it then computes with its own weights alone."""
    from peft.tuners.tuners_utils import BaseTunerLayer

    layers = [module for module in model.modules() if isinstance(module, BaseTunerLayer)]
    for layer in layers:
        layer.enable_adapters(enabled=False)
    try:
        yield
    finally:
        for layer in layers:
            layer.enable_adapters(enabled=True)


def _peft() -> Any:
    require_extra("train", "peft", purpose="LoRA")
    import peft

    return peft
