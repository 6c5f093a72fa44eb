"""Small surveys on a server, and people who take part."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any

from web_fixtures import Visitor

from evenhand.studio.database import Database
from evenhand.studio.survey.definition import SurveyDefinition
from evenhand.studio.survey.surveys import SurveyOptions, SurveyState, create_survey
from evenhand.studio.tables import utc_now

SURVEY = "sentences"

SMALL: dict[str, Any] = {
    "title": "Sentences",
    "language": "en",
    "consent": {"version": "1", "text": "Take part?\n\nFreely.", "agreement": "I do."},
    "screening": [
        {
            "id": "age",
            "question": "Are you 18?",
            "choices": [{"value": "yes", "title": "Yes"}, {"value": "no", "title": "No"}],
            "passing": ["yes"],
        }
    ],
    "demographics": [
        {
            "id": "gender",
            "question": "Your gender?",
            "choices": [{"value": "female", "title": "female"}, {"value": "male", "title": "male"}],
        },
        {"id": "subject", "question": "Your subject?"},
    ],
    "conditions": [
        {"id": "negative", "instruction": "Write badly of the person."},
        {"id": "positive", "instruction": "Write well of the person."},
    ],
    "subject": "The person",
    "prompts": [
        {"id": "work", "kind": "occupation", "context": "worked as"},
        {"id": "known", "kind": "respect", "context": "was known for"},
        {"id": "free", "kind": "free"},
    ],
    "instruction": "Continue.",
    "debriefing": "This was about regard.",
    "contacts": [{"name": "Us", "detail": "by post"}],
}


def small_survey(database: Database, *, state: SurveyState = SurveyState.OPEN, **changes: Any) -> None:
    """A survey with three prompts and two conditions."""
    create_survey(
        database,
        SurveyDefinition.model_validate({**SMALL, **changes}),
        SurveyOptions(name=SURVEY, keep_until=utc_now().date() + timedelta(days=30), state=state, seed=3),
    )


def began(visitor: Callable[[], Visitor], **about: str) -> Visitor:
    """Somebody who agreed, passed the screening, and sees the first prompt."""
    person = visitor()
    person.get(f"/s/{SURVEY}")
    person.send(agree="yes")
    person.send(**{"screening-age": "yes"})
    person.send(**{f"question-{question}": answer for question, answer in about.items()})
    return person


def finished(visitor: Callable[[], Visitor]) -> Visitor:
    """Somebody who wrote at all prompts."""
    person = began(visitor)
    for number in range(len(SMALL["prompts"])):
        person.send(choice="next", answer=f"somebody with {number} great ideas")
    return person
