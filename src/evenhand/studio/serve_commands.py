"""``evenhand serve``: the pages for people, and backup and restore of what they did."""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from ipaddress import ip_address
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TypeVar

import typer

from evenhand.cli.options import OUTPUT, SERVER
from evenhand.cli.output import say, warn
from evenhand.core.errors import EvenhandError, require_extra

if TYPE_CHECKING:
    from sqlalchemy.orm import Session

    from evenhand.studio.database import Database

DEFAULT_DATABASE = "evenhand.db"

DatabaseAddress = Annotated[
    str,
    typer.Option(
        "--db",
        envvar="EVENHAND_DB",
        help="A file for SQLite, or postgresql://USER:PASSWORD@HOST/NAME.",
        rich_help_panel=SERVER,
    ),
]
Host = Annotated[
    str,
    typer.Option(help="Address to listen on; 127.0.0.1 is this machine alone.", rich_help_panel=SERVER),
]
Proxies = Annotated[
    list[str] | None,
    typer.Option(
        "--proxy",
        help="Address or network of a web server that passes requests on, such as 127.0.0.1; it is believed when it "
        "says who sent them (X-Forwarded-For). Can be given several times.",
        rich_help_panel=SERVER,
    ),
]
Port = Annotated[int, typer.Option(help="Port to listen on.", min=1, max=65535, rich_help_panel=SERVER)]

WithoutAsking = Annotated[bool, typer.Option("--yes", help="Delete without asking.", rich_help_panel=OUTPUT)]

Named = TypeVar("Named")

_EVERY_ADDRESS = frozenset(["0.0.0.0", "::"])  # noqa: S104  they are refused

serve_app = typer.Typer(invoke_without_command=True, rich_markup_mode="markdown")


@serve_app.callback()
def serve_command(
    context: typer.Context,
    db: DatabaseAddress = DEFAULT_DATABASE,
    host: Host = "127.0.0.1",
    port: Port = 8321,
    url: Annotated[
        str | None,
        typer.Option(
            help="Where people find the server, such as https://survey.example.org; links begin with it.",
            rich_help_panel=SERVER,
        ),
    ] = None,
    proxy: Proxies = None,
    demo: Annotated[
        bool,
        typer.Option(
            "--demo",
            help="Show a survey and a project with invented answers, in a database that is gone afterwards.",
            rich_help_panel=SERVER,
        ),
    ] = False,
) -> None:
    """Serve pages for people: surveys, annotation, and their results.

    It listens on this machine alone. To put it on a network, let a web server with a certificate, such as Caddy or
    nginx, pass requests on to it, and give the address that people see with `--url https://...` and the address of
    that web server with `--proxy`.

    On the first start it prints a link that makes the administrator, once and within an hour. `evenhand serve password`
    prints another.

    **Examples**

    `evenhand serve --demo`

    `evenhand serve --db postgresql://evenhand@localhost/evenhand --url https://survey.example.org --proxy 127.0.0.1`
    """
    if context.invoked_subcommand is not None:
        return
    require_extra("web", purpose="evenhand serve")
    from evenhand.studio.database import Database

    source = context.get_parameter_source("db")
    if demo and source is not None and source.name == "COMMANDLINE":  # EVENHAND_DB is for all other commands
        raise EvenhandError("The demonstration has a database of its own. Give --demo or --db, not both.")
    address = server_address(host, port, url)
    with ExitStack() as stack:
        if demo:
            db = str(
                Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="evenhand-demo-"))) / "demo.db"
            )
        database = Database(db)
        stack.callback(database.close)
        links = _demo_links if demo else _no_links
        serve_database(database, host, port, address=address, proxies=proxy, links=links)


def open_database(db: str) -> Database:
    """The database that --db names, which has to be there."""
    from evenhand.studio.database import Database

    return Database(db, create=False)


def confirm_deletion(what: str, *, yes: bool) -> None:
    """Ask before something is deleted that cannot be brought back.

    Raises:
        EvenhandError: If nobody is there to ask, or the answer is no.
    """
    if yes:
        return
    if not sys.stdin.isatty():
        raise EvenhandError(f"This deletes {what}, and cannot be undone. Say --yes to do it.")
    if not typer.confirm(f"Delete {what}? This cannot be undone.", default=False, err=True):
        raise EvenhandError("Nothing was deleted.")


def delete_named(
    db: str,
    name: str,
    *,
    what: str,
    find: Callable[[Session, str], Named],
    delete: Callable[[Session, Named], int],
    yes: bool,
) -> int:
    """Delete what has a name, with all that belongs to it, after asking.

    Args:
        db: The address of the database.
        name: Its name, which has to be there before anybody is asked.
        what: How it is called in the question.
        find: Finds it.
        delete: Deletes it, and says how much went with it.
        yes: Whether nobody is asked.
    """
    database = open_database(db)
    with database.read() as session:
        find(session, name)
    confirm_deletion(what, yes=yes)
    with database.write() as session:
        return delete(session, find(session, name))


def server_address(host: str, port: int, url: str | None) -> str:
    """Where people find a server: the URL that was given, or the address and port that it listens on.

    Raises:
        EvenhandError: If the URL is none.
    """
    if url is None and host in _EVERY_ADDRESS:
        raise EvenhandError(
            f"{host} stands for every address of this machine, and no link can begin with it. Say where people find "
            "the server with --url, such as --url https://survey.example.org."
        )
    address = (url or f"http://{f'[{host}]' if ':' in host else host}:{port}").rstrip("/")
    _refuse_bad_url(address)
    _warn_without_tls(host, port, address)
    return address


def serve_database(
    database: Database,
    host: str,
    port: int,
    *,
    address: str,
    proxies: Sequence[str] | None,
    links: Callable[[Database], Mapping[str, str]],
    opened: str | None = None,
) -> None:
    """Serve the pages over a database until somebody stops it.

    The port comes first: a server that cannot start must not replace links that another one has given out.

    Args:
        database: Where everything is kept.
        host: The address to listen on.
        port: The port to listen on.
        address: Where people find the server.
        proxies: Web servers that are believed when they say who sent a request.
        links: Makes what is shown, and gives paths of the server to print, by title.
        opened: A path of the server to open in a browser once it listens.
    """
    from evenhand.studio import app as web
    from evenhand.studio.accounts import new_setup_token

    options = web.ServerOptions(url=address, proxies=proxies or ())
    if options.over_tls and not options.proxies:
        warn(
            f"Whatever passes requests for {address} on to this server must be named with --proxy, such as --proxy "
            "127.0.0.1. Otherwise all visitors have one address here, and share the limit of wrong passwords."
        )
    with web.listen_on(host, port) as listening:
        app = web.create_app(database, options)
        for title, path in links(database).items():
            say(f"{title}: {address}{path}")
        token = new_setup_token(database)
        if token:
            say(f"Make the administrator, once and within an hour: {address}/setup/{token}")
        say(f"Serving {database.shown} at {address} (stop with Ctrl-C)")
        web.run_server(app, listening, opened=address + opened if opened else None)


@serve_app.command("password")
def password_command(db: DatabaseAddress = DEFAULT_DATABASE) -> None:
    """Print a one-time link that sets another password for the administrator, who forgot the old one.

    The link works for an hour. The old password works until the link is used; another password closes the link.

    **Example**

    `evenhand serve password`
    """
    require_extra("web", purpose="evenhand serve password")
    from evenhand.studio.accounts import new_setup_token, public_url

    database = open_database(db)
    token = new_setup_token(database, replace=True)
    with database.read() as session:
        say(f"Set the administrator's password, once and within an hour: {public_url(session)}/setup/{token}")


@serve_app.command("backup")
def backup_command(
    out: Annotated[Path, typer.Argument(help="New file for the backup.")],
    db: DatabaseAddress = DEFAULT_DATABASE,
) -> None:
    """Copy a server's database into one file, also while people use it.

    The file is an SQLite database with every row, whichever database it comes from. It holds personal data: keep it as
    safe as the database, and delete it in time.

    **Example**

    `evenhand serve backup evenhand-monday.db`
    """
    require_extra("web", purpose="evenhand serve backup")
    from evenhand.studio.backup import back_up

    counts = back_up(open_database(db), out)
    say(f"{sum(counts.values()):,} rows: {out}")


@serve_app.command("restore")
def restore_command(
    backup: Annotated[Path, typer.Argument(help="A file that evenhand serve backup wrote.")],
    db: DatabaseAddress = DEFAULT_DATABASE,
) -> None:
    """Copy a backup into an empty database, of the same kind or of the other.

    The backup is checked first. If it is damaged, the fault is named and nothing is made.

    **Example**

    `evenhand serve restore evenhand-monday.db --db evenhand-again.db`
    """
    require_extra("web", purpose="evenhand serve restore")
    from evenhand.studio.backup import fill, made_for_restoring
    from evenhand.studio.backup_checks import checked_backup

    with checked_backup(backup) as copy, made_for_restoring(db) as database:
        counts = fill(database, copy)
    say(f"{sum(counts.values()):,} rows are in {database.shown}.")


def _refuse_bad_url(address: str) -> None:
    if not address.startswith(("http://", "https://")):
        raise EvenhandError(f"{address!r} is not the address of a server. Write it with http:// or https://.")


def _warn_without_tls(host: str, port: int, address: str) -> None:
    if address.startswith("https://") or _is_local(host):
        return
    warn(
        f"Others can reach {address}, and what they send can be read on the way. Listen on 127.0.0.1, let a web server "
        f"with a certificate (Caddy: reverse_proxy 127.0.0.1:{port}) pass requests on, and give --url https://... "
        "and --proxy 127.0.0.1."
    )


def _is_local(host: str) -> bool:
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def _no_links(database: Database) -> Mapping[str, str]:  # noqa: ARG001  every maker of links takes it
    return {}


def _demo_links(database: Database) -> Mapping[str, str]:
    from evenhand.studio.accounts import new_lead_token
    from evenhand.studio.demo import fill_demo

    links = fill_demo(database)
    return {"Start here, signed in as the lead": f"/lead/{new_lead_token(database)}", **links}
