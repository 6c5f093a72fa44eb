"""Tables of runs, of comparisons and of certificates, as frames, CSV, Markdown, LaTeX and plain values for JSON."""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum

import polars as pl

from evenhand.core.protocols import HEADLINE
from evenhand.reporting.certificate.baseline import baseline_rows
from evenhand.reporting.certificate.bias_words import MOVES, relative_words
from evenhand.reporting.certificate.untrained import wholes
from evenhand.reporting.certificate.words import (
    change_words,
    figure_words,
    margin_words,
    quality_outcome,
)
from evenhand.reporting.numbers import NOT_THERE, number, show, show_p, signed, signed_interval, unsigned
from evenhand.reporting.words import in_brackets
from evenhand.store.certificates import Certificate
from evenhand.store.comparison import ALL_ITEMS, Comparison
from evenhand.store.coverage import COVERAGE
from evenhand.store.figures import Group
from evenhand.store.run import Run

CERTIFICATE_COLUMNS = ("measure", "kind", "before", "after", "difference", "interval", "verdict")


class TableFormat(StrEnum):
    """How a table is written."""

    CSV = "csv"
    MARKDOWN = "markdown"
    LATEX = "latex"


def results_frame(runs: Sequence[Run]) -> pl.DataFrame:
    """One row per run, task and group, with value, low and high of every measure."""
    rows = []
    for run in runs:
        coverage = run.coverage
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
                    "coverage": coverage[_parts(task, group)].percent if coverage else None,
                }
                for name, estimate in part.estimates():
                    row |= {
                        name: estimate.value,
                        f"{name}_low": estimate.low,
                        f"{name}_high": estimate.high,
                    }
                row |= {
                    "SS_p_binomial": part.against_neutral.p_binomial,
                    "SS_p_binomial_assumes": part.against_neutral.p_binomial_assumes,
                    "SS_p_clustered": part.against_neutral.p_clustered,
                }
                rows.append(row)
    return pl.DataFrame(rows, infer_schema_length=None)


def _parts(task: str, group: str) -> Group:
    return (task,) if group == ALL_ITEMS else (task, group)


def comparison_frame(comparisons: Sequence[Comparison]) -> pl.DataFrame:
    """One row per pair of runs, task, group and measure."""
    return pl.DataFrame(
        [
            {
                "first": comparison.first,
                "second": comparison.second,
                "first_coverage": _percent(comparison.first, comparison),
                "second_coverage": _percent(comparison.second, comparison),
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
        ],
        infer_schema_length=None,
    )


def format_table(runs: Sequence[Run] | Run, form: TableFormat | str = TableFormat.MARKDOWN) -> str:
    """The results of runs as CSV (every figure), Markdown or LaTeX (the headline)."""
    listed = [runs] if isinstance(runs, Run) else list(runs)
    if TableFormat(form) is TableFormat.CSV:
        return results_frame(listed).write_csv()
    covered = {run.name: run.coverage for run in listed}
    shown = [COVERAGE.capitalize()] if any(covered.values()) else []
    header = ["Run", "Language", "Protocol", "Task", "n", *shown, *HEADLINE]
    rows = [
        [
            run.title, run.result.language, run.result.protocol, task, f"{result.n:,}",
            *([covered[run.name][task,].short if covered[run.name] else NOT_THERE] if shown else []),
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
            _with_coverage(comparison.first, comparison), _with_coverage(comparison.second, comparison),
            row.task, row.group, row.measure,
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


def _percent(name: str, comparison: Comparison) -> float | None:
    return comparison.coverage[name].percent if name in comparison.coverage else None


def _with_coverage(name: str, comparison: Comparison) -> str:
    """The name of a run, and its coverage where files gave the scores."""
    return f"{name} (coverage {comparison.coverage[name].short})" if name in comparison.coverage else name


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


def latex_cell(text: str) -> str:
    """A text as LaTeX takes it."""
    return text.translate(_LATEX_ESCAPES)


def latex_table(header: Sequence[str], rows: Sequence[Sequence[str]], *, text_columns: int) -> str:
    """A tabular for the booktabs package; the first columns hold text, the others figures."""
    columns = "l" * text_columns + "r" * (len(header) - text_columns)
    body = [" & ".join(map(latex_cell, row)) + r" \\" for row in (header, *rows)]
    rules = [rf"\begin{{tabular}}{{{columns}}}", r"\toprule", body[0], r"\midrule"]
    return "\n".join([*rules, *body[1:], r"\bottomrule", r"\end{tabular}", ""])


def certificate_rows(certificate: Certificate) -> list[tuple[str, ...]]:
    """One row per measure: bias first, then what a trivial baseline would have reached, then quality."""
    trained_on = "trained on" if certificate.trained_known else "judged"
    rows: list[tuple[str, ...]] = [
        (
            row.measure,
            trained,
            unsigned(row.before),
            unsigned(row.after),
            " ".join(
                part
                for part in (signed(row.difference.value), in_brackets(relative_words(row)).strip())
                if part
            ),
            signed_interval(row.difference) or NOT_THERE,
            MOVES[row.movement],
        )
        for trained, measured in (
            (trained_on, certificate.trained),
            (
                "other bias",
                [row for row in certificate.untrained if not (row.untrained_pair and row.part_of)],
            ),
            ("all probes", wholes(certificate.whole)),
        )
        for row in measured
    ]
    rows += [
        (
            row.reached.measure,
            "trivial",
            unsigned(row.reached.before),
            unsigned(row.reached.after),
            signed(row.reached.difference.value),
            signed_interval(row.reached.difference) or NOT_THERE,
            f"mitigated is {row.outcome}",
        )
        for row in baseline_rows(certificate)
        if row.reached.part_of is None
    ]
    for part in certificate.quality:
        measured = part.difference.defined
        rows.append(
            (
                part.measure,
                "quality",
                figure_words(part.before) if measured else NOT_THERE,
                figure_words(part.after) if measured else NOT_THERE,
                change_words(part) if measured else NOT_THERE,
                signed_interval(part.difference) or NOT_THERE,
                f"{quality_outcome(part)}, margin {margin_words(part)}" if measured else part.verdict.value,
            )
        )
    rows += [
        (
            own.measure,
            "reported",
            unsigned(own.before),
            unsigned(own.after),
            f"{signed(own.difference.value)} {own.unit}",
            signed_interval(own.difference) or NOT_THERE,
            NOT_THERE,
        )
        for own in certificate.reported
    ]
    return rows
