"""Staged repair of a translated benchmark: term table, closest word, people's tables; counted after each stage.

What is counted are the items whose target does not occur in their context. Every stage works on what the one before
left, and every change that it makes is a row.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from evenhand.core.items import Association, Task, contains_term
from evenhand.core.progress import Progress, no_progress
from evenhand.translation.blanks import BLANK_RULES
from evenhand.translation.changes import Changes
from evenhand.translation.closest_words import closest_word, common_words, is_doubtful
from evenhand.translation.documents import (
    CONTEXT,
    DOUBTFUL_TARGET,
    SENTENCE,
    TARGET,
    WORD,
    Document,
    ItemTexts,
)
from evenhand.translation.makers import CLOSEST, TERMS
from evenhand.translation.people_tables import PersonRow
from evenhand.translation.term_tables import RepairStage, TermRow, When
from evenhand.translation.text_rules import TEXT_RULES

UNTOUCHED = "untouched"
SO_FAR = "so far"


@dataclass(frozen=True, slots=True)
class RepairOptions:
    """What a repair works with.

    Attributes:
        stages: Which stages are applied; always in the order of ``RepairStage``.
        terms: The rows of the term table.
        people: The rows of people's tables.
        sources: By id the items that were translated, for rules that compare with them; empty if they are not known.
    """

    stages: tuple[RepairStage, ...] = tuple(RepairStage)
    terms: tuple[TermRow, ...] = ()
    people: tuple[PersonRow, ...] = ()
    sources: Mapping[str, Association] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class StageCount:
    """How many targets are missing from their contexts after a stage, by task."""

    name: str
    intrasentence: int
    intersentence: int


def repair(
    changes: Changes[Document], options: RepairOptions, *, progress: Progress = no_progress
) -> list[StageCount]:
    """Repair a document in stages; the counts before the first stage and after each.

    Args:
        changes: The document, and the rows to which those of the repair are added.
        options: Stages and tables.
        progress: Told how many stages are done.
    """
    document = changes.document
    counts = [_count(SO_FAR if changes.rows else UNTOUCHED, document)]
    chosen = [stage for stage in RepairStage if stage in options.stages]
    for number, stage in enumerate(chosen, start=1):
        words = {
            item.id: [item.word_of(candidate) for candidate in item.candidate_ids()]
            for item in document.of_task(Task.INTRASENTENCE)
        }
        first = len(changes.rows)
        _STAGES[stage](changes, options)
        _rebuild(changes, first, words)
        counts.append(_count(stage.value, document))
        progress(number, len(chosen))
    return counts


def _count(name: str, document: Document) -> StageCount:
    return StageCount(
        name,
        document.missing_targets(Task.INTRASENTENCE),
        document.missing_targets(Task.INTERSENTENCE),
    )


def _apply_terms(changes: Changes[Document], options: RepairOptions) -> None:
    _clean_blanks(changes, changes.document)
    _clean_texts(changes, options.sources)
    _replace_terms(changes, options.terms, RepairStage.TERMS)


def _apply_closest(changes: Changes[Document], options: RepairOptions) -> None:
    _take_closest(changes, changes.document)
    _replace_terms(changes, options.terms, RepairStage.CLOSEST)


def _apply_people(changes: Changes[Document], options: RepairOptions) -> None:
    items = changes.document.items
    for row in options.people:
        for name, text in row.texts(items[row.item]).items():
            changes.set(items[row.item], name, text, by=row.person)
    # A person who mends a context need not look for the form that the target has in it.
    edited = [items[identity] for identity in dict.fromkeys(row.item for row in options.people)]
    _clean_blanks(changes, edited)
    _take_closest(changes, edited)
    _replace_terms(changes, options.terms, RepairStage.PEOPLE)


_STAGES: dict[RepairStage, Callable[[Changes[Document], RepairOptions], None]] = {
    RepairStage.TERMS: _apply_terms,
    RepairStage.CLOSEST: _apply_closest,
    RepairStage.PEOPLE: _apply_people,
}


def _rebuild(changes: Changes[Document], first: int, words: dict[str, list[str]]) -> None:
    """Make sentences anew whose context or word changed since a row.

    Words that the file does not state are those that stood in the sentences before the change.
    """
    items = changes.document.items
    changed = {row.item for row in changes.rows[first:] if row.field.partition("/")[0] in (CONTEXT, WORD)}
    for identity in [item.id for item in changes.document if item.id in changed]:
        item = items[identity]
        if item.task is Task.INTRASENTENCE:
            stated = [item[f"{WORD}/{candidate}"] for candidate in item.candidate_ids()]
            changes.rebuild(
                item, [word or before for word, before in zip(stated, words[identity], strict=True)]
            )


def _clean_blanks(changes: Changes[Document], items: Iterable[ItemTexts]) -> None:
    for item in items:
        if item.task is Task.INTRASENTENCE:
            for name, rule in BLANK_RULES.items():
                changes.set(item, CONTEXT, rule(item.context, changes.document.language), by=name)


def _clean_texts(changes: Changes[Document], sources: Mapping[str, Association]) -> None:
    """Apply the rules for whole texts to contexts, and to sentences that are not made of context and word."""
    for item in changes.document:
        source = sources.get(item.id)
        if source is None or item.is_beyond_repair:
            continue
        texts = {CONTEXT: source.context}
        if item.task is Task.INTERSENTENCE:
            texts |= {f"{SENTENCE}/{candidate.id}": candidate.text for candidate in source.candidates}
        for name, original in texts.items():
            for rule, clean in TEXT_RULES.items():
                if name in item.fields():
                    changes.set(item, name, clean(item[name], original, changes.document.language), by=rule)


def _replace_terms(changes: Changes[Document], terms: Sequence[TermRow], stage: RepairStage) -> None:
    lacked = {item.id for item in changes.document if item.lacks_target}
    rows = [row for row in terms if row.stage is stage]
    for item in changes.document:
        for row in rows:
            if item.task not in row.tasks or (row.when is When.MISSING and item.id not in lacked):
                continue
            texts = row.replacements(item)
            if texts and (row.when is not When.FITS or _fits(item, texts)):
                for name, text in texts.items():
                    changes.set(item, name, text, by=TERMS)


def _fits(item: ItemTexts, texts: dict[str, str]) -> bool:
    target, context = texts.get(TARGET, item.target), texts.get(CONTEXT, item.context)
    return item.lacks_target and contains_term(context, target)


def _take_closest(changes: Changes[Document], items: Iterable[ItemTexts]) -> None:
    common = common_words(changes.document)
    for item in items:
        if item.lacks_target and not item.is_beyond_repair:
            target = item.target
            word = closest_word(target, item.context)
            if word:
                changes.set(item, TARGET, word, by=CLOSEST)
                if is_doubtful(word, target, common=common):
                    changes.set(item, DOUBTFUL_TARGET, target, by=CLOSEST)
