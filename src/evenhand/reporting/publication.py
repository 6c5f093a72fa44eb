"""Tables as papers print them: one row per model, the measures of every language beside each other, with intervals.

The best of a column is in bold: the value nearest to what the measure has as its ideal, which is 50 for SS, 0 bits for
MALoR, the highest for LMS and ICAT. It is so only where paired tests tell it from every other model of the column,
after Holm over the columns of the table. A table of one model, or of models that were not asked the same, has nothing
in bold.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from evenhand.core.errors import ComparisonError, EvenhandError, shortlist
from evenhand.core.estimates import Estimate
from evenhand.core.items import repeated
from evenhand.core.protocols import HEADLINE
from evenhand.instruments.association.measures import MEASURES
from evenhand.reporting.numbers import NOT_THERE, has_interval, measure_words
from evenhand.reporting.probes.malor_words import spread_of
from evenhand.reporting.probes.tables import MainFigure, main_figures_of
from evenhand.reporting.tables import TableFormat, latex_cell
from evenhand.reporting.words import SIGNIFICANT, confidence_level, coverage_words, listed
from evenhand.stats.significance import holm
from evenhand.store.certificate_files import resampling_of
from evenhand.store.comparison import ALL_ITEMS, Difference, compare
from evenhand.store.run import Run

ASSOCIATION = "association"

MULTI_CLASS = ("mean_LMS", "mean_SS", "macro_ICAT", "micro_ICAT")
"""The measures over target terms, each of which is a class."""

DIGITS = 2


@dataclass(frozen=True, slots=True)
class PublishedColumn:
    """One measure of one language: what it is called, and the value of each model.

    Attributes:
        language: Of the data.
        title: What the measure is called.
        ideal: The best that there could be; None where no value is better than another.
        estimates: Of each model.
        counts: What each value was computed from: items, target terms or answers.
        best: The model whose value is shown to be nearer to the ideal than all others.
    """

    language: str
    title: str
    ideal: float | None
    estimates: Mapping[str, Estimate]
    counts: Mapping[str, int]
    best: str | None = None

    def cell(self, model: str, *, bold: str, interval: str) -> str:
        """The value of a model with its interval, in bold if it is the best; a dash where there is none."""
        estimate = self.estimates.get(model)
        if estimate is None:
            return NOT_THERE
        value = f"{estimate.value:.{DIGITS}f}"
        shown = bold.format(value) if model == self.best else value
        if not has_interval(estimate):
            return shown
        return f"{shown} {interval.format(f'[{estimate.low:.{DIGITS}f}, {estimate.high:.{DIGITS}f}]')}"


@dataclass(frozen=True, slots=True)
class PublishedTable:
    """A table of models by languages."""

    title: str
    columns: tuple[PublishedColumn, ...]
    data: str = ""
    """What was measured on, and under which protocol."""
    levels: tuple[str, ...] = ()
    """Of the intervals."""
    counted: str = "answers"
    """What the columns ``n`` count."""

    @property
    def caption(self) -> str:
        """What the table shows, on which data, and what brackets, counts and bold mean."""
        sentences = [", ".join(filter(None, (self.title[:1].upper() + self.title[1:], self.data)))]
        if any(has_interval(own) for column in self.columns for own in column.estimates.values()):
            sentences.append(f"In brackets {listed(self.levels)} intervals; n counts {self.counted}")
        else:
            sentences.append(f"n counts {self.counted}")
        ideals = {column.title: column.ideal for column in self.columns if column.best is not None}
        if ideals:
            nearest = "; ".join(
                f"{', '.join(title for title, own in ideals.items() if own == ideal)} to {ideal:g}"
                for ideal in dict.fromkeys(ideals.values())
            )
            sentences.append(
                f"Bold is nearest to its ideal ({nearest}), by paired tests against every other model of the column (p "
                f"below {SIGNIFICANT:g} after Holm over the columns)"
            )
        return ". ".join(sentences) + "."

    @property
    def models(self) -> tuple[str, ...]:
        """In the order of the runs."""
        return tuple(dict.fromkeys(model for column in self.columns for model in column.estimates))

    @property
    def languages(self) -> tuple[str, ...]:
        """In the order of the columns."""
        return tuple(dict.fromkeys(column.language for column in self.columns))

    def columns_of(self, language: str) -> list[tuple[str, Mapping[str, int] | PublishedColumn]]:
        """Titles and columns of a language, with one of counts before those that were computed from as much."""
        shown: list[tuple[str, Mapping[str, int] | PublishedColumn]] = []
        counts: Mapping[str, int] = {}
        for column in self.columns:
            if column.language != language:
                continue
            if column.counts != counts:
                counts = column.counts
                shown.append(("n", counts))
            shown.append((column.title, column))
        return shown


@dataclass(frozen=True)
class _Cells:
    """The values of a column, with the runs that they are of."""

    language: str
    title: str
    ideal: float | None
    key: str
    """Of the figure, in runs and in comparisons."""
    measure: str
    runs: dict[str, Run] = field(default_factory=dict)
    estimates: dict[str, Estimate] = field(default_factory=dict)

    def add(self, run: Run, estimate: Estimate) -> None:
        """The value of one more model, if there is one."""
        if estimate.defined:
            self.runs[model_of(run)] = run
            self.estimates[model_of(run)] = estimate

    def column(self, *, is_shown: bool, by_cluster: bool) -> PublishedColumn:
        """The column; the best model is named if it is shown to be that."""
        return PublishedColumn(
            self.language,
            self.title,
            self.ideal,
            self.estimates,
            {model: own.clusters if by_cluster else own.n for model, own in self.estimates.items()},
            self._from_best()[0] if is_shown else None,
        )

    def p_value(self) -> float:
        """That the best model is no better than some other one: the largest of its paired tests against each."""
        if self.ideal is None or len(self.runs) < 2:
            return math.nan
        best, *others = self._from_best()
        largest = 0.0
        for other in others:
            largest = max(largest, self._p_of_worse(other, best))
            if largest >= SIGNIFICANT:
                return 1.0
        return largest

    def _from_best(self) -> list[str]:
        return sorted(self.estimates, key=self._distance)

    def _distance(self, model: str) -> float:
        return abs(self.estimates[model].value - (self.ideal or 0.0))

    def _p_of_worse(self, model: str, best: str) -> float:
        """Of a paired test against the best model; 1 where it does not show that the other one is farther off."""
        runs = self.runs[best], self.runs[model]
        resampling = resampling_of(runs[0].record.statistics)
        try:
            comparison = compare(*runs, measures=[self.measure], resampling=resampling)
        except ComparisonError:
            return 1.0
        keys = self.key, f"{ALL_ITEMS}.{self.key}"
        row = next((row for row in comparison.differences if row.key in keys), None)
        is_shown = row is not None and row.p_value < SIGNIFICANT and self._is_farther(row)
        return row.p_value if row is not None and is_shown else 1.0

    def _is_farther(self, row: Difference) -> bool:
        if row.distance is not None:
            return row.distance.low > 0
        return row.difference.high < 0 if row.second < (self.ideal or 0.0) else row.difference.low > 0


def publication_tables(runs: Sequence[Run], *, form: TableFormat) -> str:
    """Tables of runs for a paper: of association runs one per task, with and without classes; of probes one per test.

    Raises:
        EvenhandError: If two runs would fill one cell, or the format is none that papers have.
    """
    if form is TableFormat.CSV:
        raise EvenhandError("A table for a paper is LaTeX or Markdown. Use --format csv for every figure.")
    write = _latex if form is TableFormat.LATEX else _markdown
    return "\n".join(write(table) for table in _tables(runs))


def _tables(runs: Sequence[Run]) -> list[PublishedTable]:
    associations = [run for run in runs if run.record.instrument == ASSOCIATION]
    others = [run for run in runs if run.record.instrument != ASSOCIATION]
    _refuse_two_in_one_cell(associations, others)
    tasks = dict.fromkeys(task for run in associations for task in run.result.tasks)
    tables = [
        PublishedTable(
            title,
            _columns(_association_cells(associations, task, measures), by_cluster=measures is MULTI_CLASS),
            _data(associations),
            _levels(associations),
            "target terms" if measures is MULTI_CLASS else "items",
        )
        for task in tasks
        for title, measures in ((task, HEADLINE), (f"{task}, over target terms", MULTI_CLASS))
    ]
    instruments = dict.fromkeys(run.record.instrument for run in others)
    return tables + [
        _probe_table([run for run in others if run.record.instrument == name]) for name in instruments
    ]


def _columns(cells: Iterable[_Cells], *, by_cluster: bool = False) -> tuple[PublishedColumn, ...]:
    """Columns that have values; what is best in them is shown where it is so after Holm over all of them."""
    filled = [own for own in cells if own.estimates]
    p_values = holm([own.p_value() for own in filled])
    return tuple(
        own.column(is_shown=p_value < SIGNIFICANT, by_cluster=by_cluster)
        for own, p_value in zip(filled, p_values, strict=True)
    )


def _association_cells(runs: Sequence[Run], task: str, measures: Sequence[str]) -> Iterable[_Cells]:
    for language in dict.fromkeys(run.record.language for run in runs):
        for name in measures:
            cells = _Cells(language, name.replace("_", " "), _ideal(name), f"{task}.{name}", name)
            for run in runs:
                if run.record.language == language and task in run.result.tasks:
                    cells.add(run, run.result.tasks[task].estimate(name))
            yield cells


def _probe_table(runs: Sequence[Run]) -> PublishedTable:
    columns: dict[tuple[str, str, float | None], _Cells] = {}
    for main in main_figures_of(runs):
        for measure, name, estimate in _with_parts(main):
            title = " ".join((*main.figure.group, name)).removeprefix("all ")
            key = main.run.record.language, title, main.figure.neutral
            place = ".".join((*main.figure.group, measure))
            columns.setdefault(key, _Cells(*key, place, measure)).add(main.run, estimate)
    return PublishedTable(
        runs[0].instrument.title,
        _columns(columns.values()),
        _data(runs),
        _levels(runs),
    )


def _levels(runs: Sequence[Run]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(confidence_level(run) for run in runs))


def _data(runs: Sequence[Run]) -> str:
    """The datasets and protocols of runs, each once, and the coverage of those that were made from files."""
    data = dict.fromkeys(run.record.dataset.title for run in runs)
    protocols = dict.fromkeys(run.record.protocol.name for run in runs if run.record.protocol)
    covered = {run.label: run.whole_coverage for run in runs if run.whole_coverage}
    parts = [
        " and ".join(data),
        f"protocol {' and '.join(protocols)}" if protocols else "",
        f"coverage {coverage_words(covered)}" if covered else "",
    ]
    return ", ".join(filter(None, parts))


def _with_parts(main: MainFigure) -> list[tuple[str, str, Estimate]]:
    """A headline figure with its measure and what that is called; MALoR with its base rate and its spread."""
    own = (main.figure.measure, measure_words(main.figure.measure), main.figure.estimate)
    if main.malor is None:
        return [own]
    return [
        own,
        ("signed_mean", "base rate", main.malor.signed_mean),
        ("spread", "spread", spread_of(main.malor)),
    ]


def _ideal(name: str) -> float | None:
    measure = MEASURES.get(name)
    return measure.ideal if measure.neutral is None else measure.neutral


def model_of(run: Run) -> str:
    """The model of a run; of scores without one the name of the run, without its language."""
    return run.record.model.id if run.record.model else run.name.removesuffix(f"_{run.record.language}")


def _refuse_two_in_one_cell(*groups: Sequence[Run]) -> None:
    for runs in groups:
        twice = repeated(f"{model_of(run)} ({run.record.language}, {run.record.instrument})" for run in runs)
        if twice:
            raise EvenhandError(
                f"Several runs are of {shortlist(twice, 3)}, and a table has one cell for them. Leave one out."
            )


def _cell(shown: Mapping[str, int] | PublishedColumn, model: str, *, bold: str, interval: str) -> str:
    if isinstance(shown, PublishedColumn):
        return shown.cell(model, bold=bold, interval=interval)
    return f"{shown[model]:,}" if model in shown else NOT_THERE


def _markdown(table: PublishedTable) -> str:
    columns = [
        (f"{title} ({language})", shown)
        for language in table.languages
        for title, shown in table.columns_of(language)
    ]
    header = ["Model", *(title for title, _ in columns)]
    rows = [
        [
            model.replace("|", "\\|"),
            *(_cell(shown, model, bold="**{}**", interval="{}") for _, shown in columns),
        ]
        for model in table.models
    ]
    lines = [header, ["---", *["---:"] * len(columns)], *rows]
    body = "\n".join(f"| {' | '.join(line)} |" for line in lines)
    return f"{table.caption}\n\n{body}\n"


def _latex(table: PublishedTable) -> str:
    """A table for the booktabs package, with a rule above the columns of each language."""
    spans, rules, end = [], [], 1
    ordered: list[tuple[str, Mapping[str, int] | PublishedColumn]] = []
    for language in table.languages:
        own = table.columns_of(language)
        spans.append(rf"\multicolumn{{{len(own)}}}{{c}}{{{latex_cell(language)}}}")
        rules.append(rf"\cmidrule(lr){{{end + 1}-{end + len(own)}}}")
        end += len(own)
        ordered += own
    lines = [
        r"\begin{table}",
        r"\centering",
        rf"\caption{{{latex_cell(table.caption)}}}",
        rf"\begin{{tabular}}{{l{'r' * len(ordered)}}}",
        r"\toprule",
        f" & {' & '.join(spans)} \\\\",
        " ".join(rules),
        f"Model & {' & '.join(latex_cell(title) for title, _ in ordered)} \\\\",
        r"\midrule",
        *(
            f"{latex_cell(model)} & "
            f"{' & '.join(_cell(shown, model, bold=_LATEX_BOLD, interval=_LATEX_INTERVAL) for _, shown in ordered)} "
            "\\\\"
            for model in table.models
        ),
        r"\bottomrule",
        r"\end{tabular}",
        r"\end{table}",
        "",
    ]
    return "\n".join(lines)


_LATEX_BOLD = r"\textbf{{{}}}"

_LATEX_INTERVAL = r"{{\scriptsize {}}}"
