"""Tables and the model card: the figures of a run, and nothing that breaks the format they stand in."""

from __future__ import annotations

import csv
import io
import math

import builders
import pytest
import yaml

from evenhand.api.measure import evaluate
from evenhand.core.estimates import Estimate
from evenhand.reporting import format_comparisons, format_table, model_card_snippet
from evenhand.reporting.numbers import show, show_p
from evenhand.stats.resampling import Resampling
from evenhand.store.comparison import compare
from evenhand.store.run import Run

AWKWARD = "a|b_50%&{x}"


@pytest.fixture
def run(quick: Resampling) -> Run:
    """Three intra-sentence items: the stereotype wins on two, sense wins always."""
    items = [builders.intra(number, cluster=f"term {number}") for number in range(3)]
    triples = {"intra-0": (3.0, 2.0, 1.0), "intra-1": (3.0, 2.0, 1.0), "intra-2": (2.0, 3.0, 1.0)}
    benchmark = builders.benchmark(*items)
    return evaluate(builders.scores(triples), benchmark, name=AWKWARD, resampling=quick)


def test_csv_has_every_measure_of_every_group(run: Run) -> None:
    rows = list(csv.DictReader(io.StringIO(format_table(run, "csv"))))
    assert [(row["task"], row["group"]) for row in rows] == [
        ("intrasentence", "all"),
        ("intrasentence", "profession"),
    ]
    assert float(rows[0]["SS"]) == pytest.approx(200 / 3)
    assert float(rows[0]["LMS"]) == 100
    assert rows[0]["SS_p_binomial_assumes"] == "independent items"
    assert rows[0]["run"] == AWKWARD


def test_markdown_keeps_its_columns_whatever_the_name_of_the_run(run: Run) -> None:
    lines = format_table(run, "markdown").splitlines()
    assert len({line.replace("\\|", "").count("|") for line in lines}) == 1
    assert "66.67" in lines[2]
    assert "evenhand.v2" in lines[2]


def test_latex_escapes_what_latex_would_obey(run: Run) -> None:
    text = format_table(run, "latex")
    assert r"a|b\_50\%\&\{x\}" in text
    assert text.count(r"\\") == 2
    assert text.startswith(r"\begin{tabular}{llllrrrrr}")


def test_comparison_tables_have_a_row_a_difference(run: Run, quick: Resampling) -> None:
    comparison = compare(run, run, resampling=quick)
    assert len(format_comparisons([comparison], "markdown").splitlines()) == 2 + 3
    rows = list(csv.DictReader(io.StringIO(format_comparisons([comparison], "csv"))))
    assert [float(row["difference"]) for row in rows] == [0, 0, 0]


def test_model_card_leaves_out_an_interval_that_does_not_exist() -> None:
    """With a single target term there is a value and no interval."""
    one = evaluate(
        {"intra-1-s": 2.0, "intra-1-a": 1.0, "intra-1-u": 0.5}, builders.benchmark(builders.intra())
    )
    snippet = yaml.safe_load(model_card_snippet(one).strip("-\n"))
    metrics = {metric["type"]: metric for metric in snippet["model-index"][0]["results"][0]["metrics"]}
    assert metrics["ss.v1"]["value"] == 100
    assert "low" not in metrics["ss.v1"]["args"]
    assert metrics["ss.v1"]["args"]["neutral"] == 50


def test_undefined_values_are_words_not_numbers() -> None:
    assert show(Estimate.undefined("nothing was scored")) == "undefined"
    assert show_p(math.nan) == "undefined"
    assert show_p(0.0004) == "< 0.001"
    assert show_p(0.0126) == "0.013"
