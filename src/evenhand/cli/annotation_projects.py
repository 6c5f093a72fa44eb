"""``evenhand annotate new`` and what else belongs to the projects of a server's database."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from evenhand.cli.options import DATA, OUTPUT
from evenhand.cli.output import plain_table, print_table, say
from evenhand.cli.serve import DEFAULT_DATABASE, DatabaseAddress
from evenhand.core.errors import EvenhandError, require_extra

if TYPE_CHECKING:
    from collections.abc import Sequence

    from evenhand.data.annotations import AnnotationTable
    from evenhand.web.annotation.projects import ProjectRole
    from evenhand.web.database import Database

ProjectName = Annotated[str, typer.Argument(help="The name of the project.")]
PersonName = Annotated[str, typer.Argument(help="The name of somebody, as the lead sees it.")]


def new_command(
    name: ProjectName,
    texts: Annotated[
        Path | None,
        typer.Argument(
            help="CSV with a column text (and id, source, gold, explanation), or one text per line."
        ),
    ] = None,
    title: Annotated[
        str | None, typer.Option(help="What people see; the name if not given.", rich_help_panel=DATA)
    ] = None,
    language: Annotated[
        str, typer.Option("--language", "-l", help="Language of the texts.", rich_help_panel=DATA)
    ] = "en",
    scheme: Annotated[
        str, typer.Option(help="regard, six-categories, or a YAML file.", rich_help_panel=DATA)
    ] = "regard",
    training: Annotated[
        Path | None,
        typer.Option(help="CSV of texts with gold and explanation, shown first.", rich_help_panel=DATA),
    ] = None,
    votes: Annotated[
        list[Path] | None,
        typer.Option(
            help="Annotations that exist, in any layout. Without TEXTS, their texts too. May be repeated.",
            rich_help_panel=DATA,
        ),
    ] = None,
    guideline: Annotated[
        Path | None, typer.Option(help="Text file, instead of the scheme's words.", rich_help_panel=DATA)
    ] = None,
    warning: Annotated[
        str, typer.Option(help="What people are told before the first text.", rich_help_panel=DATA)
    ] = "",
    annotator: Annotated[
        list[str] | None,
        typer.Option(help="Somebody to make a link for. May be repeated.", rich_help_panel=DATA),
    ] = None,
    adjudicator: Annotated[
        list[str] | None, typer.Option(help="Somebody who settles disputes.", rich_help_panel=DATA)
    ] = None,
    overlap: Annotated[int, typer.Option(help="Annotators per text.", min=1, rich_help_panel=DATA)] = 3,
    break_after: Annotated[
        int,
        typer.Option(help="Labels after which a break is suggested; 0: never.", min=0, rich_help_panel=DATA),
    ] = 100,
    seed: Annotated[
        int, typer.Option(help="Decides everybody's order.", min=0, max=2**31 - 1, rich_help_panel=DATA)
    ] = 0,
    db: DatabaseAddress = DEFAULT_DATABASE,
) -> None:
    """Make an annotation project in a server's database, and print personal links.

    A link is printed once and not stored. `evenhand serve` shows the project; it need not be stopped for this.

    **Examples**

    `evenhand annotate new pilot texts.csv --language de --annotator Anna --annotator Ben --overlap 2`

    `evenhand annotate new second --votes project-1-export.json --adjudicator Clara`
    """
    require_extra("web", purpose="evenhand annotate new")
    from evenhand.core.files import decode_utf8, read_bounded
    from evenhand.data.label_schemes import load_scheme
    from evenhand.web.annotation.importing import import_votes, texts_of
    from evenhand.web.annotation.projects import (
        Phase,
        ProjectOptions,
        ProjectRole,
        create_project,
        read_project_texts,
    )

    labels = load_scheme(scheme)
    table = _existing_votes(votes, scheme) if votes else None
    if texts is not None:
        rows = read_project_texts(texts, labels)
    elif table is not None:
        rows = texts_of(table)
    else:
        raise EvenhandError(
            "There are no texts. Give a file of texts, or --votes with annotations that exist."
        )
    if training is not None:
        rows += read_project_texts(training, labels, phase=Phase.TRAINING)
    words = (
        decode_utf8(read_bounded(guideline, error=EvenhandError), guideline, error=EvenhandError)
        if guideline
        else ""
    )
    options = ProjectOptions(
        name=name,
        title=title or name,
        language=language,
        scheme=labels,
        guideline=words,
        warning=warning,
        overlap=overlap,
        break_after=break_after,
        seed=seed,
    )
    database = _open(db)
    create_project(database, options, rows)
    said = f"{name}: {len(rows):,} texts, {overlap} annotators each"
    if table is not None:
        said += f", {import_votes(database, name, table):,} votes"
    say(f"{said}. Database: {database.shown}")
    people = [(person, ProjectRole.ANNOTATOR) for person in annotator or ()]
    people += [(person, ProjectRole.ADJUDICATOR) for person in adjudicator or ()]
    _print_links(database, name, people)


def link_command(
    name: ProjectName,
    person: PersonName,
    adjudicator: Annotated[
        bool, typer.Option("--adjudicator", help="Somebody who settles disputes.", rich_help_panel=DATA)
    ] = False,
    db: DatabaseAddress = DEFAULT_DATABASE,
) -> None:
    """Add somebody to a project, or give somebody a new personal link in the place of the old one.

    **Example**

    `evenhand annotate link pilot Dora`
    """
    require_extra("web", purpose="evenhand annotate link")
    from evenhand.web.annotation.projects import ProjectRole

    role = ProjectRole.ADJUDICATOR if adjudicator else ProjectRole.ANNOTATOR
    _print_links(_open(db), name, [(person, role)])


def revoke_command(name: ProjectName, person: PersonName, db: DatabaseAddress = DEFAULT_DATABASE) -> None:
    """Close somebody's personal link at once. Their votes stay.

    **Example**

    `evenhand annotate revoke pilot Dora`
    """
    require_extra("web", purpose="evenhand annotate revoke")
    from evenhand.web.annotation.projects import person_named, project_named, revoke

    with _open(db).write() as session:
        revoke(session, person_named(session, project_named(session, name), person))
    say(f"The link of {person} is closed.")


def collect_command(
    name: ProjectName,
    out: Annotated[
        Path,
        typer.Option(
            "--out",
            "-o",
            help="File to write, or folder where the layout has one file per annotator.",
            rich_help_panel=OUTPUT,
        ),
    ],
    to: Annotated[
        str, typer.Option(help="The layout to write: $annotations.", rich_help_panel=OUTPUT)
    ] = "long",
    db: DatabaseAddress = DEFAULT_DATABASE,
) -> None:
    """Write the votes and decisions of a project to a file, also while people annotate.

    **Example**

    `evenhand annotate collect pilot --out annotations.csv`
    """
    require_extra("web", purpose="evenhand annotate collect")
    from evenhand.data.annotation_files import write_annotations
    from evenhand.web.annotation.projects import project_named
    from evenhand.web.annotation.results import annotation_table

    with _open(db).read() as session:
        table = annotation_table(session, project_named(session, name))
    files = write_annotations(table, out, layout=to)
    say(f"{len(table):,} annotations of {len(table.texts):,} texts: {', '.join(map(str, files))}")


def _existing_votes(files: list[Path], scheme: str) -> AnnotationTable:
    from evenhand.data.annotation_files import read_annotations
    from evenhand.data.label_schemes import load_scheme

    return read_annotations(files, scheme=load_scheme(scheme))


def _open(db: str) -> Database:
    from evenhand.web.database import Database

    return Database(db)


def _print_links(database: Database, name: str, people: Sequence[tuple[str, ProjectRole]]) -> None:
    from evenhand.web.accounts import public_url
    from evenhand.web.annotation.projects import add_person, project_named

    if not people:
        return
    table = plain_table("name", "role", "link")
    with database.write() as session:
        project = project_named(session, name)
        for person, role in people:
            link = add_person(session, project, person, role=role)
            table.add_row(link.name, str(role), public_url(session) + link.path)
    print_table(table)
    say("These links are shown only now. Send each to one person.")
