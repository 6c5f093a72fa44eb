"""Tables and JSON of probes."""

from __future__ import annotations

import csv
import io
import json
from dataclasses import replace

import probe_runs
import pytest

from evenhand.core.estimates import Estimate
from evenhand.instruments.instrument import Skipped
from evenhand.reporting.probes.tables import (
    PROBE_COLUMNS,
    MainFigure,
    format_probe_table,
    probe_json,
    probe_rows,
    probe_table,
)
from evenhand.store.run import Run

AWKWARD = "a|b_50%&{x}"
LEANS: dict[str, float | Estimate] = {"nurse": -2.0, "plumber": 3.0, "unknown": probe_runs.UNKNOWN}
SKIPPED = [Skipped(reason="too long", count=3, examples=()), Skipped(reason="odd", count=4, examples=("x",))]


def every_kind() -> list[Run]:
    return [
        probe_runs.probe_run(probe_runs.malor(LEANS, skipped=SKIPPED), name=AWKWARD),
        probe_runs.probe_run(probe_runs.crows_pairs(), name="pairs"),
        probe_runs.probe_run(probe_runs.cosine(), name="cosines"),
        probe_runs.probe_run(probe_runs.direct_bias(), name="direct"),
    ]


def test_there_is_one_row_per_result_with_its_own_figure() -> None:
    assert probe_rows(every_kind()) == [
        [AWKWARD, "malor", "he-she", "gender", "2.50 [2.35, 2.65]", "+0.50 [+0.35, +0.65]", "2.50", "7", "–"],
        ["pairs", "crows-pairs", "–", "–", "60.50 [58.00, 63.00]", "–", "–", "2", "–"],
        ["cosines", "cosine", "–", "–", "0.913 [0.903, 0.923]", "–", "–", "0", "–"],
        ["direct", "direct-bias", "–", "–", "0.120 [0.100, 0.140]", "–", "–", "4", "–"],
    ]


def test_csv_has_every_figure_and_leaves_out_what_is_undefined() -> None:
    runs = [*every_kind(), probe_runs.probe_run(probe_runs.malor({}), name="empty")]
    rows = list(csv.DictReader(io.StringIO(format_probe_table(runs, "csv"))))
    assert [row["run"] for row in rows] == [AWKWARD, "pairs", "cosines", "direct", "empty"]
    assert float(rows[0]["value"]) == pytest.approx(2.5)
    assert float(rows[0]["signed_mean_high"]) == pytest.approx(0.65)
    assert [row["measure"] for row in rows] == ["MALoR", "score", "cosine", "direct bias", "MALoR"]
    assert float(rows[0]["spread"]) == pytest.approx(2.5)
    assert rows[1]["signed_mean"] == rows[1]["spread"] == ""
    assert rows[4]["value"] == ""


def test_markdown_and_latex_keep_their_columns_whatever_the_name() -> None:
    lines = format_probe_table(every_kind(), "markdown").splitlines()
    assert {line.replace("\\|", "").count("|") for line in lines} == {len(PROBE_COLUMNS)}, "none has coverage"
    latex = format_probe_table(every_kind(), "latex")
    assert latex.startswith(r"\begin{tabular}{llllrrrr}")
    assert r"a|b\_50\%\&\{x\}" in latex


def test_columns_that_none_of_the_tests_has_are_left_out() -> None:
    header, rows = probe_table(every_kind()[1:])
    assert header == ["Run", "Test", "Value", "Skipped"]
    assert rows[0] == ["pairs", "crows-pairs", "60.50 [58.00, 63.00]", "2"]
    assert format_probe_table(every_kind()[1:], "latex").startswith(r"\begin{tabular}{llrr}")
    assert format_probe_table(every_kind()[1:], "markdown").startswith("| Run | Test | Value | Skipped |")


def test_json_of_malor_has_exactly_what_was_promised() -> None:
    found = probe_json(every_kind()[:1])
    assert json.loads(json.dumps(found, allow_nan=False)) == found
    (entry,) = found["runs"]
    assert list(found) == ["runs"]
    assert set(entry) == {
        "name", "test", "experiment", "direction", "MALoR", "base_rate", "spread", "sense", "signed_mean",
        "occupations", "skipped",
    }  # fmt: skip
    assert entry["MALoR"] == {bound: pytest.approx(value) for bound, value in
                              {"value": 2.5, "low": 2.35, "high": 2.65}.items()}  # fmt: skip
    assert entry["signed_mean"] == pytest.approx(0.5)
    assert entry["base_rate"] == {bound: pytest.approx(value) for bound, value in
                                  {"value": 0.5, "low": 0.35, "high": 0.65}.items()}  # fmt: skip
    # Made by a version that did not measure it, so it has no interval.
    assert entry["spread"] == {"value": pytest.approx(2.5), "low": None, "high": None}
    assert entry["skipped"] == 7
    assert entry["occupations"][0] == {
        "occupation": "nurse", "log2_ratio": -2.0, "p_male": pytest.approx(0.2), "p_female": pytest.approx(0.8),
    }  # fmt: skip
    assert entry["occupations"][2] == {
        "occupation": "unknown", "log2_ratio": None, "p_male": None, "p_female": None,
    }  # fmt: skip


def test_json_of_the_other_kinds_has_their_own_fields() -> None:
    found = json.loads(json.dumps(probe_json(every_kind()), allow_nan=False))["runs"][1:]
    assert [entry["name"] for entry in found] == ["pairs", "cosines", "direct"]
    assert found[0]["figures"]["all.score"]["value"] == 60.5
    assert found[1]["occupations"][-1]["cosine"]["value"] is None
    assert found[2]["baseline"]["value"] == 0.04


def test_json_has_an_entry_a_result() -> None:
    run = probe_runs.probe_run(
        probe_runs.malor(LEANS), probe_runs.malor(LEANS, experiment="names", direction="occupation")
    )
    found = probe_json([run])["runs"]
    assert [(entry["experiment"], entry["direction"]) for entry in found] == [
        ("he-she", "gender"),
        ("names", "occupation"),
    ]


def test_a_gap_is_listed_with_its_groups() -> None:
    run = every_kind()[1]
    (whole,) = (figure for figure in run.figures if figure.is_headline)
    gap = replace(whole, group=("all", "female-male"))
    assert MainFigure(run, gap, run.result).experiment == "female-male"
    assert MainFigure(run, whole, run.result).experiment is None
