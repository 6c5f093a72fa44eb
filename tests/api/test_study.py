"""Study: both models are measured as the mitigation loads them, within the memory that was asked for."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch

import evenhand as eh
from evenhand.api import study as study_workflow
from evenhand.api.defaults.mitigating import default_data
from evenhand.core.recipes import LoraRecipe, Precision, Recipe
from evenhand.models.engine.memory import MemoryBudget
from evenhand.models.references import ModelRef

ASKED = 64_000_000


@pytest.fixture
def budgets(monkeypatch: pytest.MonkeyPatch) -> list[int | None]:
    """What every budget of memory was asked to be."""
    asked: list[int | None] = []
    plain = MemoryBudget.on

    def noted(device: torch.device, memory: int | None = None) -> MemoryBudget:
        asked.append(memory)
        return plain(device, memory)

    monkeypatch.setattr(MemoryBudget, "on", noted)
    return asked


@pytest.fixture
def certified(monkeypatch: pytest.MonkeyPatch) -> list[ModelRef]:
    """The models that were to be certified."""
    models: list[ModelRef] = []

    def note(before: ModelRef, after: ModelRef, **_: Any) -> None:
        models.extend((before, after))

    monkeypatch.setattr(study_workflow, "certify", note)
    return models


def test_memory_and_precision_are_the_same_for_every_step(
    tmp_path: Path, budgets: list[int | None], certified: list[ModelRef]
) -> None:
    corpus, held_out = tmp_path / "text.txt", tmp_path / "held-out.txt"
    corpus.write_text(
        "\n".join(
            f"the neighbour said that {who} saw {number} birds ."
            for number in range(20)
            for who in ("she", "we")
        )
    )
    held_out.write_text("\n".join(f"the clerk saw {number} birds ." for number in range(20)))
    ref = ModelRef(id="lab:masked", device="cpu", memory=ASKED)
    recipe = Recipe(epochs=1, learning_rate=1e-3, precision=Precision.BF16, lora=LoraRecipe())
    eh.study(
        ref,
        out=tmp_path / "study",
        data=default_data(ref, [corpus], experiments=("he-she",), held_out=[held_out]),
        options=eh.EqualiseOptions(recipe=recipe),
    )
    assert set(budgets) == {ASKED}
    assert [model.id for model in certified] == ["lab:masked", str(tmp_path / "study" / "model")]
    assert {(model.memory, model.precision) for model in certified} == {(ASKED, Precision.BF16)}
