"""A small review of a German translation on a server."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import builders
from builders import inter, intra, write_json
from web_fixtures import Visitor

from evenhand.core.items import Benchmark
from evenhand.studio.database import Database
from evenhand.translation import adopt_file, open_translation
from evenhand.translation.review_pages.opening import open_review
from evenhand.translation.review_pages.queue import figures_of
from evenhand.translation.review_pages.reviews import add_reviewer, collect_review, review_named
from evenhand.translation.reviews import ReviewRole, ReviewState

FLAWED = "intra-2"
"""The item whose target is not in its context, and whose candidates are not told apart: it comes first."""


def english() -> Benchmark:
    """What was translated."""
    return builders.benchmark(
        intra(1, context="The baker is BLANK.", fills=("early", "late", "blue")),
        intra(
            2,
            cluster="nurse",
            bias_type="gender",
            context="A nurse was BLANK.",
            fills=("soft", "hard", "wet"),
        ),
        intra(3, context="This baker likes BLANK.", fills=("bread", "meat", "maths")),
        inter(4, cluster="nurse", bias_type="gender", context="The nurse arrives."),
    )


def german_folder(tmp_path: Path) -> Path:
    """The folder of its translation."""
    words = {1: ("früh", "spät", "blau"), 2: ("sanft", "sanft", "nass"), 3: ("Brot", "Fleisch", "Mathe")}
    contexts = {1: "Der Bäcker ist BLANK.", 2: "Eine Pflegerin war BLANK.", 3: "Dieser Bäcker mag BLANK."}
    items = [
        intra(
            number,
            cluster="nurse" if number == 2 else "baker",
            bias_type="gender" if number == 2 else "profession",
            language="de",
            target="Schwester" if number == 2 else "Bäcker",
            context=contexts[number],
            fills=own,
            words=own,
        )
        for number, own in words.items()
    ]
    items.append(
        inter(
            4,
            cluster="nurse",
            bias_type="gender",
            language="de",
            target="Pflegerin",
            context="Die Pflegerin kommt.",
            texts=("Sie hilft allen.", "Sie schimpft laut.", "Sieben ist eine Zahl."),
        )
    )
    path = write_json(tmp_path / "de.json", builders.document(items, language="de"))
    adopt_file(path, tmp_path / "translation")
    return tmp_path / "translation"


def opened_review(database: Database, folder: Path) -> str:
    """The review of a folder."""
    with open_translation(folder) as translation:
        return open_review(database, translation, english()).name


def link_of(database: Database, review: str, person: str, *, role: ReviewRole = ReviewRole.REVIEWER) -> str:
    """A new personal link."""
    with database.write() as session:
        return add_reviewer(session, review_named(session, review), person, role=role).path


def reviewing(
    database: Database,
    visitor: Callable[[], Visitor],
    review: str,
    person: str,
    *,
    role: ReviewRole = ReviewRole.REVIEWER,
) -> Visitor:
    """Somebody who followed a new personal link, and began."""
    somebody = visitor()
    somebody.get(link_of(database, review, person, role=role))
    if "/begin" in somebody.page.text:
        somebody.send()
    return somebody


def states(database: Database, review: str) -> dict[ReviewState, int]:
    """How many items of a review are in each state."""
    with database.read() as session:
        return figures_of(session, review_named(session, review)).states


def collected(database: Database, folder: Path) -> int:
    """How many changes a review makes to a folder."""
    with open_translation(folder) as translation:
        return collect_review(database, translation).changes
