"""What a GPU repeats from a recording is what the network computes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from zoo_fixtures import Zoo

from evenhand.models.engine.recording import MOST_RECORDINGS, RecordedBody
from evenhand.models.language_model import load_language_model
from evenhand.models.objectives.layouts import JoinedLayout
from evenhand.models.objectives.objective import InputRow


def test_without_a_gpu_nothing_is_recorded(menagerie: Zoo) -> None:
    model = menagerie.model("llama")
    inputs = JoinedLayout(model.loaded.pad_id).lay_out([[InputRow((5, 6, 7))]], model.loaded.model).inputs
    calls = []

    def body(given: Any) -> Any:
        calls.append(given)
        return None, torch.zeros(1, 3, 2)

    recorded = RecordedBody(body)
    recorded(inputs)
    recorded(inputs)
    assert calls == [inputs, inputs]


@pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA device on this machine")
@pytest.mark.parametrize("name", ["gpt2", "llama"])
def test_recordings_of_any_shape_give_the_same_states(menagerie: Zoo, name: str) -> None:
    model = load_language_model(str(menagerie.folder(name)), device="cuda")
    network: Any = model.loaded.model
    frozen = model.position_reader.frozen(network)
    layout = JoinedLayout(model.loaded.pad_id)
    generator = np.random.default_rng(0)
    # More shapes than are recorded, and every one of them more than once, after larger and after smaller ones.
    for _ in range(6 * MOST_RECORDINGS):
        lengths = generator.integers(1, 60, size=generator.integers(1, 160))
        rows = [InputRow(tuple(generator.integers(len(model.tokenizer), size=n).tolist())) for n in lengths]
        laid_out = layout.lay_out([[row] for row in rows], network)
        last = laid_out.places(np.arange(len(rows)), lengths - 1)
        with torch.no_grad():
            expected = model.position_reader.states(network, laid_out.inputs, rows=last[0], columns=last[1])
        actual = frozen(laid_out.inputs, last[0], last[1])
        torch.testing.assert_close(actual.vectors, expected.vectors, rtol=1e-4, atol=1e-4)
        some = slice(min(5, len(rows)))
        torch.testing.assert_close(actual.logits(some), expected.logits(some), rtol=1e-4, atol=1e-4)
