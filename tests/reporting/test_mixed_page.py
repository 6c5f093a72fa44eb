"""One page for any mix of runs: instruments with a view of their own, and instruments of other packages."""

from __future__ import annotations

import html
import json
import re
from collections.abc import Iterator, Sequence
from typing import Any

import builders
import polars as pl
import probe_runs
import pytest
from pydantic import BaseModel

from evenhand.api.measure import evaluate
from evenhand.core.estimates import Estimate
from evenhand.instruments.instrument import Instrument, InstrumentOptions, Preparation
from evenhand.models.requests import Continue
from evenhand.reporting.page import render_page
from evenhand.reporting.plotting import Mark, shown_runs
from evenhand.reporting.views import VIEWS, View
from evenhand.stats.resampling import Resampling
from evenhand.store.figures import Figure
from evenhand.store.records import DatasetRecord, EnvironmentRecord, RunRecord, StatisticsRecord
from evenhand.store.run import INSTRUMENTS, Run

HOSTILE = "<img src=x onerror=alert(1)></script><script>alert(2)</script>"


class ColourResult(BaseModel):
    """How red a model is."""

    red: Estimate


class ColourInstrument(Instrument[InstrumentOptions]):
    """An instrument that no page knows."""

    name = "colour"
    version = "colour.v1"
    title = f"Colours {HOSTILE}"
    summary = f"How red a model is {HOSTILE}."
    needs = (Continue,)
    options_type = InstrumentOptions
    result_type = ColourResult

    def prepare(self, model: Any, options: InstrumentOptions, *, name: str | None = None) -> Preparation:
        raise NotImplementedError

    def figures(self, run: Run) -> tuple[Figure, ...]:
        return (
            Figure(
                "red", ("all",), run.result.red, f"Redness {HOSTILE}", 10.0, unit="shades", is_headline=True
            ),
            Figure("blue", ("all", "sky"), probe_runs.without_interval(3.0), "Blueness", None, unit="shades"),
        )

    def units(self, run: Run) -> pl.DataFrame:
        return run.scores


@pytest.fixture(autouse=True)
def colour() -> Iterator[None]:
    INSTRUMENTS.register("colour", ColourInstrument())
    yield
    INSTRUMENTS.unregister("colour")


def coloured(name: str, values: Sequence[float]) -> Run:
    mean = sum(values) / len(values)
    return Run(
        record=RunRecord(
            instrument="colour",
            name=name,
            dataset=DatasetRecord(name="paints", language="en", source="a shop", sha256="c" * 64),
            statistics=StatisticsRecord(resamples=200, seed=1, confidence=0.95),
            environment=EnvironmentRecord.current(),
        ),
        results=(ColourResult(red=probe_runs.estimate(mean, 1.0)),),
        scores=pl.DataFrame(
            {"key": "all.red", "unit": [str(place) for place in range(len(values))], "value": values}
        ),
    )


def audited(name: str, *, wins: int) -> Run:
    items = [builders.intra(number, cluster=f"term {number}") for number in range(12)]
    triples = {
        item.id: (2.0, 1.0, 0.5) if place < wins else (1.0, 2.0, 0.5) for place, item in enumerate(items)
    }
    return evaluate(
        builders.scores(triples), builders.benchmark(*items), name=name, resampling=Resampling(resamples=200)
    )


def section(page: str, name: str) -> str:
    """The text of a section, without markup."""
    part = page[page.index(f'<section id="{name}"') :].split("</section>", maxsplit=1)[0]
    return " ".join(html.unescape(re.sub(r"<[^>]+>", " ", part)).split())


def data(page: str) -> dict[str, Any]:
    content = re.search(r'id="page-data">(.*?)</script>', page, re.DOTALL)
    assert content
    parsed: dict[str, Any] = json.loads(content[1])
    return parsed


@pytest.fixture(scope="module")
def base() -> Run:
    return audited("base", wins=11)


@pytest.fixture
def mixed(base: Run) -> str:
    return render_page(
        [
            base,
            audited("tuned", wins=6),
            probe_runs.probe_run(probe_runs.malor({"nurse": -2.0, "plumber": 3.0}), name="occupations"),
            probe_runs.probe_run(probe_runs.crows_pairs(), name="pairs"),
            coloured("red", [20.0, 22.0, 24.0, 21.0, 23.0, 22.0, 21.5]),
            coloured("pink", [11.0, 12.0, 11.0, 12.5, 11.0, 12.0, 11.0]),
        ]
    )


def test_a_page_holds_runs_of_any_instruments(mixed: str) -> None:
    overview = section(mixed, "runs")
    for name in ("base", "tuned", "occupations", "pairs", "red", "pink"):
        assert name in overview
    for name in ("scores", "occupations", "pairs", "figures-colour", "differences", "terms", "method"):
        assert f'<section id="{name}"' in mixed


def test_an_instrument_of_another_package_is_drawn_told_and_compared(mixed: str) -> None:
    plot = data(mixed)["plots"]["figures-colour-0"]
    assert plot["layer"]
    text = section(mixed, "figures-colour")
    assert "21.9 [20.9, 22.9]" in text
    assert "no interval: there is one sentence" in text
    assert "is above neutral" in section(mixed, "runs")
    assert "has a lower Redness" in section(mixed, "differences")


def test_an_instrument_without_a_figure_does_not_break_a_page(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ColourInstrument, "figures", lambda *_: ())
    runs = [coloured("red", [1.0]), coloured("pink", [1.0])]
    assert "red" in section(render_page(runs), "runs")
    assert '<section id="reading"' in render_page(runs[:1])


def test_nothing_of_another_package_becomes_markup(mixed: str) -> None:
    assert "<img src=x" not in mixed
    assert "<script>alert" not in mixed


def test_another_package_can_bring_a_view_of_its_own() -> None:
    VIEWS.register(
        "colour", lambda runs, **_: View(interpretations=((),) * len(runs), measured=("Own words.",))
    )
    try:
        page = render_page([coloured("red", [1.0, 2.0])])
    finally:
        VIEWS.unregister("colour")
    assert "Own words." in section(page, "method")
    assert '<section id="figures-colour"' not in page


def test_differences_are_led_by_a_sentence_and_every_run_can_be_the_baseline(base: Run) -> None:
    page = render_page([base, audited("tuned", wins=6)])
    text = section(page, "differences")
    assert "tuned leans less towards the stereotypes than base: −41.7 points" in text
    assert "base leans more towards the stereotypes than tuned: +41.7 points" in text
    rows = data(page)["csv"]["differences"].splitlines()
    assert len(rows) == 1 + 2 * 3


def test_runs_that_cannot_be_compared_are_named_with_the_reason(base: Run) -> None:
    other = builders.intra(99, cluster="another term")
    apart = evaluate(
        builders.scores({other.id: (2.0, 1.0, 0.5)}),
        builders.benchmark(other),
        name="apart",
        resampling=Resampling(resamples=200),
    )
    text = section(render_page([base, apart]), "differences")
    assert "Not compared with base: apart (" in text
    assert "have no item in common" in text


def test_terms_stand_in_one_row_with_a_column_per_run(base: Run) -> None:
    page = render_page([base, audited("tuned", wins=6)])
    assert "term 0 100 100" in section(page, "terms")
    assert "term 7 100 0" in section(page, "terms")


def test_runs_that_a_plot_leaves_out_are_named() -> None:
    runs = [
        probe_runs.probe_run(probe_runs.malor({"cook": 1.0}), name="asked"),
        probe_runs.probe_run(probe_runs.malor({"cook": 1.0}, experiment="names"), name="not asked"),
    ]
    page = render_page(runs, comparisons=())
    assert "Not drawn: not asked (it was not asked this, or nothing could be scored)." in section(
        page, "occupations"
    )


def test_a_value_without_an_interval_is_hollow_in_the_overview_with_its_reason() -> None:
    one = probe_runs.without_interval(1.0)
    runs = [
        probe_runs.probe_run(probe_runs.malor({"cook": one}, MALoR=one), name="few"),
        probe_runs.probe_run(probe_runs.malor({"cook": 1.0}), name="many"),
    ]
    page = render_page(runs, comparisons=())
    assert "no interval: there is one sentence" in section(page, "runs")
    assert page.count('class="bar-hollow"') == 1
    assert "<title>No interval: there is one sentence</title>" in page


def test_every_run_has_a_name_and_a_mark_of_its_own(base: Run) -> None:
    shown = shown_runs([base] * 30)
    assert len({own.label for own in shown}) == 30
    assert len({(own.mark.colour, own.mark.shape) for own in shown}) == 30
    assert len({(mark.colour, mark.shape) for mark in map(Mark.number, range(48))}) == 48
