"""A review follows its translation: what changed is shown again, what was decided is kept and published."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import builders
import pytest
from web_fixtures import Visitor
from web_reviews import FLAWED, collected, english, german_folder, opened_review, reviewing, states

from evenhand.studio.database import Database
from evenhand.translation import adopt_file, open_translation
from evenhand.translation.publishing import publish
from evenhand.translation.review_pages.opening import OpenedReview, open_review
from evenhand.translation.review_pages.reviews import collect_review
from evenhand.translation.review_records import read_review
from evenhand.translation.reviews import ReviewRole, ReviewState

MakeVisitor = Callable[[], Visitor]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return german_folder(tmp_path)


@pytest.fixture
def review(database: Database, folder: Path) -> str:
    return opened_review(database, folder)


def changed_by(person: str, folder: Path, item: str, **texts: str) -> None:
    with open_translation(folder) as translation:
        for name, text in texts.items():
            translation.changes.set(translation.changes.document.items[item], name, text, by=person)
        translation.save()


def test_a_review_shows_the_texts_as_they_are_now_and_sets_verdicts_on_others_aside(
    database: Database, visitor: MakeVisitor, review: str, folder: Path
) -> None:
    ann, ben = (reviewing(database, visitor, review, person) for person in ("Ann", "Ben"))
    for person in (ann, ben):
        person.send(choice="accept", target="Pflegerin", **{"word/intra-2-a": "grob"})
        person.send(choice="accept", comment="good")
    collected(database, folder)
    changed_by("Dan", folder, "intra-1", context="Der Bäcker kommt BLANK.")
    changed_by("Dan", folder, "intra-3", context="Jener Bäcker mag BLANK.")
    changed_by("Dan", folder, "inter-4", beyond_repair="nobody understands it")

    with open_translation(folder) as translation:
        opened = open_review(database, translation, english())
        again = open_review(database, translation, english())

    assert opened == OpenedReview(review, changed=3, set_aside=2)
    assert again == OpenedReview(review), (
        "what was collected is no change, and what was set aside is done with"
    )
    aside = [row.verdict for row in read_review(folder / "review.set-aside.csv")]
    assert [(verdict.item, verdict.person, verdict.comment) for verdict in aside] == [
        ("intra-1", "Ann", "good"),
        ("intra-1", "Ben", "good"),
    ]
    ann.get(ann.page.url.path)
    assert "Der Bäcker kommt" in ann.text
    assert states(database, review) == {
        ReviewState.OPEN: 2,
        ReviewState.DISPUTED: 0,
        ReviewState.SETTLED: 1,
    }


def test_another_review_of_the_same_translation_can_be_begun(
    database: Database, visitor: MakeVisitor, review: str, folder: Path
) -> None:
    for person in ("Ann", "Ben"):
        reviewing(database, visitor, review, person).send(choice="beyond-repair", comment="no")
    with open_translation(folder) as translation:
        second = open_review(database, translation, english(), is_new=True).name

    assert second == f"{review}-2"
    assert states(database, second)[ReviewState.OPEN] == 4
    assert states(database, review)[ReviewState.SETTLED] == 1
    assert collected(database, folder) == 0, "the last review counts"


def test_what_was_accepted_is_kept_and_told_in_the_data_statement(
    database: Database, visitor: MakeVisitor, review: str, folder: Path, tmp_path: Path
) -> None:
    ann, ben = (reviewing(database, visitor, review, person) for person in ("Ann", "Ben"))
    cleo = reviewing(database, visitor, review, "Cleo", role=ReviewRole.ARBITER)
    for choice in ("accept", "accept", "accept"):
        ann.send(choice=choice)
    for choice in ("beyond-repair", "accept", "accept"):
        ben.send(choice=choice, comment="why")
    cleo.get(cleo.page.url.path)
    cleo.send(choice="accept")
    assert collected(database, folder) == 0
    changed_by("Dan", folder, "intra-3", context="Jener Bäcker mag BLANK.")
    with open_translation(folder) as translation:
        result = collect_review(database, translation)
        written = publish(translation, tmp_path / "de-public.json", licence="CC BY 4.0", source=english())

    assert (result.settled, result.items, result.outdated) == (3, 4, 1)
    statement = (tmp_path / "de-public.md").read_text()
    assert "- 3 of 4 items settled by reviewers (Ann, Ben); 1 not looked at." in statement
    assert "- Cleo settled 1 item on which the reviewers differed." in statement
    assert "- Of the settled items: 3 accepted as they were." in statement
    # Ann accepts always, Ben twice of three times: as often as by chance.
    assert (
        "- Two reviewers decided about 3 items and came to the same result on 2 (67%). Cohen's kappa of their verdicts "
        "is 0.00." in statement
    )
    assert "- 1 item was changed after the review." in statement
    assert "| target-not-in-context: " in statement, "the checks are told"
    assert written[-1] == tmp_path / "de-public.review.csv"
    assert written[-1].read_bytes() == (folder / "review.csv").read_bytes()
    assert [row.verdict.person for row in read_review(folder / "review.csv")].count("Cleo") == 1


def test_the_page_says_what_is_wrong_and_what_a_rule_did(
    database: Database, visitor: MakeVisitor, folder: Path
) -> None:
    changed_by("closest", folder, FLAWED, target="<i>war", doubtful_target="Schwester")
    review = opened_review(database, folder)

    ann = reviewing(database, visitor, review, "Ann")

    assert "target-guessed a rule took a word of the context for the target, and may be wrong" in ann.text
    assert "candidates-merged two candidates are the same here that differ in the source" in ann.text
    assert "closest target: Schwester → &lt;i&gt;war" in ann.text, "texts are escaped"
    assert "intra-2" in ann.text
    assert "Also in the original" not in ann.text


def test_problems_that_the_original_has_too_stand_apart(
    database: Database, visitor: MakeVisitor, tmp_path: Path
) -> None:
    context, fills = "BLANK ist der Bäcker", ("Alt", "Jung", "Blau")
    item = builders.intra(1, language="de", target="Bäcker", context=context, fills=fills)
    path = builders.write_json(tmp_path / "de.json", builders.document([item], language="de"))
    adopt_file(path, tmp_path / "folder")
    source = builders.benchmark(
        builders.intra(1, context="BLANK is the baker", fills=("Old", "Young", "Blue"))
    )
    with open_translation(tmp_path / "folder") as translation:
        review = open_review(database, translation, source).name

    ann = reviewing(database, visitor, review, "Ann")

    assert "Also in the original: blank-first, no-final-punctuation" in ann.text.replace(" ,", ",")
    assert 'class="flags"' not in ann.page.text


def test_the_arbiter_sees_which_candidate_a_proposal_changes_and_the_sentences(
    database: Database, visitor: MakeVisitor, review: str
) -> None:
    ann, ben = (reviewing(database, visitor, review, person) for person in ("Ann", "Ben"))
    ann.send(choice="accept", target="Pflegerin", **{"word/intra-2-a": "grob"})
    ben.send(choice="accept", target="Pflegerin", **{"word/intra-2-a": "hart"})

    cleo = reviewing(database, visitor, review, "Cleo", role=ReviewRole.ARBITER)

    assert "anti-stereotype grob" in cleo.text
    assert "anti-stereotype Eine Pflegerin war grob." in cleo.text
    assert "anti-stereotype Eine Pflegerin war hart." in cleo.text
