"""Reviews of lexicon matches: annotation projects in which people say whether a match is right.

What is judged is a text with all its matches of one category. Rates count texts, so one verdict per text and category
is what corrects them, and a review that stops early has judged a random part of the texts.
"""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from sqlalchemy import select
from sqlalchemy.orm import Session

from evenhand.core.estimates import Estimate
from evenhand.data.label_schemes import load_scheme
from evenhand.instruments.regard.content import MatchedText, matched_texts
from evenhand.instruments.regard.lexicon_rates import MatchReview, MatchRow, MatchVerdict, precision_of
from evenhand.stats.resampling import Resampling
from evenhand.store.run import Run
from evenhand.studio.annotation.projects import ProjectError, ProjectOptions, ProjectText, create_project
from evenhand.studio.annotation.results import annotation_table
from evenhand.studio.database import Database
from evenhand.studio.tables import ProjectRow, TextRow

MATCH_SCHEME = "lexicon-match"
"""The label scheme of such a project: right, wrong, unsure."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MatchReviewOptions:
    """How the matches of a run are reviewed.

    Attributes:
        per_group: Most texts of each category and group, drawn at random; None for all.
        overlap: How many people judge each text.
        seed: Decides which texts are drawn, and everybody's order.
    """

    per_group: int | None = None
    overlap: int = 1
    seed: int = 0


def match_review_name(run: Run) -> str:
    """The name of the project in which the matches of a run are reviewed."""
    return f"matches-{run.record.fingerprint[:12]}"


def open_match_review(database: Database, run: Run, options: MatchReviewOptions) -> str:
    """Make the project of a run's matches where there is none yet; its name.

    Raises:
        EvenhandError: If the run was not searched for matches of a lexicon.
        ProjectError: If there is nothing to review.
    """
    name = match_review_name(run)
    with database.read() as session:
        if session.scalar(select(ProjectRow.id).where(ProjectRow.name == name)) is not None:
            return name
    matched = matched_texts(run)
    if not matched:
        raise ProjectError(
            f"The lexicon has no match in the texts of {run.name}: there is nothing to review."
        )
    project = ProjectOptions(
        name=name,
        title=run.name,
        language=run.record.language,
        scheme=load_scheme(MATCH_SCHEME),
        overlap=options.overlap,
        seed=options.seed,
    )
    create_project(database, project, map(_project_text, drawn_texts(matched, options)))
    return name


def drawn_texts(matched: Sequence[MatchedText], options: MatchReviewOptions) -> list[MatchedText]:
    """The texts that are reviewed, in their order: all, or so many of each category and group."""
    if options.per_group is None:
        return list(matched)
    by_cell: defaultdict[tuple[str, str], list[int]] = defaultdict(list)
    for place, own in enumerate(matched):
        by_cell[own.category, own.group].append(place)
    generator = np.random.default_rng(options.seed)
    drawn: set[int] = set()
    for places in by_cell.values():
        count = min(options.per_group, len(places))
        drawn.update(generator.choice(places, size=count, replace=False).tolist())
    return [matched[place] for place in sorted(drawn)]


def _project_text(own: MatchedText) -> ProjectText:
    key = hashlib.sha256(f"{own.category}\0{own.text}".encode()).hexdigest()[:32]
    return ProjectText(key=key, text=own.text, source=own.group, topic=own.category, marks=own.spans)


@dataclass(frozen=True, slots=True)
class JudgedText:
    """A text of a match review with what people settled about it."""

    group: str
    category: str
    text: str
    words: tuple[str, ...]
    verdict: MatchVerdict | None
    """None as long as too few people judged it, they differ, or somebody is unsure."""
    note: str

    def rows(self) -> list[MatchRow]:
        """One row per word that was marked; the verdict is about all of them together."""
        verdict = self.verdict.value if self.verdict else ""
        return [
            MatchRow(self.group, self.category, word, self.text, verdict, self.note) for word in self.words
        ]


def judged_texts(session: Session, project: ProjectRow) -> list[JudgedText]:
    """The texts of a match review in their order, with settled verdicts.

    Raises:
        ProjectError: If the project is another kind of annotation.
    """
    if not is_match_review(project):
        raise ProjectError(
            f"The project {project.name} is not a review of matches. Make one with: evenhand regard review."
        )
    labels: defaultdict[str, list[str | None]] = defaultdict(list)
    settled: dict[str, str | None] = {}
    notes: defaultdict[str, list[str]] = defaultdict(list)
    for vote in annotation_table(session, project).annotations:
        if vote.comment:
            notes[vote.text_id].append(vote.comment)
        if vote.adjudicated:
            settled[vote.text_id] = vote.label
        else:
            labels[vote.text_id].append(vote.label)
    for key, own in labels.items():
        if len(own) >= project.overlap and len(set(own)) == 1:
            settled.setdefault(key, own[0])
    rows = session.scalars(select(TextRow).where(TextRow.project_id == project.id).order_by(TextRow.position))
    return [
        JudgedText(
            group=row.source,
            category=row.topic,
            text=row.text,
            words=tuple(dict.fromkeys(row.text[start:end] for start, end in row.marks)),
            verdict=MatchVerdict(label) if (label := settled.get(row.key)) else None,
            note="; ".join(notes[row.key]),
        )
        for row in rows
    ]


def review_of(judged: Sequence[JudgedText]) -> MatchReview:
    """What people settled, as it corrects rates.

    Raises:
        ProjectError: If nothing is settled.
    """
    verdicts = {
        (own.category, word, own.text): own.verdict
        for own in judged
        if own.verdict is not None
        for word in own.words
    }
    if not verdicts:
        raise ProjectError("No match is settled yet: somebody has to judge one first.")
    return MatchReview(verdicts)


def is_match_review(project: ProjectRow) -> bool:
    """Whether a project is a review of matches."""
    return bool(project.scheme["name"] == MATCH_SCHEME)


@dataclass(frozen=True, slots=True)
class MatchPrecision:
    """How many texts about a group have a right match of a category, of those that are settled."""

    category: str
    group: str
    texts: int
    precision: Estimate


def match_precision(judged: Sequence[JudgedText]) -> list[MatchPrecision]:
    """The precision of each category and group."""
    cells: dict[tuple[str, str], list[MatchVerdict | None]] = {}
    for own in judged:
        cells.setdefault((own.category, own.group), []).append(own.verdict)
    return [
        MatchPrecision(
            category,
            group,
            len(verdicts),
            precision_of(
                [verdict for verdict in verdicts if verdict is not None],
                confidence=Resampling().confidence,
            ),
        )
        for (category, group), verdicts in sorted(cells.items(), key=lambda entry: entry[0])
    ]
