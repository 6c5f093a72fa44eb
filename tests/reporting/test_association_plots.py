"""Plot specifications: valid JSON whatever is undefined, and true lines of equal ICAT."""

from __future__ import annotations

import json
from typing import Any

import builders
import pytest

from evenhand.api.measure import evaluate
from evenhand.reporting.association.plots import bias_type_plot, icat_plane
from evenhand.reporting.plotting import shown_runs
from evenhand.reporting.rendering import to_script_json
from evenhand.stats.resampling import Resampling
from evenhand.store.run import Run


@pytest.fixture
def run(quick: Resampling) -> Run:
    """Two terms with the same value, so that no interval exists."""
    items = [builders.intra(number, cluster=f"term {number // 2}") for number in range(4)]
    triples = {f"intra-{number}": (2.0, 1.0, 0.5) if number % 2 else (1.0, 2.0, 0.5) for number in range(4)}
    return evaluate(builders.scores(triples), builders.benchmark(*items), resampling=quick)


@pytest.mark.parametrize("plot", [icat_plane, bias_type_plot])
def test_undefined_intervals_become_null(run: Run, plot: Any) -> None:
    spec = plot(shown_runs([run]), "intrasentence")
    assert json.loads(to_script_json(spec)) == spec
    assert "NaN" not in json.dumps(spec)


def test_curves_join_points_of_equal_icat(run: Run) -> None:
    spec = icat_plane(shown_runs([run]), "intrasentence")
    points = [row for rows in spec["datasets"].values() for row in rows if "order" in row]
    assert len(points) > 100
    for point in points:
        score = point["SS"]
        assert point["LMS"] * min(score, 100 - score) / 50 == pytest.approx(point["ICAT"])


def test_task_without_scores_gives_no_plot(run: Run) -> None:
    assert icat_plane(shown_runs([run]), "intersentence") == {}
    assert bias_type_plot(shown_runs([run]), "intersentence") == {}


def test_data_cannot_end_the_script_that_holds_it() -> None:
    text = to_script_json({"a": "</script><!--"})
    assert "<" not in text
    assert json.loads(text) == {"a": "</script><!--"}
