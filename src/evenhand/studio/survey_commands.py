"""``evenhand survey``: surveys of a server's database, and the files they give."""

from __future__ import annotations

from datetime import date, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from evenhand.cli.options import DATA, OUTPUT
from evenhand.cli.output import say
from evenhand.core.counts import plural
from evenhand.core.errors import UnknownNameError, require_extra
from evenhand.studio.serve_commands import (
    DEFAULT_DATABASE,
    DatabaseAddress,
    WithoutAsking,
    delete_named,
    open_database,
)

if TYPE_CHECKING:
    from evenhand.studio.survey.surveys import SurveyState

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

    `evenhand survey show regard-de > mine.yaml`, then put your own contacts in.

    `evenhand survey new sentences mine.yaml --keep-until 2030-12-31`
    """
    require_extra("web", purpose="evenhand survey new")
    from evenhand.studio.accounts import public_url
    from evenhand.studio.database import Database
    from evenhand.studio.survey.definition import load_survey
    from evenhand.studio.survey.surveys import SurveyOptions, create_survey, read_pictures

    database = Database(db)
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
    from evenhand.studio.survey.definition import survey_source

    typer.echo(survey_source(definition), nl=False)


@survey_app.command("revise")
def revise_command(name: SurveyName, definition: Definition, db: DatabaseAddress = DEFAULT_DATABASE) -> None:
    """Let people who start from now on see another version. A changed consent needs another version of its own.

    **Example**

    `evenhand survey revise sentences mine.yaml`
    """
    require_extra("web", purpose="evenhand survey revise")
    from evenhand.studio.survey.definition import load_survey
    from evenhand.studio.survey.surveys import revise_survey

    say(f"{name} is at version {revise_survey(open_database(db), name, load_survey(definition))}.")


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
    from evenhand.studio.survey.surveys import change_state, survey_named

    chosen = _state(state)
    with open_database(db).write() as session:
        change_state(session, survey_named(session, name), chosen)
    say(f"{name} is {state}.")


@survey_app.command("links")
def links_command(
    name: SurveyName,
    count: Annotated[int, typer.Option(help="How many.", min=1, max=10_000, rich_help_panel=DATA)] = 1,
    note: Annotated[str, typer.Option(help="For whom; only the lead sees it.", rich_help_panel=DATA)] = "",
    db: DatabaseAddress = DEFAULT_DATABASE,
) -> None:
    """Make personal links, each for one participant, and print one per line. They are shown only now.

    The number before a link is the one under which the page of the survey has it, and `survey revoke` closes it.

    **Example**

    `evenhand survey links sentences --count 30 > links.txt`
    """
    require_extra("web", purpose="evenhand survey links")
    from evenhand.studio.accounts import public_url
    from evenhand.studio.survey.surveys import invite, survey_named

    with open_database(db).write() as session:
        survey = survey_named(session, name)
        made = [invite(session, survey, note=note) for _ in range(count)]
        links = [f"{link.number}\t{public_url(session)}{link.path}" for link in made]
    typer.echo("\n".join(links))


@survey_app.command("revoke")
def revoke_command(
    name: SurveyName,
    link: Annotated[str, typer.Argument(help="A personal link, or its number.")],
    db: DatabaseAddress = DEFAULT_DATABASE,
) -> None:
    """Close a personal link at once. What was written with it stays.

    **Example**

    `evenhand survey revoke sentences 17`
    """
    require_extra("web", purpose="evenhand survey revoke")
    from evenhand.studio.survey.surveys import close_invitation, invitation_of, survey_named

    with open_database(db).write() as session:
        invitation = invitation_of(session, survey_named(session, name), link)
        close_invitation(invitation)
    say(f"The link {invitation.id} of {name} is closed.")


@survey_app.command("delete")
def delete_command(
    name: SurveyName,
    yes: WithoutAsking = False,
    db: DatabaseAddress = DEFAULT_DATABASE,
) -> None:
    """Delete a survey with its participants and answers, links and pictures. Backups keep what they have.

    **Example**

    `evenhand survey delete sentences`
    """
    require_extra("web", purpose="evenhand survey delete")
    from evenhand.studio.survey.surveys import delete_survey, survey_named

    what = f"the survey {name} with all its answers"
    people = delete_named(db, name, what=what, find=survey_named, delete=delete_survey, yes=yes)
    say(f"{name} is deleted, with {plural(people, 'participant')}.")


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
    from evenhand.studio.survey.export import export_survey, write_survey

    export = export_survey(open_database(db), name)
    files = write_survey(export, out)
    people = plural(export.answers["participant"].n_unique(), "participant")
    say(f"{plural(export.answers.height, 'answer')} of {people}: {', '.join(map(str, files))}")


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
    from evenhand.studio.survey.surveys import purge_expired

    day: date | None = today.date() if today else None
    deleted = purge_expired(open_database(db), today=day)
    for name, people in deleted.items():
        say(f"{name}: {plural(people, 'participant')} and all answers are deleted.")
    if not deleted:
        say("No survey is past its retention date.")


def _state(name: str) -> SurveyState:
    from evenhand.studio.survey.surveys import SurveyState

    if name not in set(SurveyState):
        raise UnknownNameError("state", name, [state.value for state in SurveyState])
    return SurveyState(name)
