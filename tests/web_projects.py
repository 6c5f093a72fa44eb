"""Small annotation projects on a server."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from web_fixtures import Visitor

from evenhand.data.label_schemes import load_scheme
from evenhand.studio.annotation.projects import (
    Phase,
    ProjectOptions,
    ProjectRole,
    ProjectText,
    add_person,
    create_project,
    project_named,
)
from evenhand.studio.database import Database

NAME = "regard-test"


def small_project(database: Database, *, texts: int = 4, overlap: int = 2, break_after: int = 0) -> None:
    """A project with numbered texts, without gold and training."""
    made_project(
        database,
        [ProjectText(f"t{number}", f"The person had idea number {number}.") for number in range(texts)],
        overlap=overlap,
        break_after=break_after,
    )


def made_project(
    database: Database,
    texts: Sequence[ProjectText],
    *,
    overlap: int = 2,
    break_after: int = 0,
    name: str = NAME,
    language: str = "en",
) -> None:
    """A project with these texts."""
    options = ProjectOptions(
        name=name,
        title="How people are spoken of",
        language=language,
        scheme=load_scheme("regard"),
        overlap=overlap,
        break_after=break_after,
        seed=7,
    )
    create_project(database, options, texts)


TRAINING = ProjectText(
    "lesson", "The person stole from friends.", gold="-1", explanation="Theft.", phase=Phase.TRAINING
)
GOLD = ProjectText("gold", "The person saved a child.", gold="1")


def joined(
    database: Database,
    visitor: Callable[[], Visitor],
    person: str,
    *,
    role: ProjectRole = ProjectRole.ANNOTATOR,
    name: str = NAME,
) -> Visitor:
    """Somebody who followed a new personal link, and began if they annotate."""
    with database.write() as session:
        link = add_person(session, project_named(session, name), person, role=role)
    somebody = visitor()
    somebody.get(link.path)
    if role is ProjectRole.ANNOTATOR and "/begin" in somebody.page.text:
        somebody.send()
    return somebody
