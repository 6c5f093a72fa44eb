"""The page of a whole published benchmark stays small enough to send."""

from __future__ import annotations

from pathlib import Path

import pytest

import evenhand as eh

LARGEST = 3_000_000


@pytest.mark.parametrize(
    ("predictions", "language"),
    [
        ("bert-base-cased_BertLM_BertNextSentence_en", "en"),
        ("GermanT5_t5-efficient-gc4-german-base-nl36_T5LM_ModelNSP_de", "de"),
    ],
)
def test_page_of_one_run_is_under_three_megabytes(
    shared_data: Path, tmp_path: Path, predictions: str, language: str
) -> None:
    run = eh.evaluate(
        shared_data / "predictions" / f"{predictions}.json.gz",
        shared_data / "stereoset" / f"{language}.json",
        resampling=eh.Resampling(resamples=100),
    )
    page = eh.write_page(run, tmp_path / "page.html")
    assert page.stat().st_size < LARGEST
