"""The pages in a real browser: keys, saving without a reload, and whether everybody can use them."""

from __future__ import annotations

import secrets
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pytest
from browsing import WIDTHS_AND_SCHEMES, Visit, assert_accessible_and_fitting
from fastapi import FastAPI
from fastapi.testclient import TestClient
from sqlalchemy import func, select
from web_fixtures import PASSWORD, Visitor

from evenhand.data.label_schemes import load_scheme
from evenhand.studio.accounts import new_setup_token
from evenhand.studio.annotation.projects import Phase, ProjectOptions, ProjectText, add_person, add_project
from evenhand.studio.app import create_app, served_from_thread
from evenhand.studio.database import Database
from evenhand.studio.demo import PROJECT, SURVEY, fill_demo
from evenhand.studio.tables import AnswerRow, AssignmentRow, ProjectRow

if TYPE_CHECKING:
    from playwright.sync_api import Browser


@dataclass(frozen=True)
class LocalServer:
    """A server on this machine, filled with the demonstration."""

    address: str
    app: FastAPI
    database: Database
    links: Mapping[str, str]

    def count(self, row: type[AssignmentRow] | type[AnswerRow]) -> int:
        column = AssignmentRow.voted_at if row is AssignmentRow else AnswerRow.id
        with self.database.read() as session:
            return session.scalar(select(func.count(column))) or 0


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalServer]:
    database = Database(str(tmp_path_factory.mktemp("server") / "server.db"))
    app = create_app(database)
    links = fill_demo(database)
    with served_from_thread(app) as address:
        yield LocalServer(address, app, database, links)
    database.close()


@pytest.fixture(scope="module")
def signed_in(server: LocalServer) -> Any:
    """The cookie of the administrator."""
    visitor = Visitor(TestClient(server.app, base_url=server.address))
    visitor.get(f"/setup/{new_setup_token(server.database)}")
    visitor.send(password=PASSWORD, again=PASSWORD)
    return {"name": "evenhand", "value": visitor.client.cookies["evenhand"], "url": server.address}


def test_keys_label_go_back_and_undo_and_every_key_is_saved(visit: Visit, server: LocalServer) -> None:
    page = visit.page
    page.goto(server.address + server.links["Annotate"])
    page.get_by_role("button", name="Begin").click()
    page.wait_for_selector(".text-card:focus")
    before = server.count(AssignmentRow)
    for _ in range(3):
        page.keyboard.press("1")
        page.get_by_text("so far").wait_for()
        page.keyboard.press("ArrowRight")
        page.get_by_text("so far").wait_for(state="detached")
    card = page.locator(".text-card")
    first = card.inner_text()
    page.keyboard.press("?")
    assert page.locator("dialog").is_visible()
    page.keyboard.press("2")
    page.keyboard.press("Escape")
    assert card.inner_text() == first, "keys do nothing behind the guideline"
    page.keyboard.press("3")
    page.wait_for_function("text => document.querySelector('.text-card').innerText !== text", arg=first)
    assert server.count(AssignmentRow) == before + 4
    page.keyboard.press("ArrowLeft")
    page.wait_for_function("text => document.querySelector('.text-card').innerText === text", arg=first)
    assert page.locator("[aria-pressed=true]").inner_text().endswith("positive")
    page.locator("#comment").fill("1 2 3 u z ?")
    assert server.count(AssignmentRow) == before + 4, "keys in the comment are text"
    page.keyboard.press("Escape")
    page.keyboard.press("z")
    page.wait_for_function("() => !document.querySelector('[aria-pressed=true]')")
    assert server.count(AssignmentRow) == before + 3
    page.wait_for_timeout(300)  # tenths of a second are told, and a fast computer is back sooner than that
    page.keyboard.press("u")
    page.wait_for_function("text => document.querySelector('.text-card').innerText !== text", arg=first)
    with server.database.read() as session:
        unsure = session.scalars(
            select(AssignmentRow).where(AssignmentRow.unsure).order_by(AssignmentRow.voted_at.desc())
        ).first()
    assert unsure
    assert unsure.comment == "1 2 3 u z ?"
    assert unsure.seconds
    assert unsure.seconds >= 0.3
    assert visit.problems == []
    assert all(url.startswith(server.address) for url in visit.requests)


def test_an_answer_that_cannot_be_saved_says_so_and_stays(visit: Visit, server: LocalServer) -> None:
    page = visit.page
    page.goto(server.address + server.links["Settle disputes"])
    page.locator("#reason").fill("because")
    page.route("**/adjudicate/**", lambda route: route.abort())
    page.get_by_role("button", name="neutral").click()
    page.get_by_text("was not saved").wait_for()
    assert page.locator("#reason").input_value() == "because"
    page.unroute("**/adjudicate/**")
    page.get_by_role("button", name="neutral").click()
    page.get_by_role("heading", name="Votes").wait_for()


def test_an_answer_that_is_refused_stays_with_the_reason(visit: Visit, server: LocalServer) -> None:
    page = visit.page
    begin_survey(visit, server)
    before = server.count(AnswerRow)
    page.locator("#answer").fill("somebody with ideas that took long to write")
    address = page.url
    cookies = page.context.cookies()
    page.context.clear_cookies()
    page.get_by_role("button", name="Next").click()
    page.get_by_text("This was not saved. This link is not valid").wait_for()
    assert page.locator("#answer").input_value() == "somebody with ideas that took long to write"
    assert page.url == address
    page.context.add_cookies(cookies)  # type: ignore[arg-type]
    page.get_by_role("button", name="Next").click()
    page.get_by_text("Sentence 2 of 20").wait_for()
    assert server.count(AnswerRow) == before + 1


def begin_survey(visit: Visit, server: LocalServer) -> None:
    """Take part up to the first prompt."""
    page = visit.page
    page.goto(f"{server.address}/s/{SURVEY}")
    page.get_by_label("I have read this").check()
    page.get_by_role("button", name="Start").click()
    page.locator("[name=screening-age][value=yes]").check()
    page.locator("[name=screening-language][value=native]").check()
    page.get_by_role("button", name="Go on").click()
    page.get_by_role("button", name="Go on").click()
    page.wait_for_selector("#answer:focus")


def test_live_checks_tell_while_somebody_writes(visit: Visit, server: LocalServer) -> None:
    page = visit.page
    begin_survey(visit, server)
    before = server.count(AnswerRow)
    page.keyboard.type("somebody at me@example.org")
    page.get_by_text("looks like an e-mail address").wait_for()
    assert server.count(AnswerRow) == before
    page.locator("#answer").fill("somebody with many good ideas")
    page.get_by_text("looks like an e-mail address").wait_for(state="detached")
    page.get_by_role("button", name="Next").click()
    page.get_by_text("Sentence 2 of 20").wait_for()
    assert server.count(AnswerRow) == before + 1
    assert visit.problems == []


def six_categories(server: LocalServer) -> str:
    """A German project with the longest labels and a long guideline; the path of a personal link."""
    options = ProjectOptions(
        name="six",
        title="Sechs Kategorien",
        language="de",
        scheme=load_scheme("six-categories"),
        overlap=9,
        break_after=1,
    )
    lesson = ProjectText(
        "lesson",
        "Die Person stahl Geld.",
        gold="negative",
        explanation="Das ist Diebstahl.",
        phase=Phase.TRAINING,
    )
    with server.database.write() as session:
        found = session.scalar(select(ProjectRow).where(ProjectRow.name == "six"))
        project = found or add_project(
            session, options, [lesson, ProjectText("a", "Die Person schlief."), ProjectText("b", "Sie lief.")]
        )
        return add_person(session, project, f"Somebody {secrets.token_hex(3)}").path


@WIDTHS_AND_SCHEMES
def test_everybody_can_use_every_page_of_an_annotator(visit: Visit, server: LocalServer) -> None:
    page = visit.page
    page.goto(server.address + six_categories(server))
    assert_accessible_and_fitting(page)
    page.locator("main form button").first.click()
    page.locator(".label-button").first.wait_for()
    assert_accessible_and_fitting(page)
    page.keyboard.press("?")
    dialog = page.locator("dialog")
    assert dialog.evaluate("dialog => dialog.scrollTop") == 0
    assert dialog.get_by_role("heading", name="Leitfaden").is_visible()
    page.keyboard.press("Escape")
    page.keyboard.press("1")
    page.get_by_text("Bisher").wait_for()
    assert_accessible_and_fitting(page)
    page.keyboard.press("ArrowRight")
    page.get_by_text("Bisher").wait_for(state="detached")
    page.keyboard.press("2")
    page.get_by_text("Zeit für eine Pause?").wait_for()
    assert_accessible_and_fitting(page)
    page.locator("main a.button").click()
    page.locator(".text-card").wait_for()
    page.wait_for_load_state()  # keys are heard once the script has run
    page.keyboard.press("3")
    page.get_by_text("Das war alles").wait_for()
    assert_accessible_and_fitting(page)


@WIDTHS_AND_SCHEMES
def test_everybody_can_use_the_pages(visit: Visit, server: LocalServer, signed_in: Any) -> None:
    """Each language once as well: German words are longer, and narrow pages are where length matters."""
    page = visit.page
    language = "de" if page.evaluate("innerWidth") < 500 else "en"
    page.context.add_cookies([signed_in])
    page.goto(f"{server.address}/language/{language}?back=/")
    paths = [
        "/",
        f"/projects/{PROJECT}",
        f"/surveys/{SURVEY}",
        "/password",
        "/withdraw",
        "/nowhere",
        server.links["Annotate"],
        server.links["Settle disputes"],
        server.links["Settle what reviewers differ on"],
        f"/s/{SURVEY}/help",
        f"/s/{SURVEY}",
    ]
    for path in paths:
        page.goto(server.address + path)
        assert_accessible_and_fitting(page)
    page.locator("input[name=agree]").check()
    page.locator("main form button").click()
    for _ in range(3):
        assert_accessible_and_fitting(page)
        for radio in ("[name=screening-age][value=yes]", "[name=screening-language][value=native]"):
            if page.locator(radio).count():
                page.locator(radio).check()
        page.locator("main form button").first.click()
        page.wait_for_load_state()
    page.locator("form[action$='/stop'] button").click()
    page.locator("form[action$='/resume']").wait_for()
    assert_accessible_and_fitting(page)


def test_pages_work_without_scripts(server: LocalServer, browser: Browser) -> None:
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(f"{server.address}/s/{SURVEY}")
    page.get_by_label("I have read this").check()
    page.get_by_role("button", name="Start").click()
    heading = page.get_by_role("heading", name="A few questions first")
    heading.wait_for()
    assert heading.is_visible()
    context.close()
