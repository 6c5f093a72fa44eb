"""Tables as papers print them: one row per model, the measures of every language beside each other, the best in bold.

The best of a column is the value nearest to what the measure has as its ideal: 50 for SS, 0 bits for MALoR, the highest
for LMS and ICAT. Values that are the same as they are printed are all in bold. A column of one row has no best.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from evenhand.core.errors import EvenhandError, shortlist
from evenhand.core.estimates import Estimate
from evenhand.core.items import repeated
from evenhand.core.protocols import HEADLINE
from evenhand.instruments.association.measures import MEASURES
from evenhand.reporting.numbers import NOT_THERE, measure_words
from evenhand.reporting.probes.malor_words import spread_of
from evenhand.reporting.probes.tables import MainFigure, main_figures_of
from evenhand.reporting.tables import TableFormat, latex_cell
from evenhand.runs.run import Run

ASSOCIATION = "association"

MULTI_CLASS = ("mean_LMS", "mean_SS", "macro_ICAT", "micro_ICAT")
"""The measures over target terms, each of which is a class."""

DIGITS = 2


@dataclass(frozen=True, slots=True)
class PublishedColumn:
    """One measure of one language: what it is called, what is best, and the value of each model."""

    language: str
    title: str
    ideal: float | None
    """The best that there could be; None where no value is better than another."""
    values: Mapping[str, float]

    def cell(self, model: str, bold: str) -> str:
        """The value of a model, in bold if it is the best; a dash where there is none."""
        value = self.values.get(model)
        if value is None:
            return NOT_THERE
        shown = f"{value:.{DIGITS}f}"
        return bold.format(shown) if self._is_best(shown) else shown

    @property
    def has_best(self) -> bool:
        """Whether a value of the column is in bold."""
        return self.ideal is not None and len(self.values) > 1

    def _is_best(self, shown: str) -> bool:
        if not self.has_best:
            return False
        return self._distance(float(shown)) == min(map(self._distance, self.values.values()))

    def _distance(self, value: float) -> float:
        """From the ideal, as far as it is printed."""
        return round(abs(round(value, DIGITS) - (self.ideal or 0.0)), DIGITS)


@dataclass(frozen=True, slots=True)
class PublishedTable:
    """A table of models by languages."""

    title: str
    columns: tuple[PublishedColumn, ...]
    data: str = ""
    """What was measured on, and under which protocol."""

    @property
    def caption(self) -> str:
        """What the table shows, on which data, and what bold means."""
        sentences = [", ".join(filter(None, (self.title[:1].upper() + self.title[1:], self.data)))]
        ideals = {column.title: column.ideal for column in self.columns if column.has_best}
        if ideals:
            nearest = "; ".join(
                f"{', '.join(title for title, own in ideals.items() if own == ideal)} to {ideal:g}"
                for ideal in dict.fromkeys(ideals.values())
            )
            sentences.append(f"Bold is the value of each column that is nearest to its ideal: {nearest}")
        return ". ".join(sentences) + "."

    @property
    def models(self) -> tuple[str, ...]:
        """In the order of the runs."""
        return tuple(dict.fromkeys(model for column in self.columns for model in column.values))


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
        PublishedTable(title, tuple(_association_columns(associations, task, measures)), _data(associations))
        for task in tasks
        for title, measures in ((task, HEADLINE), (f"{task}, over target terms", MULTI_CLASS))
    ]
    instruments = dict.fromkeys(run.record.instrument for run in others)
    return tables + [
        _probe_table([run for run in others if run.record.instrument == name]) for name in instruments
    ]


def _association_columns(runs: Sequence[Run], task: str, measures: Sequence[str]) -> list[PublishedColumn]:
    columns = []
    for language in dict.fromkeys(run.record.language for run in runs):
        own = [run for run in runs if run.record.language == language and task in run.result.tasks]
        for name in measures:
            estimates = {model_of(run): run.result.tasks[task].estimate(name) for run in own}
            columns.append(
                PublishedColumn(
                    language,
                    name.replace("_", " "),
                    _ideal(name),
                    {model: estimate.value for model, estimate in estimates.items() if estimate.defined},
                )
            )
    return [column for column in columns if column.values]


def _probe_table(runs: Sequence[Run]) -> PublishedTable:
    cells: dict[tuple[str, str, float | None], dict[str, float]] = {}
    for main in main_figures_of(runs):
        for measure, estimate in _with_parts(main):
            title = " ".join((*main.figure.group, measure_words(measure)))
            key = main.run.record.language, title.removeprefix("all "), main.figure.neutral
            if estimate.defined:
                cells.setdefault(key, {})[model_of(main.run)] = estimate.value
    columns = (
        PublishedColumn(language, title, neutral, values)
        for (language, title, neutral), values in cells.items()
    )
    return PublishedTable(runs[0].instrument.title, tuple(columns), _data(runs))


def _data(runs: Sequence[Run]) -> str:
    """The datasets and protocols of runs, each once."""
    data = dict.fromkeys(run.record.dataset.name for run in runs)
    protocols = dict.fromkeys(run.record.protocol.name for run in runs if run.record.protocol)
    return ", ".join([" and ".join(data), *([f"protocol {' and '.join(protocols)}"] if protocols else [])])


def _with_parts(main: MainFigure) -> list[tuple[str, Estimate]]:
    """A headline figure; MALoR with its base rate and its spread."""
    own = (main.figure.measure, main.figure.estimate)
    if main.malor is None:
        return [own]
    return [own, ("base rate", main.malor.signed_mean), ("spread", spread_of(main.malor))]


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


def _markdown(table: PublishedTable) -> str:
    header = ["Model", *(f"{column.title} ({column.language})" for column in table.columns)]
    rows = [
        [model.replace("|", "\\|"), *(column.cell(model, "**{}**") for column in table.columns)]
        for model in table.models
    ]
    lines = [header, ["---", *["---:"] * len(table.columns)], *rows]
    body = "\n".join(f"| {' | '.join(line)} |" for line in lines)
    return f"{table.caption}\n\n{body}\n"


def _latex(table: PublishedTable) -> str:
    """A table for the booktabs package, with a rule above the columns of each language."""
    languages = dict.fromkeys(column.language for column in table.columns)
    spans, rules, end = [], [], 1
    for language in languages:
        width = sum(column.language == language for column in table.columns)
        spans.append(rf"\multicolumn{{{width}}}{{c}}{{{latex_cell(language)}}}")
        rules.append(rf"\cmidrule(lr){{{end + 1}-{end + width}}}")
        end += width
    ordered = [column for language in languages for column in table.columns if column.language == language]
    lines = [
        r"\begin{table}",
        r"\centering",
        rf"\caption{{{latex_cell(table.caption)}}}",
        rf"\begin{{tabular}}{{l{'r' * len(ordered)}}}",
        r"\toprule",
        f" & {' & '.join(spans)} \\\\",
        " ".join(rules),
        f"Model & {' & '.join(latex_cell(column.title) for column in ordered)} \\\\",
        r"\midrule",
        *(
            f"{latex_cell(model)} & {' & '.join(column.cell(model, _LATEX_BOLD) for column in ordered)} \\\\"
            for model in table.models
        ),
        r"\bottomrule",
        r"\end{tabular}",
        r"\end{table}",
        "",
    ]
    return "\n".join(lines)


_LATEX_BOLD = r"\textbf{{{}}}"
