"""``evenhand data translate`` and ``evenhand data publish``: a benchmark in another language, from first to last."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from functools import reduce
from operator import add
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from evenhand.cli.options import EXECUTION, OUTPUT, AllowPickleWeights, Fresh, Json
from evenhand.cli.output import (
    TerminalMonitor,
    asking_somebody,
    exit_when_interrupted,
    plain_table,
    print_json,
    print_lines,
    print_table,
    say,
)
from evenhand.core.counts import plural
from evenhand.core.errors import EvenhandError

if TYPE_CHECKING:
    from evenhand.core.items import Benchmark
    from evenhand.translation.folder import TranslationRecord
    from evenhand.translation.table_files import TextTable
    from evenhand.translation.workflow import TranslationEstimate, TranslationPlan


Yes = Annotated[
    bool,
    typer.Option(
        "--yes", "-y", help="Spend money on a translator without asking.", rich_help_panel=EXECUTION
    ),
]


def translate_command(
    benchmark: Annotated[
        str,
        typer.Argument(
            help="A dataset's name, a file in StereoSet's layout, a table of pairs, structures or prompts, or the "
            "package's own: probes, regard-prompts.",
            show_default=False,
        ),
    ],
    to: Annotated[str, typer.Option("--to", help="The new language, as a tag: fr.", show_default=False)],
    out: Annotated[
        Path, typer.Option("--out", "-o", help="Folder for the translation.", rich_help_panel=OUTPUT)
    ],
    translator: Annotated[
        str, typer.Option(help="Who translates: $translators; with MODEL, NAME or CSV after a colon.")
    ] = "apertium",
    language: Annotated[
        str | None,
        typer.Option("--language", "-l", help="Of the benchmark, where it has several or does not say it."),
    ] = None,
    columns: Annotated[
        str | None,
        typer.Option(
            help="Columns of a table that hold texts, separated by commas.",
            show_default="sent_more, sent_less, structure, text, prompt, sentence",
        ),
    ] = None,
    fill: Annotated[
        Path | None,
        typer.Option(
            metavar="CSV",
            help="Translations that people made, with the columns source and target; they go before the translator's.",
            show_default=False,
        ),
    ] = None,
    allow_pickle_weights: AllowPickleWeights = False,
    estimate: Annotated[
        bool,
        typer.Option(
            "--estimate",
            help="Print characters, price and time, and ask before anything is translated.",
            rich_help_panel=EXECUTION,
        ),
    ] = False,
    price: Annotated[
        float | None,
        typer.Option(
            metavar="DOLLARS",
            help="What a million characters cost, in US dollars, for the estimate.",
            show_default="by a dated table of list prices",
            rich_help_panel=EXECUTION,
        ),
    ] = None,
    yes: Yes = False,
    fresh: Fresh = False,
    json: Json = False,
) -> None:
    """Translate a benchmark: contexts with their blanks, targets, and candidates; or a table of texts with their tags.

    Answers are kept: what was translated once is never asked or paid for again, and a run that was stopped goes on.
    Texts that the translator refuses stay as they are and are listed in untranslated.csv: fill in their translations,
    and give the file with `--fill`. Afterwards, check and repair the translation.

    **Examples**

    `evenhand data translate starter --to es --translator apertium --out translations/es`

    `evenhand data translate stereoset --to fr --translator amazon --estimate --out translations/fr`

    `evenhand data translate starter --to fr --translator marian:google-t5/t5-small --out translations/fr`

    `evenhand data translate structures.csv --language en --to es --out translations/structures-es`

    `evenhand data translate probes --to es --out translations/probes-es`
    """
    from evenhand.data.language_names import LANGUAGE_TAG
    from evenhand.translation.translators import TranslatorOptions
    from evenhand.translation.workflow import plan_translation, translate

    if not LANGUAGE_TAG.fullmatch(to):
        raise EvenhandError(f"--to {to!r} is not a tag of a language, such as fr or pt-BR.")
    monitor = TerminalMonitor()
    sources = _sources(benchmark, language, columns)
    plan = plan_translation(
        sources[0],
        to=to,
        translator=translator,
        price=price,
        fill=fill,
        options=TranslatorOptions(allow_pickle_weights=allow_pickle_weights),
    )
    cost = _total(plan, sources)
    if json and estimate:
        print_json(_estimate_json(cost))
        return
    is_agreed = is_agreed_to(cost, yes=yes, estimate=estimate)
    if is_agreed:
        plan = plan.prepared(monitor)
        after = _total(plan, sources)
        # Answers that were kept may belong to other settings than the service takes.
        is_agreed = after.characters <= cost.characters or is_agreed_to(after, yes=yes)
    if not is_agreed:
        say("Nothing was translated.")
        return
    with exit_when_interrupted():
        records = {
            source.name: translate(
                plan.of(source), out / source.name if len(sources) > 1 else out, fresh=fresh, monitor=monitor
            )
            for source in sources
        }
    if len(records) > 1:
        _show_set(benchmark, records, out, json=json)
        return
    _show(next(iter(records.values())), out, json=json)


def _total(plan: TranslationPlan, sources: Sequence[Benchmark | TextTable]) -> TranslationEstimate:
    return reduce(add, [plan.of(source).estimate() for source in sources])


def _sources(data: str, language: str | None, columns: str | None) -> Sequence[Benchmark | TextTable]:
    """What is translated: a benchmark, a table, or the tables of a set."""
    from evenhand.core.errors import UnknownNameError
    from evenhand.data import named_datasets
    from evenhand.translation.table_sets import TABLE_SETS, table_set

    if data in TABLE_SETS:
        if columns:
            raise EvenhandError(f"The columns of {data} are known. Leave --columns away.")
        return table_set(data, language)
    path = Path(data)
    if data not in named_datasets() and not path.exists() and not path.suffix and path.name == data:
        raise UnknownNameError("benchmark", data, (*named_datasets(), *TABLE_SETS))
    return [_source(data, language, columns)]


def _source(data: str, language: str | None, columns: str | None) -> Benchmark | TextTable:
    """A benchmark, or a table of texts."""
    from evenhand.data import load_dataset, named_datasets
    from evenhand.data.language_names import language_named_by
    from evenhand.translation.table_files import is_text_table, read_text_table

    named = named_datasets().get(data)
    path = named.file(language) if named else Path(data)
    if not is_text_table(path):
        if columns:
            raise EvenhandError("--columns is for tables: CSV and TSV files.")
        return load_dataset(data, language=language)
    known = named.language_for(language) if named else language or language_named_by(path)
    if known is None:
        raise EvenhandError(f"{path} does not say its language. Give it with --language.")
    chosen = [column.strip() for column in (columns or "").split(",") if column.strip()]
    return read_text_table(path, language=known, columns=chosen, licence=named.licence if named else None)


def _described(cost: TranslationEstimate) -> str:
    price = _dollars(cost.price)
    time = "unknown" if cost.seconds is None else f"about {_duration(cost.seconds)}"
    more = ""
    if cost.more_characters:
        more_price = f" ({_dollars(cost.more_price)})" if cost.price else ""
        more = f" If blanks do not survive, at most {cost.more_characters:,} characters{more_price} more."
    return (
        f"{plural(cost.texts, 'text')} with {plural(cost.characters, 'character')} to translate. Price: {price} "
        f"({cost.price_basis}). Time: {time}.{more}"
    )


def _dollars(price: float | None) -> str:
    return "unknown" if price is None else f"{price:,.2f} US dollars"


def _duration(seconds: float) -> str:
    return plural(round(seconds), "second") if seconds < 120 else plural(round(seconds / 60), "minute")


def is_agreed_to(cost: TranslationEstimate, *, yes: bool, estimate: bool = False) -> bool:
    """Whether texts may be translated: at once if that costs nothing, otherwise after the user agrees.

    Args:
        cost: What it takes; printed before the question.
        yes: The user agreed beforehand.
        estimate: Ask in any case. Where nobody can be asked, the estimate is all that was wanted.

    Raises:
        EvenhandError: If it may cost money and nobody can be asked.
    """
    if not (estimate or cost.costs):
        return True
    if estimate:
        print_lines([_described(cost)])
    else:
        say(_described(cost))
    if yes:
        return True
    if sys.stdin.isatty():
        with asking_somebody():
            return typer.confirm("Translate now?", default=False, err=True)
    if estimate:
        return False
    raise EvenhandError(
        "This may cost money, and nobody can be asked. Give --yes to agree, or --estimate to look."
    )


def _estimate_json(cost: TranslationEstimate) -> dict[str, object]:
    return {
        "texts": cost.texts,
        "characters": cost.characters,
        "price_usd": cost.price,
        "seconds": cost.seconds,
        "price_basis": cost.price_basis,
        "more_characters": cost.more_characters,
        "more_price_usd": cost.more_price,
    }


def _show(record: TranslationRecord, out: Path, *, json: bool) -> None:
    if record.is_table:
        _show_table(record, out, json=json)
        return
    from evenhand.core.items import BLANK, Task
    from evenhand.translation import read_document

    document = read_document(out / f"{record.language}.json")
    blanks = sum(item.context.count(BLANK) != 1 for item in document.of_task(Task.INTRASENTENCE))
    missing = {task.value: document.missing_targets(task) for task in Task}
    if json:
        print_json(
            {
                "folder": str(out),
                "language": record.language,
                "items": len(document),
                "contexts_without_one_blank": blanks,
                "missing_targets": missing,
            }
        )
        return
    print_lines(
        [
            f"{len(document):,} items in {record.language}: {out / f'{record.language}.json'}",
            f"Contexts without exactly one blank: {blanks:,}. Targets that do not occur in their contexts: "
            f"{missing['intrasentence']:,} intra-sentence, {missing['intersentence']:,} inter-sentence.",
        ]
    )
    say(f"Next: evenhand data repair {out}")


def _show_set(name: str, records: Mapping[str, TranslationRecord], out: Path, *, json: bool) -> None:
    files = {table: out / table / f"{record.language}{record.suffix}" for table, record in records.items()}
    language = next(iter(records.values())).language
    if json:
        print_json(
            {
                "folder": str(out),
                "language": language,
                "files": {table: str(path) for table, path in files.items()},
            }
        )
        return
    print_lines([f"{table}: {path}" for table, path in files.items()])
    command = {"probes": "probe MODEL", "regard-prompts": "regard audit MODEL --classifier CLASSIFIER"}[name]
    options = " ".join(f"--{table} {path}" for table, path in files.items())
    say(f"Next: evenhand data repair {out / next(iter(records))}, and so on for each folder.")
    say(f"Then: evenhand {command} --language {language} {options}")


def _show_table(record: TranslationRecord, out: Path, *, json: bool) -> None:
    path = out / f"{record.language}{record.suffix}"
    if json:
        print_json({"folder": str(out), "language": record.language, "file": str(path)})
        return
    print_lines([f"Translated table: {path}"])
    say(f"Next: evenhand data repair {out}")


def show_table_problems(folder: Path, *, json: bool) -> None:
    """What is wrong with the rows of a translated table, beside its source."""
    from evenhand.translation import open_table
    from evenhand.translation.table_documents import table_problems

    with open_table(folder) as table:
        document = table.changes.document
        problems = table_problems(document, table.source())
    names = dict.fromkeys(name for own in problems.values() for name in own)
    found = {name: [row for row, own in problems.items() if name in own] for name in names}
    if json:
        defects = [{"defect": name, "count": len(rows), "ids": rows} for name, rows in found.items()]
        entry = {
            "name": folder.name,
            "language": document.language,
            "rows": len(document),
            "defects": defects,
        }
        print_json({"datasets": [entry]})
        return
    print_lines([f"{folder.name} ({document.language}), {len(document):,} rows"])
    shown = plain_table("problem", "rows", "first rows", right=("rows",))
    for name, rows in found.items():
        shown.add_row(name, f"{len(rows):,}", " ".join(rows[:3]))
    if found:
        print_table(shown)
    says = plural(len(problems), "row has", "rows have")
    say(f"{says} a problem that the source shows. Next: evenhand data repair {folder}")


def publish_command(
    folder: Annotated[Path, typer.Argument(help="The folder of a translation.", show_default=False)],
    out: Annotated[
        Path,
        typer.Option(
            "--out", "-o", help="The file to write, such as fr.json or fr.csv.", rich_help_panel=OUTPUT
        ),
    ],
    licence: Annotated[
        str | None,
        typer.Option(
            help="Licence of the translation.", show_default="the one of the source", rich_help_panel=OUTPUT
        ),
    ] = None,
    json: Json = False,
) -> None:
    """Publish a translation: the file, a data statement, the licence, all changes and the review.

    Beside `fr.json` lie `fr.md`, the data statement; `fr.changes.csv`, one row per change; and `fr.review.csv`, one row
    per verdict, if a review was collected.

    **Example**

    `evenhand data publish translations/fr --out fr.json`
    """
    from evenhand.translation import open_table, open_translation
    from evenhand.translation.publishing import publish
    from evenhand.translation.workflow import is_table_folder, source_of_data

    if is_table_folder(folder):
        with open_table(folder) as table:
            written = publish(table, out, licence=licence)
    else:
        source = source_of_data(folder, source=None, monitor=TerminalMonitor())
        with open_translation(folder) as translation:
            written = publish(translation, out, licence=licence, source=source)
    if json:
        print_json({"files": [str(path) for path in written]})
        return
    print_lines([str(path) for path in written])
