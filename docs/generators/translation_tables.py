"""The tables of docs/translation.md, from figures that ``benchmarks/translation_figures.py`` wrote."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import Any

from generators.tables import markdown_table

FIGURES = Path(__file__).resolve().parents[2] / "benchmarks" / "translation_figures.json"

LANGUAGES = {"es": "Spanish", "fr": "French", "tr": "Turkish", "de": "German"}


@cache
def _figures() -> Any:
    return json.loads(FIGURES.read_text(encoding="utf-8"))


def _published(language: str) -> str:
    return "German, repaired" if language == "de" else LANGUAGES[language]


def concord_table() -> str:
    """How often the check of concord is right on keyed items."""
    rows = []
    for language, name in LANGUAGES.items():
        figures = _figures()["concord"].get(language)
        if figures:
            words = figures["words"]
            judged = words["right"] + words["wrong"]
            low, high = figures["interval"]
            rows.append(
                [
                    name,
                    f"{figures['items']}",
                    f"{judged}",
                    f"{words['right'] / judged:.1%}",
                    f"{low:.1f} to {high:.1f}",
                    f"{words['undecided']}",
                    *(f"{figures[key]}" for key in ("flagged_as_keyed", "incomplete", "wrong")),
                ]
            )
    header = [
        "language", "items", "words judged", "right", "95% interval", "undecided", "items flagged exactly as keyed",
        "some not flagged", "a wrong flag",
    ]  # fmt: skip
    return markdown_table(header, rows, right=header[1:])


def sensitivity_table() -> str:
    """SS and LMS with and without flagged items."""
    rows = [
        [
            _published(language),
            f"{parts['all']['items']:,}",
            *_means(parts["all"]),
            *(
                cell
                for name in ("without_source", "with_source")
                for cell in (f"{parts[name]['left_out']:,}", *_means(parts[name]))
            ),
        ]
        for language, parts in _figures()["sensitivity"].items()
    ]
    header = [
        "language", "items", "SS", "LMS", "left out without the source", "SS", "LMS", "left out with it", "SS", "LMS",
    ]  # fmt: skip
    return markdown_table(header, rows, right=header[1:])


def _means(figures: Mapping[str, float]) -> list[str]:
    return [f"{figures['SS']:.1f}", f"{figures['LMS']:.1f}"]


def stages_table() -> str:
    """Missing targets of the German file after each stage."""
    header = ["after", "intra-sentence", "inter-sentence"]
    stages = _figures()["german"]["stages"]
    return markdown_table(
        header, [[name, f"{intra:,}", f"{inter:,}"] for name, intra, inter in stages], right=header[1:]
    )


def german_repair_table() -> str:
    """What the German repair made."""
    german = _figures()["german"]
    header = [
        "changes", "items beyond repair", "items of the published file", "the same to the letter", "different",
    ]  # fmt: skip
    published, same = german["published_items"], german["same_as_published"]
    row = [german["changes"], german["beyond_repair"], published, same, published - same]
    return markdown_table(header, [[f"{number:,}" for number in row]], right=header)


def repaired_items_table() -> str:
    """Scores of repaired items beside the others."""
    counts = _figures()["german"]["repaired_items"]
    header = ["model", "task", "items repaired", "SS repaired", "SS others", "LMS repaired", "LMS others"]
    rows = [
        [
            row["model"],
            row["task"].removesuffix("sentence"),
            f"{counts[row['task']]:,}",
            *(f"{row[part][measure]:.1f}" for measure in ("SS", "LMS") for part in ("repaired", "others")),
        ]
        for row in _figures()["repaired_beside_others"]
    ]
    return markdown_table(header, rows, right=header[2:])


def guesses_table() -> str:
    """How many targets the closest word replaced, and how many of these are doubtful."""
    guesses = _figures()["guesses"]
    header = ["language", "targets guessed", "doubtful"]
    rows = [
        [LANGUAGES[language], f"{own['guessed']:,}", f"{own['doubtful']:,}"]
        for language, own in guesses.items()
    ]
    return markdown_table(header, rows, right=header[1:])


def never_repaired_table() -> str:
    """What is wrong with the languages that were never repaired."""
    titles = {
        "intrasentence": "targets missing, intra", "intersentence": "inter", "concord": "concord (candidates)",
        "candidates-merged": "candidates merged", "untranslated": "untranslated",
        "untranslated-word": "untranslated-word",
    }  # fmt: skip
    rows = [
        [LANGUAGES[language], *(f"{own[key]:,}" if key in own else "not known" for key in titles)]
        for language, own in _figures()["never_repaired"].items()
    ]
    return markdown_table(["language", *titles.values()], rows, right=list(titles.values()))


def differences_table() -> str:
    """What of the difference to English rests on items with a problem."""
    header = [
        "language", "items with a problem", "SS difference", "of it on those items", "LMS difference",
        "of it on those items",
    ]  # fmt: skip
    rows = [
        [
            _published(language),
            f"{own['with_problem']:,} of {own['items']:,} ({own['with_problem'] / own['items']:.0%})",
            *(cell for measure in ("SS", "LMS") for cell in _difference(own[measure])),
        ]
        for language, own in _figures()["differences"].items()
    ]
    return markdown_table(header, rows, right=header[1:])


def _difference(own: Mapping[str, Any]) -> list[str]:
    value, low, high = own["contribution"]
    part = f"{value:+.1f} [{low:+.1f}, {high:+.1f}]"
    if own["share"] is None:
        return [f"{own['difference']:+.1f}, not clear", part]
    return [f"{own['difference']:+.1f}", f"{part} ({own['share']:.0%})"]


TRANSLATION_TABLES: Mapping[str, Callable[[], str]] = MappingProxyType(
    {
        "concord": concord_table,
        "doubtful guesses": guesses_table,
        "German repair": german_repair_table,
        "German stages": stages_table,
        "languages and problems": differences_table,
        "never repaired": never_repaired_table,
        "repaired items": repaired_items_table,
        "scores without flagged items": sensitivity_table,
    }
)
