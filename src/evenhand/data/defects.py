"""Classes of defects in association items: how each is found, and whether it can move a score."""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum

from evenhand.core.counts import plural
from evenhand.core.items import (
    BLANK,
    Association,
    Candidate,
    Label,
    Task,
    contains_term,
    filled_spans,
    overlong_reason,
    repeated,
)
from evenhand.text.word_search import LANGUAGES_WITH_NEGATION, has_negation

_INTRA = (Task.INTRASENTENCE,)
_BOTH = (Task.INTRASENTENCE, Task.INTERSENTENCE)

_ATTACHED = re.compile(rf"\w{BLANK}|{BLANK}[\"'’”“´`]?\w")
_GLUED = re.compile(rf"[^\s\w\"'’“”„‘«»‹›(\[¿¡-]{BLANK}|{BLANK}[.,;:!?…]\w")
_FINAL_PUNCTUATION = ".!?…\"'”’»)"

LARGE_LENGTH_RATIO = 2.0
LARGE_LENGTH_GAP = 6
NEAR_DUPLICATE_RATIO = 0.95

TARGET_MISSING = "target-not-in-context"
TARGET_GUESSED = "target-guessed"
BEYOND_REPAIR = "beyond-repair"


class DefectUnit(StrEnum):
    """What a defect's count and ids refer to."""

    ITEMS = "items"
    CANDIDATES = "candidates"


@dataclass(frozen=True, slots=True)
class DefectClass:
    """One kind of defect.

    ``flagged`` marks those that can move a score for reasons other than stereotype; the sensitivity
    analysis leaves their items out. ``languages`` limits a check to the languages that it knows. ``explain`` says what
    it is about in an item that has it.
    """

    name: str
    description: str
    tasks: tuple[Task, ...]
    unit: DefectUnit
    flagged: bool
    find: Callable[[Sequence[Association]], Iterable[str]]
    languages: tuple[str, ...] | None = None
    explain: Callable[[Association], str] | None = None

    def counted(self, count: int) -> str:
        """A number of these, with what is counted: ``1 item``, ``2 candidates``."""
        return plural(count, self.unit.value.removesuffix("s"))


def _items_where(
    condition: Callable[[Association], bool],
) -> Callable[[Sequence[Association]], Iterable[str]]:
    return lambda items: (item.id for item in items if condition(item))


def _candidates_where(
    condition: Callable[[Association, Candidate], bool],
) -> Callable[[Sequence[Association]], Iterable[str]]:
    return lambda items: (
        candidate.id for item in items for candidate in item.candidates if condition(item, candidate)
    )


def _rebuilt(item: Association, candidate: Candidate) -> str:
    """The context with the candidate's word in its blanks."""
    return item.context.replace(BLANK, fill_of(item, candidate) if candidate.word is None else candidate.word)


def fill_of(item: Association, candidate: Candidate) -> str:
    """The words in the blank of an intra-sentence candidate; empty where they cannot be found."""
    spans = filled_spans(item.context, candidate.text)
    return spans[0].of(candidate.text) if spans else ""


def _compared_texts(item: Association) -> tuple[str, str]:
    """What differs between stereotype and anti-stereotype: the fills, or the whole sentences."""
    pair = (item.candidate(Label.STEREOTYPE), item.candidate(Label.ANTI_STEREOTYPE))
    if item.task is Task.INTRASENTENCE:
        return fill_of(item, pair[0]), fill_of(item, pair[1])
    return pair[0].text, pair[1].text


def _differs_in_case_only(item: Association, candidate: Candidate) -> bool:
    rebuilt = _rebuilt(item, candidate)
    return rebuilt != candidate.text and rebuilt.lower() == candidate.text.lower()


def _differs_otherwise(item: Association, candidate: Candidate) -> bool:
    return _rebuilt(item, candidate).lower() != candidate.text.lower()


def _has_multi_word_fill(item: Association) -> bool:
    return any(len(fill_of(item, candidate).split()) > 1 for candidate in item.candidates)


def _has_equal_candidates(item: Association) -> bool:
    return len({candidate.text for candidate in item.candidates}) < len(item.candidates)


def _has_near_duplicates(item: Association) -> bool:
    texts = _compared_texts(item)
    if _has_equal_candidates(item) or overlong_reason(*texts):
        return False
    first, second = (" ".join(re.findall(r"\w+", text.casefold())) for text in texts)
    matcher = difflib.SequenceMatcher(None, first, second, autojunk=False)
    return matcher.real_quick_ratio() >= NEAR_DUPLICATE_RATIO and matcher.ratio() >= NEAR_DUPLICATE_RATIO


def _has_length_gap(item: Association) -> bool:
    shorter, longer = sorted(len(text) for text in _compared_texts(item))
    return longer > LARGE_LENGTH_RATIO * shorter and longer - shorter >= LARGE_LENGTH_GAP


def _has_one_sided_negation(item: Association) -> bool:
    first, second = _compared_texts(item)
    return has_negation(first, item.language) != has_negation(second, item.language)


def _repeated_contexts(items: Sequence[Association]) -> Iterable[str]:
    twice = set(repeated(item.context for item in items))
    return (item.id for item in items if item.context in twice)


DEFECT_CLASSES = (
    DefectClass(
        "blank-count",
        "context without exactly one BLANK",
        _INTRA,
        DefectUnit.ITEMS,
        True,
        _items_where(lambda item: item.context.count(BLANK) != 1),
    ),
    DefectClass(
        "blank-attached",
        "something attached to the blank, such as a suffix",
        _INTRA,
        DefectUnit.ITEMS,
        True,
        _items_where(lambda item: _ATTACHED.search(item.context) is not None),
    ),
    DefectClass(
        "blank-glued",
        "no space between the blank's punctuation and other text",
        _INTRA,
        DefectUnit.ITEMS,
        True,
        _items_where(lambda item: _GLUED.search(item.context) is not None),
    ),
    DefectClass(
        "blank-first",
        "context starts with BLANK",
        _INTRA,
        DefectUnit.ITEMS,
        False,
        _items_where(lambda item: item.context.startswith(BLANK)),
    ),
    DefectClass(
        "fill-not-found",
        "candidate cannot be aligned with its context",
        _INTRA,
        DefectUnit.CANDIDATES,
        True,
        _candidates_where(lambda item, candidate: not filled_spans(item.context, candidate.text)),
    ),
    DefectClass(
        "case-differs",
        "candidate differs from the filled context in case only",
        _INTRA,
        DefectUnit.CANDIDATES,
        False,
        _candidates_where(_differs_in_case_only),
    ),
    DefectClass(
        "text-differs",
        "candidate differs from the filled context otherwise",
        _INTRA,
        DefectUnit.CANDIDATES,
        True,
        _candidates_where(_differs_otherwise),
    ),
    DefectClass(
        "multi-word-fill",
        "a candidate fills the blank with several words",
        _INTRA,
        DefectUnit.ITEMS,
        False,
        _items_where(_has_multi_word_fill),
    ),
    DefectClass(
        "equal-candidates",
        "two candidates are the same",
        _BOTH,
        DefectUnit.ITEMS,
        True,
        _items_where(_has_equal_candidates),
    ),
    DefectClass(
        "near-duplicates",
        "stereotype and anti-stereotype hardly differ",
        _BOTH,
        DefectUnit.ITEMS,
        True,
        _items_where(_has_near_duplicates),
    ),
    DefectClass(
        "one-sided-negation",
        "only one of stereotype and anti-stereotype is negated",
        _BOTH,
        DefectUnit.ITEMS,
        True,
        _items_where(_has_one_sided_negation),
        LANGUAGES_WITH_NEGATION,
    ),
    DefectClass(
        "length-gap",
        f"stereotype and anti-stereotype differ in length by more than a factor of {LARGE_LENGTH_RATIO:g} "
        f"and at least {LARGE_LENGTH_GAP} characters",
        _BOTH,
        DefectUnit.ITEMS,
        True,
        _items_where(_has_length_gap),
    ),
    DefectClass(
        "no-final-punctuation",
        "context without final punctuation",
        _BOTH,
        DefectUnit.ITEMS,
        False,
        _items_where(lambda item: item.context.rstrip()[-1] not in _FINAL_PUNCTUATION),
    ),
    DefectClass(
        TARGET_MISSING,
        "the target term does not occur in the context",
        _BOTH,
        DefectUnit.ITEMS,
        False,
        _items_where(lambda item: not contains_term(item.context, item.target)),
    ),
    DefectClass(
        TARGET_GUESSED,
        "a rule took a word of the context for the target, and may be wrong",
        _BOTH,
        DefectUnit.ITEMS,
        False,
        _items_where(lambda item: bool(item.doubtful_target)),
    ),
    DefectClass(
        "repeated-context",
        "context that another item has too",
        _BOTH,
        DefectUnit.ITEMS,
        False,
        _repeated_contexts,
    ),
    DefectClass(
        BEYOND_REPAIR,
        "people marked the item as beyond repair or culture-specific",
        _BOTH,
        DefectUnit.ITEMS,
        True,
        _items_where(lambda item: bool(item.beyond_repair)),
    ),
)
