"""``evenhand data repair``: staged repair of a translated benchmark, counted after each stage."""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from evenhand.cli.options import OUTPUT, Json
from evenhand.cli.output import (
    TerminalMonitor,
    console,
    plain_table,
    print_json,
    print_table,
    say,
)
from evenhand.core.counts import plural
from evenhand.core.errors import EvenhandError, UnknownNameError

if TYPE_CHECKING:
    from evenhand.translation import (
        Changes,
        Document,
        RepairOptions,
        RepairStage,
        StageCount,
        TableDocument,
        TranslationFolder,
    )
    from evenhand.translation.changes import DocumentKind

REPAIR = "Repair"
HISTORY = "Changes so far"


def repair_command(
    translation: Annotated[
        Path,
        typer.Argument(
            help="A folder of `evenhand data translate`, or a file in StereoSet's layout.", show_default=False
        ),
    ],
    terms: Annotated[
        Path | None,
        typer.Option(
            help="Term table: a CSV file with the columns before and after.",
            show_default="the one that comes with the package for the language",
            rich_help_panel=REPAIR,
        ),
    ] = None,
    fixes: Annotated[
        Path | None,
        typer.Option(
            help="Folder with people's tables: CSV files with the column id.", rich_help_panel=REPAIR
        ),
    ] = None,
    stages: Annotated[
        str | None,
        typer.Option(
            help="Stages, separated by commas: terms, closest, people.",
            show_default="terms, closest, and people where there are --fixes",
            rich_help_panel=REPAIR,
        ),
    ] = None,
    language: Annotated[
        str | None,
        typer.Option("--language", "-l", help="Of a file that does not say it.", rich_help_panel=REPAIR),
    ] = None,
    undo: Annotated[
        str | None,
        typer.Option(
            help="Take back changes instead: of an item (its id), of a rule or person, or all.",
            rich_help_panel=HISTORY,
        ),
    ] = None,
    keep_edits: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="Record edits made by hand in the folder's file as changes by this person.",
            rich_help_panel=HISTORY,
        ),
    ] = None,
    discard_edits: Annotated[
        bool,
        typer.Option(
            "--discard-edits", help="Write the folder's file anew from its changes.", rich_help_panel=HISTORY
        ),
    ] = False,
    out: Annotated[
        Path | None,
        typer.Option(
            "--out",
            "-o",
            help="Folder to make from a file. Without it, a file is only counted.",
            rich_help_panel=OUTPUT,
        ),
    ] = None,
    json: Json = False,
) -> None:
    """Repair targets that do not occur in their contexts, in stages, and count what is left after each.

    First blanks are cleaned and terms replaced, then the closest word of the context becomes the target, then people's
    tables are applied. Every change is a row of the folder's changes.csv and can be undone. In a table of pairs,
    structures or prompts, tags are brought back and terms replaced, then people's tables are applied.

    **Examples**

    `evenhand data repair translations/de --terms terms.csv`

    `evenhand data repair de.json --fixes fixes_de --json`

    `evenhand data repair translations/de --undo closest`
    """
    from evenhand.translation import Changes, adopt_file, open_table, open_translation, read_document
    from evenhand.translation.folder import read_source
    from evenhand.translation.workflow import is_table_folder

    if not translation.exists():
        raise EvenhandError(f"There is no file or folder {translation}. Check the path.")
    wanted = _stages(stages, fixes)
    edits = HandEdits(keep_edits, discard_edits)
    if translation.is_dir() and out is not None:
        raise EvenhandError(f"--out is for files; {translation} is a folder and is repaired in its place.")
    if not translation.is_dir() and out is None:
        if undo or keep_edits or discard_edits:
            raise EvenhandError("--undo, --keep-edits and --discard-edits need the folder of a translation.")
        document = read_document(translation, language=language)
        changes = Changes(document)
        counts = _repaired(changes, _options(document, wanted, terms=terms, fixes=fixes))
        _show(counts, changes, first=0, place=None, json=json)
        return
    if out is not None:
        adopt_file(translation, out, language=language)
    place = out or translation
    if is_table_folder(place):
        _refuse_closest(stages)
        with open_table(place) as table:
            options = _options(table.changes.document, wanted, terms=terms, fixes=fixes)
            _repair_table(table, edits, options=options, undo=undo, json=json)
        return
    with open_translation(place) as folder:
        edits.settle(folder)
        first = len(folder.changes.rows)
        if undo:
            say(_undone(folder.changes.undo(undo)))
            counts = _repaired(folder.changes, _options(folder.changes.document, (), terms=None, fixes=None))
        else:
            options = _options(folder.changes.document, wanted, terms=terms, fixes=fixes)
            source = read_source(folder.path, folder.record)
            sources = {item.id: item for item in source} if source else {}
            counts = _repaired(folder.changes, replace(options, sources=sources))
        folder.save()
        _show(counts, folder.changes, first=first, place=folder.path, json=json)


@dataclass(frozen=True, slots=True)
class HandEdits:
    """What happens to a file of a folder that was edited by hand."""

    kept_by: str | None
    are_discarded: bool

    def settle(self, folder: TranslationFolder[DocumentKind]) -> None:
        """Keep the edits or throw them away, as the user says; refuse them otherwise."""
        if self.kept_by:
            kept = folder.keep_edits(self.kept_by)
            say(
                f"{plural(kept, f'change by {self.kept_by} was', f'changes by {self.kept_by} were')} recorded."
            )
        elif self.are_discarded:
            folder.save()
        folder.refuse_edits()


def _undone(number: int) -> str:
    return f"{plural(number, 'change was', 'changes were')} undone."


def _refuse_closest(stages: str | None) -> None:
    if "closest" in (stages or ""):
        raise EvenhandError("A table has no targets to look for: its stages are terms and people.")


def _repair_table(
    folder: TranslationFolder[TableDocument],
    edits: HandEdits,
    *,
    options: RepairOptions,
    undo: str | None,
    json: bool,
) -> None:
    from evenhand.translation import repair_table

    edits.settle(folder)
    first = len(folder.changes.rows)
    if undo:
        say(_undone(folder.changes.undo(undo)))
        options = replace(options, stages=())
    with TerminalMonitor().stage("Repairing", "stages") as progress:
        counts = repair_table(folder.changes, folder.source(), options, progress=progress)
    folder.save()
    if json:
        print_json({"stages": [asdict(count) for count in counts]})
        return
    console().print("Rows with problems", style="bold")
    table = plain_table("after", "lost tags", "equal texts", right=("lost tags", "equal texts"))
    for count in counts:
        table.add_row(count.name, f"{count.lost_tags:,}", f"{count.equal_texts:,}")
    print_table(table)
    _show_makers(folder.changes, first)
    _say_next(folder.path)


def _stages(text: str | None, fixes: Path | None) -> tuple[RepairStage, ...]:
    from evenhand.translation import RepairStage

    if text is None:
        return tuple(stage for stage in RepairStage if stage is not RepairStage.PEOPLE or fixes)
    known = {stage.value: stage for stage in RepairStage}
    names = [name.strip() for name in text.split(",") if name.strip()]
    for name in names:
        if name not in known:
            raise UnknownNameError("stage", name, known)
    if (RepairStage.PEOPLE in names) != (fixes is not None):
        raise EvenhandError(
            "The stage people and --fixes, the folder with people's tables, go together: give both."
        )
    return tuple(known[name] for name in names)


def _options(
    document: Document | TableDocument,
    stages: tuple[RepairStage, ...],
    *,
    terms: Path | None,
    fixes: Path | None,
) -> RepairOptions:
    from evenhand.translation import (
        RepairOptions,
        bundled_term_table,
        read_people_tables,
        read_term_table,
    )

    return RepairOptions(
        stages=stages,
        terms=read_term_table(terms) if terms else bundled_term_table(document.language),
        people=read_people_tables(fixes, document) if fixes else (),
    )


def _repaired(changes: Changes[Document], options: RepairOptions) -> list[StageCount]:
    from evenhand.translation import repair

    with TerminalMonitor().stage("Repairing", "stages") as progress:
        return repair(changes, options, progress=progress)


def _show(
    counts: list[StageCount], changes: Changes[Document], *, first: int, place: Path | None, json: bool
) -> None:
    if json:
        print_json({"stages": [asdict(count) for count in counts]})
        return
    console().print("Targets that do not occur in their contexts", style="bold")
    table = plain_table("after", "intrasentence", "intersentence", right=("intrasentence", "intersentence"))
    for count in counts:
        table.add_row(count.name, f"{count.intrasentence:,}", f"{count.intersentence:,}")
    print_table(table)
    _show_makers(changes, first)
    _show_doubtful(changes)
    if place is None:
        say("Nothing was written. To keep the repair with all its changes, name a folder: --out FOLDER.")
    else:
        _say_next(place)


def _say_next(place: Path) -> None:
    """Where the repaired file is, and what people do with it."""
    say(f"Changes and repaired file: {place}")
    say(f"Next: evenhand data review {place} --reviewer NAME --reviewer NAME --arbiter NAME")


def _show_doubtful(changes: Changes[Document]) -> None:
    """How many targets a rule guessed that people should look at."""
    from evenhand.translation.documents import DOUBTFUL_TARGET

    doubtful = sum(bool(item[DOUBTFUL_TARGET]) for item in changes.document)
    if doubtful:
        say(
            f"{plural(doubtful, 'target that was guessed is', 'targets that were guessed are')} doubtful: too unlike "
            "the translated one, or a short or common word. Checks flag them as target-guessed, and a review shows "
            "them first."
        )


def _show_makers(changes: Changes[DocumentKind], first: int) -> None:
    """Who made the changes since a row, and how many items are beyond repair."""
    from evenhand.translation.changes import texts_by_maker

    makers = texts_by_maker(changes.rows[first:])
    if makers:
        table = plain_table("changed by", "texts", right=("texts",))
        for maker, number in makers:
            table.add_row(maker, f"{number:,}")
        print_table(table)
    marked = sum(item.is_beyond_repair for item in changes.document)
    if marked:
        says = plural(marked, "item is", "items are")
        say(f"{says} marked as beyond repair. Marked items stay in the file and are not counted.")
