"""Runs on the terminal, whatever their instruments: tables, sentences, JSON, and conditions that fail a command."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from evenhand.cli.options import TableChoice
from evenhand.cli.output import (
    console,
    fits,
    plain_table,
    print_json,
    print_lines,
    print_table,
    print_text,
    strip,
)

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

    from evenhand.store.mitigation_records import MitigationRecord
    from evenhand.store.run import Run

STRIP_WIDTHS = (25, 21, 17, 13)
"""Of the drawing of SS, widest first; odd, so that 50 has a place in the middle."""

ASSOCIATION = "association"


def show_results(runs: Sequence[Run], *, form: TableChoice, json: bool) -> None:
    """Print the results of runs as a table for people, as another format, or as one JSON object."""
    from evenhand.reporting.words import precision_notes

    if json:
        print_json({"runs": [entry for run in runs for entry in _entries(run)]})
    elif form is not TableChoice.TABLE:
        from evenhand.api.show import report

        print_text(report(runs, format=form.value))
    else:
        for run in runs:
            if run.record.instrument == ASSOCIATION:
                _show_association(run)
        probes = [run for run in runs if run.record.instrument != ASSOCIATION]
        if probes:
            _show_probes(probes)
        print_lines(precision_notes(runs))


def print_evaluated(runs: Sequence[Run]) -> None:
    """Print runs from scores of pairs as JSON, the figures over all pairs at the top: one object per file."""
    from evenhand.reporting.probes.words import pairs_groups

    entries = []
    for run in runs:
        groups = {
            name: {"n": own.n, "ties": own.ties, "score": own.score.model_dump(mode="json")}
            for name, own in pairs_groups(run).items()
        }
        (entry,) = _entries(run)
        protocol = run.record.protocol.name if run.record.protocol else None
        top = {"name": run.name, "protocol": protocol, **groups["all"]}
        types = set(run.scores["bias_type"])
        by_type = {name: own for name, own in groups.items() if name in types}
        entries.append({**top, "by_bias_type": by_type, **entry})
    print_json(entries[0] if len(entries) == 1 else {"runs": entries})


def extent_json(run: Run) -> dict[str, Any]:
    """What figures are of, a sample or the coverage of files of scores, and how far half precision is off."""
    sample = run.record.dataset.sample.to_json() if run.record.dataset.sample else {}
    if run.record.precision_check:
        sample |= {"precision_check": run.record.precision_check.model_dump(mode="json")}
    if run.whole_coverage is None:
        return sample
    groups = {".".join(group): own.model_dump(mode="json") for group, own in run.coverage.items() if group}
    return sample | {"coverage": run.whole_coverage.model_dump(mode="json") | {"groups": groups}}


def _entries(run: Run) -> list[dict[str, Any]]:
    """The results of a run as the machine-readable contract has them; details are in the run folder."""
    from evenhand.reporting.probes.tables import probe_json

    extent = extent_json(run)
    if run.record.instrument == ASSOCIATION:
        return [run.result.model_dump(mode="json", exclude={"tasks": {"__all__": {"by_target"}}}) | extent]
    entries: list[dict[str, Any]] = probe_json([run])["runs"]
    return [entry | extent for entry in entries]


def _show_association(run: Run) -> None:
    from evenhand.reporting.association.words import interpret_association

    target = console()
    dataset = run.record.dataset
    target.print(f"{run.name}   {dataset.title} ({dataset.language})   {run.result.protocol}", style="bold")
    print_table(_widest_that_fits(run, target))
    if whole := run.whole_coverage:
        target.print(f"Coverage: {whole}.", style=None if whole.scored == whole.total else "yellow")
    interpretation = interpret_association(run)
    target.print(f"{interpretation.verdict}. {' '.join(interpretation.sentences)}\n")


def _widest_that_fits(run: Run, target: Console) -> Table:
    """The table with the widest strip that there is room for, or without one."""
    tables = (_run_table(run, strip_width=width) for width in STRIP_WIDTHS)
    return next((table for table in tables if fits(table, target)), _run_table(run, strip_width=None))


def _run_table(run: Run, *, strip_width: int | None) -> Table:
    from evenhand.reporting.numbers import show

    drawn = () if strip_width is None else ("0 · SS · 100",)
    coverage = {task: run.coverage[task,].short for task in run.result.tasks} if run.coverage else {}
    if run.whole_coverage and {*coverage.values()} == {run.whole_coverage.short}:
        coverage = {}  # the line below the table says it, and intervals need the room
    covered = ("coverage",) if coverage else ()
    table = plain_table("task", "LMS", "SS", *drawn, "ICAT", "items", *covered, right=("items", "coverage"))
    for task, result in run.result.tasks.items():
        lms, ss, icat = (show(result.estimate(measure), digits=1) for measure in ("LMS", "SS", "ICAT"))
        drawing = () if strip_width is None else (strip(result.SS, width=strip_width),)
        table.add_row(
            task,
            lms,
            ss,
            *drawing,
            icat,
            f"{result.n:,}",
            *([coverage[task]] if coverage else []),
            style="bold" if task == "overall" else None,
        )
    return table


def _show_probes(runs: Sequence[Run]) -> None:
    """One row per result of any other instrument, and what it says in words."""
    from evenhand.reporting.probes.malor_words import correlation_lines
    from evenhand.reporting.probes.tables import probe_table
    from evenhand.reporting.probes.words import probe_sentences

    header, rows = probe_table(runs)
    table = plain_table(*header)
    for row in rows:
        table.add_row(*row)
    print_table(table)
    print_lines(f"{run.name}: {run.record.dataset.sample}." for run in runs if run.record.dataset.sample)
    print_lines(f"{run.name}: coverage {run.whole_coverage}." for run in runs if run.whole_coverage)
    print_lines(f"{run.name}: {sentence}" for run in runs for sentence in probe_sentences(run))
    print_lines(f"{run.name}: {line}" for run in runs for line in correlation_lines(run))


def show_mitigation(record: MitigationRecord) -> None:
    """Before and after, and over seeds where there are several."""
    from evenhand.store.mitigation_records import metric_title

    several = len(record.seeds) > 1
    columns = ("measure", "before", "after", "change", *(("mean over seeds",) if several else ()))
    table = plain_table(*columns, right=columns[1:], title=_mitigation_title(record))
    for key, before in record.before.items():
        after = record.after[key]
        over = (str(record.bias_over_seeds(key) or "–"),) if several else ()
        table.add_row(metric_title(key), str(before), str(after), record.change_of(key), *over)
    training = record.chosen
    if training:
        for name, value in training.curve.original.quality.items():
            after_training = training.best.quality[name]
            over = (str(record.quality_over_seeds(name)),) if several else ()
            table.add_row(
                f"held-out {name}",
                f"{value:.2f}",
                f"{after_training:.2f}",
                f"{after_training / value - 1:+.2%}",
                *over,
            )
    print_table(table)


def _mitigation_title(record: MitigationRecord) -> str:
    training = record.chosen
    if training is None:
        return f"{record.model.id}   {record.method}"
    kept = f"epoch {training.best.epoch} of {len(training.curve.trained)}"
    seed = f", seed {record.chosen_seed}" if len(record.seeds) > 1 else ""
    return f"{record.model.id}   {record.method}   {kept}{seed}"
