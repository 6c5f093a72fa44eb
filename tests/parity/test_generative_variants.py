"""The ways to score a following sentence with GPT-2, as published for English."""

from __future__ import annotations

from pathlib import Path

import published
import pytest

from evenhand.api.measure import evaluate
from evenhand.stats.resampling import Resampling


@pytest.mark.parametrize(
    ("variant", "file", "expected"),
    [
        ("orig", "gpt2__GPT2LM_orig_en", (58.27, 46.21, 53.85)),
        ("c", "gpt2_GPT2LM_GPT2LM_c_en", (76.90, 50.92, 75.48)),
        ("d", "gpt2_GPT2LM_GPT2LM_d_en", (76.57, 52.00, 73.50)),
        ("e", "gpt2__GPT2LM_e_en", (85.49, 60.67, 67.25)),
    ],
)
def test_the_published_figures_of_a_variant(
    shared_data: Path, variant: str, file: str, expected: tuple[float, float, float], quick: Resampling
) -> None:
    run = evaluate(
        published.predictions_path(shared_data, file),
        published.benchmark(shared_data, "en"),
        protocol="multilingual-2023",
        resampling=quick,
        name=variant,
    )

    result = run.result.tasks["intersentence"]
    assert (result.LMS.value, result.SS.value, result.ICAT.value) == pytest.approx(expected, abs=0.005 + 1e-9)


@pytest.mark.parametrize("file", ["gpt2__GPT2LM_orig_en", "THUMT_mGPT__GPT2LM_e_de"])
def test_a_file_without_intra_sentence_scores_gives_one_task(
    shared_data: Path, file: str, quick: Resampling
) -> None:
    run = evaluate(
        published.predictions_path(shared_data, file),
        published.benchmark(shared_data, file[-2:]),
        resampling=quick,
    )

    assert list(run.result.tasks) == ["intersentence"]
    assert run.record.scored == {"intersentence": 2_123}
