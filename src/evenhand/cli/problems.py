"""``evenhand data problems``: how many items about each target term have which defect, as a table for a paper."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from evenhand.cli.options import OUTPUT, Encoding, Format, Json, Source, TableChoice, refuse_two_formats
from evenhand.cli.output import TerminalMonitor, plain_table, print_json, print_table, say

if TYPE_CHECKING:
    from evenhand.data.inspection import TermDefects

COLUMNS = ("language", "target term", "forms", "bias type", "items", "with a defect")
_TEXT_COLUMNS = 4


def problems_command(
    dataset: Annotated[str, typer.Argument(help="A dataset's name, a file or folder in a known layout.")],
    language: Annotated[
        str | None, typer.Option("--language", "-l", help="One language; all of the dataset's if not given.")
    ] = None,
    source: Source = None,
    most: Annotated[
        int | None,
        typer.Option(
            min=1, help="Target terms of each language to list.", show_default="all", rich_help_panel=OUTPUT
        ),
    ] = None,
    encoding: Encoding = None,
    form: Format = TableChoice.TABLE,
    json: Json = False,
) -> None:
    """Count the items about each target term that have a defect; terms with the most come first.

    The defects are those of `evenhand data check`. A column has the number of items with that defect; an item may have
    several. In a translation, items are grouped by the term of the original; `forms` shows how they name it.

    **Examples**

    `evenhand data problems stereoset --language en --most 20`

    `evenhand data problems translations/fr --format latex > problems.tex`
    """
    from evenhand.data import check, languages_of, load_dataset
    from evenhand.translation.workflow import source_of_data

    refuse_two_formats(json=json, form=form)
    languages = languages_of(dataset) if language is None else (language,)
    loaded = [load_dataset(dataset, language=each, encoding=encoding) for each in languages]
    original = source_of_data(dataset, source=source, monitor=TerminalMonitor())
    terms = {each.language: check(each, source=original).by_term()[:most] for each in loaded}
    if json:
        print_json({"languages": {key: [term.as_json() for term in own] for key, own in terms.items()}})
        return
    names = sorted({name for own in terms.values() for term in own for name in term.counts})
    header = (*COLUMNS, *names)
    rows = [_cells(key, term, names) for key, own in terms.items() for term in own]
    if form is not TableChoice.TABLE:
        typer.echo(_written(header, rows, form), nl=False)
        return
    table = plain_table(*header, right=header[_TEXT_COLUMNS:])
    for row in rows:
        table.add_row(*row)
    print_table(table)
    say("What each defect is: evenhand data check. For a paper: --format latex or markdown.")


def _written(header: tuple[str, ...], rows: list[list[str]], form: TableChoice) -> str:
    import polars as pl

    from evenhand.reporting.tables import latex_table, markdown_table

    if form is TableChoice.CSV:
        return pl.DataFrame(rows, schema=list(header), orient="row").write_csv()
    if form is TableChoice.MARKDOWN:
        return markdown_table(header, rows)
    return latex_table(header, rows, text_columns=_TEXT_COLUMNS)


def _cells(language: str, term: TermDefects, names: list[str]) -> list[str]:
    counts = (term.counts.get(name, 0) for name in names)
    return [
        language,
        term.term,
        ", ".join(term.forms),
        term.bias_type,
        f"{term.items:,}",
        f"{term.with_defect:,}",
        *map(str, counts),
    ]
