"""The page of runs: one HTML file that needs nothing else, for any mix of instruments and models."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from evenhand.core.errors import RunError
from evenhand.core.files import write_text
from evenhand.reporting.association.item_pages import ITEMS_FILE, ItemPage, item_pages, render_item_page
from evenhand.reporting.association.items import fits_page, items_table
from evenhand.reporting.association.translation import translation_section
from evenhand.reporting.association.view import with_item_pages
from evenhand.reporting.calibration.words import shipped_calibration
from evenhand.reporting.differences import Differences, differences
from evenhand.reporting.plotting import ShownRun, shown_runs
from evenhand.reporting.rendering import render_page_template
from evenhand.reporting.views import Column, Matrix, View, figures_csv, main_figures, rows_csv, view_of
from evenhand.reporting.words import confidence_level, coverage_words, language_name, precision_notes
from evenhand.store.calibration import Calibration
from evenhand.store.comparison import Comparison, TranslationEffect
from evenhand.store.records import PAGE_FILE, RunRecord
from evenhand.store.run import Run, TextFile

ASSOCIATION = "association"

LIMIT_OF_PROBABILITIES = (
    "Probabilities and preferences are not behaviour. A model in use may act better or worse."
)


@dataclass(frozen=True, slots=True)
class InstrumentGroup:
    """The runs of one instrument on a page."""

    name: str
    title: str
    runs: tuple[ShownRun, ...]
    columns: tuple[Column, ...]
    view: View
    differences: Differences | None


def write_page(
    runs: Sequence[Run] | Run, path: str | Path, *, comparisons: Sequence[Comparison] | None = None
) -> Path:
    """Write the page of one or several runs to a file.

    Args:
        runs: What the page is about.
        path: Where it goes.
        comparisons: Differences that were computed already; the page computes them if not given.
    """
    target = Path(path)
    write_text(target, render_page([runs] if isinstance(runs, Run) else list(runs), comparisons=comparisons))
    return target


def page_files(run: Run) -> Iterator[TextFile]:
    """The page of a run with its file name, and where it cannot hold all items a table and pages of them.

    One file after the other, so that they never stand in memory together.
    """
    pages = item_pages(run) if run.record.instrument == ASSOCIATION and not fits_page(run) else []
    yield PAGE_FILE, render_page([run], beside=pages)
    if pages:
        yield ITEMS_FILE, items_table(run)
    for page in pages:
        yield page.name, render_item_page(run, page, pages)


def render_page(
    runs: Sequence[Run],
    *,
    comparisons: Sequence[Comparison] | None = None,
    calibration: Calibration | None = None,
    translations: Sequence[TranslationEffect] = (),
    beside: Sequence[ItemPage] = (),
) -> str:
    """The page of one or several runs as HTML.

    Args:
        runs: What the page is about.
        comparisons: Differences that were computed already; the page computes them if not given: between all runs of
            an instrument where they are few, so that the reader can choose the baseline, else from the first.
        calibration: What is known about the measures; that of the package if not given.
        translations: What translation may have to do with differences between languages.
        beside: Pages of items that are written beside this one.
    """
    if not runs:
        raise RunError("A page needs at least one run.")
    shown = shown_runs(runs)
    groups = [
        _with_item_pages(_with_translations(group, translations), beside)
        for group in _groups(shown, comparisons, calibration or shipped_calibration())
    ]
    several = len(shown) > 1
    compared = [group for group in groups if group.differences]
    matrices = [(matrix, group.runs) for group in groups for matrix in group.view.matrices]
    sections = [section for group in groups for section in group.view.sections]
    csv = {section.id: section.csv for section in sections if section.csv}
    csv |= {"runs" if several else "reading": figures_csv(shown)}
    csv |= {
        "differences": rows_csv(
            [row for group in compared if group.differences for row in group.differences.rows]
        )
    }
    csv |= {"terms": rows_csv([row for matrix, own in matrices for row in _matrix_rows(matrix, own)])}
    data: dict[str, Any] = {
        "plots": {plot.id: plot.spec for group in groups for plot in group.view.plots},
        "csv": csv,
    }
    for group in groups:
        data |= group.view.data
    return render_page_template(
        "runs.html.j2",
        data=data,
        scripts=tuple(dict.fromkeys(name for group in groups for name in group.view.scripts)),
        version=runs[0].record.environment.evenhand,
        head_title="",
        title=f"{len(shown)} runs side by side" if several else shown[0].label,
        kicker=", ".join(group.title for group in groups),
        facts=_facts(groups, shown),
        contents=_contents(groups, several=several, has_differences=bool(compared), has_terms=bool(matrices)),
        level=confidence_level(runs[0]),
        several=several,
        shown_runs=shown,
        groups=groups,
        languages=list(dict.fromkeys(run.record.language for run in runs)),
        coverages_differ=len({str(own.run.whole_coverage) for own in shown}) > 1,
        has_prefixes=any(run.record.model and run.record.model.prefix for run in runs),
        notices=[notice for group in groups for notice in group.view.notices],
        precision_notes=precision_notes(runs),
        planted=_planted(groups),
        differences=[
            {"title": group.title, "first": group.runs[0].label, "table": group.differences}
            for group in compared
        ],
        matrices=matrices,
        limits=list(
            dict.fromkeys(
                [
                    *(limit for group in groups for limit in group.view.limits),
                    *([] if all(group.view.judges_texts for group in groups) else [LIMIT_OF_PROBABILITIES]),
                ]
            )
        ),
        options=[_options(own.run.record.options) for own in shown],
    )


def _groups(
    shown: Sequence[ShownRun], comparisons: Sequence[Comparison] | None, calibration: Calibration | None
) -> list[InstrumentGroup]:
    by_instrument: dict[str, list[ShownRun]] = {}
    for own in shown:
        by_instrument.setdefault(own.run.record.instrument, []).append(own)
    return [
        InstrumentGroup(
            name=name,
            title=runs[0].run.instrument.title,
            runs=tuple(runs),
            columns=tuple(main_figures(runs)),
            view=view_of(runs, calibration=calibration),
            differences=differences(runs, comparisons),
        )
        for name, runs in by_instrument.items()
    ]


def _with_translations(group: InstrumentGroup, translations: Sequence[TranslationEffect]) -> InstrumentGroup:
    """Association tests in several languages have a section on their translation."""
    if group.name != ASSOCIATION or not translations:
        return group
    section, plot = translation_section(translations)
    view = group.view
    return replace(
        group,
        view=replace(view, sections=(section, *view.sections), plots=(*view.plots, plot)),
    )


def _with_item_pages(group: InstrumentGroup, pages: Sequence[ItemPage]) -> InstrumentGroup:
    if group.name != ASSOCIATION or not pages:
        return group
    return replace(group, view=with_item_pages(group.view, pages))


def _contents(
    groups: Sequence[InstrumentGroup], *, several: bool, has_differences: bool, has_terms: bool
) -> list[tuple[str, str]]:
    contents = [("runs", "Runs") if several else ("reading", "Reading")]
    contents += [("differences", "Differences")] if has_differences else []
    contents += [("terms", "Terms by run")] if has_terms else []
    contents += [(section.id, section.title) for group in groups for section in group.view.sections]
    return [*contents, ("data", "Data quality"), ("method", "Method")]


def _facts(groups: Sequence[InstrumentGroup], shown: Sequence[ShownRun]) -> list[tuple[str, str]]:
    records = [own.run.record for own in shown]
    models = list(dict.fromkeys(record.model.id for record in records if record.model))
    datasets = list(dict.fromkeys(record.dataset.title for record in records))
    protocols = list(dict.fromkeys(record.protocol.name for record in records if record.protocol))
    covered = {own.label: own.run.whole_coverage for own in shown if own.run.whole_coverage}
    facts = [
        ("Models" if len(models) > 1 else "Model", _shortened(models)),
        ("Data", _shortened(datasets)),
        ("Coverage", coverage_words(covered) if covered else ""),
        ("Prefix", _shortened(_prefixes(records))),
        ("Language", ", ".join(dict.fromkeys(language_name(record.language) for record in records))),
        ("Protocol", ", ".join(protocols)),
        ("Runs", f"{len(shown)}" if len(shown) > 1 else ""),
    ]
    if len(shown) == 1:
        figure = groups[0].columns[0].figures[0] if groups[0].columns else None
        skipped = sum(records[0].skipped.values())
        if figure is not None:
            facts.append(
                (
                    "Items" if records[0].scored else "Answers",
                    f"{figure.estimate.n:,}" + (f", {skipped:,} skipped" if skipped else ""),
                )
            )
    return [(name, value) for name, value in facts if value]


def _prefixes(records: Sequence[RunRecord]) -> list[str]:
    """The words that stand before every text, in quotation marks."""
    prefixes = dict.fromkeys(record.model.prefix.strip() for record in records if record.model)
    return [f"“{prefix}”" for prefix in prefixes if prefix]


def _shortened(names: Sequence[str], most: int = 6) -> str:
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(names[:most]) + more


def _planted(groups: Sequence[InstrumentGroup]) -> list[tuple[str, str, str]]:
    """Runs of models whose bias is known: what was planted, and what that leads to expect."""
    rows = []
    for group in groups:
        expected = dict(group.view.planted)
        for own in group.runs:
            planted = own.run.record.model.planted if own.run.record.model else None
            if planted:
                rows.append((own.label, planted.description, expected.get(own.label, "")))
    return rows


def _matrix_rows(matrix: Matrix, runs: Sequence[ShownRun]) -> list[dict[str, Any]]:
    return [
        {
            "table": matrix.title,
            "term": term,
            "run": own.label,
            "value": None if estimate is None else estimate.value,
            "low": None if estimate is None else estimate.low,
            "high": None if estimate is None else estimate.high,
        }
        for term, cells in matrix.rows
        for own, estimate in zip(runs, cells, strict=True)
    ]


def _options(options: Mapping[str, Any]) -> list[tuple[str, str]]:
    return [(name.replace("_", " "), _option(value)) for name, value in options.items()]


def _option(value: Any) -> str:
    """An option as people write it."""
    if isinstance(value, Mapping):
        return ", ".join(f"{name} {_option(own)}" for name, own in value.items()) or "none"
    if isinstance(value, list | tuple):
        return ", ".join(_option(own) for own in value) or "none"
    return "none" if value is None else str(value)
