"""The review page in a real browser: two reviewers at once, an arbiter, live sentences, keys."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from browsing import WIDTHS_AND_SCHEMES, Visit, assert_accessible_and_fitting
from fastapi.testclient import TestClient
from running import HANG
from web_fixtures import PASSWORD, Visitor
from web_reviews import german_folder, link_of, opened_review

from evenhand.studio.accounts import new_setup_token
from evenhand.studio.app import create_app, served_from_thread
from evenhand.studio.database import Database
from evenhand.translation import open_translation, read_changes, read_document
from evenhand.translation.review_pages.queue import figures_of
from evenhand.translation.review_pages.reviews import collect_review, review_named
from evenhand.translation.reviews import ReviewRole, ReviewState

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page


@dataclass(frozen=True)
class ReviewServer:
    """A server on this machine with the review of a translation."""

    address: str
    database: Database
    folder: Path
    review: str
    cookie: str

    def join(self, page: Page, person: str, *, role: ReviewRole = ReviewRole.REVIEWER) -> None:
        """Follow a new personal link, and begin."""
        page.goto(self.address + link_of(self.database, self.review, person, role=role))
        with page.expect_navigation():  # until the script that hears keys has run
            page.get_by_role("button", name="Begin").click()

    def states(self) -> dict[ReviewState, int]:
        with self.database.read() as session:
            return figures_of(session, review_named(session, self.review)).states


@pytest.fixture
def server(tmp_path: Path) -> Iterator[ReviewServer]:
    database = Database(str(tmp_path / "server.db"))
    folder = german_folder(tmp_path)
    review = opened_review(database, folder)
    app = create_app(database)
    with served_from_thread(app) as address:
        lead = Visitor(TestClient(app, base_url=address))
        lead.get(f"/setup/{new_setup_token(database)}")
        lead.send(password=PASSWORD, again=PASSWORD)
        yield ReviewServer(address, database, folder, review, lead.client.cookies["evenhand"])
    database.close()


@pytest.fixture
def people(browser: Browser) -> Iterator[list[Visit]]:
    """Three people, each with a browser of their own."""
    contexts = [browser.new_context() for _ in range(3)]
    for context in contexts:
        context.set_default_timeout(1000 * HANG)
    yield [Visit(context.new_page()) for context in contexts]
    for context in contexts:
        context.close()


def shown_context(page: Page) -> str:
    return page.locator("[data-shown=context]").inner_text()


def wait_for_context(page: Page, text: str) -> None:
    page.wait_for_function(
        "text => document.querySelector('[data-shown=context]')?.innerText === text", arg=text
    )


def test_two_reviewers_at_once_and_an_arbiter(people: list[Visit], server: ReviewServer) -> None:
    ann, ben, cleo = (visit.page for visit in people)
    server.join(ann, "Ann")
    server.join(ben, "Ben")
    assert shown_context(ann) == shown_context(ben) == "Eine Pflegerin war BLANK."

    # Ann edits: sentences are rebuilt while she writes, and remarks go away.
    ann.keyboard.press("e")
    ann.wait_for_selector("#edit-context:focus")
    ann.locator("#edit-context").fill("האחות היא BLANK היום.")
    sentence = ann.locator("[data-shown='word/intra-2-u']")
    assert sentence.evaluate("shown => getComputedStyle(shown).direction") == "rtl", "labels are English"
    ann.locator("#edit-context").fill("Eine Schwester war abends BLANK.")
    assert shown_context(ann) == "Eine Schwester war abends BLANK."
    assert ann.locator("[data-shown=context] mark.target").inner_text() == "Schwester"
    assert ann.locator("[data-shown='word/intra-2-s']").inner_text() == "Eine Schwester war abends sanft."
    assert ann.locator("[data-shown='word/intra-2-s'] mark.fill").inner_text() == "sanft"
    ann.locator("[data-remarks]").get_by_text("Two candidates are the same").wait_for()
    ann.locator("#edit-2").fill("a b e k $&")  # no key decides, no pattern of the script is followed
    assert (
        ann.locator("[data-shown='word/intra-2-a']").inner_text() == "Eine Schwester war abends a b e k $&."
    )
    ann.locator("[data-remarks]").get_by_text("Two candidates are the same").wait_for(state="detached")
    ann.locator("#edit-2").fill("hart")
    ann.keyboard.press("Escape")

    # Ben decides about the same item before she does.
    ben.keyboard.press("c")
    ben.keyboard.type("no two answers")
    ben.keyboard.press("Escape")
    ben.keyboard.press("b")
    wait_for_context(ben, "Der Bäcker ist BLANK.")
    ann.keyboard.press("a")
    wait_for_context(ann, "Der Bäcker ist BLANK.")
    assert server.states()[ReviewState.DISPUTED] == 1
    for page in (ann, ben):
        page.keyboard.press("a")
        wait_for_context(page, "Dieser Bäcker mag BLANK.")
    assert server.states()[ReviewState.SETTLED] == 1

    # Cleo sees both proposals, takes the first, and nothing is left for her.
    server.join(cleo, "Cleo", role=ReviewRole.ARBITER)
    proposals = cleo.locator(".proposal")
    assert proposals.count() == 2
    text = " ".join(proposals.all_inner_texts())
    assert "no two answers" in text
    assert "Eine Schwester war abends BLANK." in text
    edited = next(number for number in (1, 2) if "Schwester" in proposals.nth(number - 1).inner_text())
    cleo.keyboard.press(str(edited))
    cleo.get_by_role("heading", name="Nothing left to review").wait_for()

    with open_translation(server.folder) as translation:
        collect_review(server.database, translation)
    item = read_document(server.folder / "de.json").items["intra-2"]
    assert item["sentence/intra-2-a"] == "Eine Schwester war abends hart."
    assert {row.by for row in read_changes(server.folder / "changes.csv")} == {"Cleo", "rebuild"}
    assert [visit.problems for visit in people] == [[], [], []]
    assert all(url.startswith(server.address) for visit in people for url in visit.requests)


def test_what_the_server_refuses_or_does_not_get_stays_on_the_page(
    visit: Visit, server: ReviewServer
) -> None:
    page = visit.page
    server.join(page, "Ann")
    page.keyboard.press("b")
    page.get_by_text("Say in the comment why").wait_for()
    page.wait_for_selector("#comment:focus")
    assert not page.locator("#edit-context").is_visible(), "what is missing is no text"
    page.keyboard.type("hopeless")
    page.route("**/review/**", lambda route: route.abort())
    page.get_by_role("button", name="Beyond repair").click()
    page.get_by_text("was not saved").wait_for()
    assert page.locator("#comment").input_value() == "hopeless"
    page.unroute("**/review/**")
    page.get_by_role("button", name="Beyond repair").click()
    wait_for_context(page, "Der Bäcker ist BLANK.")
    page.keyboard.press("z")
    wait_for_context(page, "Eine Pflegerin war BLANK.")
    assert server.states()[ReviewState.OPEN] == 4


@WIDTHS_AND_SCHEMES
def test_everybody_can_use_the_review(visit: Visit, server: ReviewServer) -> None:
    page = visit.page
    page.goto(server.address + link_of(server.database, server.review, "Ann"))
    assert_accessible_and_fitting(page)
    page.get_by_role("button", name="Begin").click()
    page.wait_for_selector("[data-focus]:focus")
    assert_accessible_and_fitting(page)
    page.context.add_cookies([{"name": "evenhand", "value": server.cookie, "url": server.address}])
    page.goto(f"{server.address}/reviews/{server.review}")
    assert_accessible_and_fitting(page)
    assert visit.problems == []
