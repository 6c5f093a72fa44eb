"""``evenhand data``: list, describe and check datasets."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from evenhand.cli.options import Encoding, Json, Source
from evenhand.cli.output import TerminalMonitor, console, plain_table, print_json, print_table, say, warn
from evenhand.cli.plain_data import CHECKED_BY_READING, show_plain_data
from evenhand.cli.sentence_sets import (
    describe_sentences,
    first_ids,
    sentences_json,
    show_defects_of_sentences,
)
from evenhand.core.errors import EvenhandError, how_to_install
from evenhand.translation.translate_commands import Yes, is_agreed_to, show_table_problems

if TYPE_CHECKING:
    from rich.table import Table

    from evenhand.core.items import Benchmark, PairSet
    from evenhand.data import CheckReport
    from evenhand.data.bec_pro import ProfessionSentences
    from evenhand.data.datasets import NamedDataset
    from evenhand.data.pair_inspection import PairCheckReport

data_app = typer.Typer(
    no_args_is_help=True, rich_markup_mode="markdown", help="List, describe and check datasets."
)

Dataset = Annotated[
    str, typer.Argument(help="A dataset's name, a file or folder in a known layout, or a folder of them.")
]
Language = Annotated[
    str | None, typer.Option("--language", "-l", help="One language; all of the dataset's if not given.")
]


@data_app.command("list")
def list_command(json: Json = False) -> None:
    """List the datasets that have a name, with the command that takes each, and the layouts that files are read in.

    **Example**

    `evenhand data list`
    """
    from evenhand.data import DATASET_LAYOUTS, named_datasets

    rows = [_listed(dataset) for dataset in named_datasets().values()]
    layouts: list[dict[str, Any]] = [
        {"name": layout.name, "holds": layout.description, "fields": list(getattr(layout, "fields", ()))}
        for layout in DATASET_LAYOUTS.values()
    ]
    if json:
        print_json({"datasets": rows, "layouts": layouts})
        return
    table = plain_table("name", "what", "languages", "licence", "where")
    for row in rows:
        what = f"{row['title']}; for {row['used_by']}"
        table.add_row(row["name"], what, " ".join(row["languages"]), row["licence"], row["where"])
    print_table(table)
    table = plain_table("layout", "what a file holds", "known by")
    for layout in layouts:
        table.add_row(layout["name"], layout["holds"], ", ".join(layout["fields"]))
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
    encoding: Encoding = None,
    targets: Annotated[bool, typer.Option("--targets", help="List every target term.")] = False,
    json: Json = False,
) -> None:
    """Count items by task, bias type, target term and language; of sentence pairs, by bias type and direction.

    **Examples**

    `evenhand data describe starter`

    `evenhand data describe stereoset --targets`

    `evenhand data describe french.csv --encoding windows-1252`
    """
    from evenhand.data import describe

    if show_plain_data(dataset, json=json):
        return
    loaded = _load(dataset, language, encoding)
    if loaded.pairs:
        _describe_pairs(loaded.pairs, json=json)
        return
    if loaded.sentences:
        describe_sentences(loaded.sentences, json=json)
        return
    description = describe(loaded.benchmarks)
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


def _describe_pairs(sets: Sequence[PairSet], *, json: bool) -> None:
    from evenhand.data.pair_inspection import count_pairs

    counts = count_pairs(sets)
    first = sets[0]
    if json:
        print_json({"name": first.name, "licence": first.licence, "counts": counts.to_dicts()})
        return
    target = console()
    target.print(f"{first.name}   licence: {first.licence or 'not stated in the file'}", style="bold")
    numbers = ("pairs", "complete", "stereo", "antistereo")
    table = plain_table("language", "bias type", *numbers, right=numbers)
    for pairs in sets:
        own = counts.filter(counts["language"] == pairs.language)
        totals = [f"{own[name].sum():,}" for name in numbers]
        table.add_row(pairs.language, "all", *totals, style="bold")
        for row in own.iter_rows(named=True):
            table.add_row("", row["bias_type"], *(f"{row[name]:,}" for name in numbers))
    print_table(table)


@data_app.command("check")
def check_command(
    dataset: Dataset,
    language: Language = None,
    source: Source = None,
    back_translator: Annotated[
        str | None,
        typer.Option(
            help="With --source: translate contexts back with this translator, such as apertium, and compare."
        ),
    ] = None,
    encoding: Encoding = None,
    yes: Yes = False,
    json: Json = False,
) -> None:
    """Look for every class of defects that is known, and count what is found.

    Defects marked with a star can move a score for reasons other than stereotype. Evaluations also report their figures
    without those items; with `--source`, without those that the checks of translations find. `--json` lists all ids.

    **Examples**

    `evenhand data check starter --language de`

    `evenhand data check translations/tr.json --source stereoset --json`
    """
    from evenhand.cli.output import keeps_words_whole
    from evenhand.data import check
    from evenhand.data.pair_inspection import check_pairs
    from evenhand.translation.workflow import is_table_folder, source_of_data

    if is_table_folder(dataset):
        show_table_problems(Path(dataset), json=json)
        return
    if show_plain_data(dataset, note=CHECKED_BY_READING, json=json):
        return
    loaded = _load(dataset, language, encoding)
    original = source_of_data(dataset, source=source, monitor=TerminalMonitor())
    reports = [check(benchmark, source=original) for benchmark in loaded.benchmarks]
    if back_translator is not None and original is not None:
        reports = [_with_back_translation(report, original, back_translator, yes=yes) for report in reports]
    elif back_translator is not None:
        raise EvenhandError("--back-translator needs --source, the benchmark that was translated.")
    pair_reports = [check_pairs(pairs) for pairs in loaded.pairs]
    if json:
        entries = [*map(_report_json, reports), *map(_pair_report_json, pair_reports)]
        print_json({"datasets": [*entries, *map(sentences_json, loaded.sentences)]})
        return
    target = console()
    for sentences in loaded.sentences:
        show_defects_of_sentences(sentences)
    for pair_report in pair_reports:
        _show_pair_report(pair_report)
    for report in reports:
        benchmark = report.benchmark
        target.print(f"{benchmark.name} ({benchmark.language}), {len(benchmark):,} items", style="bold")
        table = _findings_table(report, "first ids")
        if not keeps_words_whole(table, target):
            table = _findings_table(report)
        print_table(table)
        target.print(_flagged_words(len(report.flagged_items()), "item"))
        for name in report.unchecked:
            warn(_unchecked(name, benchmark.language))
    say("All ids: the same command with --json.")


def _unchecked(name: str, language: str) -> str:
    from evenhand.translation.defects import UNTRANSLATED_WORD
    from evenhand.translation.untranslated import has_word_lists

    if name == UNTRANSLATED_WORD and not has_word_lists():
        return f"{name} was not checked: it needs word lists. {how_to_install('translate')}"
    return f"{name} was not checked: there are no word lists for the language {language!r}."


def _with_back_translation(
    report: CheckReport, source: Benchmark, back_translator: str, *, yes: bool
) -> CheckReport:
    from dataclasses import replace

    from evenhand.translation.back_translation import check_back_translation
    from evenhand.translation.workflow import plan_translation

    benchmark = report.benchmark
    plan = plan_translation(benchmark, to=source.language, translator=back_translator)
    if not is_agreed_to(plan.estimate(item.context for item in benchmark), yes=yes):
        return report
    with TerminalMonitor().stage("Translating back", "texts") as progress:
        findings = check_back_translation(benchmark, source, plan.translator, plan.cache, progress=progress)
    return replace(report, findings=(*report.findings, *findings))


def _findings_table(report: CheckReport, *ids: str) -> Table:
    """One row per defect and task, with a column of ids where there is room for whole ones."""
    table = plain_table("defect", "task", "count", "what", *ids, right=("count",))
    for finding in report.findings:
        defect = finding.defect
        row = (
            defect.name + (" *" if defect.flagged else ""),
            finding.task.value,
            defect.counted(finding.count),
            defect.description,
            first_ids(finding.ids),
        )
        table.add_row(*row[: len(table.columns)], style=None if finding.count else "dim")
    return table


def _flagged_words(count: int, noun: str) -> str:
    who = f"1 {noun} has" if count == 1 else f"{count:,} {noun}s have"
    return f"{who} a defect that can move a score (*)."


@dataclass(frozen=True, slots=True)
class LoadedData:
    """The languages of a dataset, of whichever kind it is."""

    benchmarks: list[Benchmark]
    pairs: list[PairSet]
    sentences: list[ProfessionSentences]


def _load(dataset: str, language: str | None, encoding: str | None) -> LoadedData:
    from evenhand.core.items import Benchmark, PairSet
    from evenhand.data import languages_of, load_dataset
    from evenhand.data.bec_pro import ProfessionSentences
    from evenhand.data.layouts import kind_of, passed_over

    found = kind_of(dataset)
    kind: type = next((each for each in (PairSet, ProfessionSentences) if issubclass(found, each)), Benchmark)
    languages = languages_of(dataset, kind=kind) if language is None else (language,)
    if unread := passed_over(dataset, kind=kind):
        warn(unread)
    loaded: list[Any] = [
        load_dataset(dataset, language=chosen, kind=kind, encoding=encoding) for chosen in languages
    ]
    return LoadedData(
        benchmarks=[each for each in loaded if isinstance(each, Benchmark)],
        pairs=[each for each in loaded if isinstance(each, PairSet)],
        sentences=[each for each in loaded if isinstance(each, ProfessionSentences)],
    )


def _show_pair_report(report: PairCheckReport) -> None:
    target = console()
    pairs = report.pairs
    target.print(f"{pairs.name} ({pairs.language}), {len(pairs):,} pairs", style="bold")
    table = plain_table("defect", "count", "what", "first ids", right=("count",))
    for finding in report.findings:
        defect = finding.defect
        table.add_row(
            defect.name + (" *" if defect.flagged else ""),
            f"{len(finding.ids):,}",
            defect.description,
            first_ids(finding.ids) if finding.ids else "",
            style=None if finding.ids else "dim",
        )
    print_table(table)
    target.print(_flagged_words(len(report.flagged_pairs()), "pair"))
    for name in report.unchecked:
        warn(_unchecked(name, pairs.language))


def _pair_report_json(report: PairCheckReport) -> dict[str, object]:
    return {
        "name": report.pairs.name,
        "language": report.pairs.language,
        "pairs": len(report.pairs),
        "flagged_pairs": sorted(report.flagged_pairs()),
        "unchecked": list(report.unchecked),
        "defects": [
            {
                "defect": finding.defect.name,
                "count": len(finding.ids),
                "flagged": finding.defect.flagged,
                "description": finding.defect.description,
                "ids": list(finding.ids),
            }
            for finding in report.findings
        ],
    }


def _report_json(report: CheckReport) -> dict[str, object]:
    return {
        "name": report.benchmark.name,
        "language": report.benchmark.language,
        "items": len(report.benchmark),
        "flagged_items": sorted(report.flagged_items()),
        "unchecked": list(report.unchecked),
        "defects": report.to_frame().to_dicts(),
    }
