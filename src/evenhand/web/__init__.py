"""Pages for people: surveys that collect sentences, annotation, and what the lead of a project sees.

A server is one FastAPI application over one database, SQLite or PostgreSQL. Every answer is committed before it is
acknowledged. Pages work without JavaScript; scripts add keys and save without a reload.

What is offered here is imported when it is asked for: FastAPI and SQLAlchemy take half a second.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from evenhand.core.lazy_exports import lazy_exports

if TYPE_CHECKING:
    from evenhand.web.annotation.importing import import_votes as import_votes
    from evenhand.web.annotation.project_texts import read_project_texts as read_project_texts
    from evenhand.web.annotation.projects import ProjectOptions as ProjectOptions
    from evenhand.web.annotation.projects import add_person as add_person
    from evenhand.web.annotation.projects import create_project as create_project
    from evenhand.web.annotation.projects import project_named as project_named
    from evenhand.web.annotation.results import collect_annotations as collect_annotations
    from evenhand.web.app import ServerOptions as ServerOptions
    from evenhand.web.app import create_app as create_app
    from evenhand.web.backup import back_up as back_up
    from evenhand.web.backup import restore as restore
    from evenhand.web.database import Database as Database
    from evenhand.web.survey.definition import load_survey as load_survey
    from evenhand.web.survey.export import export_survey as export_survey
    from evenhand.web.survey.export import write_survey as write_survey
    from evenhand.web.survey.surveys import SurveyOptions as SurveyOptions
    from evenhand.web.survey.surveys import create_survey as create_survey

lazy_exports(__name__)
