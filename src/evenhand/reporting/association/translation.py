"""What translation may have to do with a difference between languages: a section of the page, with its plot."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import altair as alt
import polars as pl

from evenhand.reporting.plotting import COLOURS, Plot, specification, top_axis
from evenhand.reporting.rendering import render
from evenhand.reporting.views import Section, rows_csv
from evenhand.reporting.words import language_name, translation_sentence
from evenhand.store.comparison import TranslationEffect

MOST_DRAWN = 20
"""Target terms of a plot, those with the most problems; the table has all."""

_ROW_HEIGHT = 20


def translation_section(effects: Sequence[TranslationEffect]) -> tuple[Section, Plot]:
    """The section on all pairs of languages, and the plot of the pair that comes first."""
    first = effects[0]
    languages = f"{language_name(first.first_language)} or {language_name(first.second_language)}"
    plot = Plot(
        id="translation",
        spec=problem_plot(first),
        label="Items with a problem by target term.",
        caption=f"Target terms with the most items that have a problem in {languages}",
    )
    html = render(
        "association.html.j2",
        "translation",
        plot=plot,
        effects=effects,
        sentences=[translation_sentence(effect) for effect in effects],
    )
    return Section(
        id="translation", title="Translation", html=html, csv=rows_csv(problem_rows(effects))
    ), plot


def problem_rows(effects: Sequence[TranslationEffect]) -> list[dict[str, Any]]:
    """One row per pair of languages, target term and problem."""
    return [
        {
            "first": effect.first_language,
            "second": effect.second_language,
            "target_term": row.term,
            "bias_type": row.bias_type,
            "items": row.items,
            "with_problem": row.with_problem,
            "problem": name,
            "count": count,
        }
        for effect in effects
        for row in effect.terms
        for name, count in row.counts.items()
    ]


def problem_plot(effect: TranslationEffect) -> dict[str, Any]:
    """A bar per target term: the share of its items that have a problem; nothing if none has."""
    drawn = [row for row in effect.terms if row.with_problem][:MOST_DRAWN]
    if not drawn:
        return {}
    rows = pl.DataFrame(
        [
            {
                "term": row.term,
                "type": row.bias_type,
                "items": row.items,
                "problems": row.with_problem,
                "which": ", ".join(f"{name} {count}" for name, count in row.counts.items()),
            }
            for row in drawn
        ]
    )
    order = rows["term"].to_list()
    y = alt.Y("term:N", sort=order, title=None, axis=alt.Axis(labelLimit=110, ticks=False))
    tips = [
        alt.Tooltip("term:N", title="Target term"),
        alt.Tooltip("type:N", title="Bias type"),
        alt.Tooltip("problems:Q", title="Items with a problem"),
        alt.Tooltip("items:Q", title="Items"),
        alt.Tooltip("which:N", title="Problems"),
    ]
    base = alt.Chart(rows)
    every = base.mark_bar(color="@grid", height=13).encode(
        alt.X(
            "items:Q", title="Items with a problem; the pale bar is all items of the term", axis=top_axis()
        ),
        y,
        tooltip=tips,
    )
    problems = base.mark_bar(color=COLOURS[0], height=13).encode(alt.X("problems:Q"), y, tooltip=tips)
    return specification(alt.layer(every, problems), height=16 + _ROW_HEIGHT * len(order))
