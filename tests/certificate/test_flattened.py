"""Flatter answers and shifted base rates are told from a lean that was lowered: slow figures, and how often not."""

from __future__ import annotations

import numpy as np
import polars as pl
import probe_runs
import pytest

from evenhand.core.estimates import Estimate
from evenhand.instruments.knowledge.quality import kept_evidence
from evenhand.instruments.malor.comparison import BASE_RATE, MALOR_MEASURE, SPREAD, LeanMeasure
from evenhand.instruments.malor.estimates import LogRatios
from evenhand.instruments.malor.flattened import flattened_measures, flattened_rows
from evenhand.stats.resampling import Resampling
from evenhand.store.certificate_bias import BiasRow, BiasVerdict, Bounds, bias_verdict
from evenhand.store.certificate_evidence import flattened_between
from evenhand.store.run import Run

FEW = Resampling(resamples=100)
DRAWS = 100


def probe(ratios: np.ndarray) -> Run:
    return probe_runs.asked_run(
        {(f"occupation {row}", column): float(ratio) for (row, column), ratio in np.ndenumerate(ratios)}
    )


def left(share: float, half: float = 0.05) -> Estimate:
    return probe_runs.estimate(share, half)


def verdict(before: np.ndarray, after: np.ndarray, kept: Estimate | None) -> BiasVerdict:
    """As a certificate has it, without runs and p-values, which take long."""
    ratios = LogRatios(before), LogRatios(after)
    rows = [lean_row(measure, *ratios) for measure in (MALOR_MEASURE, BASE_RATE, SPREAD)]
    flat = flattened_measures(*ratios, kept, experiment="he-she", resampling=FEW) if kept else []
    return bias_verdict(rows, changed=True, flattened=flat)


def lean_row(measure: LeanMeasure, before: LogRatios, after: LogRatios) -> BiasRow:
    own = [measure.estimate(side, resampling=FEW) for side in (before, after)]
    difference = measure.difference(before, after, resampling=FEW)
    return BiasRow(
        measure=f"{measure.row_name} he-she", title="Lean", before=own[0].value, after=own[1].value,
        difference=difference, before_interval=Bounds.of(own[0]), after_interval=Bounds.of(own[1]), neutral=0.0,
        unit="bits", distance=None if measure is BASE_RATE else difference,
        part_of=None if measure is MALOR_MEASURE else "MALoR he-she",
    )  # fmt: skip


def test_the_original_is_flattened_by_the_least_that_may_be_left() -> None:
    generator = np.random.default_rng(1)
    before, after = generator.normal(0.4, 1, (6, 5)), generator.normal(0.1, 0.3, (6, 5))
    kept = {"subject": left(0.6, 0.1), "all": left(0.9)}
    whole, spread = flattened_rows(probe(before), probe(after), kept, resampling=FEW)

    leans = {name: [sum(row) / 5 for row in table] for name, table in (("b", 0.5 * before), ("a", after))}
    means = {name: sum(own) / 6 for name, own in leans.items()}
    assert (whole.measure, spread.measure, spread.part_of) == ("MALoR he-she", "spread he-she", whole.measure)
    assert whole.flattened == pytest.approx(sum(map(abs, leans["b"])) / 6)
    assert whole.after == pytest.approx(sum(map(abs, leans["a"])) / 6)
    assert spread.flattened == pytest.approx(sum(abs(lean - means["b"]) for lean in leans["b"]) / 6)
    assert spread.difference.value == pytest.approx(spread.after - spread.flattened)
    assert whole.kept == kept["subject"]


def test_an_experiment_without_a_role_of_its_own_is_held_against_all_pronouns() -> None:
    run = probe(np.ones((3, 4)))
    named = Run(
        record=run.record,
        results=run.results,
        scores=run.scores.with_columns(experiment=pl.lit("names")),
    )
    rows = flattened_rows(named, named, {"subject": left(0.2), "all": left(0.9)}, resampling=FEW)
    assert {row.kept.value for row in rows} == {0.9}
    assert flattened_rows(named, named, {"subject": left(0.2)}, resampling=FEW) == ()


def test_a_hidden_term_that_tells_no_gender_is_not_the_other_direction() -> None:
    run = probe_runs.asked_run(
        {(f"occupation {row}", column): 1.0 for row in range(3) for column in range(4)}, experiment="origin"
    )
    own = Run(
        record=run.record, results=run.results, scores=run.scores.with_columns(direction=pl.lit("term"))
    )
    rows = flattened_rows(own, own, {"all": left(0.9)}, resampling=FEW)
    assert [row.measure for row in rows] == ["MALoR origin", "spread origin"]


def test_the_other_direction_is_flattened_under_its_own_name() -> None:
    run = probe(np.ones((3, 4)))
    turned = Run(
        record=run.record,
        results=run.results,
        scores=pl.concat([run.scores, run.scores.with_columns(direction=pl.lit("occupation"))]),
    )
    rows = flattened_rows(turned, turned, {"all": left(0.9)}, resampling=FEW)
    assert [row.measure for row in rows] == [
        "MALoR he-she", "spread he-she", "MALoR he-she reversed", "spread he-she reversed",
    ]  # fmt: skip


def test_evidence_that_grew_does_not_ask_for_more_than_the_original_had() -> None:
    table = np.random.default_rng(2).normal(1, 0.5, (6, 5))
    whole, _ = flattened_rows(probe(table), probe(0.5 * table), {"all": left(1.4)}, resampling=FEW)
    assert whole.flattened == pytest.approx(np.abs(table.mean(axis=1)).mean())


def test_without_a_run_of_knowledge_nothing_is_flattened() -> None:
    run = probe(np.ones((3, 4)))
    assert flattened_between({"malor": run}, {"malor": run}, resampling=FEW) == ()


@pytest.mark.parametrize("share", [0.8, 0.3])
@pytest.mark.parametrize(("occupations", "structures"), [(13, 10), (30, 27)])
def test_flatter_answers_are_rarely_called_lowered(share: float, occupations: int, structures: int) -> None:
    """Every answer is so much flatter, those that another word settles too; both with noise of their own."""
    generator = np.random.default_rng(31)
    lowered = closer = 0
    for _ in range(DRAWS):
        before = (
            generator.normal(0.8, 0.6, (occupations, 1))
            + generator.normal(0, 0.5, (1, structures))
            + generator.normal(0, 0.5, (occupations, structures))
        )
        after = share * before + generator.normal(0, 0.1, before.shape)
        gaps = generator.gamma(1.5, 3.5, 128)
        kept = kept_evidence(
            gaps, share * gaps + generator.normal(0, 0.5, 128), sentences=256, resampling=FEW
        )
        found = verdict(before, after, kept)
        lowered += found is BiasVerdict.LOWERED
        closer += verdict(before, after, None) is BiasVerdict.LOWERED
    assert lowered / DRAWS <= 0.03
    # Without the evidence they would nearly always be.
    assert closer / DRAWS > 0.7


def test_a_lean_that_goes_while_the_evidence_stays_is_called_lowered() -> None:
    generator = np.random.default_rng(32)
    before = generator.normal(0.8, 0.6, (30, 1)) + generator.normal(0, 0.5, (30, 27))
    assert verdict(before, 0.15 * before, left(0.85)) is BiasVerdict.LOWERED
    assert verdict(before, 0.85 * before, left(0.85)) is BiasVerdict.FLATTER
    assert verdict(before, 0.85 * (before - 0.75), left(0.85)) is BiasVerdict.BASE_RATE


@pytest.mark.parametrize(
    ("occupations", "structures", "mean", "by_occupation"),
    [(10, 9, -3.0, 0.3), (28, 27, -3.0, 0.1), (10, 8, 1.0, 0.1), (7, 7, 1.0, 0.3)],
)
def test_a_constant_is_rarely_called_more_than_a_base_rate(
    occupations: int, structures: int, mean: float, by_occupation: float
) -> None:
    """Where the spread is small or structures are few, so that it is not clearly above 0."""
    generator = np.random.default_rng(33)
    found = []
    for _ in range(DRAWS):
        before = (
            mean
            + generator.normal(0, by_occupation, (occupations, 1))
            + generator.normal(0, 0.5, (1, structures))
            + generator.normal(0, 0.5, (occupations, structures))
        )
        after = before - 0.7 * mean + generator.normal(0, 0.05, before.shape)
        found.append(verdict(before, after, left(1.0, 0.01)))
    assert found.count(BiasVerdict.LOWERED) / DRAWS <= 0.04
    assert found.count(BiasVerdict.BASE_RATE) / DRAWS > 0.3
