"""``evenhand survey``: surveys of a server's database, and the files they give."""

from __future__ import annotations

from datetime import date, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from evenhand.cli.options import DATA, OUTPUT
from evenhand.cli.output import say
from evenhand.cli.serve import DEFAULT_DATABASE, DatabaseAddress
from evenhand.core.errors import UnknownNameError, require_extra

if TYPE_CHECKING:
    from evenhand.web.database import Database
    from evenhand.web.survey.surveys import SurveyState

survey_app = typer.Typer(
    no_args_is_help=True,
    rich_markup_mode="markdown",
    help="Surveys that collect sentences about people.",
)

SurveyName = Annotated[str, typer.Argument(help="The name of the survey.")]
Definition = Annotated[str, typer.Argument(help="regard-de, regard-en, or a YAML file like them.")]
StateName = Annotated[str, typer.Option(help="pilot, open or closed.", rich_help_panel=DATA)]


@survey_app.command("new")
def new_command(
    name: SurveyName,
    definition: Definition,
    keep_until: Annotated[
        datetime,
        typer.Option(
            formats=["%Y-%m-%d"], help="The last day on which answers are kept.", rich_help_panel=DATA
        ),
    ],
    pictures: Annotated[
        Path | None,
        typer.Option(
            help="Folder of pictures to show beside prompts, with a LICENSE.txt.", rich_help_panel=DATA
        ),
    ] = None,
    state: StateName = "pilot",
    seed: Annotated[
        int,
        typer.Option(
            help="Decides orders, and conditions where they are level.",
            min=0,
            max=2**31 - 1,
            rich_help_panel=DATA,
        ),
    ] = 0,
    db: DatabaseAddress = DEFAULT_DATABASE,
) -> None:
    """Make a survey in a server's database. It starts as a pilot, whose answers stay out of exports.

    **Examples**

    `evenhand survey new sentences regard-de --keep-until 2030-12-31`

    `evenhand survey show regard-de > mine.yaml` gives a file to change.
    """
    require_extra("web", purpose="evenhand survey new")
    from evenhand.web.accounts import public_url
    from evenhand.web.survey.definition import load_survey
    from evenhand.web.survey.surveys import SurveyOptions, create_survey, read_pictures

    database = _open(db)
    options = SurveyOptions(
        name=name,
        keep_until=keep_until.date(),
        state=_state(state),
        seed=seed,
        pictures=read_pictures(pictures) if pictures else (),
    )
    create_survey(database, load_survey(definition), options)
    with database.read() as session:
        say(f"{name} ({state}): {public_url(session)}/s/{name} Database: {database.shown}")


@survey_app.command("show")
def show_command(definition: Definition) -> None:
    """Print the file of a survey that comes with the package, to copy and change.

    **Example**

    `evenhand survey show regard-de > mine.yaml`
    """
    require_extra("web", purpose="evenhand survey show")
    from evenhand.web.survey.definition import survey_source

    typer.echo(survey_source(definition), nl=False)


@survey_app.command("revise")
def revise_command(name: SurveyName, definition: Definition, db: DatabaseAddress = DEFAULT_DATABASE) -> None:
    """Let people who start from now on see another version. A changed consent needs another version of its own.

    **Example**

    `evenhand survey revise sentences mine.yaml`
    """
    require_extra("web", purpose="evenhand survey revise")
    from evenhand.web.survey.definition import load_survey
    from evenhand.web.survey.surveys import revise_survey

    say(f"{name} is at version {revise_survey(_open(db), name, load_survey(definition))}.")


@survey_app.command("state")
def state_command(
    name: SurveyName,
    state: Annotated[str, typer.Argument(help="pilot, open or closed.")],
    db: DatabaseAddress = DEFAULT_DATABASE,
) -> None:
    """Open or close a survey, or make it a pilot.

    **Example**

    `evenhand survey state sentences open`
    """
    require_extra("web", purpose="evenhand survey state")
    from evenhand.web.survey.surveys import survey_named

    chosen = _state(state)
    with _open(db).write() as session:
        survey_named(session, name).state = chosen.value
    say(f"{name} is {state}.")


@survey_app.command("links")
def links_command(
    name: SurveyName,
    count: Annotated[int, typer.Option(help="How many.", min=1, max=10_000, rich_help_panel=DATA)] = 1,
    note: Annotated[str, typer.Option(help="For whom; only the lead sees it.", rich_help_panel=DATA)] = "",
    db: DatabaseAddress = DEFAULT_DATABASE,
) -> None:
    """Make personal links, each for one participant, and print one per line. They are shown only now.

    **Example**

    `evenhand survey links sentences --count 30 > links.txt`
    """
    require_extra("web", purpose="evenhand survey links")
    from evenhand.web.accounts import public_url
    from evenhand.web.survey.surveys import invite, survey_named

    with _open(db).write() as session:
        survey = survey_named(session, name)
        links = [public_url(session) + invite(session, survey, note=note).path for _ in range(count)]
    typer.echo("\n".join(links))


@survey_app.command("export")
def export_command(
    name: SurveyName,
    out: Annotated[Path, typer.Option("--out", "-o", help="Folder for the files.", rich_help_panel=OUTPUT)],
    db: DatabaseAddress = DEFAULT_DATABASE,
) -> None:
    """Write the answers as CSV and Parquet, with a codebook and a data statement. Pilot answers stay out.

    **Example**

    `evenhand survey export sentences --out sentences/`
    """
    require_extra("web", purpose="evenhand survey export")
    from evenhand.web.survey.export import export_survey, write_survey

    export = export_survey(_open(db), name)
    files = write_survey(export, out)
    people = export.answers["participant"].n_unique()
    say(f"{export.answers.height:,} answers of {people:,} participants: {', '.join(map(str, files))}")


@survey_app.command("purge")
def purge_command(
    today: Annotated[
        datetime | None,
        typer.Option(formats=["%Y-%m-%d"], help="Another day than this one.", rich_help_panel=DATA),
    ] = None,
    db: DatabaseAddress = DEFAULT_DATABASE,
) -> None:
    """Delete all answers of surveys whose retention date is over. Run it every day, from cron or a timer.

    **Example**

    `evenhand survey purge`
    """
    require_extra("web", purpose="evenhand survey purge")
    from evenhand.web.survey.surveys import purge_expired

    day: date | None = today.date() if today else None
    deleted = purge_expired(_open(db), today=day)
    for name, people in deleted.items():
        say(f"{name}: {people:,} participants and their answers are deleted.")
    if not deleted:
        say("No survey is past its retention date.")


def _open(db: str) -> Database:
    from evenhand.web.database import Database

    return Database(db)


def _state(name: str) -> SurveyState:
    from evenhand.web.survey.surveys import SurveyState

    if name not in set(SurveyState):
        raise UnknownNameError("state", name, [state.value for state in SurveyState])
    return SurveyState(name)
