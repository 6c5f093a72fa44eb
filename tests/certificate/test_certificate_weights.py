"""What a certificate says of changed weights: which changed, how far, and adapters among them."""

from __future__ import annotations

import json
import math
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from certificate_runs import nudged, small_plan
from peft import LoraConfig, get_peft_model
from torch import Tensor, nn

from evenhand.certificate import certify
from evenhand.certificate.weights import weights_change
from evenhand.models.language_model import load_language_model
from evenhand.models.references import ModelError, ModelRef
from evenhand.store.certificate_bias import BiasVerdict
from evenhand.store.weights_changes import WeightsChange


def holding(**tensors: Tensor) -> Any:
    """As much of a language model as is compared."""
    model = nn.ParameterDict({name: nn.Parameter(tensor) for name, tensor in tensors.items()})
    return SimpleNamespace(loaded=SimpleNamespace(model=model, ref=ModelRef(id="nowhere")))


def change(before: list[float], after: list[float]) -> WeightsChange:
    """Of one tensor, in double precision."""
    first, second = (holding(own=torch.tensor(values, dtype=torch.float64)) for values in (before, after))
    return weights_change(first, second)


@pytest.mark.parametrize(
    ("before", "after", "relative"),
    [
        pytest.param([3.0, 4.0], [3.0, 5.0], 1 / 5, id="by a length"),
        pytest.param([0.0, 0.0], [3.0, 4.0], math.inf, id="from nothing"),
        pytest.param([1.0, 0.0], [1.0, 1e-200], math.inf, id="by a square that is 0"),
        pytest.param([1.0, 2.0], [1.0, math.nan], math.inf, id="to no number"),
        pytest.param([1.0, math.nan], [1.0, 2.0], math.inf, id="from no number"),
        pytest.param([1.0, 2.0], [1.0, math.inf], math.inf, id="beyond all numbers"),
        pytest.param([1.0, math.inf], [1.0, 2.0], math.inf, id="from beyond all numbers"),
    ],
)
def test_every_change_counts(before: list[float], after: list[float], relative: float) -> None:
    found = change(before, after)
    assert found.changed == 1
    assert found.any
    assert found.largest[0].relative == pytest.approx(relative)


def test_no_change_is_none() -> None:
    found = change([1.0, 2.0], [1.0, 2.0])
    assert (found.changed, found.any, found.relative, found.largest) == (0, False, 0.0, ())


def test_the_five_that_moved_farthest_are_named_the_farthest_first() -> None:
    moves = {"a": 0.1, "b": 0.6, "c": 0.3, "d": 0.0, "e": 0.5, "f": 0.2, "g": 0.4}
    before = holding(**{name: torch.ones(1) for name in moves})
    after = holding(**{name: torch.ones(1) + move for name, move in moves.items()})
    found = weights_change(before, after)
    assert (found.tensors, found.changed) == (7, 6)
    assert [tensor.name for tensor in found.largest] == ["b", "e", "g", "c", "f"]
    assert [tensor.relative for tensor in found.largest] == pytest.approx([0.6, 0.5, 0.4, 0.3, 0.2])
    assert found.relative == pytest.approx(math.sqrt(sum(move**2 for move in moves.values()) / 7))


def test_a_tensor_that_held_no_number_stands_before_those_with_a_length() -> None:
    before = holding(a=torch.ones(1), b=torch.tensor([math.nan]), c=torch.ones(1))
    after = holding(a=torch.tensor([1.1]), b=torch.ones(1), c=torch.tensor([1.6]))
    assert [tensor.name for tensor in weights_change(before, after).largest] == ["b", "c", "a"]


@pytest.fixture(scope="module")
def bert(menagerie: Any) -> Path:
    return Path(menagerie.folder("bert"))


def test_weights_are_compared_tensor_by_tensor(bert: Path, tmp_path: Path) -> None:
    folders = (bert, nudged(bert, tmp_path / "changed"))
    first, second = (load_language_model(str(folder), device="cpu") for folder in folders)
    found = weights_change(first, second)
    slow = [
        float((b - a).detach().norm() ** 2)
        for a, b in zip(first.loaded.model.parameters(), second.loaded.model.parameters(), strict=True)
    ]
    size = [float(a.detach().norm() ** 2) for a in first.loaded.model.parameters()]
    assert found.changed == found.tensors == len(slow)
    assert found.relative == pytest.approx((sum(slow) / sum(size)) ** 0.5, rel=1e-3)
    assert not weights_change(first, first).any


def adapter(bert: Path, folder: Path, *, zero: bool) -> Path:
    model = load_language_model(str(bert), device="cpu").loaded.model
    trained = get_peft_model(model, LoraConfig(r=2, target_modules=["query"], init_lora_weights=zero))
    trained.peft_config["default"].base_model_name_or_path = str(bert)
    trained.save_pretrained(str(folder))
    return folder


def test_an_adapter_is_loaded_onto_its_model(bert: Path, tmp_path: Path) -> None:
    base = load_language_model(str(bert), device="cpu")
    trained = load_language_model(str(adapter(bert, tmp_path / "adapter", zero=False)), device="cpu")
    found = weights_change(base, trained)
    assert found.adapter == "LORA"
    # One matrix of queries in each of two layers.
    assert found.changed == 2
    assert all("query" in tensor.name for tensor in found.largest)


def test_an_adapter_without_effect_is_caught(bert: Path, tmp_path: Path) -> None:
    folder = adapter(bert, tmp_path / "adapter", zero=True)
    certificate = certify(str(bert), str(folder), small_plan(), place=tmp_path / "certificate.json")
    assert certificate.verdict.bias is BiasVerdict.NOTHING_CHANGED
    assert any("An adapter that is not loaded" in caveat for caveat in certificate.caveats)


def test_damaged_adapters_are_refused(bert: Path, tmp_path: Path) -> None:
    folder = adapter(bert, tmp_path / "adapter", zero=False)
    settings = json.loads((folder / "adapter_config.json").read_text())
    (folder / "adapter_config.json").write_text(json.dumps({**settings, "base_model_name_or_path": None}))
    with pytest.raises(ModelError, match="does not say which model"):
        load_language_model(str(folder))
    (folder / "adapter_config.json").write_text("{")
    with pytest.raises(ModelError, match="is damaged"):
        load_language_model(str(folder))
