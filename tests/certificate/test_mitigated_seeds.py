"""Several mitigated models against one original, and how classifiers are fine-tuned."""

from __future__ import annotations

import math
import shutil
from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.torch import load_file, save_file
from scipy import stats
from slow_malor import small_probes
from zoo_fixtures import Zoo

from evenhand.certificate import CertificatePlan, Finetuning, Measurement, finetuning_preset
from evenhand.certificate.seeds import ItemValues, SeedsComparison, compare_seeds
from evenhand.cli.mitigation_options import chosen_finetuning
from evenhand.core.errors import EvenhandError, UnknownNameError
from evenhand.instruments.malor.instrument import MalorOptions
from evenhand.models.references import ModelRef
from evenhand.runs.certificate_quality import QualityVerdict
from evenhand.stats.resampling import Resampling
from evenhand.workflows.certify import certify_seeds

PLAN = CertificatePlan(
    measurements=(Measurement("malor", MalorOptions(data=small_probes("en"), experiment="he-she")),),
    resampling=Resampling(resamples=100),
)


def values(unit: str, numbers: list[float]) -> ItemValues:
    return ItemValues("items", unit, {str(place): number for place, number in enumerate(numbers)})


def compared(measure: str, unit: str, before: list[float], after: list[list[float]]) -> SeedsComparison:
    return compare_seeds(
        ("original", {measure: values(unit, before)}),
        [(f"model {place}", {measure: values(unit, own)}) for place, own in enumerate(after)],
        PLAN,
    )


def test_the_difference_is_the_mean_over_models_and_items() -> None:
    before = [1.0, 2.0, 3.0, 2.0]
    after = [[0.5, 1.0, 1.5, 1.0], [0.4, 1.1, 1.2, 0.9], [0.6, 0.9, 1.4, 1.3]]
    (row,) = compared("MALoR he-she", "bits", before, after).rows

    assert row.before == 2.0
    assert row.after == pytest.approx([1.0, 0.9, 1.05])
    assert row.deviation == pytest.approx(np.std([1.0, 0.9, 1.05], ddof=1))
    assert row.difference.value == pytest.approx(np.mean([1.0, 0.9, 1.05]) - 2.0)
    assert row.difference.low < row.difference.value < row.difference.high < 0
    assert row.verdict is None


def test_models_that_differ_make_the_interval_wider_than_items_alone_would() -> None:
    generator = np.random.default_rng(1)
    before = [0.0] * 200
    alike = generator.normal(-1.0, 0.3, size=(1, 200)).repeat(4, axis=0)
    shifted = alike + np.array([[-0.5], [0.5], [-0.2], [0.2]])
    (same,), (apart,) = (
        compared("MALoR he-she", "bits", before, [list(own) for own in table]).rows
        for table in (alike, shifted)
    )
    over_items = stats.t.ppf(0.975, 199) * alike[0].std(ddof=1) / math.sqrt(200)

    assert same.difference.high - same.difference.value == pytest.approx(over_items, rel=0.35)
    over_models = stats.t.ppf(0.975, 3) * np.std([-0.5, 0.5, -0.2, 0.2], ddof=1) / 2
    assert apart.difference.high - apart.difference.value > 0.8 * over_models


def test_intervals_hold_the_truth_as_often_as_they_say() -> None:
    generator = np.random.default_rng(7)
    held = 0
    for _ in range(200):
        models, items = generator.normal(0, 0.4, size=(5, 1)), generator.normal(0, 1.0, size=(1, 40))
        table = models + items + generator.normal(0, 0.5, size=(5, 40))
        (row,) = compared("MALoR he-she", "bits", [0.0] * 40, [list(own) for own in table]).rows
        held += row.difference.low <= 0 <= row.difference.high

    assert held >= 182


def test_perplexity_is_a_change_in_percent_and_is_judged() -> None:
    before, after = (
        [2.0, 3.0, 4.0, 3.0],
        [[2.001, 3.0, 4.002, 3.001], [2.0, 3.002, 4.001, 3.0], [2.001, 3.001, 4.0, 3.0]],
    )
    (row,) = compared("perplexity", "nats", before, after).rows

    assert row.before == pytest.approx(math.exp(3.0))
    mean = np.mean([np.mean(own) for own in after]) - 3.0
    assert row.difference.value == pytest.approx(100 * math.expm1(mean))
    assert row.unit == "%"
    assert row.verdict is QualityVerdict.KEPT


def test_lost_accuracy_is_lost_over_seeds() -> None:
    before = [100.0] * 300
    after = [[100.0 if (place + model) % 5 else 0.0 for place in range(300)] for model in range(5)]
    (row,) = compared("accuracy", "points", before, after).rows

    assert row.difference.value == pytest.approx(-20.0)
    assert row.verdict is QualityVerdict.LOST


def test_two_models_are_too_few() -> None:
    with pytest.raises(EvenhandError, match=r"2 mitigated models were given.*at least 3"):
        compared("MALoR he-she", "bits", [1.0, 2.0], [[1.0, 2.0], [1.0, 2.0]])


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
def test_models_are_measured_and_compared(menagerie: Zoo, tmp_path: Path) -> None:
    ref = ModelRef(id=str(menagerie.folder("bert")), device="cpu")
    seeds = seeds_of(menagerie.folder("bert"), tmp_path)
    page = tmp_path / "c.html"

    comparison = certify_seeds(ref, seeds, options=PLAN, out=page)

    (row,) = comparison.rows
    assert row.measure == "MALoR he-she"
    assert len(set(row.after)) == 3
    assert row.difference.value == pytest.approx(np.mean(row.after) - row.before)
    written = (tmp_path / "c.seeds.json").read_text(encoding="utf-8")
    assert SeedsComparison.model_validate_json(written) == comparison
    assert {path.name for path in (tmp_path / "c").iterdir()} == {"before", "after", "after-2", "after-3"}
    assert certify_seeds(ref, seeds, options=PLAN, out=page) == comparison
    copied = ModelRef(id=str(shutil.copytree(seeds[0].id, tmp_path / "copy")), device="cpu")
    for models, message in [
        ([*seeds[:2], ref], "has the same weights as the original"),
        ([*seeds[:2], copied], r"copy has the same weights as .*seed-0"),
        (seeds[:2], "2 mitigated models were given"),
    ]:
        with pytest.raises(EvenhandError, match=message):
            certify_seeds(ref, models, options=PLAN, out=page)


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
