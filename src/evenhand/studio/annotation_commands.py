"""``evenhand annotate new`` and what else belongs to the projects of a server's database."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from evenhand.cli.annotate import UnsureColumn, write_new_annotations
from evenhand.cli.options import DATA, OUTPUT, LabelColumn, Replace, TextColumn
from evenhand.cli.output import plain_table, print_table, say, warn
from evenhand.core.counts import plural
from evenhand.core.errors import EvenhandError, require_extra
from evenhand.studio.serve_commands import (
    DEFAULT_DATABASE,
    DatabaseAddress,
    WithoutAsking,
    delete_named,
    open_database,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sqlalchemy.orm import Session

    from evenhand.studio.annotation.projects import ProjectRole
    from evenhand.studio.tables import ProjectRow

DEFAULT_OVERLAP = 3

ProjectName = Annotated[str, typer.Argument(help="The name of the project.")]
PersonName = Annotated[str, typer.Argument(help="The name of somebody, as the lead sees it.")]


def new_command(
    name: ProjectName,
    texts: Annotated[
        Path | None,
        typer.Argument(
            help="CSV with a column text (and id, source, gold, explanation), or .txt with one text per line."
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
    label: LabelColumn = "label",
    unsure: UnsureColumn = None,
    text: TextColumn = "text",
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
    overlap: Annotated[
        int | None,
        typer.Option(
            help="Annotators per text; 3 if not given, and with --votes as many as voted.",
            min=1,
            show_default=False,
            rich_help_panel=DATA,
        ),
    ] = None,
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
    from evenhand.data.annotation_files import AnnotationColumns, read_annotations
    from evenhand.data.label_schemes import load_scheme
    from evenhand.studio.annotation.importing import add_votes, texts_of
    from evenhand.studio.annotation.project_texts import read_project_texts
    from evenhand.studio.annotation.projects import (
        Phase,
        ProjectOptions,
        ProjectRole,
        add_project,
    )
    from evenhand.studio.database import Database

    people = [(person, ProjectRole.ANNOTATOR) for person in annotator or ()]
    people += [(person, ProjectRole.ADJUDICATOR) for person in adjudicator or ()]
    _refuse_people_named_twice([person for person, _ in people])
    labels = load_scheme(scheme)
    columns = AnnotationColumns(text=text, label=label, unsure=unsure)
    table = read_annotations(votes, scheme=labels, columns=columns) if votes else None
    warnings = list(table.warnings) if table else []
    if texts is not None:
        read = read_project_texts(texts, labels, column=text)
        rows = list(read.texts)
        warnings += read.warnings
    elif table is not None:
        rows = texts_of(table)
    else:
        raise EvenhandError(
            "There are no texts. Give a file of texts, or --votes with annotations that exist."
        )
    if training is not None:
        lessons = read_project_texts(training, labels, phase=Phase.TRAINING, column=text)
        rows += lessons.texts
        warnings += lessons.warnings
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
        overlap=overlap or (len(table.annotators) if table else DEFAULT_OVERLAP),
        break_after=break_after,
        seed=seed,
    )
    for told in dict.fromkeys(warnings):
        warn(told)
    database = Database(db)
    with database.write() as session:
        project = add_project(session, options, rows)
        said = f"{name}: {plural(len(rows), 'text')}, {plural(options.overlap, 'annotator')} each"
        if table is not None:
            said += f", {plural(add_votes(session, project, table), 'vote')}"
        links = _made_links(session, project, people)
    say(f"{said}. Database: {database.shown}")
    _print_links(links)


def _refuse_people_named_twice(names: Sequence[str]) -> None:
    plain = [name.strip() for name in names]
    twice = next((name for name in plain if plain.count(name) > 1), None)
    if twice is not None:
        raise EvenhandError(
            f"{twice} is named twice. Give each person once, as annotator or as adjudicator: who labelled a text "
            "cannot settle it."
        )


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
    from evenhand.studio.annotation.projects import ProjectRole, project_named

    role = ProjectRole.ADJUDICATOR if adjudicator else ProjectRole.ANNOTATOR
    with open_database(db).write() as session:
        links = _made_links(session, project_named(session, name), [(person, role)])
    _print_links(links)


def revoke_command(name: ProjectName, person: PersonName, db: DatabaseAddress = DEFAULT_DATABASE) -> None:
    """Close somebody's personal link at once. Their votes stay.

    **Example**

    `evenhand annotate revoke pilot Dora`
    """
    require_extra("web", purpose="evenhand annotate revoke")
    from evenhand.studio.annotation.projects import person_named, project_named, revoke

    with open_database(db).write() as session:
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
    replace: Replace = False,
    db: DatabaseAddress = DEFAULT_DATABASE,
) -> None:
    """Write the votes and decisions of a project to a file, also while people annotate.

    **Example**

    `evenhand annotate collect pilot --out annotations.csv`
    """
    require_extra("web", purpose="evenhand annotate collect")
    from evenhand.studio.annotation.results import collect_annotations

    table = collect_annotations(open_database(db), name)
    files = write_new_annotations(table, out, layout=to, replace=replace)
    votes, texts = plural(len(table), "annotation"), plural(len(table.texts), "text")
    say(f"{votes} of {texts}: {', '.join(map(str, files))}")


def delete_command(
    name: ProjectName,
    yes: WithoutAsking = False,
    db: DatabaseAddress = DEFAULT_DATABASE,
) -> None:
    """Delete a project with its texts, people, votes and decisions. Backups keep what they have.

    **Example**

    `evenhand annotate delete pilot`
    """
    require_extra("web", purpose="evenhand annotate delete")
    from evenhand.studio.annotation.projects import delete_project, project_named

    what = f"the project {name} with all its votes"
    votes = delete_named(db, name, what=what, find=project_named, delete=delete_project, yes=yes)
    say(f"{name} is deleted, with {plural(votes, 'vote')}.")


def _made_links(
    session: Session, project: ProjectRow, people: Sequence[tuple[str, ProjectRole]]
) -> list[tuple[str, str, str]]:
    """The name, role and personal link of everybody."""
    from evenhand.studio.accounts import public_url
    from evenhand.studio.annotation.projects import add_person

    links = [(add_person(session, project, person, role=role), role) for person, role in people]
    return [(link.name, str(role), public_url(session) + link.path) for link, role in links]


def _print_links(links: Sequence[tuple[str, str, str]]) -> None:
    if not links:
        return
    table = plain_table("name", "role", "link")
    for link in links:
        table.add_row(*link)
    print_table(table)
    say("These links are shown only now. Send each to one person.")
