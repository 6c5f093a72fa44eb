"""The items of a page: their texts and scores, as many as a page can hold, and all of them as a table beside it."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from typing import Any

import polars as pl

from evenhand.core.files import sha256_of
from evenhand.core.items import BLANK, Label
from evenhand.core.protocols import get_protocol
from evenhand.instruments.association.measures.measure import Preferences
from evenhand.runs.run import Run

MOST_BYTES = 3_000_000
"""Of all items of a page together. The rest of a page has a million or two, and it should be small enough to send."""

ITEMS_FILE = "items.csv"
"""Beside a page that does not hold all items of its run."""

_TASK, _SIDE_STRENGTH = 1, 4
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

    def most_telling(self, size: int) -> PageItems:
        """Items that fit into so many bytes, in their order.

        Of each run and task the strongest, the closest calls and the first come first; one that is too long for what
        is left makes room for shorter ones.
        """
        rankings = [
            sorted(places, key=key)
            for scores in self.scores
            for task in {text[_TASK] for text in self.texts}
            for places in [[place for place, text in enumerate(self.texts) if text[_TASK] == task]]
            for key in (
                lambda place, scores=scores: -scores[place][_SIDE_STRENGTH],
                lambda place, scores=scores: scores[place][_SIDE_STRENGTH],
                lambda place, scores=scores: abs(scores[place][_SIDE_STRENGTH]),
                lambda place: place,
            )
        ]
        turns = (place for turn in zip_longest(*rankings) for place in turn if place is not None)
        chosen = sorted(self._fitting(dict.fromkeys(turns), size))
        return PageItems(
            [self.texts[place] for place in chosen],
            [[scores[place] for place in chosen] for scores in self.scores],
            self.total,
        )

    def _fitting(self, places: Iterable[int], size: int) -> Iterator[int]:
        left = size - len(self.scores) * len(", []") - len("[[], []]")
        for place in places:
            parts = (self.texts[place], *(scores[place] for scores in self.scores))
            needed = sum(len(_json(part)) + len(", ") for part in parts)
            if needed <= left:
                left -= needed
                yield place


def page_items(runs: Sequence[Run]) -> dict[str, PageItems]:
    """The items of runs by their key, as many as a page can hold."""
    shared: dict[str, list[Run]] = {}
    for run in runs:
        shared.setdefault(text_key(run), []).append(run)
    found = {}
    for key, own in shared.items():
        texts = _item_texts(own[0])
        order = [str(text[0]) for text in texts]
        found[key] = PageItems(texts, [_item_scores(run, order) for run in own], len(texts))
    size = sum(items.size for items in found.values())
    if size <= MOST_BYTES:
        return found
    return {key: items.most_telling(items.size * MOST_BYTES // size) for key, items in found.items()}


def _json(part: list[Any]) -> bytes:
    return json.dumps(part, ensure_ascii=False).encode()


def left_out_items(run: Run) -> int:
    """How many items of a run its page does not hold."""
    (items,) = page_items([run]).values()
    return items.total - len(items.texts)


def items_table(run: Run) -> str:
    """All items of a run as CSV: texts, scores, the log-ratio in bits, and why one was skipped."""
    texts = run.scores.group_by("item", maintain_order=True).agg(
        pl.col("context").first(),
        *[
            pl.col("text").filter(pl.col("label") == label.value).first().alias(f"{label.value} text")
            for label in Label
        ],
    )
    return run.items().join(texts, on="item", maintain_order="left").write_csv()


def text_key(run: Run) -> str:
    """Runs over the same items of the same file share their texts; a limit or a task fewer makes them others."""
    items = "\n".join(run.scores["item"].unique(maintain_order=True).to_list())
    return sha256_of(f"{run.record.dataset.sha256}\n{items}".encode())[:16]


def _item_texts(run: Run) -> list[list[Any]]:
    """id, task, bias type, target, term, context, three texts in the order of labels, defects."""
    grouped = run.scores.group_by("item", maintain_order=True).agg(
        pl.col("task", "bias_type", "target", "cluster", "context", "defects").first(),
        *[
            pl.col("text").filter(pl.col("label") == label.value).first().alias(label.value)
            for label in Label
        ],
    )
    columns = ["item", "task", "bias_type", "target", "cluster", "context", *[label.value for label in Label]]
    return [_shortened(list(row)) for row in grouped.select(*columns, "defects").iter_rows()]


def _shortened(text: list[Any]) -> list[Any]:
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


def _item_scores(run: Run, order: list[str]) -> list[list[Any]]:
    """For each text: three scores, the preference, its strength, sense, why it was skipped, and the log-ratio.

    The preference comes from the exact scores; the shown ones are shortened. A log-ratio in bits there is only where
    the probabilities of whole candidates are known: scores may be anything, and ratios of them are no bits.
    """
    items = run.items()
    scores = [items[label.value].to_numpy().astype(float) for label in Label]
    ties = get_protocol(run.result.protocol).ties
    preferences = Preferences.from_scores(*scores, ties=ties)
    rows = {}
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
            rows[item] = [None, None, None, 0, 0, 0, reason, None]
            continue
        side = (stereotype > anti) - (stereotype < anti)
        short = [float(f"{score:.4g}") for score in (stereotype, anti, unrelated)]
        log_ratio = None if bits is None else round(bits, 3)
        rows[item] = [*short, side, round(strength(stereotype, anti), 4), meaningful, None, log_ratio]
    return [rows[item] for item in order]


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
