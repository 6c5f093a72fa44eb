"""Compare and report: finished runs side by side."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from enum import StrEnum
from functools import partial
from pathlib import Path

from evenhand.api.association_logs import evaluate_log
from evenhand.api.measure import evaluate_scores
from evenhand.core.errors import EvenhandError, UnknownNameError
from evenhand.core.files import write_text
from evenhand.core.items import repeated
from evenhand.core.progress import SILENT, Monitor
from evenhand.data.association_logs import is_association_log
from evenhand.data.language_names import file_stem
from evenhand.instruments.crows_pairs import CrowsPairsOptions
from evenhand.reporting import format_probe_table, format_table, model_card_snippet, render_page
from evenhand.reporting.exports import every_eval_ever, harness_results, inspect_log
from evenhand.reporting.publication import publication_tables
from evenhand.reporting.tables import TableFormat
from evenhand.store.comparison import (
    Comparison,
    ComparisonOptions,
    comparable_pairs,
    compare_pairs,
    pairs_to_compare,
)
from evenhand.store.estimates_again import refuse_other_estimates
from evenhand.store.run import Run, open_run
from evenhand.translation.score_effects import read_repaired_items, translation_effect


class ReportFormat(StrEnum):
    """What a report is written as."""

    HTML = "html"
    CSV = "csv"
    MARKDOWN = "markdown"
    LATEX = "latex"
    MODEL_CARD = "model-card"
    PAPER_MARKDOWN = "paper-markdown"
    PAPER_LATEX = "paper-latex"
    LM_EVAL = "lm-eval"
    INSPECT = "inspect"
    EVERY_EVAL_EVER = "every-eval-ever"


def compare_all(
    runs: Sequence[Run | str | Path],
    *,
    all_pairs: bool = False,
    options: ComparisonOptions | None = None,
    changes: Sequence[Path] = (),
    monitor: Monitor = SILENT,
) -> list[Comparison]:
    """Compare each run with the first of its instrument, or every run with every other of its instrument.

    Association tests in two languages come with what their translation may have to do with the difference.

    Args:
        runs: Runs, or their folders. They may be of several instruments.
        all_pairs: Compare every run with every other.
        options: What is compared, and how. Holm's adjustment covers the rows of all comparisons.
        changes: Folders of translations, or tables of changes that were published with them.
        monitor: Told how it goes.
    """
    chosen = options or ComparisonOptions()
    repaired = _repaired_items(changes)
    pairs = pairs_to_compare(opened(runs, monitor=monitor), all_pairs=all_pairs)
    comparisons = compare_pairs(
        pairs, measures=chosen.measures, by_group=chosen.by_group, resampling=chosen.resampling
    )
    return [
        comparison.model_copy(
            update={"translation": translation_effect(*pair, repaired=repaired, resampling=chosen.resampling)}
        )
        for comparison, pair in zip(comparisons, pairs, strict=True)
    ]


def _repaired_items(changes: Sequence[Path]) -> dict[str, frozenset[str]]:
    """By language the items that were repaired."""
    repaired: dict[str, frozenset[str]] = {}
    for place in changes:
        language, items = read_repaired_items(place)
        repaired[language] = repaired.get(language, frozenset()) | items
    return repaired


def report(
    runs: Sequence[Run | str | Path] | Run | str | Path,
    *,
    out: str | Path | None = None,
    format: str = ReportFormat.HTML,  # noqa: A002 # the word that people use
    changes: Sequence[Path] = (),
    monitor: Monitor = SILENT,
) -> str:
    """Show runs, of whatever instruments: one self-contained page, a table, a model card, or another tool's format.

    Args:
        runs: Runs, or their folders.
        out: A file to write.
        format: ``html``, ``csv``, ``markdown``, ``latex``, ``paper-markdown``, ``paper-latex``, ``model-card``,
            ``lm-eval``, ``inspect`` or ``every-eval-ever``.
        changes: For a page of several languages: folders of translations, or tables of changes that were published.
        monitor: Told how it goes.

    Returns:
        What was written.

    Raises:
        RunError: If the estimates of a run folder are not what its scores give.
    """
    if format not in set(ReportFormat):
        raise UnknownNameError("format", format, [known.value for known in ReportFormat])
    given = [runs] if isinstance(runs, Run | str | Path) else runs
    chosen = opened(given, monitor=monitor)
    refuse_changed_estimates(chosen, given, monitor)
    form = ReportFormat(format)
    text = _page(chosen, changes, monitor) if form is ReportFormat.HTML else _text(chosen, form)
    if out is not None:
        write_text(Path(out), text)
        monitor.note(f"Wrote {out}")
    return text


def refuse_changed_estimates(
    runs: Sequence[Run], given: Sequence[Run | str | Path], monitor: Monitor
) -> None:
    """Refuse run folders whose estimates are not what their scores give."""
    folders = [
        (run, Path(source))
        for run, source in zip(runs, given, strict=True)
        if not isinstance(source, Run) and Path(source).is_dir()
    ]
    with monitor.stage("Computing estimates again", "runs") as progress:
        for number, (run, folder) in enumerate(folders, start=1):
            reason = refuse_other_estimates(run, folder)
            if reason:
                monitor.warn(reason)
            progress(number, len(folders))


def opened(
    runs: Sequence[Run | str | Path], *, protocol: str | None = None, monitor: Monitor = SILENT
) -> list[Run]:
    """Runs, opened where they are folders, and evaluated where they are files of scores that hold their items.

    Args:
        runs: Runs, their folders, or files of scores.
        protocol: For files of scores: how they become figures. Runs have theirs already.
        monitor: Told how it goes.
    """
    paths = [Path(run) for run in runs if not isinstance(run, Run)]
    names = names_of_files([path for path in paths if path.is_file()])
    if protocol is not None and not names:
        raise EvenhandError(
            "--protocol is for files of scores; runs were evaluated under theirs. Evaluate the scores again with "
            "evenhand evaluate --protocol."
        )
    options = CrowsPairsOptions(protocol=protocol) if protocol else None
    with monitor.stage("Reading", "runs") as progress:
        ready = []
        for number, run in enumerate(runs):
            if isinstance(run, Run):
                ready.append(run)
            elif Path(run) in names and is_association_log(Path(run)):
                ready.append(evaluate_log(run, protocol=protocol, name=names[Path(run)], monitor=monitor))
            elif Path(run) in names:
                ready.append(evaluate_scores(run, options=options, name=names[Path(run)], monitor=monitor))
            else:
                ready.append(open_run(run))
            progress(number + 1, len(runs))
    return _told_apart(ready, runs)


def _told_apart(opened_runs: Sequence[Run], given: Sequence[Run | str | Path]) -> list[Run]:
    """Runs with the folders that tell them apart in their names, where several have one name."""
    alike: dict[tuple[str, str, str], list[int]] = {}
    for place, (run, source) in enumerate(zip(opened_runs, given, strict=True)):
        if not isinstance(source, Run):
            alike.setdefault((run.name, run.record.language, run.record.instrument), []).append(place)
    named = list(opened_runs)
    for places in alike.values():
        if len(places) == 1:
            continue
        tails = _shortest_tails([Path(str(given[place])).resolve() for place in places])
        for place, tail in zip(places, tails, strict=True):
            run = opened_runs[place]
            named[place] = replace(run, record=run.record.model_copy(update={"name": "/".join(tail)}))
    return named


def _shortest_tails(paths: Sequence[Path]) -> list[tuple[str, ...]]:
    """The last parts of each path, as few of them as tell all paths apart; the last one where nothing does."""
    longest = max(len(path.parts) for path in paths)
    tails = [[path.parts[-length:] for path in paths] for length in range(1, longest + 1)]
    return next((own for own in tails if len(set(own)) == len(paths)), tails[0])


def names_of_files(paths: Sequence[Path]) -> dict[Path, str]:
    """A name for each file: its own, or with those of the folders that tell files of one name apart."""
    same_file = repeated(str(path.resolve()) for path in paths)
    if same_file:
        raise EvenhandError(f"{same_file[0]} is given twice.")
    stems = {path: file_stem(path) for path in paths}
    names: dict[Path, str] = {}
    for stem in dict.fromkeys(stems.values()):
        alike = [path for path in paths if stems[path] == stem]
        tails = _shortest_tails([path.resolve().parent / stem for path in alike])
        names |= {path: "-".join(tail) for path, tail in zip(alike, tails, strict=True)}
    clash = repeated(names.values())
    if clash:
        raise EvenhandError(
            f"Several files would make the run {clash[0]!r}. Evaluate them one by one with --name."
        )
    return names


def _page(runs: list[Run], changes: Sequence[Path], monitor: Monitor) -> str:
    """The page, which compares the runs itself; what it cannot compare is told here too."""
    pairs, reasons = comparable_pairs(runs)
    for name, reason in reasons.items():
        monitor.warn(f"no differences are shown for {name}: {reason}")
    repaired = _repaired_items(changes)
    effects = [translation_effect(*pair, repaired=repaired) for pair in pairs]
    return render_page(runs, translations=[effect for effect in effects if effect])


_EXPORTS: Mapping[ReportFormat, Callable[[Sequence[Run]], str]] = {
    ReportFormat.PAPER_MARKDOWN: partial(publication_tables, form=TableFormat.MARKDOWN),
    ReportFormat.PAPER_LATEX: partial(publication_tables, form=TableFormat.LATEX),
    ReportFormat.LM_EVAL: harness_results,
    ReportFormat.INSPECT: inspect_log,
    ReportFormat.EVERY_EVAL_EVER: every_eval_ever,
}


def _text(runs: list[Run], form: ReportFormat) -> str:
    associations = [run for run in runs if run.record.instrument == "association"]
    others = [run for run in runs if run.record.instrument != "association"]
    if form is ReportFormat.MODEL_CARD:
        return model_card_snippet(runs)
    if form in _EXPORTS:
        return _EXPORTS[form](runs)
    tables = [format_table(associations, form.value)] if associations else []
    return "\n".join(tables + ([format_probe_table(others, form.value)] if others else []))
