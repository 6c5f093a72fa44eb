"""One page a measure, from the measure itself: its properties, its documentation and a worked example."""

from __future__ import annotations

import csv
import math
import re
from collections.abc import Sequence
from pathlib import Path

import numpy as np

import evenhand as eh
from evenhand.core.protocols import Ties
from evenhand.instruments.association.measures import ClusterTotals, Measure, Preferences
from generators.tables import markdown_table

PUBLISHED_FILE = Path(__file__).parents[1] / "published" / "english_figures.csv"
GENERATED = "<!-- Made by docs/generate.py from the measure itself. Do not edit. -->"

SECTIONS = ("Measures", "Reads as", "Caveats", "References")

COVERAGE = (
    "## Its interval\n\nHow it is computed, and how often it holds the truth in simulations: "
    "[Intervals that hold](../intervals.md).\n"
)

EXAMPLE = (
    ("nurse", 0.30, 0.20, 0.05),
    ("nurse", 0.25, 0.15, 0.10),
    ("nurse", 0.40, 0.10, 0.20),
    ("chef", 0.10, 0.30, 0.05),
    ("chef", 0.20, 0.20, 0.01),
    ("bride", 0.35, 0.05, 0.10),
)
"""Target term and the scores of stereotype, anti-stereotype and unrelated candidate; one item is a tie."""


def measure_pages() -> dict[str, str]:
    """The pages by their path below ``docs``."""
    return {f"measures/{page_name(measure)}": _page(measure) for measure in eh.MEASURES.values()}


def page_name(measure: Measure) -> str:
    """The file of a measure's page."""
    return f"{measure.version.rpartition('.')[0]}.md"


def _page(measure: Measure) -> str:
    sections = _sections(measure)
    return "\n".join(
        [
            GENERATED,
            f"# {_heading(measure)}\n",
            _properties(measure),
            *(f"## {title}\n\n{text}\n" for title, text in sections.items()),
            _example(measure),
            _published(measure),
            COVERAGE,
        ]
    )


def _heading(measure: Measure) -> str:
    short = _short(measure.name)
    return (
        measure.title
        if measure.title.startswith(short[:1].upper() + short[1:])
        else f"{measure.title} ({short})"
    )


def _properties(measure: Measure) -> str:
    return markdown_table(
        ["name", "version", "range", "neutral", "ideal"],
        [
            [
                f"`{measure.name}`",
                f"`{measure.version}`",
                _range(measure),
                "none" if measure.neutral is None else f"{measure.neutral:g}",
                f"{measure.ideal:g}",
            ]
        ],
    )


def _range(measure: Measure) -> str:
    limits = f"{measure.lowest:g} to {measure.highest:g}"
    if math.isinf(measure.lowest) and math.isinf(measure.highest):
        limits = "unlimited"
    return f"{limits}, in {measure.unit}" if measure.unit else limits


def _sections(measure: Measure) -> dict[str, str]:
    """The sections of the documentation, each as one paragraph."""
    pieces = re.split(rf"^({'|'.join(SECTIONS)}):$", measure.doc, flags=re.MULTILINE)
    return {title: " ".join(text.split()) for title, text in zip(pieces[1::2], pieces[2::2], strict=True)}


def _example(measure: Measure) -> str:
    preferences, totals = _totals(Ties.HALF)
    columns = {
        "s over a": [f"{value:g}" for value in preferences.stereotype],
        "sense over nonsense": [f"{value:g}" for value in preferences.meaningful],
    }
    shown = ["LMS", "SS", "ICAT"]
    if measure is eh.MEASURES["log_ratio"]:
        columns["log2 s/a"] = [f"{value:.2f}" for value in preferences.log_ratio]
        shown.append(measure.name)
    items = markdown_table(
        ["term", "s", "a", "u", *columns],
        [
            [term, *(f"{value:.2f}" for value in values), *added]
            for (term, *values), *added in zip(EXAMPLE, *columns.values(), strict=True)
        ],
        right=["s", "a", "u", *columns],
    )
    by_term = markdown_table(
        ["term", "items", *map(_short, shown)],
        [
            [name, f"{totals.items[place]:g}", *_of_one_term(totals, place, shown)]
            for place, name in enumerate(totals.names)
        ],
        right=["items", *map(_short, shown)],
    )
    return (
        "## A small example\n\nSix made-up items about three target terms, with the scores of the stereotype (s), the\n"
        "anti-stereotype (a) and the unrelated candidate (u). A tie counts one half.\n\n"
        f"{items}\nThe same by term:\n\n{by_term}\n{_outcome(measure, totals)}"
    )


def _outcome(measure: Measure, totals: ClusterTotals) -> str:
    value = f"**{_short(measure.name)} is {measure.value(totals):.2f}**"
    if measure is eh.MEASURES["log_ratio"]:
        return (
            f"If these scores are the candidates' probabilities, {value} over these items. Equal probabilities are 0 "
            "bits, so\nties need no rule.\n"
        )
    _, against = _totals(Ties.AGAINST)
    return (
        f"Over these items, {value}. Where a tie counts as no preference, as in the protocols\n`multilingual-2023` "
        f"and `stereoset-2021`, it is {measure.value(against):.2f}.\n"
    )


def _totals(ties: Ties) -> tuple[Preferences, ClusterTotals]:
    """The example under a rule for ties."""
    scores = [np.array([row[column] for row in EXAMPLE]) for column in (1, 2, 3)]
    log_ratio = np.log2(scores[0] / scores[1])
    preferences = Preferences.from_scores(*scores, ties=ties, log_ratio=log_ratio)
    return preferences, ClusterTotals.from_preferences(np.array([row[0] for row in EXAMPLE]), preferences)


def _of_one_term(totals: ClusterTotals, place: int, measures: Sequence[str]) -> list[str]:
    weights = np.zeros((1, len(totals)))
    weights[0, place] = 1
    return [f"{eh.MEASURES[name].compute(totals, weights)[0]:.2f}" for name in measures]


def _short(name: str) -> str:
    """A measure's name as it stands in a text."""
    return name.replace("_", " ")


def _published(measure: Measure) -> str:
    with PUBLISHED_FILE.open(encoding="utf-8") as stream:
        rows = [row for row in csv.DictReader(stream) if row["measure"] == measure.name]
    if not rows:
        return ""
    values = {(row["model"], row["task"]): f"{float(row['value']):.2f}" for row in rows}
    tasks = ("intrasentence", "intersentence", "overall")
    models = dict.fromkeys(row["model"] for row in rows)
    table = markdown_table(
        ["model", *tasks],
        [[model, *(values[model, task] for task in tasks)] for model in models],
        right=tasks,
    )
    return (
        "## Values from a known paper\n\nEnglish StereoSet, as printed by Öztürk et al. (2023). GPT-2 is scored by "
        "generation, T5 with a next-sentence\nhead.\n\n"
        f"{table}\nWhich of them follow from the published predictions: [Reproduction](../reproduction.md).\n"
    )
