"""Test rows and folds: fixed by index before anything is fitted, with no author and no text on both sides."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

import numpy as np

from evenhand.core.counts import plural
from evenhand.core.errors import DatasetError, shortlist
from evenhand.regard.texts import LabelKind, RegardTexts, text_key
from evenhand.stats.classification import Integers

FEWEST_TEXTS = 30
"""With fewer texts, figures mean next to nothing."""


class SharedAuthors(StrEnum):
    """What happens if test rows that were given share authors with the training rows."""

    REFUSE = "refuse"
    WARN = "warn"
    """The rows stay as they were given, with the texts that stand on both sides."""


@dataclass(frozen=True, slots=True, eq=False)
class Split:
    """Places of texts to train on and of texts to predict."""

    train: Integers
    held_out: Integers


def split_off_test_rows(
    texts: RegardTexts, *, share: float, seed: int, given: tuple[int, ...] | None, shared: SharedAuthors
) -> Split:
    """Which texts are kept for the test.

    Args:
        texts: All texts.
        share: The share of texts that are kept, by whole authors.
        seed: Decides which.
        given: Row numbers of the file that are kept instead.
        shared: What to do about authors on both sides of rows that were given.
    """
    refuse_one_class(texts)
    if given is None:
        if not 0 < share <= 0.5:
            raise DatasetError(f"The share of test rows is {share:g}; it must be above 0 and at most 0.5.")
        split = grouped_folds(texts, np.arange(len(texts)), folds=max(2, round(1 / share)), seed=seed)[0]
    else:
        split = _given_split(texts, given, shared)
    if not len(split.train):
        raise DatasetError(
            f"Every text of {texts.name} is among the test rows, in these or the same words, so none is left to train "
            "on. Give texts that differ."
        )
    authors = np.intersect1d(texts.groups[split.train], texts.groups[split.held_out])
    if texts.authors and len(authors) and shared is SharedAuthors.REFUSE:
        names = {texts.groups[place]: texts.authors[place] for place in split.held_out}
        raise DatasetError(
            f"{len(authors):,} authors have texts among the training rows and among the test rows: "
            f"{shortlist([names[own] for own in authors], 3)}. Whoever is known from training is easier to label. Give "
            "test rows by whole authors, or accept it with --shared-authors warn."
        )
    return split


def shared_authors(texts: RegardTexts, split: Split) -> int:
    """How many authors have texts on both sides."""
    if not texts.authors:
        return 0
    return len(np.intersect1d(texts.groups[split.train], texts.groups[split.held_out]))


def _given_split(texts: RegardTexts, given: tuple[int, ...], shared: SharedAuthors) -> Split:
    kept = np.isin(texts.rows.numbers, given)
    held_out, train = np.flatnonzero(kept), np.flatnonzero(~kept)
    if not len(held_out) or not len(train):
        raise DatasetError(
            f"{len(given):,} test rows were given, of {len(texts):,} texts; {len(held_out):,} of them can be used and "
            f"{len(train):,} texts are left to train on. Rows are numbered from 0, or by the ids of the file."
        )
    if shared is SharedAuthors.REFUSE:
        train = _without_repeats(texts, train, held_out)
    return Split(train, held_out)


def grouped_folds(texts: RegardTexts, places: Integers, *, folds: int, seed: int) -> list[Split]:
    """Folds of some texts: classes as even as whole authors allow.

    Each text is held out once. A text that is held out is not trained on either where another author wrote the same.
    """
    from sklearn.model_selection import StratifiedGroupKFold

    labels, groups = texts.labels[places], texts.groups[places]
    if folds < 2:
        raise DatasetError(f"{folds} folds were asked for; at least 2 are needed, 5 are usual.")
    what = "author" if texts.authors else "different text"
    count = len(np.unique(groups))
    if count < folds:
        raise DatasetError(
            f"{plural(count, what)} cannot be put into {folds} folds. Give "
            f"{'texts by more authors' if texts.authors else 'more texts that differ'}, or fewer --folds."
        )
    known, sizes = np.unique(labels[labels >= 0], return_counts=True)
    if len(known) < 2 or sizes.min() < folds:
        scarce, size = (
            (texts.classes[int(known[sizes.argmin()])], int(sizes.min())) if len(known) else ("none", 0)
        )
        raise DatasetError(
            f"The label {scarce} has {size:,} texts, fewer than the {folds} folds. Give more texts with it, or fewer "
            "--folds."
        )
    # Texts with tied votes go with the first label, only to find a fold for them.
    splitter = StratifiedGroupKFold(folds, shuffle=True, random_state=seed)
    return [
        Split(_without_repeats(texts, places[train], places[held_out]), places[held_out])
        for train, held_out in splitter.split(places, np.maximum(labels, 0), groups)
    ]


def _without_repeats(texts: RegardTexts, train: Integers, held_out: Integers) -> Integers:
    keys = {text_key(texts.rows.texts[place]) for place in held_out}
    return np.array(
        [place for place in train if text_key(texts.rows.texts[place]) not in keys], dtype=np.int64
    )


def refuse_too_few(texts: RegardTexts, kind: LabelKind) -> None:
    """Refuse texts of which too few have a label of the kind that is learnt."""
    if len(texts) < FEWEST_TEXTS:
        raise DatasetError(
            f"{texts.name} has {len(texts):,} labelled texts; at least {FEWEST_TEXTS} are needed."
        )
    if kind is LabelKind.CONSENSUS and not texts.unanimous.any():
        raise DatasetError(
            f"No text of {texts.name} has a label that two annotators or more agree on. Train with --labels mode."
        )


def refuse_one_class(texts: RegardTexts) -> None:
    """Refuse texts that all have one label."""
    if not len(texts):
        raise DatasetError("No text has a label that all its annotators were sure of. Give labelled texts.")
    known = np.unique(texts.labels[texts.labels >= 0])
    if len(known) < 2:
        only = ", ".join(texts.classes[label] for label in known) or "none"
        raise DatasetError(
            f"All {len(texts):,} texts have the same label ({only}); a classifier needs at least two to tell apart."
        )
