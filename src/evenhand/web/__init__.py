"""Pages for people: surveys that collect sentences, annotation, and what the lead of a project sees.

A server is one FastAPI application over one database, SQLite or PostgreSQL. Every answer is committed before it is
acknowledged. Pages work without JavaScript; scripts add keys and save without a reload.

What is offered here is imported when it is asked for: FastAPI and SQLAlchemy take half a second.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from evenhand.web.annotation.importing import import_votes
    from evenhand.web.annotation.project_texts import read_project_texts
    from evenhand.web.annotation.projects import (
        ProjectOptions,
        add_person,
        create_project,
        project_named,
    )
    from evenhand.web.annotation.results import collect_annotations
    from evenhand.web.app import ServerOptions, create_app
    from evenhand.web.backup import back_up, restore
    from evenhand.web.database import Database
    from evenhand.web.survey.definition import load_survey
    from evenhand.web.survey.export import export_survey, write_survey
    from evenhand.web.survey.surveys import SurveyOptions, create_survey

_HOME = {
    "Database": "evenhand.web.database",
    "ProjectOptions": "evenhand.web.annotation.projects",
    "ServerOptions": "evenhand.web.app",
    "SurveyOptions": "evenhand.web.survey.surveys",
    "add_person": "evenhand.web.annotation.projects",
    "back_up": "evenhand.web.backup",
    "collect_annotations": "evenhand.web.annotation.results",
    "create_app": "evenhand.web.app",
    "create_project": "evenhand.web.annotation.projects",
    "create_survey": "evenhand.web.survey.surveys",
    "export_survey": "evenhand.web.survey.export",
    "import_votes": "evenhand.web.annotation.importing",
    "load_survey": "evenhand.web.survey.definition",
    "project_named": "evenhand.web.annotation.projects",
    "read_project_texts": "evenhand.web.annotation.project_texts",
    "restore": "evenhand.web.backup",
    "write_survey": "evenhand.web.survey.export",
}

__all__ = [
    "Database",
    "ProjectOptions",
    "ServerOptions",
    "SurveyOptions",
    "add_person",
    "back_up",
    "collect_annotations",
    "create_app",
    "create_project",
    "create_survey",
    "export_survey",
    "import_votes",
    "load_survey",
    "project_named",
    "read_project_texts",
    "restore",
    "write_survey",
]


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_HOME[name]), name)


def __dir__() -> list[str]:
    return sorted(__all__)
