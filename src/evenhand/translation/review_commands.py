"""``evenhand data review``: people read a translation beside its source, and what they settle becomes changes."""

from __future__ import annotations

import sys
from dataclasses import asdict
from math import isnan
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from evenhand.cli.options import SERVER, Json
from evenhand.cli.output import print_json, print_lines, say, warn
from evenhand.core.counts import plural
from evenhand.core.errors import EvenhandError, require_extra
from evenhand.studio.serve_commands import (
    DEFAULT_DATABASE,
    DatabaseAddress,
    Host,
    Port,
    Proxies,
    serve_database,
    server_address,
)

if TYPE_CHECKING:
    from evenhand.studio.database import Database
    from evenhand.translation.review_pages.opening import OpenedReview
    from evenhand.translation.review_pages.queue import ReviewFigures
    from evenhand.translation.review_pages.reviews import CollectedReview

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
            help="Make a personal link for the person who settles disagreements.",
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
            help="Write settled decisions to changes.csv and all verdicts to review.csv, instead of serving.",
            rich_help_panel=REVIEW,
        ),
    ] = False,
    show: Annotated[
        bool,
        typer.Option(
            "--show", help="Print progress and agreement, instead of serving.", rich_help_panel=REVIEW
        ),
    ] = False,
    new_review: Annotated[
        bool,
        typer.Option(
            "--new-review",
            help="Begin another review of the same translation, with new links.",
            rich_help_panel=REVIEW,
        ),
    ] = False,
    open_browser: Annotated[
        bool | None,
        typer.Option(
            "--open/--no-open",
            help="Open the lead's page in a browser.",
            show_default="at a terminal",
            rich_help_panel=SERVER,
        ),
    ] = None,
    db: DatabaseAddress = DEFAULT_DATABASE,
    host: Host = "127.0.0.1",
    port: Port = 8321,
    url: Annotated[
        str | None,
        typer.Option(help="Where people find the server; links begin with it.", rich_help_panel=SERVER),
    ] = None,
    proxy: Proxies = None,
    json: Json = False,
) -> None:
    """Review a translation in the browser: two people decide about every item, a third settles what they differ on.

    Source and translation stand side by side, items with problems first. Keys accept an item, edit it, mark it as
    beyond repair or as culture-specific. `--collect` makes rows of changes.csv of what was settled, and keeps all
    verdicts in review.csv; it can be repeated. If the translation has changed since, the same command shows the new
    texts, and sets verdicts on the old ones aside.

    **Examples**

    `evenhand data review translations/fr --reviewer Ann --reviewer Ben --arbiter Cleo`

    `evenhand data review translations/fr --show`

    `evenhand data review translations/fr --collect`
    """
    require_extra("web", purpose="evenhand data review")
    from evenhand.studio.database import Database
    from evenhand.translation.folder import read_record

    if collect and show:
        raise EvenhandError("--collect and --show are two commands. Give one of them.")
    is_table = read_record(folder).is_table
    if is_table and source is not None:
        raise EvenhandError("The folder of a translated table has its source; leave out --source.")
    address = server_address(host, port, url)
    if collect or show:
        _refuse_missing_database(folder, db)
    database = Database(db)
    try:
        if collect:
            _print_collected(_collected(database, folder, is_table=is_table), folder, json=json)
        elif show:
            _show(database, folder, json=json)
        else:
            opened = _opened(database, folder, source, is_table=is_table, is_new=new_review)
            _tell_changes(opened, folder)
            at_terminal = sys.stdout.isatty() and _is_this_machine(address)
            wanted = at_terminal if open_browser is None else open_browser
            serve_database(
                database,
                host,
                port,
                address=address,
                proxies=proxy,
                links=lambda database: _links(database, opened.name, reviewer or [], arbiter),
                opened=f"/reviews/{opened.name}" if wanted else None,
            )
    finally:
        database.close()


def _refuse_missing_database(folder: Path, db: str) -> None:
    """Asking for a review must not make a database."""
    from evenhand.studio.database import database_url
    from evenhand.translation.review_pages.reviews import no_review

    url = database_url(db)
    if url.get_backend_name() == "sqlite" and not Path(url.database or "").is_file():
        raise no_review(folder, db)


def _is_this_machine(address: str) -> bool:
    return address.startswith(("http://127.0.0.1", "http://localhost"))


def _tell_changes(opened: OpenedReview, folder: Path) -> None:
    if not opened.changed:
        return
    changed = plural(opened.changed, "item has", "items have")
    aside = plural(opened.set_aside, "verdict was", "verdicts were")
    kept = f"; {aside} set aside in {folder / 'review.set-aside.csv'}" if opened.set_aside else ""
    say(f"{changed} changed since the review was opened last{kept}.")


def _opened(
    database: Database, folder: Path, source: str | None, *, is_table: bool, is_new: bool
) -> OpenedReview:
    from evenhand.translation import open_table, open_translation
    from evenhand.translation.review_pages.opening import open_review, open_table_review
    from evenhand.translation.workflow import source_of_folder

    if is_table:
        with open_table(folder) as table:
            return open_table_review(database, table, is_new=is_new)
    original = source_of_folder(folder, source=source)
    with open_translation(folder) as translation:
        return open_review(database, translation, original, is_new=is_new)


def _collected(database: Database, folder: Path, *, is_table: bool) -> CollectedReview:
    from evenhand.translation import open_table, open_translation
    from evenhand.translation.review_pages.reviews import collect_review

    if is_table:
        with open_table(folder) as table:
            return collect_review(database, table)
    with open_translation(folder) as translation:
        return collect_review(database, translation)


def _show(database: Database, folder: Path, *, json: bool) -> None:
    from evenhand.translation.review_pages.queue import figures_of
    from evenhand.translation.review_pages.reviews import review_of

    with database.read() as session:
        review = review_of(session, folder, database=database.shown)
        _print_figures(figures_of(session, review), json=json)


def _links(database: Database, name: str, reviewers: list[str], arbiter: str | None) -> dict[str, str]:
    """New personal links by who they are for, and the lead's page."""
    from evenhand.translation.review_pages.reviews import add_reviewer, count_reviewers, review_named
    from evenhand.translation.reviews import REVIEWERS_PER_ITEM, ReviewRole

    links = {}
    with database.write() as session:
        review = review_named(session, name)
        for person in reviewers:
            links[f"Reviewer {person}"] = add_reviewer(session, review, person).path
        if arbiter:
            links[f"Arbiter {arbiter}"] = add_reviewer(session, review, arbiter, role=ReviewRole.ARBITER).path
        session.flush()
        people = count_reviewers(session, review)
    if people < REVIEWERS_PER_ITEM:
        warn(
            f"The review has {plural(people, 'reviewer')}. An item is settled when two have decided about it: add "
            "people with --reviewer NAME or on the lead's page."
        )
    return {**links, "Lead": f"/reviews/{name}"}


def _print_collected(collected: CollectedReview, folder: Path, *, json: bool) -> None:
    if json:
        print_json({"folder": str(folder), **asdict(collected)})
        return
    print_lines(
        [
            f"{plural(collected.changes, 'change')} by reviewers: {folder / 'changes.csv'}",
            f"{collected.settled:,} of {plural(collected.items, 'item')} settled. All verdicts: "
            f"{folder / 'review.csv'}",
        ]
    )
    if collected.outdated:
        warn(
            f"{plural(collected.outdated, 'settled item has', 'settled items have')} changed since. To show the new "
            f"texts to the reviewers: evenhand data review {folder}"
        )
    elif collected.settled == collected.items:
        say(f"Next: evenhand data publish {folder} --out FILE")


def _print_figures(figures: ReviewFigures, *, json: bool) -> None:
    agreement = figures.agreement
    if json:
        print_json(
            {
                "items": figures.items,
                "states": {state.value: count for state, count in figures.states.items()},
                "outcomes": {outcome.value: count for outcome, count in figures.outcomes.items()},
                "decided_by_two": agreement.both,
                "same_result": agreement.same,
                "kappa": None if isnan(agreement.kappa) else agreement.kappa,
                "terms": {term.term: [term.settled, term.items] for term in figures.terms},
            }
        )
        return
    states = ", ".join(f"{count:,} {state.value}" for state, count in figures.states.items())
    lines = [f"{plural(figures.items, 'item')}: {states}."]
    if agreement.both:
        kappa = "undefined" if isnan(agreement.kappa) else f"{agreement.kappa:.2f}"
        lines.append(
            f"Two reviewers decided about {plural(agreement.both, 'item')} and came to the same result on "
            f"{agreement.same:,} ({agreement.same / agreement.both:.0%}); kappa of their verdicts {kappa}."
        )
    print_lines(lines)
    say("Target by target: the same command with --json, or the lead's page.")
