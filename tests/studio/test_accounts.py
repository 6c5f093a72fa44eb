"""The administrator: one-time link, password, sessions."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from sqlalchemy import select
from web_fixtures import PASSWORD, Visitor

from evenhand.studio.accounts import new_setup_token
from evenhand.studio.database import Database
from evenhand.studio.tables import AdministratorRow


def test_the_one_time_link_makes_one_administrator_and_is_spent(
    database: Database, visitor: Callable[[], Visitor]
) -> None:
    token = new_setup_token(database)
    first, second = visitor(), visitor()
    assert first.get(f"/setup/{token}").status_code == 200
    second.get(f"/setup/{token}")
    assert "Projects and surveys" in first.send(password=PASSWORD, again=PASSWORD).text
    assert second.send(password="another one entirely", again="another one entirely").status_code == 404
    assert new_setup_token(database) is None
    with database.read() as session:
        stored = session.scalars(select(AdministratorRow)).one().password
    assert stored.startswith("$argon2id$")


def test_a_newer_link_replaces_one_that_was_not_used(
    database: Database, visitor: Callable[[], Visitor]
) -> None:
    old, new = new_setup_token(database), new_setup_token(database)
    assert visitor().get(f"/setup/{old}").status_code == 404
    assert visitor().get(f"/setup/{new}").status_code == 200


@pytest.mark.parametrize(
    ("password", "again", "says"),
    [("short", "short", "at least 12"), (PASSWORD, PASSWORD + " ", "not the same")],
)
def test_a_password_that_will_not_do_is_refused(
    database: Database, visitor: Callable[[], Visitor], password: str, again: str, says: str
) -> None:
    person = visitor()
    person.get(f"/setup/{new_setup_token(database)}")
    assert person.send(password=password, again=again).status_code == 422
    assert says in person.text


def test_only_the_password_opens_the_pages_of_the_administrator(
    lead: Visitor, visitor: Callable[[], Visitor]
) -> None:
    stranger = visitor()
    stranger.get("/password")
    assert "Sign in" in stranger.text
    assert stranger.send(password="a wrong sentence").status_code == 401
    stranger.send(password=PASSWORD)
    assert "Projects and surveys" in stranger.text
    lead.get("/")
    lead.client.post("/sign-out", data={"csrf": _csrf(lead)})
    assert "Sign in as administrator" in lead.get("/").text


def test_a_new_password_ends_other_sessions(lead: Visitor, visitor: Callable[[], Visitor]) -> None:
    other = visitor()
    other.get("/sign-in")
    other.send(password=PASSWORD)
    lead.get("/password")
    lead.send(current=PASSWORD, password="quite another sentence", again="quite another sentence")
    assert "Projects and surveys" in lead.get("/").text
    assert "Sign in" in other.get("/").text


@pytest.mark.parametrize("database", ["sqlite"], indirect=True)
def test_an_address_that_tries_many_links_is_refused_and_its_passwords_are_counted_apart(
    visitor: Callable[[], Visitor],
) -> None:
    statuses = [visitor().get(f"/a/guess-{guess}").status_code for guess in range(21)]
    assert statuses == [404] * 20 + [429]
    stranger = visitor()
    stranger.get("/sign-in")
    assert [stranger.send(password="a wrong sentence").status_code for _ in range(20)] == [401] * 20
    stranger.get("/sign-in")
    assert stranger.send(password=PASSWORD).status_code == 429


def _csrf(person: Visitor) -> str:
    return str(person.page.text).partition('name="csrf" value="')[2].partition('"')[0]
