"""Reviews of a translation: what two people decide about each item, when that is settled, and the changes it makes.

Two reviewers decide about an item without seeing each other's verdict. If both come to the same texts, the item is
settled; otherwise a third person, the arbiter, settles it.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from functools import partial

from evenhand.core.errors import TranslationError
from evenhand.core.items import BLANK, CULTURE_SPECIFIC, Task, contains_term, own_item_id
from evenhand.translation.changes import Changes, DocumentKind
from evenhand.translation.documents import (
    BEYOND_REPAIR,
    CONTEXT,
    DOUBTFUL_TARGET,
    SENTENCE,
    TARGET,
    WORD,
    ItemTexts,
)
from evenhand.translation.table_documents import RowTexts

REVIEWERS_PER_ITEM = 2


class ReviewOutcome(StrEnum):
    """What somebody decides about an item."""

    ACCEPT = "accept"
    EDIT = "edit"
    BEYOND_REPAIR = "beyond-repair"
    CULTURE_SPECIFIC = "culture-specific"


class ReviewRole(StrEnum):
    """What somebody does in a review."""

    REVIEWER = "reviewer"
    ARBITER = "arbiter"


class ReviewState(StrEnum):
    """How far the review of an item is."""

    OPEN = "open"
    DISPUTED = "disputed"
    SETTLED = "settled"


@dataclass(frozen=True, slots=True)
class ReviewVerdict:
    """What one person decided about an item.

    Attributes:
        item: The id of the item.
        person: Who decided.
        role: What they do in the review.
        outcome: What they decided.
        texts: New texts by field: those that were edited, or all texts of an item that takes the place of a
            culture-specific one.
        comment: Why; the reason of a mark.
        time: When, in UTC.
    """

    item: str
    person: str
    role: ReviewRole
    outcome: ReviewOutcome
    texts: Mapping[str, str] = field(default_factory=dict)
    comment: str = ""
    time: str = ""

    def agrees_with(self, other: ReviewVerdict) -> bool:
        """Whether both make the same of the item, whatever they say about it."""
        return (self.outcome, dict(self.texts)) == (other.outcome, dict(other.texts))


def state_of(verdicts: Sequence[ReviewVerdict]) -> ReviewState:
    """How far the review of an item with these verdicts is."""
    if settled_verdict(verdicts) is not None:
        return ReviewState.SETTLED
    reviewers = [verdict for verdict in verdicts if verdict.role is ReviewRole.REVIEWER]
    return ReviewState.OPEN if len(reviewers) < REVIEWERS_PER_ITEM else ReviewState.DISPUTED


def settled_verdict(verdicts: Sequence[ReviewVerdict]) -> ReviewVerdict | None:
    """What counts of the verdicts on an item: the arbiter's, or what all reviewers agree on; None if nothing does."""
    for verdict in verdicts:
        if verdict.role is ReviewRole.ARBITER:
            return verdict
    first, *others = verdicts or (None,)
    if first is None or len(verdicts) < REVIEWERS_PER_ITEM or not all(map(first.agrees_with, others)):
        return None
    return ReviewVerdict(
        item=first.item,
        person=" and ".join(sorted(verdict.person for verdict in verdicts)),
        role=ReviewRole.REVIEWER,
        outcome=first.outcome,
        texts=first.texts,
        comment="; ".join(dict.fromkeys(verdict.comment for verdict in verdicts if verdict.comment)),
        time=max(verdict.time for verdict in verdicts),
    )


def review_texts(item: ItemTexts | RowTexts) -> dict[str, str]:
    """The texts that a reviewer sees and may edit, by field.

    Of an item target, context, and candidate words or sentences; of a row its columns that hold texts.
    """
    if isinstance(item, RowTexts):
        return item.texts()
    kind = WORD if item.task is Task.INTRASENTENCE else SENTENCE
    candidates = item.candidate_ids()
    own = {
        f"{kind}/{candidate}": item.word_of(candidate) if kind == WORD else item[f"{SENTENCE}/{candidate}"]
        for candidate in candidates
    }
    return {TARGET: item.target, CONTEXT: item.context, **own}


def fault_of(task: Task, texts: Mapping[str, str]) -> str | None:
    """What is wrong with the texts that somebody wrote, as a word; None if nothing is."""
    if not all(text.strip() for text in texts.values()):
        return "empty"
    if task is Task.INTRASENTENCE and texts[CONTEXT].count(BLANK) != 1:
        return "blank"
    if not contains_term(texts[CONTEXT], texts[TARGET]):
        return "target"
    candidates = [text.casefold() for name, text in texts.items() if name not in (TARGET, CONTEXT)]
    return "equal" if len(set(candidates)) < len(candidates) else None


def apply_verdicts(
    changes: Changes[DocumentKind], settled: Iterable[ReviewVerdict], shown: Mapping[str, Mapping[str, str]]
) -> int:
    """Make changes of settled verdicts; how many rows that adds.

    Args:
        changes: The document, and the rows to which those of the review are added.
        settled: What counts, one verdict per item.
        shown: For each item the texts that the reviewers saw.

    Raises:
        TranslationError: If a text is another one now than the reviewers saw.
    """
    first, clock = len(changes.rows), changes.clock
    for verdict in settled:
        item = changes.document.items[verdict.item]
        own = own_item_id(verdict.item, changes.document.language)
        if item.is_beyond_repair or own in changes.document.items or _has_texts(item, verdict):
            continue  # it was applied before
        if review_texts(item) != shown[verdict.item]:
            if verdict.outcome is ReviewOutcome.ACCEPT:
                continue  # what was accepted is no longer there
            raise TranslationError(
                f"The item {verdict.item} has changed since the reviewers saw it. Show it to them again with: evenhand "
                f"data review FOLDER, or undo the change with: evenhand data repair FOLDER --undo {verdict.item}."
            )
        changes.clock = partial(_time_of, verdict, clock)
        _apply(changes, item, verdict)
    changes.clock = clock
    return len(changes.rows) - first


def _time_of(verdict: ReviewVerdict, clock: Callable[[], str]) -> str:
    return verdict.time or clock()


def _has_texts(item: ItemTexts | RowTexts, verdict: ReviewVerdict) -> bool:
    if verdict.outcome is not ReviewOutcome.EDIT:
        return False
    texts = review_texts(item)
    return all(texts[name] == text for name, text in verdict.texts.items())


def _apply(changes: Changes[DocumentKind], item: ItemTexts | RowTexts, verdict: ReviewVerdict) -> None:
    by = verdict.person
    if isinstance(item, ItemTexts):
        changes.set(item, DOUBTFUL_TARGET, "", by=by)  # people have looked at it
    if verdict.outcome is ReviewOutcome.EDIT:
        words = {**review_texts(item), **verdict.texts}
        for name, text in verdict.texts.items():
            changes.set(item, name, text, by=by)
        if isinstance(item, ItemTexts) and {name.partition("/")[0] for name in verdict.texts} & {
            CONTEXT,
            WORD,
        }:
            changes.rebuild(
                item, [words.get(f"{WORD}/{candidate}", "") for candidate in item.candidate_ids()]
            )
    elif verdict.outcome is ReviewOutcome.BEYOND_REPAIR:
        changes.set(item, BEYOND_REPAIR, verdict.comment or "beyond repair", by=by)
    elif verdict.outcome is ReviewOutcome.CULTURE_SPECIFIC:
        reason = f"{CULTURE_SPECIFIC}: {verdict.comment}" if verdict.comment else CULTURE_SPECIFIC
        changes.set(item, BEYOND_REPAIR, reason, by=by)
        if verdict.texts:
            identity = own_item_id(item.id, changes.document.language)
            changes.set_own_item(identity, _own_item(item, identity, verdict.texts), by=by)


def _own_item(item: ItemTexts | RowTexts, identity: str, texts: Mapping[str, str]) -> str:
    """An item with the labels and the bias type of another, and with texts of its own; not paired with any."""
    if isinstance(item, RowTexts):
        rest = {name: cell for name, cell in item.cells.items() if name != BEYOND_REPAIR}
        named = {"id": identity} if "id" in rest else {}
        return json.dumps({**rest, **texts, **named}, ensure_ascii=False)
    candidates = []
    for number, (row, candidate) in enumerate(
        zip(item.row["sentences"], item.candidate_ids(), strict=True), start=1
    ):
        own = {"id": f"{identity}-{number}", "gold_label": row["gold_label"], "labels": []}
        if item.task is Task.INTRASENTENCE:
            word = texts[f"{WORD}/{candidate}"]
            own |= {"word": word, "sentence": texts[CONTEXT].replace(BLANK, word)}
        else:
            own |= {"sentence": texts[f"{SENTENCE}/{candidate}"]}
        candidates.append(own)
    # Of the same class as the item whose place it takes; what pairs items across languages is their id.
    shared = {key: item.row[key] for key in ("target_original",) if key in item.row}
    row = {
        "id": identity,
        "target": texts[TARGET],
        **shared,
        "bias_type": item.row["bias_type"],
        "context": texts[CONTEXT],
        "sentences": candidates,
    }
    return json.dumps({item.task.value: row}, ensure_ascii=False)
