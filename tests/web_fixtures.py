"""Servers for tests: a database of each kind, the application over it, and people who fill in its forms."""

from __future__ import annotations

import os
import re
import shutil
import socket
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from html.parser import HTMLParser
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any
from unittest import mock

import pytest

if TYPE_CHECKING:
    from fastapi.testclient import TestClient

    from evenhand.studio.database import Database

POSTGRES_VARIABLE = "EVENHAND_TEST_POSTGRES"
"""The URL of a PostgreSQL server on which databases may be made, such as postgresql://USER@localhost/postgres."""

PASSWORD = "a long enough sentence"  # noqa: S105  of a server that lives for one test


@pytest.fixture(params=["sqlite", "postgresql"])
def database(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Database]:
    """An empty database of each kind; PostgreSQL where there is a server for it."""
    if find_spec("fastapi") is None:
        pytest.skip("the extra web is not installed")
    from evenhand.studio.database import Database

    if request.param == "sqlite":
        address = str(tmp_path / "server.db")
        shutil.copyfile(_sqlite_template(tmp_path.parent), address)
    else:
        address = _empty_postgres_database()
    opened = Database(address)
    yield opened
    opened.close()


@pytest.fixture(autouse=True, scope="session")
def _quick_passwords() -> Iterator[None]:
    """Passwords of tests need not withstand anybody who guesses them."""
    if find_spec("argon2") is None:
        yield
        return
    from argon2 import PasswordHasher

    from evenhand.studio import accounts

    with mock.patch.object(accounts, "_HASHER", PasswordHasher(time_cost=1, memory_cost=64, parallelism=1)):
        yield


@cache
def _sqlite_template(folder: Path) -> Path:
    """A database with its tables, which takes longer to make than to copy."""
    from evenhand.studio.database import Database

    path = folder / "template.db"
    made = Database(str(path))
    with made.engine.connect() as connection:
        connection.exec_driver_sql("PRAGMA wal_checkpoint(TRUNCATE)")
    made.close()
    return path


def _empty_postgres_database() -> str:
    server = os.environ.get(POSTGRES_VARIABLE)
    if not server:
        reason = f"no PostgreSQL server; set {POSTGRES_VARIABLE}"
        if os.environ.get("CI"):
            pytest.fail(reason)
        pytest.skip(reason)
    name = f"evenhand_test_{os.environ.get('PYTEST_XDIST_WORKER', 'main')}"
    return _created(server, name, template=_postgres_template(server, f"{name}_template"))


@cache
def _postgres_template(server: str, name: str) -> str:
    from evenhand.studio.database import Database

    Database(_created(server, name, template="template0")).close()
    return name


def _created(server: str, name: str, *, template: str) -> str:
    """A new database in the place of any other of its name."""
    from sqlalchemy import create_engine, text

    from evenhand.studio.database import database_url

    url = database_url(server)
    engine = create_engine(url, isolation_level="AUTOCOMMIT")
    with engine.connect() as connection:
        connection.execute(text(f"DROP DATABASE IF EXISTS {name} WITH (FORCE)"))
        connection.execute(text(f"CREATE DATABASE {name} TEMPLATE {template}"))
    engine.dispose()
    return url.set(database=name).render_as_string(hide_password=False)


class _Forms(HTMLParser):
    """Finds the forms of a page: where they go, and what their fields hold."""

    def __init__(self) -> None:
        super().__init__()
        self.forms: list[tuple[str, dict[str, str]]] = []
        self._area: str | None = None

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        found = dict(attrs)
        if tag == "form":
            self.forms.append((found.get("action") or "", {}))
        elif tag == "input" and self.forms and found.get("name") and found.get("type") in ("hidden", "text"):
            self.forms[-1][1][str(found["name"])] = found.get("value") or ""
        elif tag == "textarea" and self.forms:
            self._area = str(found["name"])
            self.forms[-1][1][self._area] = ""

    def handle_data(self, data: str) -> None:
        if self._area is not None:
            self.forms[-1][1][self._area] += data

    def handle_endtag(self, tag: str) -> None:
        if tag == "textarea":
            self._area = None


def _is_main(address: str, action: str | None) -> bool:
    """Whether a form is what a page is for, and not one that every page has beside it."""
    return action is None and address not in ("", "/sign-out", "/keys") and not address.endswith("/stop")


@dataclass
class Visitor:
    """Somebody with a browser that has no scripts: opens pages, and sends the forms that are on them."""

    client: TestClient
    page: Any = None

    def get(self, path: str) -> Any:
        """Open a page."""
        self.page = self.client.get(path)
        return self.page

    def send(self, action: str | None = None, **fields: str) -> Any:
        """Fill in the form of the current page that goes to ``action``, or the last one, and send it."""
        parser = _Forms()
        parser.feed(self.page.text)
        target, known = [form for form in parser.forms if form[0] == action or _is_main(form[0], action)][-1]
        self.page = self.client.post(target, data={**known, **fields})
        return self.page

    @property
    def text(self) -> str:
        """What the page shows, without its marks."""
        body = self.page.text.partition("<main")[2].partition("</main>")[0]
        whole = re.sub(r"</?mark\b[^>]*>", "", body)
        return re.sub(r"\s+", " ", re.sub(r"<[^>]*>", " ", whole))


@pytest.fixture
def visitor(database: Database) -> Iterator[Callable[[], Visitor]]:
    """Makes visitors of one server, each with a session of their own."""
    from fastapi.testclient import TestClient

    from evenhand.studio.app import create_app

    app = create_app(database)
    clients: list[Any] = []

    def make() -> Visitor:
        client = TestClient(app, base_url="http://127.0.0.1:8321")
        clients.append(client)
        return Visitor(client)

    yield make
    for client in clients:
        client.close()


@pytest.fixture
def served(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, int]]:
    """Where the servers of commands would have listened; none of them is started."""
    places: list[tuple[str, int]] = []

    def note(host: str, port: int) -> socket.socket:
        places.append((host, port))
        return socket.socket()

    monkeypatch.setattr("evenhand.studio.app.listen_on", note)
    monkeypatch.setattr("evenhand.studio.app.run_server", lambda *_, **_options: None)
    return places


@pytest.fixture
def lead(database: Database, visitor: Callable[[], Visitor]) -> Visitor:
    """The administrator, signed in."""
    from evenhand.studio.accounts import new_setup_token

    person = visitor()
    person.get(f"/setup/{new_setup_token(database)}")
    person.send(password=PASSWORD, again=PASSWORD)
    return person
