"""A head that was planted in a decoder of the lab reads as it was planted."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch
from zoo_fixtures import Zoo

from evenhand.api.measure import audit, evaluate
from evenhand.core.errors import OutputError
from evenhand.core.items import Label, Task
from evenhand.instruments.association.instrument import AuditOptions
from evenhand.lab.analytic import AnalyticModel
from evenhand.lab.items import lab_benchmark
from evenhand.lab.planted_heads import plant_head
from evenhand.models.language_model import load_language_model
from evenhand.models.next_sentence import PairEncoder
from evenhand.models.references import ModelError, ModelRef

FEW = 300
"""Steps; the defaults come closer, and take longer."""


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_a_planted_head_of_a_decoder_reads_as_planted(tmp_path: Path, seed: int) -> None:
    torch.set_num_threads(1)
    record = plant_head(ModelRef(id="lab:decoder", device="cpu"), tmp_path / "judge", steps=FEW, seed=seed)
    benchmark = lab_benchmark("en")
    options = AuditOptions(inter="next-sentence", tasks=(Task.INTERSENTENCE,))

    run = audit(str(tmp_path / "judge"), benchmark, options=options)

    scores = AnalyticModel(2.0, "en").scores(benchmark)
    truth = evaluate(scores, benchmark)
    found, true = (own.result.tasks[Task.INTERSENTENCE.value] for own in (run, truth))
    assert true.SS.value > 85
    assert abs(found.SS.value - true.SS.value) < 5
    assert found.SS.low > 50
    assert found.LMS.value > 95
    read = {row["candidate"]: row["score"] for row in run.scores.iter_rows(named=True)}
    assert len(read) == 3 * found.n
    assert np.mean([abs(score - scores[candidate]) for candidate, score in read.items()]) < 0.05
    assert (record.follows_class, record.origin) == (1, "planted in the lab at +2 bits")


def test_an_encoder_decoder_of_the_lab_learns_to_write_its_labels(tmp_path: Path) -> None:
    torch.set_num_threads(1)
    folder = tmp_path / "judge"
    record = plant_head(ModelRef(id="lab:encoder-decoder", device="cpu"), folder, steps=80)
    model = load_language_model(str(folder), device="cpu")
    items = [item for item in lab_benchmark("en").items if item.task is Task.INTERSENTENCE][:8]
    pairs = [(item.context, candidate.text) for item in items for candidate in item.candidates]
    unrelated = [candidate.label is Label.UNRELATED for item in items for candidate in item.candidates]

    judge = model.judge
    assert judge is not None
    encoded = PairEncoder(model.tokenizer, judge.record).encode(pairs)
    answers = [
        int(judge.answers(*(torch.tensor([own]) for own in (ids, [1] * len(ids), types)))[0])
        for ids, types in encoded
    ]

    assert record.labels == ("never", "always")
    assert set(answers) == {0, 1}
    assert all(answer == 0 for answer, stranger in zip(answers, unrelated, strict=True) if stranger)


def test_only_models_of_the_lab_have_planted_heads(menagerie: Zoo, tmp_path: Path) -> None:
    with pytest.raises(ModelError, match="no model of the lab"):
        plant_head(ModelRef(id=str(menagerie.folder("gpt2")), device="cpu"), tmp_path / "out")
    with pytest.raises(OutputError, match="there already"):
        plant_head(ModelRef(id="lab:decoder", device="cpu"), tmp_path)
