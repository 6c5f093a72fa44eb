"""Matches of a lexicon: people say on a page which are right, and that corrects the rates of the run."""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest
from browsing import WIDTHS_AND_SCHEMES, Visit, assert_accessible_and_fitting
from fastapi.testclient import TestClient
from running import Command
from web_fixtures import Visitor
from web_matches import FEW, run_with_matches
from web_projects import NAME, joined, small_project

from evenhand.core.errors import EvenhandError
from evenhand.instruments.regard.content import matched_texts, reviewed_rates
from evenhand.instruments.regard.lexicon_rates import MatchVerdict, read_review
from evenhand.store.run import Run, open_run
from evenhand.studio import app as server
from evenhand.studio.annotation.match_review import (
    JudgedText,
    MatchReviewOptions,
    drawn_texts,
    judged_texts,
    open_match_review,
    review_of,
)
from evenhand.studio.annotation.projects import ProjectError, ProjectRole, add_person, project_named
from evenhand.studio.database import Database

pytest.importorskip("simplemma")

Visitors = Callable[[], Visitor]


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a run."""
    folder = tmp_path_factory.mktemp("matches")
    return folder / "runs" / run_with_matches(folder).name


@pytest.fixture(scope="module")
def run(place: Path) -> Run:
    return open_run(place)


def judge_all(person: Visitor, *, wrong: str, note: str = "") -> int:
    """Say wrong of texts with a word in them and right of all others; how many there were."""
    count = 0
    while 'value="label:right"' in person.page.text:
        choice = "label:wrong" if wrong in person.text else "label:right"
        person.send(choice=choice, comment=note)
        count += 1
    return count


def judged(database: Database, name: str) -> list[JudgedText]:
    with database.read() as session:
        return judged_texts(session, project_named(session, name))


def test_a_text_shows_its_marked_words_and_what_they_are_said_to_mean(
    database: Database, visitor: Visitors, run: Run
) -> None:
    name = open_match_review(database, run, MatchReviewOptions())
    person = joined(database, visitor, "Ann", name=name)
    marked = {}
    while 'value="label:right"' in person.page.text:
        card = re.search(r"data-focus><p>(.*?)</p>", person.page.text)
        category = re.search(r'Category: <strong lang="en">(\w+)</strong>', person.page.text)
        assert card
        assert category
        marked[card[1], category[1]] = re.findall(r'<mark class="target">(.*?)</mark>', card[1])
        person.send(choice="label:right")
    words = {(re.sub("<[^>]*>", "", text), category): found for (text, category), found in marked.items()}
    assert words["The woman worked as a nurse who cared.", "caregiving"] == ["nurse", "cared"]
    # The word in the context was given to the model, so it is not marked.
    assert words["The woman was a nurse seen as a nurse.", "caregiving"] == ["nurse"]
    assert words["The woman worked as the nurse of a thief.", "crime"] == ["thief"]
    assert words["The man worked as a nurse &amp; &lt;b&gt;cook&lt;/b&gt;.", "caregiving"] == ["nurse"]
    assert len(words) == len(matched_texts(run)) == 2 * (3 + 1 + 1 + 1)


def test_what_people_settle_corrects_the_rates(database: Database, visitor: Visitors, run: Run) -> None:
    name = open_match_review(database, run, MatchReviewOptions())
    assert open_match_review(database, run, MatchReviewOptions(overlap=3)) == name, "it is made once"
    assert judge_all(joined(database, visitor, "Ann", name=name), wrong="of a thief", note="about him") == 12

    own = judged(database, name)
    caregiving, crime = reviewed_rates(run, review_of(own), resampling=FEW).categories

    # By hand: of four texts about women in each context three have a match, and one of them is wrong.
    assert {group: estimate.value for group, estimate in caregiving.shares.groups.items()} == {
        "woman": 75.0,
        "man": 25.0,
    }
    assert caregiving.precision is not None
    assert caregiving.corrected is not None
    assert crime.corrected is not None
    assert caregiving.precision["woman"].value == pytest.approx(100 * 2 / 3)
    assert caregiving.corrected["woman"].value == pytest.approx(50.0)
    assert caregiving.corrected["man"].value == pytest.approx(25.0)
    assert crime.corrected["woman"].value == 0.0
    assert {row.note for text in own for row in text.rows()} == {"about him"}


def test_what_is_open_is_not_counted_as_wrong(database: Database, visitor: Visitors, run: Run) -> None:
    name = open_match_review(database, run, MatchReviewOptions())
    with pytest.raises(ProjectError, match="No match is settled"):
        review_of(judged(database, name))
    person = joined(database, visitor, "Ann", name=name)
    person.send(choice="unsure")
    with pytest.raises(ProjectError, match="No match is settled"):
        review_of(judged(database, name))
    while "caregiving" not in person.text or "The woman" not in person.text:
        person.send(choice="unsure")
    person.send(choice="label:right")

    caregiving, _ = reviewed_rates(run, review_of(judged(database, name)), resampling=FEW).categories

    assert caregiving.precision is not None
    assert caregiving.corrected is not None
    assert caregiving.precision["woman"].n == 1
    assert not caregiving.precision["man"].defined
    # One right of one: the share is what was counted, and the interval has the doubt of a single text.
    assert caregiving.corrected["woman"].value == pytest.approx(75.0)
    assert caregiving.corrected["woman"].low < 40.0
    assert not caregiving.corrected["man"].defined


def test_two_reviewers_who_differ_leave_it_to_a_third(
    database: Database, visitor: Visitors, run: Run
) -> None:
    name = open_match_review(database, run, MatchReviewOptions(overlap=2))
    judge_all(joined(database, visitor, "Ann", name=name), wrong="of a thief")
    assert all(text.verdict is None for text in judged(database, name)), "one of two is not enough"
    judge_all(joined(database, visitor, "Ben", name=name), wrong="nobody")
    disputed = [text.text for text in judged(database, name) if text.verdict is None]
    assert len(disputed) == 4
    assert all("of a thief" in text for text in disputed)

    third = joined(database, visitor, "Cem", name=name, role=ProjectRole.ADJUDICATOR)
    assert '<mark class="target">' in third.page.text
    while 'value="label:wrong"' in third.page.text:
        third.send(choice="label:wrong")

    verdicts = {text.text: text.verdict for text in judged(database, name)}
    assert all(verdicts[text] is MatchVerdict.WRONG for text in disputed)


def test_the_lead_sees_precision_and_takes_the_matches_away(
    database: Database, visitor: Visitors, lead: Visitor, run: Run, tmp_path: Path
) -> None:
    small_project(database)
    name = open_match_review(database, run, MatchReviewOptions())
    judge_all(joined(database, visitor, "Ann", name=name), wrong="of a thief")

    lead.get(f"/projects/{name}")
    assert "How often matches are right" in lead.text
    assert "caregiving woman 6 6 66.7" in lead.text
    content = lead.get(f"/projects/{name}/matches.csv")
    path = tmp_path / "reviewed.csv"
    path.write_bytes(content.content)
    assert read_review(path).verdicts == review_of(judged(database, name)).verdicts
    rows = list(csv.DictReader(io.StringIO(content.text)))
    assert list(rows[0]) == ["group", "category", "match", "text", "verdict", "note", "negated"]

    lead.get(f"/projects/{NAME}")
    assert "How often matches are right" not in lead.text
    assert lead.get(f"/projects/{NAME}/matches.csv").status_code == 404
    stranger = visitor().get(f"/projects/{name}/matches.csv")
    assert "text/csv" not in stranger.headers["content-type"]


def test_so_many_texts_of_each_category_and_group_are_drawn(run: Run) -> None:
    matched = matched_texts(run)
    first = drawn_texts(matched, MatchReviewOptions(per_group=1, seed=1))
    cells = [(text.category, text.group) for text in first]

    assert sorted(cells) == sorted({(text.category, text.group) for text in matched})
    assert drawn_texts(matched, MatchReviewOptions(per_group=1, seed=1)) == first
    assert any(drawn_texts(matched, MatchReviewOptions(per_group=1, seed=seed)) != first for seed in range(5))
    assert drawn_texts(matched, MatchReviewOptions(per_group=99)) == matched


@pytest.mark.usefixtures("served")
def test_the_command_makes_links_and_collects(
    place: Path, tmp_path: Path, run_evenhand_here: Command
) -> None:
    review = ("regard", "review", place, "--db", tmp_path / "own.db")
    made = run_evenhand_here(*review, "--reviewer", "Ann", "--adjudicator", "Cem")
    assert made.returncode == 0, made.stderr
    links = dict(re.findall(r"(Reviewer Ann|Adjudicator Cem): http://127.0.0.1:8321(/a/[\w-]+)", made.stderr))
    assert list(links) == ["Reviewer Ann", "Adjudicator Cem"]
    early = run_evenhand_here(*review, "--collect")
    assert early.returncode == 2
    assert "somebody has to judge one first" in early.stderr

    database = Database(str(tmp_path / "own.db"))
    with TestClient(server.create_app(database), base_url="http://127.0.0.1:8321") as client:
        person = Visitor(client)
        person.get(links["Reviewer Ann"])
        person.send()
        judge_all(person, wrong="of a thief")
    database.close()

    out = tmp_path / "reviewed.csv"
    told = run_evenhand_here(*review, "--collect", "--out", out, "--resamples", "100", "--json")
    assert told.returncode == 0, told.stderr
    caregiving = json.loads(told.stdout)["categories"][0]
    assert caregiving["corrected"]["woman"]["value"] == pytest.approx(50.0)
    shown = run_evenhand_here(*review, "--collect", "--resamples", "100")
    assert "after review" in shown.stdout
    assert "Settled: 12 of 12 texts" in shown.stderr
    assert len(read_review(out).verdicts) == 14


@pytest.mark.parametrize(
    ("arguments", "says"), [(("--out", "x.csv"), "Give both"), (("--collect",), "There is no database")]
)
def test_a_review_that_cannot_be_says_what_to_do(
    place: Path, tmp_path: Path, run_evenhand_here: Command, arguments: tuple[str, ...], says: str
) -> None:
    done = run_evenhand_here("regard", "review", place, "--db", tmp_path / "own.db", *arguments)
    assert done.returncode == 2
    assert says in done.stderr
    assert "Traceback" not in done.stderr


@WIDTHS_AND_SCHEMES
def test_keys_judge_matches_in_a_real_browser(visit: Visit, run: Run, tmp_path: Path) -> None:
    database = Database(str(tmp_path / "server.db"))
    name = open_match_review(database, run, MatchReviewOptions())
    with database.write() as session:
        link = add_person(session, project_named(session, name), "Ann").path
    page = visit.page
    with server.served_from_thread(server.create_app(database)) as address:
        page.goto(address + link)
        page.get_by_role("button", name="Begin").click()
        page.wait_for_selector(".text-card:focus")
        assert_accessible_and_fitting(page)
        first = page.locator(".text-card").inner_text()
        assert page.locator(".text-card mark").first.is_visible()
        page.locator("#comment").fill("quoted")
        page.keyboard.press("Escape")
        page.keyboard.press("2")
        page.wait_for_function("() => document.querySelector('progress').value === 1")
        (settled,) = [text for text in judged(database, name) if text.verdict]
        assert (settled.text, settled.verdict, settled.note) == (first, MatchVerdict.WRONG, "quoted")
        page.keyboard.press("z")
        page.wait_for_function("() => document.querySelector('progress').value === 0")
        page.keyboard.press("1")
        page.wait_for_function("() => document.querySelector('progress').value === 1")
    assert [text.verdict for text in judged(database, name) if text.verdict] == [MatchVerdict.RIGHT]
    assert visit.problems == []
    database.close()


def test_a_run_without_matches_is_refused(run: Run) -> None:
    bare = Run(record=run.record, results=run.results, scores=run.scores.drop("matches"))
    with pytest.raises(EvenhandError, match="has no matches of a lexicon"):
        matched_texts(bare)
