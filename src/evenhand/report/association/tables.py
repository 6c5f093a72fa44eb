"""Tables of runs and of comparisons: one frame each, and the formats in which they leave the house."""

from __future__ import annotations

import math
from collections.abc import Sequence
from enum import StrEnum

import polars as pl

from evenhand.core.estimates import Estimate
from evenhand.core.protocols import HEADLINE
from evenhand.runs.comparison import Comparison
from evenhand.runs.run import Run

ALL_ITEMS = "all"


class TableFormat(StrEnum):
    """How a table is written."""

    CSV = "csv"
    MARKDOWN = "markdown"
    LATEX = "latex"


def results_frame(runs: Sequence[Run]) -> pl.DataFrame:
    """A row a run, task and group, with value, low and high of every measure."""
    rows = []
    for run in runs:
        for task, result in run.result.tasks.items():
            for group, part in {ALL_ITEMS: result, **result.by_bias_type}.items():
                row: dict[str, object] = {
                    "run": run.name,
                    "language": run.result.language,
                    "protocol": run.result.protocol,
                    "task": task,
                    "group": group,
                    "n": part.n,
                    "target_terms": part.clusters,
                    "skipped": part.skipped,
                }
                for name, estimate in part.estimates():
                    row |= {
                        name: estimate.value,
                        f"{name}_low": estimate.low,
                        f"{name}_high": estimate.high,
                    }
                row |= {
                    "SS_p_binomial": part.against_neutral.p_binomial,
                    "SS_p_clustered": part.against_neutral.p_clustered,
                }
                rows.append(row)
    return pl.DataFrame(rows)


def comparison_frame(comparisons: Sequence[Comparison]) -> pl.DataFrame:
    """A row a pair of runs, task, group and measure."""
    return pl.DataFrame(
        [
            {
                "first": comparison.first,
                "second": comparison.second,
                "task": row.task,
                "group": row.group,
                "measure": row.measure,
                "first_value": row.first,
                "second_value": row.second,
                "difference": row.difference.value,
                "low": row.difference.low,
                "high": row.difference.high,
                "p_value": row.p_value,
                "p_holm": row.p_holm,
            }
            for comparison in comparisons
            for row in comparison.differences
        ]
    )


def format_table(runs: Sequence[Run] | Run, form: TableFormat | str = TableFormat.MARKDOWN) -> str:
    """The results of runs as CSV (every figure), Markdown or LaTeX (the headline)."""
    listed = [runs] if isinstance(runs, Run) else list(runs)
    if TableFormat(form) is TableFormat.CSV:
        return results_frame(listed).write_csv()
    header = ["Run", "Language", "Protocol", "Task", "n", *HEADLINE]
    rows = [
        [
            run.name, run.result.language, run.result.protocol, task, f"{result.n:,}",
            *(show(result.estimate(measure)) for measure in HEADLINE),
        ]
        for run in listed
        for task, result in run.result.tasks.items()
    ]  # fmt: skip
    return (
        markdown_table(header, rows)
        if TableFormat(form) is TableFormat.MARKDOWN
        else latex_table(header, rows, text_columns=4)
    )


def format_comparisons(comparisons: Sequence[Comparison], form: TableFormat | str) -> str:
    """Comparisons as CSV, Markdown or LaTeX."""
    if TableFormat(form) is TableFormat.CSV:
        return comparison_frame(comparisons).write_csv()
    header = ["First", "Second", "Task", "Group", "Measure", "First", "Second", "Difference", "p", "p (Holm)"]
    rows = [
        [
            comparison.first, comparison.second, row.task, row.group, row.measure,
            number(row.first), number(row.second), show(row.difference, signed=True),
            show_p(row.p_value), show_p(row.p_holm),
        ]
        for comparison in comparisons
        for row in comparison.differences
    ]  # fmt: skip
    return (
        markdown_table(header, rows)
        if TableFormat(form) is TableFormat.MARKDOWN
        else latex_table(header, rows, text_columns=5)
    )


def show(estimate: Estimate, *, signed: bool = False, digits: int = 2) -> str:
    """An estimate with its interval, as it stands in a table cell."""
    if not estimate.defined:
        return "undefined"
    sign = "+" if signed else ""
    value = f"{estimate.value:{sign}.{digits}f}"
    if math.isnan(estimate.low):
        return value
    return f"{value} [{estimate.low:{sign}.{digits}f}, {estimate.high:{sign}.{digits}f}]"


def number(value: float, digits: int = 2) -> str:
    """A plain number for a table cell."""
    return "undefined" if math.isnan(value) else f"{value:.{digits}f}"


def show_p(p_value: float) -> str:
    """A p-value as people write it."""
    if math.isnan(p_value):
        return "undefined"
    return "< 0.001" if p_value < 0.001 else f"{p_value:.3f}"


def markdown_table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A table in Markdown, in which no cell can end its column."""
    escaped = [[cell.replace("|", "\\|").replace("\n", " ") for cell in row] for row in rows]
    lines = [header, ["---"] * len(header), *escaped]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines) + "\n"


_LATEX_ESCAPES = str.maketrans(
    {
        "\\": r"\textbackslash{}", "{": r"\{", "}": r"\}", "_": r"\_", "&": r"\&", "%": r"\%", "$": r"\$",
        "#": r"\#", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}", "<": r"\textless{}",
        ">": r"\textgreater{}", "\n": " ",
    }
)  # fmt: skip


def latex_table(header: Sequence[str], rows: Sequence[Sequence[str]], *, text_columns: int) -> str:
    """A tabular for the booktabs package; the first columns hold text, the others figures."""
    columns = "l" * text_columns + "r" * (len(header) - text_columns)
    body = [" & ".join(cell.translate(_LATEX_ESCAPES) for cell in row) + r" \\" for row in (header, *rows)]
    rules = [rf"\begin{{tabular}}{{{columns}}}", r"\toprule", body[0], r"\midrule"]
    return "\n".join([*rules, *body[1:], r"\bottomrule", r"\end{tabular}", ""])
