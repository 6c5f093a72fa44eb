"""Integer labels that are the wrong way round cannot be seen in a file; a model with a planted lean shows them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import evenhand as eh
from evenhand.core.items import Label
from evenhand.data import load_dataset
from evenhand.data.stereoset import HUB_LABELS
from evenhand.stats.resampling import Resampling

pytestmark = pytest.mark.torch

SWAPPED = (Label.STEREOTYPE, Label.ANTI_STEREOTYPE, Label.UNRELATED)


def hub_file(path: Path, numbers: tuple[Label, ...]) -> Path:
    """The lab's own items as the hub would have them, with integers for labels in this order."""
    lines = [
        {
            "id": item.id,
            "target": item.target,
            "bias_type": item.bias_type,
            "context": item.context,
            "sentences": [
                {"id": each.id, "sentence": each.text, "gold_label": numbers.index(each.label)}
                for each in item.candidates
            ],
        }
        for item in load_dataset("lab", language="en")
    ]
    path.write_text("\n".join(map(json.dumps, lines)), encoding="utf-8")
    return path


@pytest.mark.parametrize(("numbers", "is_warned"), [(HUB_LABELS, False), (SWAPPED, True)])
def test_a_model_with_a_planted_lean_tells_labels_that_are_reversed(
    tmp_path: Path, numbers: tuple[Label, ...], is_warned: bool
) -> None:
    path = hub_file(tmp_path / "items.jsonl", numbers)
    options = eh.AuditOptions(limit=60, resampling=Resampling(resamples=200))

    run = eh.audit("lab:masked", path, language="en", options=options)

    assert run.record.model is not None
    assert run.record.model.planted is not None
    assert run.record.model.planted.strength > 0
    warned = [text for text in run.record.warnings if "are likely reversed" in text]
    assert bool(warned) is is_warned
    assert (run.figure("overall.SS").estimate.value < 50) is is_warned
