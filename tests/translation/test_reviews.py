"""When a review of an item is settled, and items that people wrote for one language."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

import pytest
from translation_files import changes_of

from evenhand.core.errors import DatasetError, EvenhandError
from evenhand.core.items import Task
from evenhand.translation import Changes, Document, read_document, replay
from evenhand.translation.reviews import (
    ReviewOutcome,
    ReviewRole,
    ReviewState,
    ReviewVerdict,
    apply_verdicts,
    fault_of,
    review_texts,
    settled_verdict,
    state_of,
)


def verdict(
    person: str,
    outcome: ReviewOutcome = ReviewOutcome.ACCEPT,
    *,
    role: ReviewRole = ReviewRole.REVIEWER,
    comment: str = "",
    texts: Mapping[str, str] | None = None,
) -> ReviewVerdict:
    return ReviewVerdict("intra-2", person, role, outcome, texts or {}, comment, "2026-02-02T10:00:00+00:00")


@pytest.mark.parametrize(
    ("verdicts", "state"),
    [
        ([], ReviewState.OPEN),
        ([verdict("Ann")], ReviewState.OPEN),
        ([verdict("Ann"), verdict("Ben")], ReviewState.SETTLED),
        ([verdict("Ann"), verdict("Ben", ReviewOutcome.BEYOND_REPAIR)], ReviewState.DISPUTED),
        (
            [
                verdict("Ann", ReviewOutcome.EDIT, texts={"target": "x"}),
                verdict("Ben", ReviewOutcome.EDIT, texts={"target": "y"}),
            ],
            ReviewState.DISPUTED,
        ),
        ([verdict("Ann"), verdict("Ben"), verdict("Dan", ReviewOutcome.BEYOND_REPAIR)], ReviewState.DISPUTED),
        (
            [
                verdict("Ann"),
                verdict("Ben", ReviewOutcome.BEYOND_REPAIR),
                verdict("Cleo", ReviewOutcome.EDIT, role=ReviewRole.ARBITER, texts={"target": "z"}),
            ],
            ReviewState.SETTLED,
        ),
    ],
)
def test_an_item_is_settled_by_two_who_agree_or_by_the_arbiter(
    verdicts: list[ReviewVerdict], state: ReviewState
) -> None:
    assert state_of(verdicts) is state
    assert (settled_verdict(verdicts) is not None) is (state is ReviewState.SETTLED)


def test_comments_of_both_are_kept() -> None:
    settled = settled_verdict([verdict("Ben", comment="good"), verdict("Ann", comment="fine")])

    assert settled is not None
    assert (settled.person, settled.comment) == ("Ann and Ben", "good; fine")


@pytest.mark.parametrize(
    ("texts", "fault"),
    [
        ({}, None),
        ({"context": "Der Lehrer war gut."}, "blank"),
        ({"context": "Er war BLANK."}, "target"),
        ({"word/2": "NETT"}, "equal"),
        ({"word/3": " "}, "empty"),
    ],
)
def test_what_is_wrong_with_texts_that_somebody_wrote(texts: dict[str, str], fault: str | None) -> None:
    own = {
        "target": "Lehrer",
        "context": "Der Lehrer war BLANK.",
        "word/1": "nett",
        "word/2": "streng",
        "word/3": "Gras",
    }

    assert fault_of(Task.INTRASENTENCE, {**own, **texts}) == fault
    assert fault_of(Task.INTERSENTENCE, {"target": "Lehrer", "context": "Der Lehrer kommt."}) is None


@pytest.fixture
def changes(tmp_path: Path) -> Changes[Document]:
    return changes_of(tmp_path)


def applied(changes: Changes[Document], *verdicts: ReviewVerdict) -> int:
    shown = {item.id: review_texts(item) for item in changes.document}
    return apply_verdicts(changes, verdicts, shown)


def test_rows_have_the_time_of_the_verdict(changes: Changes[Document]) -> None:
    assert applied(changes, verdict("Ann and Ben", ReviewOutcome.EDIT, texts={"target": "Physiker"})) == 1

    (row,) = changes.rows
    assert (row.before, row.after, row.time) == ("Physikerin", "Physiker", "2026-02-02T10:00:00+00:00")
    assert changes.clock() == "2026-01-01T00:00:00+00:00", "the clock is as it was"


OWN_TEXTS = {
    "target": "Hebamme",
    "context": "Eine Hebamme ist BLANK.",
    **{f"word/intra-2-{suffix}": word for suffix, word in zip("sau", ("sanft", "grob", "Gras"), strict=True)},
}


def test_an_own_item_is_made_again_from_its_rows_and_undone(
    changes: Changes[Document], tmp_path: Path
) -> None:
    untouched = changes.document.to_bytes()
    applied(
        changes,
        verdict("Ann and Ben", ReviewOutcome.CULTURE_SPECIFIC, comment="here midwives", texts=OWN_TEXTS),
    )

    item = changes.document.items["intra-2-de"]
    assert item["sentence/intra-2-de-1"] == "Eine Hebamme ist sanft."
    assert changes.document.items["intra-2"]["beyond_repair"] == "culture-specific: here midwives"
    again = replay(read_document(tmp_path / "de.json"), changes.rows)
    assert again.document.to_bytes() == changes.document.to_bytes()
    (tmp_path / "own.json").write_bytes(changes.document.to_bytes())
    assert len(read_document(tmp_path / "own.json")) == len(changes.document) == 7

    changes.undo("Ann and Ben")
    assert changes.document.to_bytes() == untouched
    assert replay(read_document(tmp_path / "de.json"), changes.rows).document.to_bytes() == untouched


def test_an_own_item_belongs_to_the_target_term_of_the_one_whose_place_it_takes(
    changes: Changes[Document],
) -> None:
    changes.document.items["intra-2"].row["target_original"] = "physicist"
    applied(changes, verdict("Ann and Ben", ReviewOutcome.CULTURE_SPECIFIC, texts=OWN_TEXTS))

    own = changes.document.items["intra-2-de"].row
    assert (own["target"], own["target_original"]) == ("Hebamme", "physicist")


@pytest.mark.parametrize(
    "text", ["no JSON", "[]", "{}", '{"other": {"id": "new"}}', '{"intrasentence": {"id": "another"}}']
)
def test_what_is_no_item_is_not_added(changes: Changes[Document], text: str) -> None:
    with pytest.raises(DatasetError, match="is no item of that id"):
        changes.document.put_own_item("new", text)


def test_an_item_that_is_there_is_not_added_again(changes: Changes[Document]) -> None:
    row = json.dumps({"intrasentence": changes.document.items["intra-2"].row})

    with pytest.raises(DatasetError, match="is no item of that id"):
        changes.document.put_own_item("intra-2", row)


def test_rows_of_another_own_item_do_not_fit(changes: Changes[Document], tmp_path: Path) -> None:
    applied(changes, verdict("Ann and Ben", ReviewOutcome.CULTURE_SPECIFIC, texts=OWN_TEXTS))
    changes.undo("Ann and Ben")
    rows = changes.rows[2:]

    with pytest.raises(EvenhandError, match="Change 1"):
        replay(read_document(tmp_path / "de.json"), rows)
