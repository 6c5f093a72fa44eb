"""What the page's script works on: target terms and items of every run, kept small."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from typing import Any

import polars as pl

from evenhand.core.items import BLANK, OVERALL, Label
from evenhand.core.protocols import get_protocol
from evenhand.instruments.association.measures.totals import Preferences
from evenhand.report.association.plots import bias_type_plot, icat_plane
from evenhand.runs.run import Run


def page_data(runs: Sequence[Run]) -> dict[str, Any]:
    """Everything that the page's script needs, as plain values."""
    tasks = [task for task in (OVERALL, "intrasentence", "intersentence")
             if any(task in run.result.tasks for run in runs)]  # fmt: skip
    texts: dict[str, list[list[Any]]] = {}
    for run in runs:
        texts.setdefault(_text_key(run), _item_texts(run))
    return {
        "tasks": tasks,
        "plots": {
            task: {"plane": icat_plane(runs, task), "bias_types": bias_type_plot(runs, task)}
            for task in tasks
        },
        "texts": texts,
        "runs": [_run_data(run, texts[_text_key(run)]) for run in runs],
    }


def to_script_json(value: Any) -> str:
    """JSON that can stand inside a script element: no character in it can end the element."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    return text.replace("&", "\\u0026").replace("<", "\\u003c").replace(">", "\\u003e")


def _text_key(run: Run) -> str:
    """Runs over the same file and tasks share their texts."""
    tasks = "+".join(sorted(task for task in run.result.tasks if task != OVERALL))
    return f"{run.record.dataset.sha256[:16]}-{tasks}"


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


def _run_data(run: Run, texts: list[list[Any]]) -> dict[str, Any]:
    return {
        "label": run.label,
        "texts": _text_key(run),
        "targets": {
            task: [
                [target.target, target.bias_type, target.n, *_rounded(
                    target.SS.value, target.SS.low, target.SS.high, target.LMS, target.ICAT, target.pull
                )]
                for target in result.by_target
            ]
            for task, result in run.result.tasks.items()
        },
        "items": _item_scores(run, [str(text[0]) for text in texts]),
        "ratios": _all_positive(run.items()),
    }  # fmt: skip


def _rounded(*values: float) -> list[float | None]:
    return [None if math.isnan(value) else round(value, 2) for value in values]


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
    strength = _by_ratio if _all_positive(items) else _by_difference
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
        shown = [float(f"{score:.4g}") for score in (stereotype, anti, unrelated)]
        known = None if bits is None else round(bits, 3)
        rows[item] = [*shown, side, round(strength(stereotype, anti), 4), meaningful, None, known]
    return [rows[item] for item in order]


def _all_positive(items: pl.DataFrame) -> bool:
    """Whether ratios of scores make sense, for every item, so that all are ordered by the same."""
    scored = items.filter(pl.col("skipped_reason").is_null())
    both = scored.select(Label.STEREOTYPE.value, Label.ANTI_STEREOTYPE.value).to_numpy()
    return bool((both > 0).all())


def _by_ratio(stereotype: float, anti: float) -> float:
    """How often the score of one goes into that of the other, as a binary logarithm."""
    return math.log2(stereotype / anti)


def _by_difference(stereotype: float, anti: float) -> float:
    return stereotype - anti
