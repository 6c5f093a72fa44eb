"""The items of a page: their texts and scores, as many as a page can hold, and all of them as a table beside it."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from evenhand.core.errors import RunError
from evenhand.core.files import sha256_of
from evenhand.core.items import BLANK, Label
from evenhand.core.protocols import get_protocol
from evenhand.instruments.association.measures.measure import Preferences
from evenhand.store.run import Run

MOST_BYTES = 3_000_000
"""Of all items of a page together. The rest of a page has a million or two, and it should be small enough to send."""

_TABLE_ROWS = 5_000
"""Items of a table that are written at once."""

ItemRow = tuple[list[Any], list[Any]]
"""An item as the script reads it: its texts, and its scores."""

_TASK, STRENGTH = 1, 4
"""Places in the lists that the script reads."""


@dataclass(frozen=True, slots=True)
class PageItems:
    """Items that one or several runs share: texts, and for each run the scores in the same order."""

    texts: list[list[Any]]
    scores: list[list[list[Any]]]
    total: int
    """How many there are, on the page or not."""

    @property
    def size(self) -> int:
        """Bytes of it in a page."""
        return len(_json([self.texts, self.scores]))


@dataclass(frozen=True, slots=True)
class _Outline:
    """What a page must know to choose among items that runs share, without holding them."""

    tasks: npt.NDArray[np.str_]
    strengths: npt.NDArray[np.float64]
    """One row per run."""
    sizes: npt.NDArray[np.int64]
    """Bytes of an item in a page: its texts, the scores of every run, and what separates them."""

    @classmethod
    def of(cls, runs: Sequence[Run]) -> _Outline:
        """Read the items of runs one after the other."""
        tasks, strengths, sizes = [], [], []
        for text, scores in item_rows(runs):
            tasks.append(text[_TASK])
            strengths.append([own[STRENGTH] for own in scores])
            sizes.append(_size((shortened(text), *scores)))
        return cls(np.array(tasks), np.array(strengths, dtype=np.float64).T, np.array(sizes, dtype=np.int64))

    @property
    def size(self) -> int:
        """Bytes of all items in a page."""
        return self._frame + int(self.sizes.sum())

    @property
    def _frame(self) -> int:
        """Bytes around the items; nothing separates the last of a list from the next."""
        runs = len(self.strengths)
        return len("[[], []]") + runs * len("[], ") - len(", ") - (1 + runs) * len(", ")

    def most_telling(self, size: int) -> list[int]:
        """Places of items that fit into so many bytes, in their order.

        Of each run and task the strongest, the closest calls and the first come first; one that is too long for what
        is left makes room for shorter ones.
        """
        rankings = [
            places[np.argsort(key[places], kind="stable")].tolist()
            for strengths in self.strengths
            for task in np.unique(self.tasks)
            for places in [np.flatnonzero(self.tasks == task)]
            for key in (-strengths, strengths, np.abs(strengths), np.arange(len(strengths)))
        ]
        turns = dict.fromkeys(place for turn in zip_longest(*rankings) for place in turn if place is not None)
        left = size - self._frame
        chosen = []
        for place in turns:
            if self.sizes[place] <= left:
                left -= int(self.sizes[place])
                chosen.append(place)
        return sorted(chosen)


def page_items(runs: Sequence[Run]) -> dict[str, PageItems]:
    """The items of runs by their key, as many as a page can hold."""
    shared: dict[str, list[Run]] = {}
    for run in runs:
        shared.setdefault(text_key(run), []).append(run)
    outlines = {key: _Outline.of(own) for key, own in shared.items()}
    size = sum(outline.size for outline in outlines.values())
    found = {}
    for key, outline in outlines.items():
        total = len(outline.sizes)
        places = (
            set(range(total))
            if size <= MOST_BYTES
            else set(outline.most_telling(outline.size * MOST_BYTES // size))
        )
        rows = [row for place, row in enumerate(item_rows(shared[key])) if place in places]
        found[key] = PageItems(
            [shortened(text) for text, _ in rows],
            [[scores[place] for _, scores in rows] for place in range(len(shared[key]))],
            total,
        )
    return found


def _json(part: list[Any]) -> bytes:
    return json.dumps(part, ensure_ascii=False).encode()


def _size(parts: Iterable[list[Any]]) -> int:
    """Bytes of parts in lists of a page, each with what separates it from the next."""
    return sum(len(_json(part)) + len(", ") for part in parts)


def items_table(run: Run) -> Iterator[str]:
    """All items of a run as CSV, piece by piece: texts, scores, the log-ratio in bits, and why one was skipped."""
    texts = run.scores.group_by("item", maintain_order=True).agg(
        pl.col("context").first(),
        *[
            pl.col("text").filter(pl.col("label") == label.value).first().alias(f"{label.value} text")
            for label in Label
        ],
    )
    for place, items in enumerate(run.items().iter_slices(_TABLE_ROWS)):
        yield items.join(texts, on="item", maintain_order="left").write_csv(include_header=place == 0)


def fits_page(run: Run) -> bool:
    """Whether a page of this run alone holds all of its items."""
    size = len("[[], [[]]]") - 2 * len(", ")
    for text, scores in item_rows([run]):
        size += _size((shortened(text), *scores))
        if size > MOST_BYTES:
            return False
    return True


def item_rows(runs: Sequence[Run]) -> Iterator[tuple[list[Any], list[list[Any]]]]:
    """Texts of every item that runs share and its scores in each, in the order of the data, one after the other."""
    for text, *scored in zip(_text_rows(runs[0]), *map(_score_rows, runs), strict=True):
        for run, (item, _) in zip(runs, scored, strict=True):
            if item != text[0]:
                raise RunError(
                    f"{run.record.name} has the scores of {item!r} where the texts of {text[0]!r} are."
                )
        yield text, [own for _, own in scored]


def text_key(run: Run) -> str:
    """Runs over the same items of the same file share their texts; a limit or a task fewer makes them others."""
    items = "\n".join(run.scores["item"].unique(maintain_order=True).to_list())
    return sha256_of(f"{run.record.dataset.sha256}\n{items}".encode())[:16]


def _text_rows(run: Run) -> Iterator[list[Any]]:
    """id, task, bias type, target, term, context, three texts in the order of labels, defects."""
    grouped = run.scores.group_by("item", maintain_order=True).agg(
        pl.col("task", "bias_type", "target", "cluster", "context", "defects").first(),
        *[
            pl.col("text").filter(pl.col("label") == label.value).first().alias(label.value)
            for label in Label
        ],
    )
    columns = ["item", "task", "bias_type", "target", "cluster", "context", *[label.value for label in Label]]
    return map(list, grouped.select(*columns, "defects").iter_rows())


def shortened(text: list[Any]) -> list[Any]:
    """Replace a candidate by what fills the blank where that says it all; the script puts it back.

    Half the size of a page is candidates that repeat their context.
    """
    before, blank, after = text[5].partition(BLANK)
    for position in (6, 7, 8):
        sentence = text[position]
        fill = sentence[len(before) : len(sentence) - len(after)]
        if blank and fill and f"{before}{fill}{after}" == sentence:
            text[position] = [fill]
    return text


def _score_rows(run: Run) -> Iterator[tuple[str, list[Any]]]:
    """Each item, and three scores, the preference, its strength, sense, why it was skipped, and the log-ratio.

    The preference comes from the exact scores; the shown ones are shortened. A log-ratio in bits there is only where
    the probabilities of whole candidates are known: scores may be anything, and ratios of them are no bits.
    """
    items = run.items()
    scores = [items[label.value].to_numpy().astype(float) for label in Label]
    ties = get_protocol(run.result.protocol).ties
    preferences = Preferences.from_scores(*scores, ties=ties)
    strength = _by_ratio if all_positive(items) else _by_difference
    columns = zip(
        items["item"].to_list(),
        *(column.tolist() for column in scores),
        preferences.meaningful.tolist(),
        items["skipped_reason"].to_list(),
        items["log_ratio"].to_list(),
        strict=True,
    )
    for item, stereotype, anti, unrelated, meaningful, reason, bits in columns:
        if reason is not None:
            yield item, [None, None, None, 0, 0, 0, reason, None]
            continue
        side = (stereotype > anti) - (stereotype < anti)
        short = [float(f"{score:.4g}") for score in (stereotype, anti, unrelated)]
        log_ratio = None if bits is None else round(bits, 3)
        yield item, [*short, side, round(strength(stereotype, anti), 4), meaningful, None, log_ratio]


def all_positive(items: pl.DataFrame) -> bool:
    """Whether ratios of scores make sense, for every item, so that all are ordered by the same."""
    scored = items.filter(pl.col("skipped_reason").is_null())
    both = scored.select(Label.STEREOTYPE.value, Label.ANTI_STEREOTYPE.value).to_numpy()
    return bool((both > 0).all())


def _by_ratio(stereotype: float, anti: float) -> float:
    """How often the score of one goes into that of the other, as a binary logarithm."""
    return math.log2(stereotype / anti)


def _by_difference(stereotype: float, anti: float) -> float:
    return stereotype - anti
