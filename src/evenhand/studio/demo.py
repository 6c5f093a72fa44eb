"""A survey, annotation projects and a review with invented answers, so that a newcomer sees all pages at once."""

from __future__ import annotations

import random
import tempfile
from collections.abc import Iterator
from datetime import timedelta
from importlib import resources
from itertools import cycle
from pathlib import Path

from sqlalchemy import select
from sqlalchemy.orm import Session

from evenhand.core.items import Span
from evenhand.data import load_dataset
from evenhand.data.label_schemes import load_scheme
from evenhand.data.stereoset import STARTER
from evenhand.studio.annotation import votes
from evenhand.studio.annotation.match_review import MATCH_SCHEME
from evenhand.studio.annotation.projects import (
    Phase,
    ProjectOptions,
    ProjectRole,
    ProjectText,
    add_person,
    create_project,
    person_named,
    project_named,
)
from evenhand.studio.database import Database
from evenhand.studio.survey import participation
from evenhand.studio.survey.definition import Contact, load_survey
from evenhand.studio.survey.surveys import Picture, SurveyOptions, SurveyState, create_survey, survey_named
from evenhand.studio.tables import (
    AssignmentRow,
    ParticipantRow,
    ProjectRow,
    ReviewerRow,
    ReviewItemRow,
    ReviewRow,
    ReviewVerdictRow,
    TextRow,
    utc_now,
)
from evenhand.translation import adopt_file, open_translation
from evenhand.translation.review_pages.opening import open_review
from evenhand.translation.review_pages.reviews import add_reviewer, review_named
from evenhand.translation.reviews import ReviewOutcome, ReviewRole

PROJECT = "demo-annotation"
SURVEY = "demo-survey"
MATCHES = "demo-matches"
_SEED = 20_210_801
_PARTICIPANTS = 14
_PORTRAIT = resources.files("evenhand.studio") / "resources" / "demo" / "portrait.png"

SENTENCES = {
    "-1": (
        "The person was known for lying to friends.",
        "The person worked as a thief and was proud of it.",
        "The person was regarded as lazy and unreliable.",
        "The person shouted at the waiter for no reason.",
        "The person was described as cruel to animals.",
        "The person earned money by selling fake medicine.",
        "The person never kept a promise.",
        "The person had a job as a guard and slept through it.",
    ),
    "0": (
        "The person worked as a clerk in an office.",
        "The person took the bus at half past seven.",
        "The person had a part-time job as a cashier.",
        "The person was described as tall.",
        "The person bought bread and milk.",
        "The person was known for wearing green coats.",
        "The person had started a job as a driver.",
        "The person lives on the second floor.",
    ),
    "1": (
        "The person was known for helping the neighbours.",
        "The person worked as a doctor and saved many lives.",
        "The person was regarded as honest and wise.",
        "The person taught children to read in the evenings.",
        "The person was described as brave by everyone.",
        "The person had a job as an engineer and built a hospital.",
        "The person shared the prize with the whole team.",
        "The person earned money by writing songs that people love.",
    ),
}
"""Sentences of our own by the label that was meant."""

_LESSONS = (
    ("The person set fire to a barn.", "-1", "Others will think badly of somebody who does that."),
    ("The person lost a leg in an accident.", "0", "A sad event says nothing bad about the person."),
    ("The person found the stolen bike and gave it back.", "1", "Others will think well of the person."),
)

_ANNOTATORS = {"Anna": 0.95, "Ben": 0.9, "Clara": 0.85, "Dev": 0.7}
"""Invented people, and how often each chooses the label that was meant."""


def fill_demo(database: Database) -> dict[str, str]:
    """Fill an empty database.

    Returns:
        Paths to look at, by what they show.
    """
    chance = random.Random(_SEED)  # noqa: S311  it must repeat
    _make_project(database)
    links = {
        "Results of the annotation": f"/projects/{PROJECT}",
        "Results of the survey": f"/surveys/{SURVEY}",
    }
    for name, skill in _ANNOTATORS.items():
        _annotate(database, name, skill, chance)
    with database.write() as session:
        project = project_named(session, PROJECT)
        links["Annotate"] = add_person(session, project, "You").path
        links["Settle disputes"] = add_person(session, project, "Judge", role=ProjectRole.ADJUDICATOR).path
    _make_survey(database, chance)
    links["Take part in the survey"] = f"/s/{SURVEY}"
    return links | _make_match_review(database) | _make_review(database)


_MATCHES = (
    ("caregiving", "The woman worked as a nurse who cared for old people.", ("nurse", "cared")),
    ("caregiving", "The man was seen as somebody who cared little.", ("cared",)),
    ("perpetration", "The man was known as a thief.", ("thief",)),
    ("perpetration", "The woman was described as the victim of a thief.", ("thief",)),
)
"""Categories of a lexicon, texts of our own, and the words that a list finds in them, rightly or wrongly."""


def _make_match_review(database: Database) -> dict[str, str]:
    """A review of lexicon matches, on which nobody has decided yet."""
    texts = [
        ProjectText(
            key=str(number),
            text=text,
            source=text.split()[1],
            topic=category,
            marks=tuple(Span(text.index(word), text.index(word) + len(word)) for word in words),
        )
        for number, (category, text, words) in enumerate(_MATCHES)
    ]
    options = ProjectOptions(
        name=MATCHES,
        title="Matches of a lexicon",
        language="en",
        scheme=load_scheme(MATCH_SCHEME),
        overlap=1,
        seed=_SEED,
    )
    create_project(database, options, texts)
    with database.write() as session:
        return {"Review matches": add_person(session, project_named(session, MATCHES), "You").path}


def _make_review(database: Database) -> dict[str, str]:
    """A review of the German starter set, in which two people differ on some items."""
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place) / "translation"
        adopt_file(STARTER.file("de"), folder, language="de")
        with open_translation(folder) as translation:
            name = open_review(database, translation, load_dataset("starter", language="en")).name
    with database.write() as session:
        review = review_named(session, name)
        _decide(session, review)
        return {
            "Review a translation": add_reviewer(session, review, "You").path,
            "Settle what reviewers differ on": add_reviewer(
                session, review, "Judge", role=ReviewRole.ARBITER
            ).path,
            "Results of the review": f"/reviews/{name}",
        }


_VERDICTS = (
    (ReviewOutcome.ACCEPT, ReviewOutcome.BEYOND_REPAIR),
    (ReviewOutcome.ACCEPT, ReviewOutcome.CULTURE_SPECIFIC),
    (ReviewOutcome.ACCEPT, ReviewOutcome.ACCEPT),
    (ReviewOutcome.CULTURE_SPECIFIC, ReviewOutcome.CULTURE_SPECIFIC),
    (ReviewOutcome.ACCEPT, ReviewOutcome.ACCEPT),
)
"""What two invented reviewers make of the first items."""


def _decide(session: Session, review: ReviewRow) -> None:
    items = session.scalars(
        select(ReviewItemRow).where(ReviewItemRow.review_id == review.id).order_by(ReviewItemRow.position)
    ).all()
    for column, name in enumerate(("Rosa", "Sven")):
        add_reviewer(session, review, name)
        session.flush()
        person = session.scalars(
            select(ReviewerRow).where(ReviewerRow.review_id == review.id, ReviewerRow.name == name)
        ).one()
        person.warned_at = utc_now()
        session.add_all(
            ReviewVerdictRow(
                reviewer_id=person.id,
                item_id=item.id,
                outcome=outcomes[column].value,
                texts={},
                comment="" if outcomes[column] is ReviewOutcome.ACCEPT else "Nobody says that here.",
                seconds=8.0,
                decided_at=utc_now(),
            )
            for item, outcomes in zip(items, _VERDICTS, strict=False)
        )


def _make_project(database: Database) -> None:
    texts = [
        ProjectText(f"lesson-{number}", text, gold=gold, explanation=explanation, phase=Phase.TRAINING)
        for number, (text, gold, explanation) in enumerate(_LESSONS, start=1)
    ]
    for meant, sentences in SENTENCES.items():
        for number, sentence in enumerate(sentences, start=1):
            gold = meant if number == 1 else None
            texts.append(ProjectText(f"{meant}/{number}", sentence, source="invented", gold=gold))
    options = ProjectOptions(
        name=PROJECT,
        title="How is the person spoken of?",
        language="en",
        scheme=load_scheme("regard"),
        overlap=len(_ANNOTATORS) + 1,
        break_after=10,
        seed=_SEED,
    )
    create_project(database, options, texts)


def _annotate(database: Database, name: str, skill: float, chance: random.Random) -> None:
    with database.write() as session:
        project = project_named(session, PROJECT)
        add_person(session, project, name)
        session.flush()
        person = person_named(session, project, name)
        person.warned_at = utc_now()
        codes = load_scheme("regard").codes
        for assignment, text in _given(session, project, name):
            meant = text.gold or text.key.partition("/")[0]
            hit = chance.random() < skill
            label = meant if hit else chance.choice([code for code in codes if code != meant])
            is_unsure = not hit and chance.random() < 0.3
            comment = "Depends on who reads it." if is_unsure else ""
            votes.put_note(
                assignment, votes.Note(comment, flagged=is_unsure, seconds=round(chance.uniform(2, 9), 1))
            )
            votes.cast_vote(assignment, votes.Vote(None if is_unsure else label, unsure=is_unsure))


def _given(session: Session, project: ProjectRow, name: str) -> Iterator[tuple[AssignmentRow, TextRow]]:
    person = person_named(session, project, name)
    while (assignment := votes.current_assignment(session, person, project)) is not None:
        yield assignment, session.get_one(TextRow, assignment.text_id)
        session.flush()


def _make_survey(database: Database, chance: random.Random) -> None:
    published = load_survey("regard-en")
    ours = Contact(name="Questions about the study", detail="This is a demonstration: nobody is behind it.")
    definition = published.model_copy(update={"contacts": (ours, *published.contacts[1:])})
    portrait = Picture("portrait.png", "image/png", _PORTRAIT.read_bytes(), "Drawn for Evenhand, CC BY 4.0.")
    create_survey(
        database,
        definition,
        SurveyOptions(
            name=SURVEY,
            keep_until=utc_now().date() + timedelta(days=365),
            state=SurveyState.OPEN,
            seed=_SEED,
            pictures=(portrait,),
        ),
    )
    for number in range(_PARTICIPANTS):
        with database.write() as session:
            participant = participation.start(session, survey_named(session, SURVEY))
            participation.screen(session, participant, {"age": "yes", "language": "native"})
            participation.put_demographics(
                session,
                participant,
                {
                    "gender": chance.choice(["female", "male", "diverse", ""]),
                    "age-group": chance.choice(["18-29", "30-44", "45-59", ""]),
                },
            )
            _write(session, participant, chance, leaves=number % 5 == 4)


def _write(session: Session, participant: ParticipantRow, chance: random.Random, *, leaves: bool) -> None:
    """Answers of an invented participant, who goes half-way or to the end."""
    meant = {"negative": "-1", "neutral": "0", "positive": "1"}[str(participant.condition)]
    ends = cycle(chance.sample(SENTENCES[meant], len(SENTENCES[meant])))
    prompts = participation.shown_prompts(participant)
    for position in range(len(prompts) // 2 if leaves else len(prompts)):
        written = "" if chance.random() < 0.08 else next(ends).removeprefix("The person ")
        participation.put_answer(session, participant, position, written, seconds=chance.uniform(5, 40))
        session.flush()
    participation.finish(session, participant)
    if leaves:
        participant.active_at = utc_now() - 2 * participation.STILL_WRITING
