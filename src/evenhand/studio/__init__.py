"""Pages for people: surveys that collect sentences, annotation, and what the lead of a project sees.

A server is one FastAPI application over one database, SQLite or PostgreSQL. Every answer is committed before it is
acknowledged. Pages work without JavaScript; scripts add keys and save without a reload.

What is offered here is imported when it is asked for: FastAPI and SQLAlchemy take half a second.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from evenhand.core.lazy_exports import lazy_exports

if TYPE_CHECKING:
    from evenhand.studio.annotation.importing import import_votes as import_votes
    from evenhand.studio.annotation.project_texts import read_project_texts as read_project_texts
    from evenhand.studio.annotation.projects import ProjectOptions as ProjectOptions
    from evenhand.studio.annotation.projects import add_person as add_person
    from evenhand.studio.annotation.projects import create_project as create_project
    from evenhand.studio.annotation.projects import project_named as project_named
    from evenhand.studio.annotation.results import collect_annotations as collect_annotations
    from evenhand.studio.app import ServerOptions as ServerOptions
    from evenhand.studio.app import create_app as create_app
    from evenhand.studio.backup import back_up as back_up
    from evenhand.studio.backup import restore as restore
    from evenhand.studio.database import Database as Database
    from evenhand.studio.survey.definition import load_survey as load_survey
    from evenhand.studio.survey.export import export_survey as export_survey
    from evenhand.studio.survey.export import write_survey as write_survey
    from evenhand.studio.survey.surveys import SurveyOptions as SurveyOptions
    from evenhand.studio.survey.surveys import create_survey as create_survey

lazy_exports(__name__)
