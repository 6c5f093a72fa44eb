"""``evenhand data review``: people read a translation beside its source, and what they settle becomes changes."""

from __future__ import annotations

from math import isnan
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from evenhand.cli.options import SERVER, Json
from evenhand.cli.output import print_json, print_lines, say
from evenhand.cli.serve import DEFAULT_DATABASE, DatabaseAddress, Host, Port, serve_database, server_address
from evenhand.core.errors import EvenhandError, require_extra

if TYPE_CHECKING:
    from evenhand.web.database import Database
    from evenhand.web.review.queue import ReviewFigures

REVIEW = "Review"


def review_command(
    folder: Annotated[Path, typer.Argument(help="The folder of a translation.", show_default=False)],
    reviewer: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME", help="Make a personal link for a reviewer; give two.", rich_help_panel=REVIEW
        ),
    ] = None,
    arbiter: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="Make a personal link for who settles what reviewers differ on.",
            rich_help_panel=REVIEW,
        ),
    ] = None,
    source: Annotated[
        str | None,
        typer.Option(
            help="The benchmark that was translated.",
            show_default="the one in the folder's record",
            rich_help_panel=REVIEW,
        ),
    ] = None,
    collect: Annotated[
        bool,
        typer.Option(
            "--collect",
            help="Make changes of the translation of what is settled so far, instead of serving.",
            rich_help_panel=REVIEW,
        ),
    ] = False,
    show: Annotated[
        bool,
        typer.Option(
            "--show", help="Print progress and agreement, instead of serving.", rich_help_panel=REVIEW
        ),
    ] = False,
    db: DatabaseAddress = DEFAULT_DATABASE,
    host: Host = "127.0.0.1",
    port: Port = 8321,
    url: Annotated[
        str | None,
        typer.Option(help="Where people find the server; links begin with it.", rich_help_panel=SERVER),
    ] = None,
    json: Json = False,
) -> None:
    """Review a translation in the browser: two people decide about every item, a third settles what they differ on.

    Source and translation stand side by side, items with problems first. Keys accept an item, edit it, mark it as
    beyond repair or as culture-specific. `--collect` makes rows of changes.csv of what was settled; it can be
    repeated.

    **Examples**

    `evenhand data review translations/fr --reviewer Ann --reviewer Ben --arbiter Cleo`

    `evenhand data review translations/fr --show`

    `evenhand data review translations/fr --collect`
    """
    require_extra("web", purpose="evenhand data review")
    from evenhand.translation.folder import read_record
    from evenhand.web.database import Database

    if collect and show:
        raise EvenhandError("--collect and --show are two commands. Give one of them.")
    is_table = read_record(folder).is_table
    if is_table and source is not None:
        raise EvenhandError("The folder of a translated table has its source; leave out --source.")
    address = server_address(host, port, url)
    database = Database(db)
    try:
        if collect:
            _print_collected(_collected(database, folder, is_table=is_table), folder, json=json)
        elif show:
            _show(database, folder, json=json)
        else:
            name = _opened(database, folder, source) if not is_table else _opened_table(database, folder)
            links = _links(database, name, reviewer or [], arbiter)
            serve_database(database, host, port, address=address, links=links)
    finally:
        database.close()


def _opened(database: Database, folder: Path, source: str | None) -> str:
    from evenhand.translation import open_translation
    from evenhand.web.review.reviews import open_review
    from evenhand.workflows.translate import source_of_record

    with open_translation(folder) as translation:
        return open_review(database, translation, source_of_record(translation.record, source=source))


def _opened_table(database: Database, folder: Path) -> str:
    from evenhand.translation import open_table
    from evenhand.web.review.reviews import open_table_review

    with open_table(folder) as table:
        return open_table_review(database, table)


def _collected(database: Database, folder: Path, *, is_table: bool) -> int:
    from evenhand.translation import open_table, open_translation
    from evenhand.web.review.reviews import collect_review

    if is_table:
        with open_table(folder) as table:
            return collect_review(database, table)
    with open_translation(folder) as translation:
        return collect_review(database, translation)


def _show(database: Database, folder: Path, *, json: bool) -> None:
    from evenhand.translation.folder import read_record
    from evenhand.web.review.queue import figures_of
    from evenhand.web.review.reviews import name_of_review, review_named

    with database.read() as session:
        review = review_named(session, name_of_review(read_record(folder)))
        _print_figures(figures_of(session, review), json=json)


def _links(database: Database, name: str, reviewers: list[str], arbiter: str | None) -> dict[str, str]:
    """New personal links by who they are for, and the lead's page."""
    from evenhand.translation.reviews import ReviewRole
    from evenhand.web.review.reviews import add_reviewer, review_named

    links = {}
    with database.write() as session:
        review = review_named(session, name)
        for person in reviewers:
            links[f"Reviewer {person}"] = add_reviewer(session, review, person).path
        if arbiter:
            links[f"Arbiter {arbiter}"] = add_reviewer(session, review, arbiter, role=ReviewRole.ARBITER).path
    return {**links, "Lead": f"/reviews/{name}"}


def _print_collected(added: int, folder: Path, *, json: bool) -> None:
    if json:
        print_json({"folder": str(folder), "changes": added})
        return
    print_lines([f"{added:,} changes of reviewers: {folder / 'changes.csv'}"])


def _print_figures(figures: ReviewFigures, *, json: bool) -> None:
    if json:
        print_json(
            {
                "items": figures.items,
                "states": {state.value: count for state, count in figures.states.items()},
                "outcomes": {outcome.value: count for outcome, count in figures.outcomes.items()},
                "decided_by_two": figures.both,
                "same_result": figures.same,
                "kappa": None if isnan(figures.kappa) else figures.kappa,
                "terms": {term.term: [term.settled, term.items] for term in figures.terms},
            }
        )
        return
    states = ", ".join(f"{count:,} {state.value}" for state, count in figures.states.items())
    lines = [f"{figures.items:,} items: {states}."]
    if figures.both:
        kappa = "undefined" if isnan(figures.kappa) else f"{figures.kappa:.2f}"
        lines.append(
            f"Two reviewers decided about {figures.both:,} items and made the same of {figures.same:,} "
            f"({figures.same / figures.both:.0%}); kappa of their verdicts {kappa}."
        )
    print_lines(lines)
    say("Target by target: the same command with --json, or the lead's page.")
