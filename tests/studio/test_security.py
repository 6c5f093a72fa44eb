"""Limits, headers and forged forms."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest
from fastapi.testclient import TestClient
from web_fixtures import PASSWORD, Visitor
from web_projects import joined, small_project

from evenhand.studio.app import BODY_LIMIT, ServerOptions, create_app
from evenhand.studio.database import Database
from evenhand.studio.security import HEADERS, Rate, RateLimiter

pytestmark = pytest.mark.parametrize("database", ["sqlite"], indirect=True)


@pytest.mark.parametrize("path", ["/", "/sign-in", "/nothing", "/static/site.css", "/a/unknown"])
def test_every_answer_has_the_headers(visitor: Callable[[], Visitor], path: str) -> None:
    answer = visitor().get(path)
    for name, value in HEADERS.items():
        if name != "Cache-Control":
            assert answer.headers[name] == value
    assert "unsafe" not in answer.headers["Content-Security-Policy"]


def test_pages_have_no_inline_script_and_no_style_and_ask_for_nothing_elsewhere(lead: Visitor) -> None:
    for path in ("/", "/sign-in", "/password"):
        text = lead.get(path).text
        assert "style=" not in text
        assert "onclick" not in text
        assert "<script>" not in text
        assert "http://" not in text.replace("http://127.0.0.1:8321", "")
        assert "https://" not in text


def test_the_only_cookie_is_the_signed_session(visitor: Callable[[], Visitor]) -> None:
    person = visitor()
    answer = person.get("/sign-in")
    assert set(person.client.cookies.keys()) == {"evenhand"}
    assert "httponly" in answer.headers["set-cookie"].lower()
    assert "samesite=lax" in answer.headers["set-cookie"].lower()
    person.client.cookies.set("evenhand", "forged." + person.client.cookies["evenhand"])
    assert person.client.post("/sign-in", data={"csrf": "x", "password": PASSWORD}).status_code == 403


def test_a_form_without_the_token_of_its_session_is_refused(
    lead: Visitor, visitor: Callable[[], Visitor]
) -> None:
    stranger = visitor()
    stranger.get("/sign-in")
    foreign = stranger.page.text.partition('name="csrf" value="')[2].partition('"')[0]
    assert lead.client.post("/sign-out", data={"csrf": foreign}).status_code == 403
    assert lead.client.post("/sign-out", data={}).status_code == 403
    assert "Projects and surveys" in lead.get("/").text


def test_a_body_beyond_the_limit_is_refused_whatever_length_it_claims(
    visitor: Callable[[], Visitor],
) -> None:
    person = visitor()
    assert person.client.post("/sign-in", content=b"x" * (BODY_LIMIT + 1)).status_code == 413
    chunks = (b"x" * 1024 for _ in range(BODY_LIMIT // 1024 + 1))
    assert person.client.post("/sign-in", content=chunks).status_code == 413


def test_the_limit_of_a_body_is_the_one_that_the_page_names(database: object) -> None:  # noqa: ARG001
    page = Path(__file__).parents[2] / "docs" / "web.md"
    told = re.search(r"bodies are at most (\d+) KiB", " ".join(page.read_text(encoding="utf-8").split()))
    assert told
    assert int(told[1]) * 1024 == BODY_LIMIT


def test_a_page_that_fails_is_a_page_with_all_headers(
    database: Database, caplog: pytest.LogCaptureFixture
) -> None:
    def fail() -> None:
        raise RuntimeError("a secret of the program")

    app = create_app(database)
    app.add_api_route("/fails", fail)
    person = Visitor(TestClient(app, base_url="http://127.0.0.1:8321"))
    answer = person.get("/fails")
    assert answer.status_code == 500
    assert "Something went wrong on the server" in person.text
    assert "secret" not in answer.text
    for header, value in HEADERS.items():
        assert answer.headers[header] == value
    assert "a secret of the program" in caplog.text, "whoever runs the server finds the reason"


def test_single_keys_can_be_turned_off_and_on(database: Database, visitor: Callable[[], Visitor]) -> None:
    small_project(database)
    person = joined(database, visitor, "Anna")
    assert person.page.text.count("data-key=") > 5
    person.send("/keys", keys="off")
    assert "data-key=" not in person.page.text
    assert "aria-keyshortcuts" not in person.page.text
    person.send(choice="label:0")
    assert "data-key=" not in person.page.text
    person.send("/keys", keys="on", back="//elsewhere.example")
    assert person.page.url.path == "/"


def test_the_interface_speaks_german_when_asked_or_chosen(visitor: Callable[[], Visitor]) -> None:
    person = visitor()
    assert "Anmelden" in person.client.get("/sign-in", headers={"accept-language": "de-AT,en;q=0.5"}).text
    person.get("/language/de?back=/sign-in")
    assert person.page.url.path == "/sign-in"
    assert 'lang="de"' in person.get("/sign-in").text
    for back in (
        "//elsewhere.example",
        "/%5Celsewhere.example",
        "/%09/elsewhere.example",
        "elsewhere.example",
    ):
        answer = person.client.get(f"/language/de?back={back}", follow_redirects=False)
        assert answer.headers["location"] == "/"


def test_over_tls_the_cookie_and_the_address_stay_there(database: Database) -> None:
    app = create_app(database, ServerOptions(url="https://survey.example.org"))
    answer = TestClient(app, base_url="https://survey.example.org").get("/sign-in")
    assert "secure" in answer.headers["set-cookie"].lower()
    assert answer.headers["strict-transport-security"].startswith("max-age=")


def test_a_rate_counts_within_its_window_only(database: object) -> None:  # noqa: ARG001
    now = [0.0]
    limiter = RateLimiter(clock=lambda: now[0])
    rate = Rate(2, 60)
    admitted = [limiter.admits(rate, "access", "somebody") for _ in range(3)]
    assert admitted == [True, True, False]
    assert limiter.admits(rate, "access", "somebody else")
    now[0] = 61.0
    assert limiter.admits(rate, "access", "somebody")
