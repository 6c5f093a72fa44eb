"""The pages of a project's lead: progress, agreement, people and their links, files to take away."""

from __future__ import annotations

import io
import tempfile
import zipfile
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from fastapi import APIRouter, Request, Response
from fastapi.responses import HTMLResponse
from sqlalchemy import func, select
from sqlalchemy.orm import Session

from evenhand.data.annotation_files import DOCCANO, LABEL_STUDIO, LONG, write_annotations
from evenhand.data.annotations import AnnotationTable
from evenhand.instruments.regard.lexicon_rates import matches_csv
from evenhand.stats.agreement import AgreementBand
from evenhand.studio.accounts import public_url
from evenhand.studio.annotation import results
from evenhand.studio.annotation.adjudicating import disputed_texts
from evenhand.studio.annotation.match_review import is_match_review, judged_texts, match_precision
from evenhand.studio.annotation.projects import (
    Phase,
    ProjectError,
    ProjectRole,
    RoleError,
    add_person,
    project_named,
    revoke,
    scheme_of,
)
from evenhand.studio.pages import interface_language, page
from evenhand.studio.routing import (
    Administrator,
    Data,
    RowId,
    file_to_save,
    member,
    redirect,
    refusing_unknown,
)
from evenhand.studio.security import Refusal, Submission, field
from evenhand.studio.tables import AdjudicationRow, AnnotatorRow, AssignmentRow, ProjectRow, TextRow

router = APIRouter()

DOWNLOADS = {
    LONG: ("annotations.csv", "text/csv"),
    LABEL_STUDIO: ("tasks.json", "application/zip"),
    DOCCANO: ("annotations", "application/zip"),
}
"""Layouts to take away: what is written, and the kind of the file that is sent. Label Studio has a labelling interface
beside its tasks, doccano one file per annotator; both are sent as a ZIP."""
MOST_FLAGGED = 50


@dataclass(frozen=True, slots=True)
class Confusion:
    """What an annotator chose where the others chose each label, with a shade for each count."""

    name: str
    counts: list[list[tuple[int, int]]]


def _project(session: Session, name: str) -> ProjectRow:
    with refusing_unknown():
        return project_named(session, name)


@router.get("/projects/{name}")
def show_project(request: Request, database: Data, _administrator: Administrator, name: str) -> HTMLResponse:
    """The live page of a project."""
    with database.read() as session:
        return _project_page(request, session, _project(session, name))


@router.get("/projects/{name}/figures")
def show_figures(request: Request, database: Data, _administrator: Administrator, name: str) -> HTMLResponse:
    """The part of the live page that changes."""
    with database.read() as session:
        project = _project(session, name)
        return page(request, "project_figures", project=project, **_figures(request, session, project))


@router.post("/projects/{name}/people")
def add(
    request: Request, database: Data, _administrator: Administrator, form: Submission, name: str
) -> Response:
    """Add somebody, or give somebody a new link; the link is shown this once."""
    role = (
        ProjectRole.ADJUDICATOR
        if field(form, "role") == ProjectRole.ADJUDICATOR.value
        else ProjectRole.ANNOTATOR
    )
    with database.write() as session:
        project = _project(session, name)
        try:
            link = add_person(session, project, field(form, "person", limit=100), role=role)
        except ProjectError as problem:
            is_other_role = isinstance(problem, RoleError)
            raise Refusal(422, "refused_role" if is_other_role else "refused_name") from None
        session.flush()
        address = public_url(session) + link.path
        return _project_page(request, session, project, link=(link.name, address))


@router.post("/projects/{name}/people/{person_id}/revoke")
def close_link(
    database: Data,
    _administrator: Administrator,
    form: Submission,  # noqa: ARG001  it carries the token
    name: str,
    person_id: RowId,
) -> Response:
    """Close somebody's link."""
    with database.write() as session:
        project = _project(session, name)
        revoke(session, member(session, AnnotatorRow, person_id, of=project.id))
    return redirect(f"/projects/{name}")


@router.get("/projects/{name}/annotations/{layout}")
def download(database: Data, _administrator: Administrator, name: str, layout: str) -> Response:
    """All votes and decisions, as one file in a layout."""
    if layout not in DOWNLOADS:
        raise Refusal(404, "refused_page")
    written, kind = DOWNLOADS[layout]
    ending = ".csv" if layout == LONG else ".zip"
    with database.read() as session:
        table = results.annotation_table(session, _project(session, name))
    with tempfile.TemporaryDirectory() as folder:
        files = write_annotations(table, Path(folder) / written, layout=layout)
        content = _zipped(files) if ending == ".zip" else files[0].read_bytes()
    return file_to_save(content, f"{name}-{layout}{ending}", kind=kind)


@router.get("/projects/{name}/matches.csv")
def download_matches(database: Data, _administrator: Administrator, name: str) -> Response:
    """The matches of a review with what was settled about them, as evenhand regard evaluate --reviewed reads them."""
    with database.read() as session:
        project = _project(session, name)
        if not is_match_review(project):
            raise Refusal(404, "refused_page")
        rows = [row for own in judged_texts(session, project) for row in own.rows()]
    return file_to_save(matches_csv(rows).encode(), f"{name}.csv")


def _zipped(files: Iterable[Path]) -> bytes:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        for file in files:
            archive.write(file, file.name)
    return packed.getvalue()


def _project_page(
    request: Request, session: Session, project: ProjectRow, *, link: tuple[str, str] | None = None
) -> HTMLResponse:
    return page(
        request,
        "project",
        project=project,
        downloads=DOWNLOADS,
        link=link,
        **_figures(request, session, project),
    )


def _figures(request: Request, session: Session, project: ProjectRow) -> dict[str, Any]:
    scheme = scheme_of(project)
    language = interface_language(request)
    table = results.annotation_table(session, project)
    texts = session.scalar(
        select(func.count())
        .select_from(TextRow)
        .where(TextRow.project_id == project.id, TextRow.phase == Phase.MAIN.value, TextRow.gold.is_(None))
    )
    disputed = disputed_texts(session, project)
    decided = session.scalar(
        select(func.count())
        .select_from(AdjudicationRow)
        .where(AdjudicationRow.text_id.in_(disputed), AdjudicationRow.confirmed)
    )
    flagged = session.execute(
        select(TextRow.key, TextRow.text, AssignmentRow.comment)
        .join(AssignmentRow, AssignmentRow.text_id == TextRow.id)
        .where(TextRow.project_id == project.id, AssignmentRow.flagged)
        .order_by(TextRow.position)
        .limit(MOST_FLAGGED)
    ).all()
    agreement = results.live_agreement(table)
    wanted = (texts or 0) * project.overlap
    judged = judged_texts(session, project) if is_match_review(project) else None
    return {
        "labels": results.label_titles(scheme, language),
        "people": results.person_figures(session, project),
        "texts": texts,
        "wanted": wanted,
        "done": min(results.counted_votes(session, project), wanted),
        "agreement": agreement,
        "band": None if agreement is None else AgreementBand.of(agreement.mean_kappa),
        "confusions": _confusions(table),
        "disputed": len(disputed),
        "decided": decided,
        "flagged": flagged,
        "precision": None if judged is None else match_precision(judged),
    }


def _confusions(table: AnnotationTable) -> list[Confusion]:
    if len(table.annotators) < 2:
        return []
    shown = []
    for column, name in enumerate(table.annotators):
        counts = results.confusion(table.votes, column, len(table.scheme.labels))
        most = np.maximum(counts.sum(axis=1, keepdims=True), 1)
        shades = np.ceil(4 * counts / most).astype(int)
        cells = [
            list(zip(row, shade, strict=True))
            for row, shade in zip(counts.tolist(), shades.tolist(), strict=True)
        ]
        shown.append(Confusion(name, cells))
    return shown
