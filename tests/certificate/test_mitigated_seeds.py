"""Several mitigated models against one original, and how classifiers are fine-tuned."""

from __future__ import annotations

import math
import shutil
from collections.abc import Sequence
from pathlib import Path

import certificates
import numpy as np
import probe_runs
import pytest
import torch
from safetensors.torch import load_file, save_file
from slow_malor import small_probes
from zoo_fixtures import Zoo

from evenhand.api.certify import certify, certify_seeds
from evenhand.certificate import CertificatePlan, Finetuning, Measurement, finetuning_preset
from evenhand.certificate.quality_figures import perplexity_row
from evenhand.certificate.seeds import ModelRows, compare_seeds, over_models
from evenhand.cli.mitigation_options import chosen_finetuning
from evenhand.core.errors import EvenhandError, UnknownNameError
from evenhand.core.estimates import Estimate
from evenhand.instruments.malor.comparison import malor_bias_rows
from evenhand.instruments.malor.instrument import MalorOptions
from evenhand.models.references import ModelRef
from evenhand.reporting.certificate.page import render_certificate_page
from evenhand.reporting.certificate.seeds import seeds_rows
from evenhand.stats.crossed import crossed_mean_interval
from evenhand.stats.resampling import Floats, Resampling
from evenhand.store.certificate_quality import PERCENT, QualityRow, QualityVerdict
from evenhand.store.certificate_seeds import SeedsComparison
from evenhand.store.held_out_losses import HeldOutLoss

PLAN = CertificatePlan(
    measurements=(Measurement("malor", MalorOptions(data=small_probes("en"), experiment="he-she")),),
    resampling=Resampling(resamples=100),
)


def estimate(value: float, reach: float) -> Estimate:
    return Estimate(value=value, low=value - reach, high=value + reach, n=10, clusters=5, method="t")


def model(name: str, after: Floats, before: Floats) -> ModelRows:
    """A mitigated model whose leans and whose original's leans are given, occupations by structures."""
    first, second = (
        probe_runs.asked_run(
            {(f"job {row}", column): float(own) for (row, column), own in np.ndenumerate(side)}
        )
        for side in (before, after)
    )
    rows = malor_bias_rows(first, second, resampling=PLAN.resampling)
    return ModelRows(name=name, bias=tuple(rows.values()), quality=())


def lost(differences: Sequence[Estimate], *, margin: float = 1.0) -> SeedsComparison:
    """A comparison of the perplexity of several models."""
    rows = (
        QualityRow.judged("perplexity", "Perplexity", (20.0, 20.0), own, unit=PERCENT, margin=margin)
        for own in differences
    )
    return compare_seeds(
        "original",
        [ModelRows(name=str(place), bias=(), quality=(row,)) for place, row in enumerate(rows)],
        confidence=0.95,
    )


def test_a_row_is_the_mean_over_models_and_its_interval_has_both_errors() -> None:
    """By hand: t over three models is 4.303, their deviation 0.1, the mean reach of their own intervals 0.3."""
    found = over_models([estimate(-1.1, 0.2), estimate(-1.0, 0.3), estimate(-0.9, 0.4)], confidence=0.95)
    reach = math.hypot(4.302653 * 0.1 / math.sqrt(3), 0.3)
    assert found.value == pytest.approx(-1.0)
    assert (found.low, found.high) == pytest.approx((-1.0 - reach, -1.0 + reach))
    assert found.clusters == 3


def test_a_figure_that_one_model_lacks_has_none_over_models() -> None:
    found = over_models(
        [estimate(1, 1), estimate(1, 1), Estimate.undefined("it was not asked")], confidence=0.95
    )
    assert not found.defined
    assert found.reason == "it was not asked"
    row = lost([estimate(0, 0.1), estimate(0, 0.1), Estimate.undefined("no text")]).rows[0]
    assert row.verdict is QualityVerdict.NOT_MEASURED


def test_lean_has_its_parts_and_a_movement_over_models() -> None:
    generator = np.random.default_rng(3)
    before = generator.normal(0, 1, (12, 1)) + generator.normal(0, 0.2, (12, 10)) + 1.0
    after = [model(str(number), 0.1 * before + 0.01 * number, before) for number in range(3)]
    comparison = compare_seeds("original", after, confidence=0.95)
    rows = {row.measure: row for row in comparison.rows}
    assert list(rows) == ["MALoR he-she", "base rate he-she", "spread he-she"]
    assert rows["spread he-she"].part_of == "MALoR he-she"
    leans = before.mean(axis=1)
    assert rows["base rate he-she"].before == pytest.approx(leans.mean())
    assert rows["base rate he-she"].after == pytest.approx(
        [0.1 * leans.mean() + 0.01 * own for own in range(3)]
    )
    assert rows["MALoR he-she"].movement == 1
    assert not comparison.is_quality_lost


def test_intervals_hold_the_truth_where_models_structures_and_occupations_vary() -> None:
    """Structures move all occupations of all models alike: over occupations alone the interval held it in half."""
    generator = np.random.default_rng(7)
    held, draws = 0, 400
    for _ in range(draws):
        questions = generator.normal(0, 1.0, (12, 1)) + generator.normal(0, 1.0, (1, 10))
        tables = [
            questions + generator.normal(0, 0.3) + generator.normal(0, 0.3, (12, 10)) for _model in range(3)
        ]
        own = [
            crossed_mean_interval(table, confidence=0.95).around(float(table.mean()), n=120, clusters=12)
            for table in tables
        ]
        together = over_models(own, confidence=0.95)
        held += together.low <= 0 <= together.high
    assert held >= 0.93 * draws


def test_sentences_of_a_document_are_no_evidence_of_their_own() -> None:
    """Twelve documents at the margin: without documents, perplexity was called kept in a tenth of all cases."""
    generator = np.random.default_rng(11)
    documents, draws, kept = np.repeat(np.arange(12), 40), 300, 0
    tokens = np.full(480, 20)
    margin = 1.0
    for _ in range(draws):
        shared = generator.normal(0, 0.02, 12)[documents]
        changes = []
        for _model in range(3):
            own = 20 * (math.log1p(margin / 100) + shared + generator.normal(0, 0.03, 480))
            row = perplexity_row(
                HeldOutLoss(np.full(480, 60.0), tokens),
                HeldOutLoss(60.0 + own, tokens),
                margin=margin,
                resampling=PLAN.resampling,
                documents=documents,
            )
            changes.append(row.difference)
        kept += lost(changes, margin=margin).rows[0].verdict is QualityVerdict.KEPT
    assert kept <= 0.03 * draws


def test_quality_that_is_lost_over_models_is_lost() -> None:
    comparison = lost([estimate(3.0, 0.5), estimate(3.1, 0.5), estimate(3.2, 0.5)])
    assert comparison.rows[0].verdict is QualityVerdict.LOST
    assert comparison.is_quality_lost
    assert seeds_rows(comparison)[0][-1] == "lost"


def test_two_models_are_too_few_and_are_refused_before_anything_is_loaded(tmp_path: Path) -> None:
    with pytest.raises(EvenhandError, match=r"2 mitigated models were given.*at least 3"):
        certify_seeds("no-such-model", ["neither", "nor"], options=PLAN, out=tmp_path / "c.html")
    with pytest.raises(EvenhandError, match=r"1 mitigated model was given"):
        compare_seeds("original", [ModelRows(name="a", bias=(), quality=())], confidence=0.95)


def seeds_of(original: Path, folder: Path) -> list[ModelRef]:
    """Three models whose weights are a little other than those of the original."""
    made = []
    for seed in range(3):
        copy = shutil.copytree(original, folder / f"seed-{seed}")
        generator = torch.Generator().manual_seed(seed)
        weights = load_file(copy / "model.safetensors")
        for weight in weights.values():
            weight.add_(0.05 * torch.randn(weight.shape, generator=generator))
        save_file(weights, copy / "model.safetensors", metadata={"format": "pt"})
        made.append(ModelRef(id=str(copy), device="cpu"))
    return made


@pytest.mark.torch
@pytest.mark.usefixtures("once_without_gate")
def test_models_are_measured_and_compared(menagerie: Zoo, tmp_path: Path) -> None:
    ref = ModelRef(id=str(menagerie.folder("bert")), device="cpu")
    seeds = seeds_of(menagerie.folder("bert"), tmp_path)
    page = tmp_path / "c.html"

    certificate = certify(ref, seeds[0], options=PLAN, out=page)
    comparison = certify_seeds(ref, seeds, options=PLAN, out=page, certificate=certificate)

    row = comparison.rows[0]
    assert row.measure == "MALoR he-she"
    assert len(set(row.after)) == 3
    assert row.difference.value == pytest.approx(np.mean(row.after) - row.before)
    measures = [row.measure for row in comparison.rows]
    assert {"base rate he-she", "spread he-she", "knowledge", "evidence", "perplexity"} <= set(measures)
    written = (tmp_path / "c.seeds.json").read_text(encoding="utf-8")
    read = SeedsComparison.model_validate_json(written)
    assert read.model_dump_json() == comparison.model_dump_json()
    assert {path.name for path in (tmp_path / "c").iterdir()} == {
        "after",
        "after-2",
        "after-3",
        "before",
        "inputs.json",
    }
    assert 'id="seeds"' in page.read_text(encoding="utf-8")
    again = certify_seeds(ref, seeds, options=PLAN, out=page)
    assert [own.figures for own in again.taken_over] == ["after-2/malor", "after-3/malor"]
    assert again.model_dump_json(exclude={"taken_over"}) == comparison.model_dump_json(exclude={"taken_over"})
    copied = ModelRef(id=str(shutil.copytree(seeds[0].id, tmp_path / "copy")), device="cpu")
    for models, message in [
        ([*seeds[:2], ref], "has the same weights as the original"),
        ([*seeds[:2], copied], r"copy has the same weights as .*seed-0"),
        (seeds[:2], "2 mitigated models were given"),
    ]:
        with pytest.raises(EvenhandError, match=message):
            certify_seeds(ref, models, options=PLAN, out=page)


def test_the_page_of_a_certificate_has_the_table_over_models() -> None:
    comparison = lost([estimate(value, 0.1) for value in (0.2, 0.3, 0.4)])
    named = comparison.model_copy(update={"after": ("even<0>", "even-1", "even-2")})

    page = render_certificate_page(certificates.certificate(), seeds=named)
    body = page.split("</style>")[-1]

    assert 'id="seeds"' in body
    assert "even&lt;0&gt;, even-1 and even-2" in body
    assert "even<0>" not in page
    for cell in seeds_rows(named)[0]:
        assert f">{cell}<" in body
    assert 'id="seeds"' not in render_certificate_page(certificates.certificate())


def test_epochs_are_steps_over_the_examples() -> None:
    assert Finetuning().steps_over(10_000) == 300
    assert Finetuning(epochs=3, batch_size=32).steps_over(67_349) == 3 * 2105
    assert Finetuning(epochs=2, batch_size=4).steps_over(9) == 6


def test_the_preset_is_the_setting_of_the_thesis() -> None:
    preset = finetuning_preset("sst2-2023")

    assert (preset.epochs, preset.batch_size, preset.learning_rate, preset.seeds) == (3, 32, 2e-5, 10)
    assert preset.train_examples > 67_349
    with pytest.raises(UnknownNameError, match="preset of fine-tuning"):
        finetuning_preset("sst3")


def test_what_is_named_beside_a_preset_wins() -> None:
    chosen = chosen_finetuning(preset="sst2-2023", seeds=4, steps=None, epochs=1)
    assert (chosen.seeds, chosen.epochs, chosen.learning_rate) == (4, 1, 2e-5)
    assert chosen_finetuning(preset="sst2-2023", seeds=None, steps=50, epochs=None).steps_over(10_000) == 50
    assert chosen_finetuning(preset=None, seeds=None, steps=None, epochs=None) == Finetuning()
    with pytest.raises(EvenhandError, match="both given"):
        chosen_finetuning(preset=None, seeds=None, steps=5, epochs=5)
