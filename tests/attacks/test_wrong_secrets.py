"""Wrong passwords sent at once, under invented addresses, and links that others must not be able to close."""

from __future__ import annotations

import asyncio
import threading
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import httpx
import pytest
from argon2 import PasswordHasher
from fastapi import FastAPI
from fastapi.testclient import TestClient
from web_fixtures import PASSWORD, Visitor
from web_projects import NAME, small_project
from web_surveys import SURVEY, small_survey

from evenhand.core.errors import EvenhandError
from evenhand.studio import accounts
from evenhand.studio.annotation.projects import add_person, project_named
from evenhand.studio.app import ServerOptions, create_app, served_from_thread
from evenhand.studio.database import Database
from evenhand.studio.survey.surveys import invite, survey_named

pytestmark = pytest.mark.parametrize("database", ["sqlite"], indirect=True)

AT_ONCE = 120
ALLOWED = 20
"""Passwords of one address in a minute."""


class CountingHasher(PasswordHasher):
    """Counts passwords that are checked, and how many of them at the same time."""

    def __init__(self) -> None:
        super().__init__(time_cost=2, memory_cost=8192, parallelism=1)
        self.checked = self.running = self.most = 0
        self._lock = threading.Lock()

    def verify(self, hash: str | bytes, password: str | bytes) -> bool:  # type: ignore[override]  # noqa: A002
        with self._lock:
            self.checked += 1
            self.running += 1
            self.most = max(self.most, self.running)
        try:
            return bool(super().verify(hash, password))
        finally:
            with self._lock:
                self.running -= 1


async def _send_at_once(app: FastAPI) -> list[int]:
    transport = httpx.ASGITransport(app, client=("203.0.113.9", 1))
    async with httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1:8321", timeout=60) as client:
        token = _csrf((await client.get("/sign-in")).text)
        fields = [{"csrf": token, "password": f"guess number {number}"} for number in range(AT_ONCE)]
        answers = await asyncio.gather(*(client.post("/sign-in", data=data) for data in fields))
    return [answer.status_code for answer in answers]


def _csrf(page: str) -> str:
    return page.partition('name="csrf" value="')[2].partition('"')[0]


@pytest.mark.usefixtures("lead")
def test_of_passwords_sent_at_once_as_many_are_checked_as_one_after_the_other(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    hasher = CountingHasher()
    monkeypatch.setattr(accounts, "_HASHER", hasher)
    # Not in this thread: a browser of other tests may have left an event loop running in it.
    with ThreadPoolExecutor(1) as thread:
        statuses = thread.submit(asyncio.run, _send_at_once(create_app(database))).result()
    assert Counter(statuses) == {401: ALLOWED, 429: AT_ONCE - ALLOWED}
    assert hasher.checked == ALLOWED
    assert hasher.most <= 2


def test_passwords_of_many_addresses_wait_in_a_short_queue(
    database: Database, lead: Visitor, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Threads that wait for a hash are threads that make no pages."""
    monkeypatch.setattr(accounts, "_places", threading.BoundedSemaphore(1))
    with accounts._hashing():
        stranger = Visitor(TestClient(create_app(database), base_url="http://127.0.0.1:8321"))
        stranger.get("/sign-in")
        assert stranger.send(password=PASSWORD).status_code == 503
        assert "try again" in stranger.text
        assert lead.get("/").status_code == 200
    stranger.get("/sign-in")
    stranger.send(password=PASSWORD)
    assert "Projects and surveys" in stranger.text


def _statuses(address: str, headers: list[dict[str, str]]) -> list[int]:
    with httpx.Client(base_url=address) as client:
        token = _csrf(client.get("/sign-in").text)
        data = {"csrf": token, "password": "a wrong sentence"}
        return [client.post("/sign-in", data=data, headers=header).status_code for header in headers]


@pytest.mark.usefixtures("lead")
def test_an_address_that_is_only_claimed_changes_nothing(database: Database) -> None:
    claims = [
        {"X-Forwarded-For": f"198.51.100.{number}", "Forwarded": f"for=198.51.100.{number}"}
        for number in range(ALLOWED + 2)
    ]
    with served_from_thread(create_app(database)) as address:
        assert _statuses(address, claims) == [401] * ALLOWED + [429] * 2


@pytest.mark.usefixtures("lead")
def test_a_proxy_that_is_named_says_who_sent_a_request(database: Database) -> None:
    app = create_app(database, ServerOptions(proxies=("127.0.0.1",)))
    people = [{"X-Forwarded-For": f"198.51.100.{number}"} for number in range(ALLOWED + 2)]
    invented = [{"X-Forwarded-For": f"192.0.2.{number}, 203.0.113.9"} for number in range(ALLOWED + 2)]
    with served_from_thread(app) as address:
        assert _statuses(address, people) == [401] * (ALLOWED + 2)
        assert _statuses(address, invented) == [401] * ALLOWED + [429] * 2, "the proxy writes the last one"


@pytest.mark.parametrize("proxy", ["*", "nginx", "10.0.0.1/8", ""])
def test_a_proxy_that_is_no_address_is_refused(database: Database, proxy: str) -> None:
    with pytest.raises(EvenhandError, match="not the address of a proxy"):
        create_app(database, ServerOptions(proxies=(proxy,)))


@pytest.mark.parametrize(
    ("addresses", "are_one"),
    [
        (["2001:db8::1", "2001:db8::2:3"], True),
        (["2001:db8::1", "2001:db8:0:1::1"], False),
        (["::ffff:192.0.2.1", "::ffff:192.0.2.2"], False),
        (["192.0.2.1", "192.0.2.2"], False),
    ],
)
@pytest.mark.usefixtures("lead")
def test_a_network_of_ipv6_that_one_person_has_counts_as_one_address(
    database: Database, addresses: list[str], are_one: bool
) -> None:
    app = create_app(database)
    first, second = (
        Visitor(TestClient(app, base_url="http://127.0.0.1:8321", client=(address, 1)))
        for address in addresses
    )
    for _ in range(ALLOWED):
        first.get("/sign-in")
        first.send(password="a wrong sentence")
    second.get("/sign-in")
    assert second.send(password="a wrong sentence").status_code == (429 if are_one else 401)


def test_wrong_links_of_others_at_the_same_address_close_no_link(
    database: Database, lead: Visitor, visitor: Callable[[], Visitor]
) -> None:
    small_project(database)
    small_survey(database)
    with database.write() as session:
        annotator = add_person(session, project_named(session, NAME), "Anna").path
        invitation = invite(session, survey_named(session, SURVEY)).path
    setup = f"/setup/{accounts.new_setup_token(database, replace=True)}"
    attacker = visitor()
    guesses = [attacker.get(f"/{kind}/guess").status_code for kind in "air" for _ in range(10)]
    assert guesses == [404] * ALLOWED + [429] * 10
    for link in (annotator, invitation, setup):
        assert visitor().get(link).status_code == 200
    lead.get("/password")
    changed = lead.send(current=PASSWORD, password="quite another sentence", again="quite another sentence")
    assert changed.url.path == "/"


def test_surveys_begun_by_others_at_the_same_address_keep_out_nobody_with_a_personal_link(
    database: Database, visitor: Callable[[], Visitor]
) -> None:
    small_survey(database)
    with database.write() as session:
        invitation = invite(session, survey_named(session, SURVEY)).path
    crowd = visitor()
    statuses = []
    for _ in range(121):
        crowd.client.cookies.clear()
        crowd.get(f"/s/{SURVEY}")
        statuses.append(crowd.send(agree="yes").status_code)
    assert statuses == [200] * 120 + [429]
    invited = visitor()
    invited.get(invitation)
    assert "Are you 18?" in invited.send(agree="yes").text
