"""Annotations: who said what about which text, and the same as a matrix of votes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np

from evenhand.core.counts import plural
from evenhand.core.errors import DatasetError, shortlist
from evenhand.core.labels import NO_ANSWER, NOT_ASKED, UNSURE, LabelScheme
from evenhand.stats.vote_aggregation import AggregatedVotes, TieRule, Votes, aggregate_votes


@dataclass(frozen=True, slots=True)
class Annotation:
    """What one annotator said about one text.

    Attributes:
        text_id: The same for all annotators of a text.
        text: As this annotator saw it.
        annotator: A name or a pseudonym.
        label: The code of a label; None if there is none.
        unsure: Whether the annotator could not decide. A label beside it is what they lean to, and is no vote.
        comment: What they wrote about it.
        seconds: How long they took.
        adjudicated: Whether this is a decision on a disagreement, which settles the label and is no vote.
    """

    text_id: str
    text: str
    annotator: str
    label: str | None = None
    unsure: bool = False
    comment: str = ""
    seconds: float | None = None
    adjudicated: bool = False


@dataclass(frozen=True)
class AnnotationTable:
    """Annotations under one scheme, in the order of their file.

    Attributes:
        scheme: The labels.
        annotations: Votes and decisions.
        warnings: What a reader noticed and people should know.
    """

    scheme: LabelScheme
    annotations: tuple[Annotation, ...]
    warnings: tuple[str, ...] = field(default=(), compare=False)

    def __post_init__(self) -> None:
        _refuse_unknown_labels(self.annotations, self.scheme)
        _refuse_second_votes(self.annotations)

    def __len__(self) -> int:
        return len(self.annotations)

    def __iter__(self) -> Iterator[Annotation]:
        return iter(self.annotations)

    @cached_property
    def texts(self) -> Mapping[str, str]:
        """The texts by id, in the order of the file; where annotators saw different ones, the first."""
        texts: dict[str, str] = {}
        for annotation in self.annotations:
            texts.setdefault(annotation.text_id, annotation.text)
        return texts

    @cached_property
    def annotators(self) -> tuple[str, ...]:
        """Who voted, in the order of the file."""
        return tuple(dict.fromkeys(vote.annotator for vote in self.annotations if not vote.adjudicated))

    @cached_property
    def decisions(self) -> Mapping[str, str]:
        """The labels that an adjudicator settled, by text id."""
        return {
            decision.text_id: decision.label
            for decision in self.annotations
            if decision.adjudicated and decision.label is not None and not decision.unsure
        }

    @cached_property
    def votes(self) -> Votes:
        """One row per text and one column per annotator, in the order of ``texts`` and ``annotators``."""
        rows = {text_id: row for row, text_id in enumerate(self.texts)}
        columns = {annotator: column for column, annotator in enumerate(self.annotators)}
        codes = {code: index for index, code in enumerate(self.scheme.codes)}
        votes = np.full((len(rows), len(columns)), NOT_ASKED, dtype=np.int64)
        for vote in self.annotations:
            if not vote.adjudicated:
                answer = UNSURE if vote.unsure else NO_ANSWER if vote.label is None else codes[vote.label]
                votes[rows[vote.text_id], columns[vote.annotator]] = answer
        votes.setflags(write=False)
        return votes

    def aggregated(self, *, ties: TieRule = TieRule.LOWEST) -> AggregatedVotes:
        """Mode, consensus and vote shares of each text, in the order of ``texts``.

        A decision takes the place of the mode, and its text is neither ambiguous nor unsure. Votes stay as they are.
        """
        aggregated = aggregate_votes(self.votes, self.scheme.values, ties=ties)
        settled = np.array([text_id in self.decisions for text_id in self.texts], dtype=bool)
        decided = [
            self.scheme.index(self.decisions[text_id]) for text_id in self.texts if text_id in self.decisions
        ]
        mode = aggregated.mode.copy()
        mode[settled] = decided
        return replace(
            aggregated,
            mode=mode,
            ambiguous=aggregated.ambiguous & ~settled,
            unsure=aggregated.unsure & ~settled,
        )

    def labelled_by_all(self) -> AnnotationTable:
        """Only the texts that every annotator labelled: one who was unsure or gave no answer drops the text."""
        complete = np.all(self.votes >= 0, axis=1).tolist()
        kept = {text_id for text_id, whole in zip(self.texts, complete, strict=True) if whole}
        return replace(self, annotations=tuple(row for row in self.annotations if row.text_id in kept))


def about_changed_texts(annotations: Sequence[Annotation]) -> list[str]:
    """A warning about ids under which annotators saw different texts; none if there are none."""
    texts: dict[str, str] = {}
    changed: dict[str, str] = {}
    for row in annotations:
        if row.text != texts.setdefault(row.text_id, row.text):
            changed.setdefault(row.text_id, row.text)
    if not changed:
        return []
    text_id, other = next(iter(changed.items()))
    return [
        f"{plural(len(changed), 'id has', 'ids have')} different texts, such as {text_id}: "
        f"{shortened(texts[text_id])!r} and {shortened(other)!r}. The first is taken to be meant by all annotators."
    ]


def about_repeated_texts(texts: Iterable[str]) -> list[str]:
    """A warning about texts that occur more than once; none if there are none."""
    repeats = [text for text, count in Counter(texts).items() if count > 1]
    if not repeats:
        return []
    return [
        f"{plural(len(repeats), 'text occurs', 'texts occur')} more than once; each occurrence counts: "
        f"{shortlist((repr(shortened(text)) for text in repeats), 2)}."
    ]


def shortened(text: str, longest: int = 60) -> str:
    """The beginning of a text."""
    return text if len(text) <= longest else f"{text[: longest - 3]}..."


def _refuse_unknown_labels(annotations: Iterable[Annotation], scheme: LabelScheme) -> None:
    known = set(scheme.codes)
    for annotation in annotations:
        if annotation.label is not None and annotation.label not in known:
            scheme.index(annotation.label)


def _refuse_second_votes(annotations: Iterable[Annotation]) -> None:
    """An annotator who voted twice would count twice, or one of the votes would be lost."""
    places: set[tuple[str, str, bool]] = set()
    twice = []
    for row in annotations:
        place = (row.text_id, row.annotator, row.adjudicated)
        if place in places:
            twice.append(f"{row.annotator} labelled text {row.text_id} twice")
        places.add(place)
    if twice:
        raise DatasetError(
            f"{shortlist(twice, 3)}. An annotator has one vote per text. Remove the rows that are repeated, or give "
            "repeated texts ids of their own."
        )
