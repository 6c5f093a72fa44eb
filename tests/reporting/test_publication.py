"""Tables as papers print them, and the figures that go with them."""

from __future__ import annotations

from pathlib import Path

import builders
import probe_runs
import pytest

from evenhand.core.errors import EvenhandError
from evenhand.reporting import render_page
from evenhand.reporting.certificate.plots import convergence_plot
from evenhand.reporting.probes.plots import probability_plot
from evenhand.reporting.publication import PublishedColumn, publication_tables
from evenhand.reporting.tables import TableFormat
from evenhand.runs.mitigation_summaries import CurvePoint
from evenhand.runs.run import Run
from evenhand.stats.resampling import Resampling
from evenhand.workflows.measure import evaluate
from evenhand.workflows.show import report

ALWAYS, NEVER = (3.0, 2.0, 1.0), (2.0, 3.0, 1.0)


def scored(name: str, language: str, wins: int, quick: Resampling) -> Run:
    """Four items; the stereotype wins on so many, sense always."""
    items = [builders.intra(number, cluster=f"term {number}", language=language) for number in range(4)]
    triples = {f"intra-{number}": ALWAYS if number < wins else NEVER for number in range(4)}
    benchmark = builders.benchmark(*items)
    return evaluate(
        builders.scores(triples),
        benchmark,
        name=f"{name}_{language}",
        resampling=quick,
        protocol="stereoset-2021",
    )


@pytest.fixture
def runs(quick: Resampling) -> list[Run]:
    return [scored("bert_x", "en", 3, quick), scored("gpt", "en", 2, quick)]


def test_the_best_is_the_value_nearest_to_neutral_and_ties_are_all_bold(runs: list[Run]) -> None:
    text = publication_tables(runs, form=TableFormat.MARKDOWN)

    assert "| bert_x | **100.00** | 75.00 | 50.00 |" in text
    assert "| gpt | **100.00** | **50.00** | **100.00** |" in text
    assert "| Model | LMS (en) | SS (en) | ICAT (en) |" in text
    assert "over target terms" in text
    assert "| Model | mean LMS (en) | mean SS (en) | macro ICAT (en) | micro ICAT (en) |" in text


def test_latex_has_languages_above_their_columns_and_escapes_names(runs: list[Run]) -> None:
    text = report(runs, format="paper-latex")

    assert r"\multicolumn{3}{c}{en}" in text
    assert r"\cmidrule(lr){2-4}" in text
    assert r"bert\_x & \textbf{100.00} & 75.00 & 50.00 \\" in text
    assert r"\multicolumn{4}{c}{en}" in text


def test_captions_name_the_data_and_what_bold_means(runs: list[Run]) -> None:
    caption = (
        r"\caption{Intrasentence, tiny, protocol stereoset-2021. Bold is the value of each column that is nearest to "
        "its ideal: LMS, ICAT to 100; SS to 50.}"
    )

    assert caption in report(runs, format="paper-latex")
    assert r"\caption{Intrasentence, tiny, protocol stereoset-2021.}" in report(
        runs[:1], format="paper-latex"
    )


@pytest.mark.parametrize(
    ("ideal", "values", "bold"),
    [
        (50.0, {"a": 48.0, "b": 53.0}, {"a"}),
        (50.0, {"a": 48.0, "b": 52.0}, {"a", "b"}),
        (0.0, {"a": 0.111, "b": 0.114, "c": 0.2}, {"a", "b"}),
        (100.0, {"a": 70.0}, set()),
        (None, {"a": 70.0, "b": 80.0}, set()),
    ],
)
def test_what_is_best(ideal: float | None, values: dict[str, float], bold: set[str]) -> None:
    column = PublishedColumn("en", "x", ideal, values)

    assert {model for model in values if column.cell(model, "*{}*").startswith("*")} == bold
    assert column.cell("nobody", "*{}*") == "–"


def test_two_runs_for_one_cell_are_refused(runs: list[Run]) -> None:
    with pytest.raises(EvenhandError, match="Several runs are of bert_x"):
        publication_tables([runs[0], runs[0]], form=TableFormat.LATEX)


def test_probes_have_a_column_for_each_experiment() -> None:
    text = publication_tables([probe_runs.malor_run()], form=TableFormat.MARKDOWN)

    assert text.startswith("MALoR, probes")
    assert "he-she gender MALoR (en)" in text


def test_malor_is_printed_with_its_base_rate_and_its_spread() -> None:
    run = probe_runs.malor_run()
    text = publication_tables([run], form=TableFormat.MARKDOWN)
    head, _, row = [line for line in text.splitlines() if line.startswith("|")][:3]
    cells = dict(zip(head.split("|"), row.split("|"), strict=True))
    first = run.results[0]
    assert cells[" he-she gender base rate (en) "] == f" {first.signed_mean.value:.2f} "
    assert " he-she gender spread (en) " in cells


def test_bars_show_both_sides_of_both_runs() -> None:
    (first, *_) = probe_runs.malor_run().results
    spec = probability_plot([("before", first), ("after", first)])
    rows = next(iter(spec["datasets"].values())) if "datasets" in spec else spec["layer"][0]["data"]["values"]

    assert {(row["run"], row["side"]) for row in rows} == {
        (run, side) for run in ("before", "after") for side in ("P(male)", "P(female)")
    }
    lean = first.occupations[0]
    shown = {row["side"]: row["probability"] for row in rows if row["occupation"] == lean.occupation}
    assert shown == pytest.approx({"P(male)": lean.p_male, "P(female)": lean.p_female})


def test_the_page_of_two_probes_has_the_bars() -> None:
    run = probe_runs.malor_run()
    page = render_page([run])

    assert "Probabilities of both sides" in page


def test_convergence_is_the_range_of_the_last_five_epochs() -> None:
    values = [2.0, 1.0, 0.8, 0.6, 0.5, 0.4, 0.4, 0.39]
    curve = [
        CurvePoint(epoch=epoch, malor={"he-she": value}, perplexity=10.0)
        for epoch, value in enumerate(values)
    ]

    spec = convergence_plot(curve, kept=6)

    rows = [row for rows in spec["datasets"].values() for row in rows if "percent" in row]
    expected = {
        end: 100 * (max(own) - min(own)) / (sum(own) / 5)
        for end in (5, 6, 7)
        for own in [values[end - 4 : end + 1]]
    }
    assert {row["epoch"]: row["percent"] for row in rows} == pytest.approx(expected)
    assert any(row.get("level") == 10.0 for rows in spec["datasets"].values() for row in rows)
    assert convergence_plot(curve[:5], kept=None) == {}


def test_a_paper_has_no_csv(runs: list[Run], tmp_path: Path) -> None:
    with pytest.raises(EvenhandError, match="LaTeX or Markdown"):
        publication_tables(runs, form=TableFormat.CSV)
    report(runs, out=tmp_path / "t.md", format="paper-markdown")
    assert (tmp_path / "t.md").read_text(encoding="utf-8").startswith("Intrasentence, tiny")
