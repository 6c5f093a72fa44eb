"""What the page of an item shows: marked texts, candidates with their sentences, proposals, and notes."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from evenhand.core.items import BLANK, Task
from evenhand.studio.tables import ReviewItemRow
from evenhand.translation.documents import CONTEXT, SENTENCE, WORD
from evenhand.translation.review_pages.items import TABLE


def marked_parts(text: str, target: str) -> list[tuple[str, str]]:
    """A text in parts: ``blank``, ``target`` or nothing, and what stands there.

    The target is found in any case; the blank is in capitals, *Blank* is a word.
    """
    pattern = "|".join([BLANK, *([f"(?i:{re.escape(target)})"] if target else [])])
    parts: list[tuple[str, str]] = []
    start = 0
    for match in re.finditer(pattern, text):
        parts.append(("", text[start : match.start()]))
        parts.append(("blank" if match[0] == BLANK else "target", match[0]))
        start = match.end()
    return [part for part in (*parts, ("", text[start:])) if part[1]]


def filled_parts(context: str, word: str) -> list[tuple[str, str]]:
    """A context with a word in its blank, in parts: ``fill`` or nothing, and what stands there."""
    before, *rest = context.split(BLANK)
    parts = [("", before)]
    for text in rest:
        parts += [("fill", word), ("", text)]
    return [part for part in parts if part[1]]


@dataclass(frozen=True, slots=True)
class ShownCandidate:
    """A candidate beside its source: the field of its text, what it is labelled, and the parts of its sentence."""

    field: str
    label: str
    text: str
    source: str
    sentence: list[tuple[str, str]]


def shown_candidates(item: ReviewItemRow, written: Mapping[str, str]) -> list[ShownCandidate]:
    """The candidates of an item, or the texts of a row under the names of their columns."""
    if item.task == TABLE:
        sources = item.source["texts"]
        return [
            ShownCandidate(column, column, text, sources.get(column, ""), [("", text)])
            for column, text in written.items()
        ]
    kind = WORD if item.task == Task.INTRASENTENCE.value else SENTENCE
    shown = []
    for row in item.entry["sentences"]:
        text = written[f"{kind}/{row['id']}"]
        shown.append(
            ShownCandidate(
                field=f"{kind}/{row['id']}",
                label=row["gold_label"],
                text=text,
                source=item.source.get("candidates", {}).get(row["id"], ""),
                sentence=filled_parts(written[CONTEXT], text) if kind == WORD else [("", text)],
            )
        )
    return shown


@dataclass(frozen=True, slots=True)
class ShownProposal:
    """What a reviewer wants to change: the texts under the names that the page has for them, and the sentences."""

    texts: list[tuple[str, str]]
    sentences: list[ShownCandidate]


def shown_proposal(
    item: ReviewItemRow, texts: Mapping[str, str], proposed: Mapping[str, str]
) -> ShownProposal:
    """What somebody proposes for an item, beside the texts that it has."""
    edited = {name: text for name, text in proposed.items() if text != texts[name]}
    candidates = shown_candidates(item, {**texts, **edited})
    labels = {candidate.field: candidate.label for candidate in candidates}
    has_sentences = item.task == Task.INTRASENTENCE.value and bool(edited)
    return ShownProposal(
        [(labels.get(name, name), text) for name, text in edited.items()],
        candidates if has_sentences else [],
    )


@dataclass(frozen=True, slots=True)
class ShownNotes:
    """What is known of an item: problems of the translation, those that its source has too, and repairs by rules."""

    own: list[Mapping[str, Any]]
    shared: list[Mapping[str, Any]]
    repairs: list[Mapping[str, str]]


def shown_notes(item: ReviewItemRow) -> ShownNotes:
    """What is known of an item, sorted."""
    return ShownNotes(
        own=[problem for problem in item.problems if not problem["in_source"]],
        shared=[problem for problem in item.problems if problem["in_source"]],
        repairs=item.source.get("repairs", []),
    )
