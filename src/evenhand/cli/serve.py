"""``evenhand serve``: the pages for people, and backup and restore of what they did."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping
from contextlib import ExitStack
from ipaddress import ip_address
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from evenhand.cli.options import SERVER
from evenhand.cli.output import say, warn
from evenhand.core.errors import EvenhandError, require_extra

if TYPE_CHECKING:
    from evenhand.web.database import Database

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
Port = Annotated[int, typer.Option(help="Port to listen on.", min=1, max=65535, rich_help_panel=SERVER)]

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
    nginx, pass requests on to it, and give the address that people see with `--url https://...`.

    On the first start it prints a link that makes the administrator, once.

    **Examples**

    `evenhand serve --demo`

    `evenhand serve --db postgresql://evenhand@localhost/evenhand --url https://survey.example.org`
    """
    if context.invoked_subcommand is not None:
        return
    require_extra("web", purpose="evenhand serve")
    from evenhand.web.database import Database

    address = server_address(host, port, url)
    with ExitStack() as stack:
        if demo:
            db = str(
                Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="evenhand-demo-"))) / "demo.db"
            )
        database = Database(db)
        stack.callback(database.close)
        links = _demo_links(database) if demo else {}
        serve_database(database, host, port, address=address, links=links)


def server_address(host: str, port: int, url: str | None) -> str:
    """Where people find a server: the URL that was given, or the address and port that it listens on.

    Raises:
        EvenhandError: If the URL is none.
    """
    address = (url or f"http://{f'[{host}]' if ':' in host else host}:{port}").rstrip("/")
    _refuse_bad_url(address)
    _warn_without_tls(host, address)
    return address


def serve_database(
    database: Database,
    host: str,
    port: int,
    *,
    address: str,
    links: Mapping[str, str],
    opened: str | None = None,
) -> None:
    """Serve the pages over a database until somebody stops it.

    Args:
        database: Where everything is kept.
        host: The address to listen on.
        port: The port to listen on.
        address: Where people find the server.
        links: Paths of the server to print, by title.
        opened: A path of the server to open in a browser once it listens.
    """
    from evenhand.web.accounts import new_setup_token
    from evenhand.web.app import ServerOptions, create_app, run_server

    app = create_app(database, ServerOptions(url=address))
    for title, path in links.items():
        say(f"{title}: {address}{path}")
    token = new_setup_token(database)
    if token:
        say(f"Make the administrator, once: {address}/setup/{token}")
    say(f"Serving {database.shown} at {address} Stop with Ctrl-C.")
    run_server(app, host, port, opened=address + opened if opened else None)


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
    from evenhand.web.backup import back_up
    from evenhand.web.database import Database

    counts = back_up(Database(db), out)
    say(f"{sum(counts.values()):,} rows: {out}")


@serve_app.command("restore")
def restore_command(
    backup: Annotated[Path, typer.Argument(help="A file that evenhand serve backup wrote.")],
    db: DatabaseAddress = DEFAULT_DATABASE,
) -> None:
    """Copy a backup into an empty database, of the same kind or of the other.

    **Example**

    `evenhand serve restore evenhand-monday.db --db evenhand-again.db`
    """
    require_extra("web", purpose="evenhand serve restore")
    from evenhand.web.backup import restore
    from evenhand.web.database import Database

    database = Database(db)
    counts = restore(database, backup)
    say(f"{sum(counts.values()):,} rows are in {database.shown}.")


def _refuse_bad_url(address: str) -> None:
    if not address.startswith(("http://", "https://")):
        raise EvenhandError(f"{address!r} is no address of a server. Write it with http:// or https://.")


def _warn_without_tls(host: str, address: str) -> None:
    if address.startswith("https://") or _is_local(host):
        return
    warn(
        f"Others can reach {address}, and what they send can be read on the way. Listen on 127.0.0.1, let a web server "
        "with a certificate (Caddy: reverse_proxy 127.0.0.1:8321) pass requests on, and give --url https://..."
    )


def _is_local(host: str) -> bool:
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def _demo_links(database: Database) -> Mapping[str, str]:
    from evenhand.web.demo import fill_demo

    return fill_demo(database)
