"""The page of a next-sentence head draws its learning curves."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from playwright.sync_api import Browser

from evenhand.core.errors import RunError
from evenhand.core.estimates import Estimate
from evenhand.core.recipes import Precision
from evenhand.heads.page import MOST_POINTS, accuracy_plot, loss_plot, reading, render_head_page
from evenhand.store.energy import EnergyRecord
from evenhand.store.head_records import (
    CheckpointPoint,
    HeadRecord,
    HeadTraining,
    LossPoint,
    NextSentenceCurve,
    NextSentenceRecipe,
    UsedPairs,
)
from evenhand.store.records import EnvironmentRecord, ModelRecord

MODEL = ModelRecord(
    id="gpt2", revision=None, weights="sha256 0", family="decoder", architecture="GPT2LMHeadModel",
    precision="fp32", device="cpu",
)  # fmt: skip


def a_curve(points: int = 30) -> NextSentenceCurve:
    losses = tuple(
        LossPoint(pairs=64 * number, loss=1 / number, body_rate=5e-6 / number, head_rate=1e-3 / number)
        for number in range(1, points + 1)
    )
    checkpoints = tuple(
        CheckpointPoint(epoch=n, pairs=640 * n, accuracy=a, low=a - 0.05, high=a + 0.05)
        for n, a in enumerate((0.5, 0.6, 0.7, 0.8))
    )
    return NextSentenceCurve(losses=losses, checkpoints=checkpoints)


def a_head_record(low: float = 0.7) -> HeadRecord:
    training = HeadTraining(
        model=MODEL,
        pairs=(UsedPairs(language="en", fingerprint="abc", train_pairs=1_920, test_pairs=200),),
        recipe=NextSentenceRecipe(),
        precision=Precision.FP32,
        steps=30,
        seen_pairs=1_920,
        energy=EnergyRecord(reason="the head is made up"),
        environment=EnvironmentRecord.current(),
        libraries={},
    )
    accuracy = Estimate(value=0.8, low=low, high=0.9, n=200, clusters=40, method="profile")
    return HeadRecord(follows_class=1, training=training, test_accuracy=accuracy, accuracy_by="By class.")


def test_all_curves_are_drawn(tmp_path: Path, browser: Browser) -> None:
    path = tmp_path / "page.html"
    path.write_text(render_head_page(a_head_record(), a_curve(), name="judge"), encoding="utf-8")
    page = browser.new_page()
    page.goto(path.as_uri())
    for name in ("loss", "accuracy", "rates"):
        drawn = page.locator(f"[data-plot={name}] :is(svg, canvas)")
        drawn.first.wait_for(state="attached")
        assert drawn.count() > 0
    page.close()


def test_the_reading_says_when_a_head_only_guesses() -> None:
    assert any("cannot be told from guessing" in sentence for sentence in reading(a_head_record(low=0.45)))
    assert not any("guessing: its" in sentence for sentence in reading(a_head_record()))
    assert "80.0% correctly (70.0% to 90.0%)" in reading(a_head_record())[0]


def test_the_reading_says_when_a_head_is_worse_than_guessing_and_writes_no_label() -> None:
    accuracy = Estimate(value=0.0, low=0.0, high=0.1, n=200, clusters=40, method="profile")
    record = a_head_record().model_copy(update={"test_accuracy": accuracy, "without_label": 190})

    sentences = " ".join(reading(record))

    assert "right less often than guessing" in sentences
    assert "cannot be told from guessing" not in sentences
    assert "For 190 of the 200 pairs it wrote neither 0 nor 1" in sentences


def test_accuracy_is_drawn_with_its_interval_and_smoothed() -> None:
    layers = accuracy_plot(a_curve()).spec
    drawn = [row for rows in layers["datasets"].values() for row in rows]

    assert sorted(row["high"] for row in drawn if "high" in row) == pytest.approx([0.55, 0.65, 0.75, 0.85])
    average = (0.32 * 0.5 + 0.6) / 1.32
    assert average in [pytest.approx(row["accuracy"]) for row in drawn if "smoothed" in row.get("curve", "")]


def test_the_page_says_over_how_many_pairs_a_loss_is_the_mean() -> None:
    """500 pairs between two points are eight batches of 64."""
    page = render_head_page(a_head_record(), a_curve(), name="judge")

    assert "mean loss over the last 512 pairs" in page


def test_long_curves_are_thinned_before_they_are_drawn() -> None:
    drawn = re.findall(r"'loss': ", str(loss_plot(a_curve(5 * MOST_POINTS)).spec))

    assert 0 < len(drawn) <= 2 * MOST_POINTS + 2


def test_a_head_that_was_not_trained_here_has_no_page() -> None:
    with pytest.raises(RunError, match="no learning curve"):
        render_head_page(HeadRecord(follows_class=1), a_curve(), name="judge")
