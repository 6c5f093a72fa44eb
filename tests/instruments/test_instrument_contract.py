"""What every instrument keeps to: figures, units, comparisons, records, opening what was saved."""

from __future__ import annotations

import math
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from bec_pro_builders import bec_pro_file
from measuring import audit, probe, probe_cosine, probe_direct_bias, probe_knowledge, probe_pairs
from pair_builders import pair, pair_set
from zoo_fixtures import Zoo

from evenhand.api.measure import measure
from evenhand.core.errors import ComparisonError
from evenhand.core.experiments import Experiment
from evenhand.core.probes import ProbeSet
from evenhand.data.group_texts import GroupTexts
from evenhand.data.probes import load_probes
from evenhand.data.settled import load_settled
from evenhand.instruments.association.instrument import AuditOptions
from evenhand.instruments.bec_pro import BEC_PRO, BecProOptions
from evenhand.instruments.cosine import CosineOptions
from evenhand.instruments.direct_bias.instrument import DirectBiasOptions
from evenhand.instruments.instrument import InstrumentOptions
from evenhand.instruments.knowledge.instrument import KnowledgeOptions
from evenhand.instruments.malor.instrument import MalorOptions
from evenhand.instruments.regard.audit import RegardOptions
from evenhand.lab.regard_gap import PlantedGap, plant_gap
from evenhand.stats.resampling import Resampling
from evenhand.store.comparison import compare, compare_pairs, pairs_to_compare
from evenhand.store.run import INSTRUMENTS, Run, open_run

pytestmark = pytest.mark.usefixtures("without_gate")

FEW = Resampling(resamples=100)
PAIRS = pair_set(
    *(pair(number, more=f"The old baker saw {number} keys.", less=f"The young baker saw {number} keys.")
      for number in range(12))
)  # fmt: skip
WINOGENDER = "sentid\tsentence\n" + "".join(
    f"{occupation}.patron.0.{gender}.txt\tThe {occupation} told the patron that {pronoun} was very tired.\n"
    for occupation in ("librarian", "engineer", "nurse", "teacher")
    for gender, pronoun in (("male", "he"), ("female", "she"))
)
CORPUS = [
    "He was tired.", "She was tired.", "The nurse was tired.", "He saw the street.", "She saw the street.",
    "The engineer saw the keys.", "The teacher told the story.", "The librarian was old.",
]  # fmt: skip


def _few_probes() -> ProbeSet:
    everything = load_probes("en")
    return replace(
        everything,
        structures=tuple(
            one for known in (Experiment.HE_SHE, Experiment.HIS_HER) for one in everything.of(known)[:3]
        ),
        occupations=everything.occupations[:6],
    )


def _malor(model: Any, _: Path) -> Run:
    return probe(model, _few_probes(), options=MalorOptions(resampling=FEW))


def _audit(model: Any, _: Path) -> Run:
    return audit(model, "starter", options=AuditOptions(language="en", limit=12, resampling=FEW))


def _pairs(model: Any, _: Path) -> Run:
    return probe_pairs(model, PAIRS, resampling=FEW)


def _cosine(model: Any, folder: Path) -> Run:
    (folder / "pairs.tsv").write_text(WINOGENDER, encoding="utf-8")
    return probe_cosine(model, folder / "pairs.tsv", resampling=FEW)


def _direct_bias(model: Any, folder: Path) -> Run:
    (folder / "corpus.txt").write_text("\n".join(CORPUS), encoding="utf-8")
    return probe_direct_bias(model, folder / "corpus.txt", resampling=FEW)


def _knowledge(model: Any, _: Path) -> Run:
    return probe_knowledge(model, load_settled("en").first(24), resampling=FEW)


def _bec_pro(model: Any, folder: Path) -> Run:
    options = BecProOptions(data=bec_pro_file(folder / "bec_en.tsv"), resampling=FEW)
    return BEC_PRO.prepare(model, options).measure()


def _planted_texts(seed: int) -> GroupTexts:
    return plant_gap(PlantedGap(gap=10, texts=20), np.random.default_rng(seed))


def _regard(model: Any, _: Path) -> Run:
    texts = _planted_texts(seed=sum(map(ord, model.ref.short_name)))
    return measure(model, INSTRUMENTS["regard"], options=RegardOptions(data=texts, resampling=FEW))


MAKERS: dict[str, Callable[[Any, Path], Run]] = {
    "association": _audit,
    "malor": _malor,
    "crows-pairs": _pairs,
    "bec-pro": _bec_pro,
    "cosine": _cosine,
    "direct-bias": _direct_bias,
    "knowledge": _knowledge,
    "regard": _regard,
}


OPTIONS: dict[str, Callable[[Path], InstrumentOptions]] = {
    "association": lambda _: AuditOptions(data="starter", language="en", limit=12),
    "malor": lambda _: MalorOptions(data=_few_probes()),
    "crows-pairs": lambda _: InstrumentOptions(data=PAIRS),
    "bec-pro": lambda folder: BecProOptions(data=folder / "bec_en.tsv"),
    "cosine": lambda folder: CosineOptions(data=folder / "pairs.tsv"),
    "direct-bias": lambda folder: DirectBiasOptions(corpus=(folder / "corpus.txt",)),
    "knowledge": lambda _: KnowledgeOptions(),
    "regard": lambda _: RegardOptions(data=_planted_texts(seed=1)),
}
"""What ``MAKERS`` measure with, as far as it says what there are figures of."""


def test_every_instrument_of_the_package_is_tried_here() -> None:
    own = [name for name in INSTRUMENTS if INSTRUMENTS.package_of(name) == "evenhand"]

    assert set(MAKERS) == set(OPTIONS) == set(own)


@pytest.fixture(params=list(MAKERS))
def runs(request: pytest.FixtureRequest, menagerie: Zoo, tmp_path: Path) -> tuple[Run, Run]:
    """The same questions to two models."""
    make = MAKERS[request.param]
    return make(menagerie.model("bert"), tmp_path), make(menagerie.model("albert"), tmp_path)


def test_a_run_that_is_saved_opens_as_the_same(runs: tuple[Run, Run], tmp_path: Path) -> None:
    run, _ = runs

    opened = open_run(run.save(tmp_path / "run"))

    # An interval that is not known is NaN, which equals nothing; as text it equals itself.
    assert repr(opened.results) == repr(run.results)
    assert opened.scores.equals(run.scores)
    assert repr(opened.figures) == repr(run.figures)
    assert opened.record.fingerprint == run.record.fingerprint


def test_figures_have_keys_of_their_own_and_measures_that_the_instrument_names(runs: tuple[Run, Run]) -> None:
    run, _ = runs
    keys = [figure.key for figure in run.figures]

    assert len(set(keys)) == len(keys)
    assert {figure.measure for figure in run.figures} <= set(INSTRUMENTS[run.record.instrument].measures)
    assert any(figure.is_headline for figure in run.figures)


def test_conditions_know_the_figures_before_a_model_is_loaded(runs: tuple[Run, Run], tmp_path: Path) -> None:
    """Everything that runs have is planned, under the options that they were made with."""
    run, _ = runs
    instrument = INSTRUMENTS[run.record.instrument]

    planned = instrument.figure_groups(OPTIONS[run.record.instrument](tmp_path))

    assert {(figure.measure, figure.group) for figure in run.figures} <= {
        (measure, group) for measure, groups in planned.items() for group in groups
    }


def test_a_figure_is_the_mean_of_its_units(runs: tuple[Run, Run]) -> None:
    run, _ = runs
    units = INSTRUMENTS[run.record.instrument].units(run)

    means = units.drop_nulls("value").group_by("key").agg(pl.col("value").mean())
    for key, mean in means.iter_rows():
        assert run.figure(key).estimate.value == pytest.approx(mean), key
    if run.record.instrument in ("crows-pairs", "cosine", "direct-bias"):
        assert {figure.key for figure in run.figures if figure.is_headline} <= set(means["key"].to_list())


def test_a_comparison_has_both_values_and_their_difference(runs: tuple[Run, Run]) -> None:
    first, second = runs

    comparison = compare(first, second, resampling=FEW)

    assert comparison.instrument == first.record.instrument
    assert comparison.differences
    for row in comparison.differences:
        group = (row.task,) if row.group == "all" else (row.task, row.group)
        key = ".".join((*group, row.measure))
        assert row.first == pytest.approx(first.figure(key).estimate.value), key
        assert row.second == pytest.approx(second.figure(key).estimate.value), key
        assert row.difference.value == pytest.approx(row.second - row.first)
        assert (
            math.isnan(row.difference.low)
            or row.difference.low <= row.difference.value <= row.difference.high
        )


def test_a_run_does_not_differ_from_itself(runs: tuple[Run, Run]) -> None:
    run, _ = runs

    for row in compare(run, run, resampling=FEW).differences:
        assert row.difference.value == 0
        assert math.isnan(row.p_value) or row.p_value == 1


def test_runs_of_different_instruments_are_compared_each_with_its_own(menagerie: Zoo, tmp_path: Path) -> None:
    bert, albert = menagerie.model("bert"), menagerie.model("albert")
    mixed = [make(model, tmp_path) for make in (_pairs, _cosine) for model in (bert, albert)]

    pairs = pairs_to_compare(mixed, all_pairs=False)

    assert [(first.record.instrument, second.record.instrument) for first, second in pairs] == [
        ("crows-pairs", "crows-pairs"),
        ("cosine", "cosine"),
    ]
    assert len(compare_pairs(pairs, resampling=FEW)) == 2
    with pytest.raises(ComparisonError, match="Only runs of one instrument can be compared"):
        compare(mixed[0], mixed[2])
    with pytest.raises(ComparisonError, match="At least two runs of one instrument"):
        pairs_to_compare([mixed[0], mixed[2]], all_pairs=True)


def test_knowing_the_instruments_takes_no_torch() -> None:
    code = (
        "import sys\nfrom evenhand.store.run import INSTRUMENTS\n[INSTRUMENTS[name] for name in INSTRUMENTS]\n"
        "print('torch' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert done.stdout == "False\n"
