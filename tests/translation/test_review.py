"""Reviews of translations: two people decide, a third settles, and what is settled becomes changes."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable
from pathlib import Path

import builders
import pytest
from table_translations import PAIRS, STRUCTURES, table_folder
from web_fixtures import Visitor
from web_reviews import FLAWED, collected, german_folder, link_of, opened_review, reviewing, states

from evenhand.core.errors import TranslationError
from evenhand.studio.database import Database
from evenhand.translation import adopt_file, open_table, open_translation, read_changes, read_document
from evenhand.translation.review_pages.opening import OpenedReview, open_table_review
from evenhand.translation.review_pages.queue import figures_of
from evenhand.translation.review_pages.reviews import collect_review, review_named, settled_changes
from evenhand.translation.reviews import ReviewOutcome, ReviewRole, ReviewState

MakeVisitor = Callable[[], Visitor]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return german_folder(tmp_path)


@pytest.fixture
def review(database: Database, folder: Path) -> str:
    return opened_review(database, folder)


def test_an_item_with_problems_comes_first_beside_its_source(
    database: Database, visitor: MakeVisitor, review: str
) -> None:
    ann = reviewing(database, visitor, review, "Ann")

    assert "A nurse was" in ann.text
    assert "Eine Pflegerin war" in ann.text
    assert "target-not-in-context" in ann.text
    assert "candidates-merged" in ann.text
    assert '<mark class="blank">BLANK</mark>' in ann.page.text
    assert '<mark class="target">nurse</mark>' in ann.page.text
    assert "Eine Pflegerin war sanft." in ann.text, "sentences are shown as the words make them"
    assert "0 of 4" in ann.text


def test_the_warning_comes_before_the_first_item(
    database: Database, visitor: MakeVisitor, review: str
) -> None:
    ann = visitor()
    ann.get(link_of(database, review, "Ann"))

    assert "hurtful or offensive" in ann.text
    assert "Pflegerin" not in ann.text


def test_two_who_make_the_same_of_an_item_settle_it(
    database: Database, visitor: MakeVisitor, review: str, folder: Path
) -> None:
    for person in ("Ann", "Ben"):
        somebody = reviewing(database, visitor, review, person)
        somebody.send(choice="accept", target="Pflegerin", **{"word/intra-2-a": "grob"})

    assert states(database, review) == {
        ReviewState.OPEN: 3,
        ReviewState.DISPUTED: 0,
        ReviewState.SETTLED: 1,
    }
    assert collected(database, folder) == 3
    rows = read_changes(folder / "changes.csv")
    assert [(row.field, row.after, row.by) for row in rows] == [
        ("target", "Pflegerin", "Ann and Ben"),
        ("word/intra-2-a", "grob", "Ann and Ben"),
        ("sentence/intra-2-a", "Eine Pflegerin war grob.", "rebuild"),
    ]
    assert collected(database, folder) == 0, "what was applied is not applied again"


def test_what_two_differ_on_goes_to_the_arbiter_alone(
    database: Database, visitor: MakeVisitor, review: str, folder: Path
) -> None:
    ann, ben = (reviewing(database, visitor, review, person) for person in ("Ann", "Ben"))
    cleo = reviewing(database, visitor, review, "Cleo", role=ReviewRole.ARBITER)
    assert "Nothing left to review" in cleo.text
    ann.send(
        choice="accept",
        context="Eine Schwester war BLANK.",
        comment="as in the source",
        **{"word/intra-2-a": "hart"},
    )
    ben.send(choice="beyond-repair", comment="two candidates are the same")
    assert "Der Bäcker ist" in ann.text
    assert "as in the source" not in ben.text, "reviewers do not see each other's verdict"

    cleo.get(cleo.page.url.path)
    assert "Eine Schwester war BLANK." in cleo.text
    assert "as in the source" in cleo.text
    assert "two candidates are the same" in cleo.text
    assert "Ann" not in cleo.text, "names stay hidden"
    first = cleo.page.text.partition('value="take:')[2].partition('"')[0]
    cleo.send(choice=f"take:{first}")

    assert states(database, review)[ReviewState.SETTLED] == 1
    collected(database, folder)
    item = read_document(folder / "de.json").items[FLAWED]
    assert item.context == "Eine Schwester war BLANK."
    assert item["sentence/intra-2-a"] == "Eine Schwester war hart."
    assert {row.by for row in read_changes(folder / "changes.csv")} == {"Cleo", "rebuild"}


def test_an_item_beyond_repair_needs_a_reason_and_stays_in_the_file(
    database: Database, visitor: MakeVisitor, review: str, folder: Path
) -> None:
    for person in ("Ann", "Ben"):
        somebody = reviewing(database, visitor, review, person)
        somebody.send(choice="beyond-repair", comment="")
        assert somebody.page.status_code == 422
        assert "Say in the comment why" in somebody.text
        somebody.send(choice="beyond-repair", comment=f"{person} cannot tell them apart")
        assert somebody.page.status_code == 200

    collected(database, folder)

    assert states(database, review)[ReviewState.SETTLED] == 1, "comments may differ"
    mark = read_document(folder / "de.json").items[FLAWED]["beyond_repair"]
    assert mark == "Ann cannot tell them apart; Ben cannot tell them apart"


def test_a_culture_specific_item_is_replaced_by_one_with_an_id_of_its_own(
    database: Database, visitor: MakeVisitor, review: str, folder: Path
) -> None:
    own = {"target": "Hebamme", "context": "Die Hebamme ist BLANK.", "word/intra-2-a": "streng"}
    for person in ("Ann", "Ben"):
        reviewing(database, visitor, review, person).send(choice="culture-specific", **own)

    collected(database, folder)

    document = read_document(folder / "de.json")
    assert document.items[FLAWED]["beyond_repair"] == "culture-specific"
    item = document.items["intra-2-de"]
    assert (item.target, item.context) == ("Hebamme", "Die Hebamme ist BLANK.")
    assert item.candidate_ids() == ["intra-2-de-1", "intra-2-de-2", "intra-2-de-3"]
    assert item["sentence/intra-2-de-2"] == "Die Hebamme ist streng."
    with open_translation(folder) as translation:
        assert not translation.edited_by_hand()
        translation.changes.undo("all")
        assert translation.changes.document.to_bytes() == (folder / "untouched.json").read_bytes()


@pytest.mark.parametrize(
    ("texts", "sentence"),
    [
        ({"context": "Eine Schwester war nett."}, "needs BLANK exactly once"),
        ({"context": "BLANK Schwester BLANK."}, "needs BLANK exactly once"),
        ({"target": "Arzt"}, "does not occur in the context"),
        ({"target": ""}, "A text is empty"),
        ({"target": "Pflegerin"}, "Two candidates are the same"),
    ],
)
def test_texts_that_cannot_be_are_refused_and_stay_on_the_page(
    database: Database, visitor: MakeVisitor, review: str, texts: dict[str, str], sentence: str
) -> None:
    ann = reviewing(database, visitor, review, "Ann")

    ann.send(choice="accept", comment="so far", **texts)

    assert ann.page.status_code == 422
    assert sentence in ann.text
    assert all(text in ann.page.text for text in texts.values())
    assert "so far" in ann.page.text
    assert states(database, review)[ReviewState.OPEN] == 4
    with database.read() as session:
        assert figures_of(session, review_named(session, review)).agreement.both == 0


def test_items_are_filtered_by_problem_bias_type_and_term(
    database: Database, visitor: MakeVisitor, review: str
) -> None:
    ann = reviewing(database, visitor, review, "Ann")
    home = ann.page.url.path

    ann.get(f"{home}?bias=profession")
    assert "Der Bäcker ist" in ann.text
    ann.send(choice="accept")
    assert "Dieser Bäcker mag" in ann.text, "the filter stays"
    ann.send(choice="accept")
    assert "Nothing left to review" in ann.text
    ann.get(f"{home}?problem=target-not-in-context&term=nurse")
    assert "Eine Pflegerin war" in ann.text
    ann.send(choice="next")
    assert "Eine Pflegerin war" in ann.text, "there is no other"
    ann.get(f"{home}?term=nobody")
    assert "Nothing left to review" in ann.text


def test_the_last_decision_can_be_taken_back_and_changed(
    database: Database, visitor: MakeVisitor, review: str
) -> None:
    ann = reviewing(database, visitor, review, "Ann")
    ann.send(choice="beyond-repair", comment="hopeless")
    assert "1 of 4" in ann.text
    ann.send(choice="undo")
    assert "Eine Pflegerin war" in ann.text
    assert "0 of 4" in ann.text
    ann.send(choice="next")
    assert "Eine Pflegerin war" not in ann.text
    ann.send(choice="previous")
    ann.send(choice="accept")
    assert "1 of 4" in ann.text


def test_white_space_around_a_text_is_no_edit(
    database: Database, visitor: MakeVisitor, tmp_path: Path
) -> None:
    path = tmp_path / "de.json"
    item = builders.intra(
        1, language="de", target="Bäcker", context="Sie ist BLANK. \r\n ", fills=("a", "b", "c")
    )
    builders.write_json(path, builders.document([item], language="de"))
    adopt_file(path, tmp_path / "spaces")
    review = opened_review(database, tmp_path / "spaces")

    for person in ("Ann", "Ben"):
        reviewing(database, visitor, review, person).send(choice="accept")

    with database.read() as session:
        assert figures_of(session, review_named(session, review)).outcomes[ReviewOutcome.ACCEPT] == 1


def test_agreement_counts_decisions_and_texts(database: Database, visitor: MakeVisitor, review: str) -> None:
    ann, ben = (reviewing(database, visitor, review, person) for person in ("Ann", "Ben"))
    for choice in ("beyond-repair", "accept", "accept", "beyond-repair"):
        ann.send(choice=choice, comment="why")
    for choice in ("beyond-repair", "accept", "beyond-repair", "accept"):
        ben.send(choice=choice, comment="why not")

    with database.read() as session:
        figures = figures_of(session, review_named(session, review))

    assert (figures.agreement.both, figures.agreement.same) == (4, 2)
    assert figures.agreement.kappa == pytest.approx(
        (0.5 - 0.5) / (1 - 0.5)
    )  # both say either half of the time
    assert [(term.term, term.settled, term.items) for term in figures.terms] == [
        ("baker", 1, 2),
        ("nurse", 1, 2),
    ]


def test_the_lead_sees_progress_makes_links_and_takes_files_away(
    database: Database, visitor: MakeVisitor, lead: Visitor, review: str
) -> None:
    for person in ("Ann", "Ben"):
        reviewing(database, visitor, review, person).send(
            choice="accept", target="Pflegerin", comment="fine", **{"word/intra-2-a": "grob"}
        )
    assert review in lead.get("/").text
    lead.get(f"/reviews/{review}")
    assert "1 of 4 items settled, 0 disputed" in lead.text
    assert "1 of 1 items on which two reviewers decided" in lead.text

    lead.send(f"/reviews/{review}/people", person="Cleo", role="arbiter")
    link = lead.page.text.partition('<p class="code">')[2].partition("</p>")[0]
    cleo = visitor()
    cleo.get(link.partition("8321")[2])
    assert "on which two reviewers differ" in cleo.text
    rows = list(csv.DictReader(io.StringIO(lead.client.get(f"/reviews/{review}/changes.csv").text)))
    assert [(row["item"], row["field"]) for row in rows] == [
        (FLAWED, "target"),
        (FLAWED, "word/intra-2-a"),
        (FLAWED, "sentence/intra-2-a"),
    ]
    verdicts = list(csv.DictReader(io.StringIO(lead.client.get(f"/reviews/{review}/verdicts.csv").text)))
    assert [(row["person"], row["outcome"], row["comment"]) for row in verdicts] == [
        ("Ann", "edit", "fine"),
        ("Ben", "edit", "fine"),
    ]
    lead.get(f"/reviews/{review}")
    person = lead.page.text.partition(f"/reviews/{review}/people/")[2].partition("/revoke")[0]
    lead.send(f"/reviews/{review}/people/{person}/revoke")
    assert "closed" in lead.text


def test_nobody_else_reads_a_review(database: Database, visitor: MakeVisitor, review: str) -> None:
    ann = reviewing(database, visitor, review, "Ann")
    stranger = visitor()

    assert stranger.get(ann.page.url.path).status_code == 403
    assert stranger.get("/r/guess").status_code == 404
    assert "Sign in" in stranger.get(f"/reviews/{review}").text
    assert stranger.client.get(f"/reviews/{review}/changes.csv", follow_redirects=False).status_code == 303


def test_somebody_who_reviews_cannot_settle_disputes_too(
    database: Database, visitor: MakeVisitor, review: str
) -> None:
    reviewing(database, visitor, review, "Ann")

    with pytest.raises(TranslationError, match="Ann is reviewer in this review already"):
        link_of(database, review, "Ann", role=ReviewRole.ARBITER)


def test_a_text_that_changed_since_is_not_overwritten(
    database: Database, visitor: MakeVisitor, review: str, folder: Path
) -> None:
    for person in ("Ann", "Ben"):
        reviewing(database, visitor, review, person).send(
            choice="accept", target="Pflegerin", **{"word/intra-2-a": "grob"}
        )
    with open_translation(folder) as translation:
        item = translation.changes.document.items[FLAWED]
        translation.changes.set(item, "context", "Die Pflegerin war BLANK.", by="Dan")
        translation.save()

    with pytest.raises(TranslationError, match="has changed since the reviewers saw it"):
        collected(database, folder)
    assert len(read_changes(folder / "changes.csv")) == 1


def test_a_translation_without_a_review_has_nothing_to_collect(database: Database, folder: Path) -> None:
    with pytest.raises(TranslationError, match=r"no review of .*\. Begin one with: evenhand data review"):
        collected(database, folder)


def test_right_to_left_and_long_texts_survive(
    database: Database, visitor: MakeVisitor, review: str, folder: Path
) -> None:
    long = "ممرضة " + "ع" * 10_000 + " BLANK."
    for person in ("Ann", "Ben"):
        somebody = reviewing(database, visitor, review, person)
        somebody.send(choice="accept", target="ممرضة", context=long, **{"word/intra-2-a": "e\u0301"})
        assert somebody.page.status_code == 200

    collected(database, folder)

    item = read_document(folder / "de.json").items[FLAWED]
    assert item.context == long
    assert item["word/intra-2-a"] == "e\u0301"


def test_a_row_of_a_table_is_reviewed_beside_its_source(
    database: Database, visitor: MakeVisitor, tmp_path: Path
) -> None:
    folder = table_folder(tmp_path, STRUCTURES)
    with open_table(folder) as table:
        review = open_table_review(database, table).name
        assert open_table_review(database, table) == OpenedReview(review)
    ann, ben = (reviewing(database, visitor, review, person) for person in ("Ann", "Ben"))
    assert "tags-lost" in ann.text
    assert "[MASK] is a [OCC] and likes the work." in ann.text
    assert ann.send(choice="accept", structure="Ella es [OCC].").status_code == 422
    assert "A tag of the original" in ann.text
    for person in (ann, ben):
        person.send(choice="accept", structure="[MASK] es [OCC] y le gusta su trabajo.")
        person.send(choice="beyond-repair", comment="no gap in Spanish")
    with open_table(folder) as table:
        assert collect_review(database, table).changes == 2
        assert collect_review(database, table).changes == 0, "it can be repeated"
    rows = {(row.item, row.field): row for row in read_changes(folder / "changes.csv")}
    assert rows["1", "structure"].after == "[MASK] es [OCC] y le gusta su trabajo."
    assert rows["1", "structure"].by == "Ann and Ben"
    assert rows["2", "beyond_repair"].after == "no gap in Spanish"
    with database.read() as session:
        exported = settled_changes(session, review_named(session, review))
    assert [(row.item, row.field, row.after) for row in exported] == [
        (row.item, row.field, row.after) for row in read_changes(folder / "changes.csv")
    ]


def test_a_culture_specific_row_gets_a_row_of_its_own(
    database: Database, visitor: MakeVisitor, tmp_path: Path
) -> None:
    folder = table_folder(tmp_path, PAIRS)
    with open_table(folder) as table:
        review = open_table_review(database, table).name
    for person in ("Ann", "Ben"):
        somebody = reviewing(database, visitor, review, person)
        somebody.send(choice="culture-specific", sent_more="Ellas no.", sent_less="Ellos no.")
    with open_table(folder) as table:
        collect_review(database, table)
        document = table.changes.document
        assert document.items["p1-es"].cells["bias_type"] == "gender"
        assert document.items["p1-es"].texts() == {"sent_more": "Ellas no.", "sent_less": "Ellos no."}
        assert document.items["p1"].is_beyond_repair
    with open_table(folder) as table:
        table.refuse_edits()


@pytest.mark.parametrize("choice", ["next", "undo"])
def test_who_leaves_an_item_with_edits_is_told_and_leaves_with_a_second_step(
    database: Database, visitor: MakeVisitor, tmp_path: Path, choice: str
) -> None:
    review = opened_review(database, german_folder(tmp_path))
    ann = reviewing(database, visitor, review, "Ann")
    told = ann.send(choice=choice, target="Pflegerin")
    assert told.status_code == 422
    assert "not saved yet" in ann.text
    assert 'value="Pflegerin"' in ann.page.text
    left = ann.send(choice=choice)
    assert left.status_code == 200
    assert 'value="Pflegerin"' not in ann.page.text
    assert ann.send(choice="next").status_code == 200, "who wrote nothing is not held up"
