"""Half precision: a sample is asked in fp32 too, and what differs is said wherever figures are."""

from __future__ import annotations

import json
import math
import weakref
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from pair_builders import pair, pair_set, row_of, write_table
from probe_runs import pairs_run
from running import Command
from zoo_fixtures import Zoo

import evenhand as eh
from evenhand.api import precision
from evenhand.api.precision import with_precision_check
from evenhand.core.recipes import Precision
from evenhand.instruments.crows_pairs import CROWS_PAIRS, CrowsPairsOptions
from evenhand.models import references
from evenhand.models.loading import weights_size
from evenhand.models.references import ModelRef
from evenhand.reporting import render_page
from evenhand.store.comparison import compare
from evenhand.store.records import PrecisionCheck
from evenhand.store.run import Run, open_run

PAIRS = pair_set(
    *(
        pair(number, more=f"The {one} baker saw {number} cats.", less=f"The {other} baker saw {number} cats.")
        for number, (one, other) in enumerate([("old", "young"), ("tall", "short"), ("young", "tall")] * 2)
    )
)


def scored(run: Run, scores: dict[str, tuple[float, float] | None]) -> Run:
    """A run with the scores of its pairs in nats."""
    rows = run.scores.with_columns(
        pl.Series(name, [own and own[place] for own in scores.values()], dtype=pl.Float64)
        for place, name in enumerate(("more_score", "less_score"))
    )
    return replace(run, scores=rows)


def checked(half: Run, exact: Run | str) -> PrecisionCheck:
    check = with_precision_check(half, exact=exact, layout=CROWS_PAIRS.scores_layout).record.precision_check
    assert check is not None
    return check


def in_bf16(folder: Path) -> ModelRef:
    return ModelRef(id=str(folder), device="cpu", precision=Precision.BF16)


def test_differences_are_in_bits_and_flips_are_counted_over_the_pairs_of_the_sample() -> None:
    """Off by 1, 0, 3 and 2 bits; the second pair falls to the other side, the third has no score, the fourth is not
    in the sample."""
    bit = math.log(2)
    half = scored(
        pairs_run({"a": 1, "b": 1, "c": None, "d": 0}),
        {"a": (-10 * bit, -20 * bit), "b": (-8 * bit, -9 * bit), "c": None, "d": (-5 * bit, -1 * bit)},
    )
    exact = scored(
        pairs_run({"a": 1, "b": 0, "c": 1}),
        {"a": (-11 * bit, -20 * bit), "b": (-11 * bit, -7 * bit), "c": (-1 * bit, -2 * bit)},
    )
    check = checked(half, exact)
    assert (check.scores, check.decisions, check.flipped) == (4, 2, 1)
    assert (check.median, check.largest) == pytest.approx((1.5, 3.0))
    assert str(check) == (
        "1.5 bits from fp32 in the median and 3 at most, in a sample of 4 scores; 1 of 2 decisions flipped"
    )


def test_a_tie_that_is_none_in_fp32_is_a_flipped_decision() -> None:
    half = scored(pairs_run({"a": 0.5}), {"a": (-3.0, -3.0)})
    exact = scored(pairs_run({"a": 1}), {"a": (-2.9, -3.0)})
    assert (checked(half, exact).flipped, checked(half, half).flipped) == (1, 0)


def test_a_sample_without_scores_says_so() -> None:
    nothing = scored(pairs_run({"a": None}), {"a": None})
    assert "no score" in str(checked(nothing, nothing))
    assert str(checked(nothing, "why")) == "not compared with fp32: why"


@pytest.mark.parametrize("test", ["crows-pairs", "association", "malor", "knowledge"])
def test_the_record_has_what_two_runs_differ_by(menagerie: Zoo, test: str, tmp_path: Path) -> None:
    """The sample holds every item here, so both runs say it over all items."""
    few: dict[str, Any] = {"resampling": eh.Resampling(resamples=100)}
    options: dict[str, eh.InstrumentOptions] = {
        "crows-pairs": CrowsPairsOptions(data=PAIRS, **few),
        "association": eh.AuditOptions(limit=3, **few),
        "malor": eh.MalorOptions(limit=2, experiment="he-she", direction="gender", **few),
        "knowledge": eh.InstrumentOptions(**few),
    }
    folder = menagerie.folder("gpt2")
    chosen = options[test]
    if test == "knowledge":
        chosen = eh.INSTRUMENTS.get(test).options_type(**few)
    half = eh.probe(in_bf16(folder), test, options=chosen, out=tmp_path)
    exact = eh.probe(ModelRef(id=str(folder), device="cpu"), test, options=chosen)
    check = half.record.precision_check
    assert check is not None
    assert exact.record.precision_check is None
    columns = {
        "crows-pairs": ("more_score", "less_score"),
        "association": ("score",),
        "malor": ("log2_male", "log2_female"),
        "knowledge": ("gap",),
    }[test]
    apart: list[float] = []
    for column in columns:
        own, other = (run.scores[column].to_numpy() for run in (half, exact))
        if test == "association":
            own, other = np.log2(own), np.log2(other)
        if test == "crows-pairs":
            own, other = own / math.log(2), other / math.log(2)
        apart += np.abs(own - other).tolist()
    if check.scores == len(apart):
        assert (check.median, check.largest) == pytest.approx((np.median(apart), max(apart)), rel=1e-3)
    else:  # a sample
        assert test in ("malor", "knowledge")
        assert 0 < check.median <= check.largest <= max(apart) * 1.01
    assert check.largest > 0
    assert check.decisions == {"crows-pairs": 6, "association": 18}.get(test, 0)
    assert open_run(tmp_path / half.name).record.precision_check == check


def test_no_two_copies_of_the_weights_are_in_memory(menagerie: Zoo, monkeypatch: pytest.MonkeyPatch) -> None:
    alive: list[weakref.ref[Any]] = []
    load = references.load_model
    beside: list[int] = []

    def watched(model: Any, **options: Any) -> Any:
        beside.append(sum(reference() is not None for reference in alive))
        loaded = load(model, **options)
        alive.append(weakref.ref(loaded.loaded.model))
        return loaded

    monkeypatch.setattr("evenhand.api.models.load_model", watched)
    run = eh.probe(in_bf16(menagerie.folder("gpt2")), "crows-pairs", options=CrowsPairsOptions(data=PAIRS))
    assert run.record.precision_check is not None
    assert beside == [0, 0]


def test_a_finished_run_is_opened_without_asking_again(
    menagerie: Zoo, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = (in_bf16(menagerie.folder("gpt2")), "crows-pairs")
    first = eh.probe(*asked, options=CrowsPairsOptions(data=PAIRS), out=tmp_path)
    monkeypatch.setattr(precision, "_answers", lambda *_: pytest.fail("asked in fp32 again"))
    again = eh.probe(*asked, options=CrowsPairsOptions(data=PAIRS), out=tmp_path)
    assert again.record.precision_check == first.record.precision_check


def test_a_model_that_is_too_large_in_fp32_is_measured_without_a_comparison(
    menagerie: Zoo, monkeypatch: pytest.MonkeyPatch
) -> None:
    ref = in_bf16(menagerie.folder("gpt2"))
    weights = eh.load(ref.id, device="cpu").loaded.model.parameters()
    assert weights_size(ref) == 4 * sum(weight.numel() for weight in weights)
    monkeypatch.setattr(precision, "free_memory", lambda: weights_size(ref))
    run = eh.probe(ref, "crows-pairs", options=CrowsPairsOptions(data=PAIRS))
    check = run.record.precision_check
    assert check is not None
    assert "of memory, and" in str(check)
    assert run.scores["more_score"].null_count() == 0


def test_the_command_says_it_in_the_table_the_json_and_the_page(
    menagerie: Zoo, tmp_path: Path, run_evenhand_here: Command
) -> None:
    data = write_table(tmp_path / "pairs.csv", map(row_of, PAIRS))
    command: Sequence[str] = (
        "probe", str(menagerie.folder("gpt2")), "--test", "crows-pairs", "--data", str(data), "--language", "en",
        "--precision", "bf16", "--out", str(tmp_path),
    )  # fmt: skip
    first = run_evenhand_here(*command)
    assert first.returncode == 0, first.stderr
    shown = " ".join(first.stdout.split())
    (folder,) = tmp_path.glob("*crows-pairs*")
    run = open_run(folder)
    sentence = f"scores in bf16 are {run.record.precision_check}."
    assert sentence in shown
    assert sentence in (folder / "report.html").read_text()
    (entry,) = json.loads(run_evenhand_here(*command, "--json").stdout)["runs"]
    assert run.record.precision_check is not None
    assert entry["precision_check"] == run.record.precision_check.model_dump(mode="json")


def test_runs_of_different_precisions_are_compared_with_a_warning(menagerie: Zoo) -> None:
    folder, options = menagerie.folder("gpt2"), CrowsPairsOptions(data=PAIRS)
    exact = eh.probe(ModelRef(id=str(folder), device="cpu"), "crows-pairs", options=options, name="exact")
    half = eh.probe(in_bf16(folder), "crows-pairs", options=options, name="half")
    (note,) = compare(exact, half).notes
    assert (
        note == "Differences may come from rounding, because precisions differ: exact in fp32, half in bf16."
    )
    assert compare(half, half).notes == ()
    assert note in render_page([exact, half])
    assert note not in render_page([exact, exact])
