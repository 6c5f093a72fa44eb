"""``evenhand data``: list, describe and check datasets."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Any

import typer

from evenhand.cli.options import Json
from evenhand.cli.output import TerminalMonitor, console, plain_table, print_json, print_table, say, warn
from evenhand.cli.translate import Yes, is_agreed_to
from evenhand.core.errors import EvenhandError

if TYPE_CHECKING:
    from rich.table import Table

    from evenhand.core.items import Benchmark
    from evenhand.data import CheckReport
    from evenhand.data.datasets import NamedDataset

data_app = typer.Typer(
    no_args_is_help=True, rich_markup_mode="markdown", help="List, describe and check datasets."
)

_MOST_OF_IDS = 40
"""Characters for the first ids of a defect; those of StereoSet have 32 each."""

Dataset = Annotated[
    str, typer.Argument(help="A dataset's name, a file in StereoSet's layout, or a folder of them.")
]
Language = Annotated[
    str | None, typer.Option("--language", "-l", help="One language; all of the dataset's if not given.")
]


@data_app.command("list")
def list_command(json: Json = False) -> None:
    """List the datasets that have a name, and the command that takes each.

    **Example**

    `evenhand data list`
    """
    from evenhand.data import named_datasets

    rows = [_listed(dataset) for dataset in named_datasets().values()]
    if json:
        print_json({"datasets": rows})
        return
    table = plain_table("name", "what", "languages", "licence", "where")
    for row in rows:
        what = f"{row['title']}; for {row['used_by']}"
        table.add_row(row["name"], what, " ".join(row["languages"]), row["licence"], row["where"])
    print_table(table)


def _listed(dataset: NamedDataset) -> dict[str, Any]:
    from evenhand.data import PinnedDataset

    row = {
        "name": dataset.name,
        "title": dataset.title,
        "used_by": dataset.used_by,
        "licence": dataset.licence,
        "languages": list(dataset.languages),
        "where": dataset.whereabouts,
    }
    return {**row, "path": str(dataset.local_path)} if isinstance(dataset, PinnedDataset) else row


@data_app.command("describe")
def describe_command(
    dataset: Dataset,
    language: Language = None,
    targets: Annotated[bool, typer.Option("--targets", help="List every target term.")] = False,
    json: Json = False,
) -> None:
    """Count items by task, bias type, target term and language.

    **Examples**

    `evenhand data describe starter`

    `evenhand data describe stereoset --targets`
    """
    from evenhand.data import describe

    description = describe(_load(dataset, language))
    counts = description.counts("language", "task", "bias_type")
    totals = description.counts("language", "task")
    terms = description.targets()
    if json:
        print_json(
            {
                "name": description.name,
                "licence": description.licence,
                "totals": totals.to_dicts(),
                "counts": counts.to_dicts(),
                "targets": terms.to_dicts(),
            }
        )
        return
    target = console()
    table = plain_table(
        "language", "task", "bias type", "items", "target terms", right=("items", "target terms")
    )
    for total in totals.iter_rows(named=True):
        table.add_row(
            total["language"],
            total["task"],
            "all",
            f"{total['items']:,}",
            f"{total['target_terms']:,}",
            style="bold",
        )
        for row in counts.iter_rows(named=True):
            if (row["language"], row["task"]) == (total["language"], total["task"]):
                table.add_row("", "", row["bias_type"], f"{row['items']:,}", f"{row['target_terms']:,}")
    target.print(
        f"{description.name}   licence: {description.licence or 'not stated in the file'}", style="bold"
    )
    print_table(table)
    if targets:
        columns = ("target term", "bias type", "language", "intra", "inter", "forms")
        table = plain_table(*columns, right=("intra", "inter"))
        for row in terms.iter_rows(named=True):
            table.add_row(
                row["target_term"], row["bias_type"], row["language"], str(row["intrasentence"]),
                str(row["intersentence"]), ", ".join(row["forms"]),
            )  # fmt: skip
        print_table(table)


@data_app.command("check")
def check_command(
    dataset: Dataset,
    language: Language = None,
    source: Annotated[
        str | None,
        typer.Option(help="The benchmark that it was translated from: adds the checks of translations."),
    ] = None,
    back_translator: Annotated[
        str | None,
        typer.Option(
            help="With --source: translate contexts back with this translator, such as apertium, and compare."
        ),
    ] = None,
    yes: Yes = False,
    json: Json = False,
) -> None:
    """Look for every class of defects that is known, and count what is found.

    Defects marked with a star can move a score for reasons other than stereotype; evaluations report their
    figures without those items too, except for the checks of translations. `--json` lists all ids.

    **Examples**

    `evenhand data check starter --language de`

    `evenhand data check translations/tr.json --source stereoset --json`
    """
    from evenhand.cli.output import keeps_words_whole
    from evenhand.data import check

    reports = [check(benchmark) for benchmark in _load(dataset, language)]
    if source is not None:
        reports = [_with_translation_checks(report, source, back_translator, yes=yes) for report in reports]
    elif back_translator is not None:
        raise EvenhandError("--back-translator needs --source, the benchmark that was translated.")
    if json:
        print_json({"datasets": [_report_json(report) for report in reports]})
        return
    target = console()
    for report in reports:
        benchmark = report.benchmark
        target.print(f"{benchmark.name} ({benchmark.language}), {len(benchmark):,} items", style="bold")
        table = _findings_table(report, "first ids")
        if not keeps_words_whole(table, target):
            table = _findings_table(report)
        print_table(table)
        target.print(f"{len(report.flagged_items()):,} items have a defect that can move a score (*).")
        for name in report.unchecked:
            warn(f"{name} was not checked: the word lists do not know the language {benchmark.language!r}.")
    say("All ids: the same command with --json.")


def _with_translation_checks(
    report: CheckReport, source: str, back_translator: str | None, *, yes: bool
) -> CheckReport:
    from dataclasses import replace

    from evenhand.data import load_dataset
    from evenhand.translation.checks import check_back_translation, check_translation
    from evenhand.workflows.translate import plan_translation

    benchmark, original = report.benchmark, load_dataset(source)
    findings = check_translation(benchmark, original)
    if back_translator is not None:
        plan = plan_translation(benchmark, to=original.language, translator=back_translator)
        if is_agreed_to(plan.estimate(item.context for item in benchmark), yes=yes):
            with TerminalMonitor().stage("Translating back", "texts") as progress:
                findings += check_back_translation(
                    benchmark, original, plan.translator, plan.cache, progress=progress
                )
    return replace(report, findings=(*report.findings, *findings))


def _findings_table(report: CheckReport, *ids: str) -> Table:
    """One row per defect and task, with a column of ids where there is room for whole ones."""
    table = plain_table("defect", "task", "count", "what", *ids, right=("count",))
    for finding in report.findings:
        defect = finding.defect
        row = (
            defect.name + (" *" if defect.flagged else ""),
            finding.task.value,
            f"{finding.count:,} {defect.unit.value}",
            defect.description,
            _first_ids(finding.ids),
        )
        table.add_row(*row[: len(table.columns)], style=None if finding.count else "dim")
    return table


def _first_ids(ids: Sequence[str]) -> str:
    """The first id, and the second where both are short."""
    two = " ".join(ids[:2])
    return two if len(two) <= _MOST_OF_IDS else ids[0]


def _load(dataset: str, language: str | None) -> list[Benchmark]:
    from evenhand.data import languages_of, load_dataset

    languages = languages_of(dataset) if language is None else (language,)
    return [load_dataset(dataset, language=chosen) for chosen in languages]


def _report_json(report: CheckReport) -> dict[str, object]:
    return {
        "name": report.benchmark.name,
        "language": report.benchmark.language,
        "items": len(report.benchmark),
        "flagged_items": sorted(report.flagged_items()),
        "unchecked": list(report.unchecked),
        "defects": report.to_frame().to_dicts(),
    }
