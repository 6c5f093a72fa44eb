"""A run shows itself in one line, and in a notebook as a short table."""

from __future__ import annotations

from dataclasses import replace

import polars as pl
import pytest

import evenhand as eh
from evenhand.instruments.malor.instrument import MalorOptions
from evenhand.stats.resampling import Resampling
from evenhand.store.run import Run


@pytest.fixture(scope="module")
def run() -> Run:
    return eh.evaluate(eh.example_scores("leaning"), name="mine <b>", resampling=Resampling(resamples=200))


def test_a_run_shows_itself_in_one_line(run: Run) -> None:
    overall = run.result.tasks["overall"]
    assert repr(run) == (
        f"Run('mine <b>', overall.LMS {overall.LMS}, overall.SS {overall.SS}, overall.ICAT {overall.ICAT}, ...)"
    )
    assert len(repr(run)) < 200


def test_a_sample_is_named_in_the_line() -> None:
    options = eh.AuditOptions(limit=3, resampling=Resampling(resamples=100))
    shown = repr(eh.audit("fake:tiny", "starter", options=options))
    assert shown.startswith(
        "Run('fake-tiny_association_starter_en_limit-3 (sample of 6 of 96 items)', overall."
    )


def test_a_notebook_shows_a_short_table_of_the_headline_figures(run: Run) -> None:
    table, overall = run._repr_html_(), run.result.tasks["overall"]
    assert "<caption>mine &lt;b&gt;</caption>" in table
    assert "<b>" not in table
    assert f'<td>overall.SS</td><td title="">{overall.SS}</td><td>50</td>' in table
    assert table.count("<tr>") == 1 + 9
    assert "95% interval" in table
    assert len(table) < 2_000


def test_a_run_of_many_experiments_is_short_too() -> None:
    run = eh.probe(
        "fake:tiny",
        "malor",
        options=MalorOptions(direction="both", limit=1, resampling=Resampling(resamples=100)),
    )
    many = replace(run, results=run.results * 5, scores=pl.concat([run.scores] * 5))
    assert repr(many).count("\n") == 0
    assert len(repr(many)) < 300
    assert many._repr_html_().count("<tr>") == 1 + 12
    assert f"<p>{5 * len(run.results) - 12} more in <code>figures</code></p>" in many._repr_html_()
