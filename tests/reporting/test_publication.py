"""Tables as papers print them, and the figures that go with them."""

from __future__ import annotations

from pathlib import Path

import builders
import probe_runs
import pytest

from evenhand.api.measure import evaluate
from evenhand.api.show import report
from evenhand.core.errors import EvenhandError
from evenhand.reporting import render_page
from evenhand.reporting.certificate.plots import convergence_plot
from evenhand.reporting.probes.plots import probability_plot
from evenhand.reporting.publication import publication_tables
from evenhand.reporting.tables import TableFormat
from evenhand.stats.resampling import Resampling
from evenhand.store.comparison import compare
from evenhand.store.mitigation_summaries import CurvePoint
from evenhand.store.run import Run

ALWAYS, NEVER = (3.0, 2.0, 1.0), (2.0, 3.0, 1.0)


def scored(name: str, language: str, wins: int, quick: Resampling, *, of: int = 4, lost: int = 0) -> Run:
    """Items of a term each; the stereotype wins on so many, sense on all but the last ones."""
    items = [builders.intra(number, cluster=f"term {number}", language=language) for number in range(of)]
    triples = {}
    for number in range(of):
        stereotype, anti, unrelated = ALWAYS if number < wins else NEVER
        triples[f"intra-{number}"] = (stereotype, anti, unrelated if number < of - lost else 9.0)
    benchmark = builders.benchmark(*items, language=language)
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


def bold_cells(text: str) -> dict[str, set[str]]:
    """The titles of the columns in which each model has a value in bold, of the first table."""
    head, _, *rows = [line for line in text.split("\n\n")[1].splitlines() if line.startswith("|")]
    titles = [cell.strip() for cell in head.split("|")[1:-1]]
    cells = {row.split("|")[1].strip(): row.split("|")[1:-1] for row in rows}
    return {
        model: {title for title, cell in zip(titles, own, strict=True) if "**" in cell}
        for model, own in cells.items()
    }


def test_values_have_their_intervals_and_what_they_were_computed_from(runs: list[Run]) -> None:
    text = publication_tables(runs, form=TableFormat.MARKDOWN)
    result = runs[0].result.tasks["intrasentence"]

    assert "| Model | n (en) | LMS (en) | SS (en) | ICAT (en) |" in text
    lms, ss, icat = (result.estimate(name) for name in ("LMS", "SS", "ICAT"))
    assert (
        f"| bert_x | 4 | 100.00 [{lms.low:.2f}, {lms.high:.2f}] | 75.00 [{ss.low:.2f}, {ss.high:.2f}] | "
        f"50.00 [{icat.low:.2f}, {icat.high:.2f}] |"
    ) in text
    assert "over target terms" in text
    assert "| Model | n (en) | mean LMS (en) | mean SS (en) | macro ICAT (en) | micro ICAT (en) |" in text


def test_nothing_is_bold_that_a_test_does_not_tell_from_the_rest(quick: Resampling) -> None:
    near = [scored("a", "en", 30, quick, of=60), scored("b", "en", 31, quick, of=60)]

    text = publication_tables(near, form=TableFormat.MARKDOWN)

    assert "50.00 [" in text
    assert "51.67 [" in text
    assert "**" not in text
    assert "Bold" not in text


def test_what_is_clearly_nearest_to_neutral_is_bold(quick: Resampling) -> None:
    apart = [
        scored("even", "en", 31, quick, of=60),
        scored("towards", "en", 58, quick, of=60),
        scored("against", "en", 3, quick, of=60),
    ]

    text = publication_tables(apart, form=TableFormat.MARKDOWN)

    assert bold_cells(text) == {"even": {"SS (en)", "ICAT (en)"}, "towards": set(), "against": set()}
    assert "nearest to its ideal (SS to 50; ICAT to 100), by paired tests against every other model" in text


def test_the_best_of_three_must_differ_from_the_second_too(quick: Resampling) -> None:
    close = [
        scored("first", "en", 30, quick, of=60, lost=5),
        scored("second", "en", 32, quick, of=60, lost=6),
        scored("third", "en", 60, quick, of=60, lost=40),
    ]

    assert bold_cells(publication_tables(close, form=TableFormat.MARKDOWN)) == {
        "first": set(), "second": set(), "third": set(),
    }  # fmt: skip
    assert bold_cells(publication_tables(close[::2], form=TableFormat.MARKDOWN)) == {
        "first": {"LMS (en)", "SS (en)", "ICAT (en)"}, "third": set(),
    }  # fmt: skip


def test_opposite_leans_of_one_size_are_no_best(quick: Resampling) -> None:
    opposite = [scored("towards", "en", 45, quick, of=60), scored("against", "en", 14, quick, of=60)]

    assert bold_cells(publication_tables(opposite, form=TableFormat.MARKDOWN)) == {
        "towards": set(), "against": set(),
    }  # fmt: skip


def test_p_values_are_adjusted_over_the_columns_of_a_table(quick: Resampling) -> None:
    # Six items change side: of their 64 patterns of signs two are as extreme, p 0.031, which three columns triple.
    six = [scored("a", "en", 30, quick, of=60), scored("b", "en", 36, quick, of=60)]
    row = next(own for own in compare(*six, measures=["SS"]).differences if own.measure == "SS")
    assert row.p_value == pytest.approx(2 / 64, abs=0.01)

    assert "**" not in publication_tables(six, form=TableFormat.MARKDOWN)


def test_latex_has_languages_above_their_columns_and_escapes_names(runs: list[Run]) -> None:
    text = report(runs, format="paper-latex")
    lms = runs[0].result.tasks["intrasentence"].LMS

    assert r"\multicolumn{4}{c}{en}" in text
    assert r"\cmidrule(lr){2-5}" in text
    assert rf"bert\_x & 4 & 100.00 {{\scriptsize [{lms.low:.2f}, 100.00]}} & 75.00" in text
    assert r"\multicolumn{5}{c}{en}" in text


def test_captions_name_the_data_the_intervals_and_what_is_counted(runs: list[Run]) -> None:
    caption = (
        r"\caption{Intrasentence, tiny, protocol stereoset-2021, coverage 100\% (4 of 4 items). In brackets 95\% "
        r"intervals; n counts items.}"
    )

    assert caption in report(runs, format="paper-latex")
    assert "n counts target terms." in report(runs[:1], format="paper-latex")


def test_a_model_that_was_not_asked_has_a_dash(runs: list[Run], quick: Resampling) -> None:
    text = publication_tables([*runs, scored("gpt", "de", 2, quick)], form=TableFormat.MARKDOWN)

    (row,) = [line for line in text.split("\n\n")[1].splitlines() if line.startswith("| bert_x")]
    assert row.endswith("| – | – | – | – |")


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
    base_rate = first.signed_mean
    assert cells[" he-she gender base rate (en) "] == (
        f" {base_rate.value:.2f} [{base_rate.low:.2f}, {base_rate.high:.2f}] "
    )
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
