"""MALoR as an instrument: a model, structures and occupations, to a run."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from importlib.metadata import version
from pathlib import Path

import numpy as np
import polars as pl

from evenhand.core.errors import EvenhandError, UnknownNameError, shortlist
from evenhand.core.files import sha256_of
from evenhand.core.probes import Experiment, ProbeSet
from evenhand.core.progress import Progress
from evenhand.data.probes import load_probes
from evenhand.data.winogender import EMPLOYED, WRITTEN, occupation_shares
from evenhand.instruments.instrument import (
    Instrument,
    InstrumentOptions,
    Preparation,
    default_name,
    statistics_record,
)
from evenhand.instruments.malor.comparison import compare_malor, malor_bias_rows, refuse_different_questions
from evenhand.instruments.malor.estimates import (
    correlation,
    field_estimates,
    malor_estimate,
    occupation_leans,
    signed_estimate,
)
from evenhand.instruments.malor.measure import LogRatios
from evenhand.instruments.malor.questions import (
    AnswerTable,
    Direction,
    Sides,
    TermCase,
    probe_questions,
    sides_of,
)
from evenhand.instruments.probe_results import Correlation, MalorResult, Skipped
from evenhand.instruments.word_scoring import WordScore, WordScorer
from evenhand.models.capabilities import FillsBlanks, ScoresText
from evenhand.models.identity import record_of
from evenhand.models.language_model import LanguageModel
from evenhand.models.references import ModelError
from evenhand.runs.certificates import BiasRow
from evenhand.runs.comparison import Comparison, ComparisonOptions
from evenhand.runs.figures import Figure
from evenhand.runs.records import DatasetRecord, EnvironmentRecord, RunRecord
from evenhand.runs.run import Run
from evenhand.runs.store import Parts
from evenhand.stats.resampling import Resampling

ALL = "all"
DEFAULT_LANGUAGE = "en"

SCORES_SCHEMA: Mapping[str, pl.DataType] = {
    "experiment": pl.String(),
    "direction": pl.String(),
    "structure": pl.Int64(),
    "text": pl.String(),
    "occupation": pl.String(),
    "field": pl.String(),
    "log2_male": pl.Float64(),
    "log2_female": pl.Float64(),
    "log2_ratio": pl.Float64(),
}
"""Columns of ``scores.parquet``, one row per occupation and structure; null where it could not be asked."""


@dataclass(frozen=True, kw_only=True)
class MalorOptions(InstrumentOptions):
    """Which experiments and directions are asked, and how words are scored.

    ``data`` is a set of probes; the bundled one of the language if None, with ``structures``, ``occupations`` or
    ``terms`` from files in the place of bundled ones.
    """

    experiment: str = field(default=ALL, metadata={"help": "he-she, his-her, names or all."})
    direction: str = field(default=Direction.GENDER.value, metadata={"help": "gender, occupation or both."})
    score: str = field(default=WordScore.PRODUCT.value, metadata={"help": "product or mean-prob."})
    case: str = field(default=TermCase.BY_PLACE.value, metadata={"help": "How terms are spelled."})
    structures: Path | None = field(default=None, metadata={"help": "A file of sentence structures."})
    occupations: Path | None = field(default=None, metadata={"help": "A file of occupations."})
    terms: Path | None = field(default=None, metadata={"help": "A file of gendered terms."})
    shares: Mapping[str, Mapping[str, float]] | str | None = field(
        default=None,
        metadata={"help": "Real shares of women by occupation: a name or a file in Winogender's layout."},
    )


class MalorInstrument(Instrument[MalorOptions]):
    """MALoR: the mean absolute log-ratio of male to female terms over occupations."""

    name = "malor"
    version = "malor.v1"
    title = "MALoR"
    summary = "Which gender a model expects with which occupation, in bits."
    needs = (FillsBlanks, ScoresText)
    options_type = MalorOptions
    result_type = MalorResult
    gives_one_result = False

    def prepare(self, model: LanguageModel, options: MalorOptions, *, name: str | None = None) -> Preparation:
        """Load the probes, and say what the record will be."""
        self.refuse_unable(model)
        return _MalorPreparation(model, _probes(options), options, name=name)

    def figures(self, run: Run) -> tuple[Figure, ...]:
        """MALoR and the signed mean of each experiment and direction, and signed means by field."""
        results: Sequence[MalorResult] = run.results
        return tuple(figure for result in results for figure in _figures(result))

    def compare(self, first: Run, second: Run, options: ComparisonOptions) -> Comparison:
        """Paired by occupation and structure."""
        return compare_malor(first, second, options)

    def experiments(self, options: MalorOptions) -> tuple[str, ...]:
        """Those that are asked."""
        return tuple(known.value for known in chosen_experiments(_probes(options), options.experiment))

    def bias_rows(self, before: Run, after: Run, *, resampling: Resampling) -> dict[str, BiasRow]:
        """MALoR of each experiment."""
        return malor_bias_rows(before, after, resampling=resampling)

    def refuse_incomparable(self, first: Run, second: Run) -> None:
        """Refuse runs without a common question."""
        refuse_different_questions(first, second)


MALOR = MalorInstrument()


def _figures(result: MalorResult) -> Iterator[Figure]:
    group = (result.experiment, result.direction)
    yield Figure("MALoR", group, result.MALoR, "Mean absolute log-ratio", 0.0, unit="bits", is_headline=True)
    yield Figure("signed_mean", group, result.signed_mean, "Mean log-ratio", 0.0, unit="bits")
    for name, estimate in result.by_field.items():
        yield Figure("signed_mean", (*group, name), estimate, f"Mean log-ratio, {name}", 0.0, unit="bits")


class _MalorPreparation(Preparation):
    """A model and probes, with the questions chosen."""

    unit = "sentences"

    def __init__(
        self, model: LanguageModel, probes: ProbeSet, options: MalorOptions, *, name: str | None
    ) -> None:
        self.model = model
        self.probes = probes
        self.options = options
        self.shares = _shares(options)
        self.scorer = WordScorer(model, score=WordScore.named(options.score))
        self.plan = [
            (experiment, direction)
            for experiment in chosen_experiments(probes, options.experiment)
            for direction in Direction.named(options.direction)
        ]
        self.record = self._record(name)

    def measure(self, *, parts: Parts | None = None, progress: Progress | None = None) -> Run:
        """Ask everything in one go, so that what questions share is computed once."""
        tables = self._answered(parts, progress)
        results, frames = [], []
        for experiment, direction in self.plan:
            lost = tables[experiment, direction].lost_pairs
            table = tables[experiment, direction].without_pairs(lost)
            refuse_unknown_terms(self.model, self.probes, experiment, table)
            sides = sides_of(table, direction, by_sentence=self.scorer.by_sentence)
            skipped = (
                *_lost_pairs(self.probes, experiment, lost),
                *_skipped(table, self.probes, experiment, lost),
            )
            results.append(self._result(experiment, direction, sides, skipped))
            frames.append(_frame(self.probes, experiment, direction, sides))
        return Run(record=self.record, results=tuple(results), scores=pl.concat(frames))

    def _answered(
        self, parts: Parts | None, progress: Progress | None
    ) -> dict[tuple[Experiment, Direction], AnswerTable]:
        case = TermCase.named(self.options.case)
        questions = [
            ((experiment, direction), question)
            for experiment, direction in self.plan
            for question in probe_questions(self.probes, experiment, direction, case=case)
        ]
        answers = self.scorer.answers(
            [question.question for _, question in questions],
            max_tokens=self.options.max_tokens,
            parts=parts,
            progress=progress,
        )
        tables = {key: AnswerTable(self.probes, key[0]) for key in self.plan}
        for (key, question), words in zip(questions, answers, strict=True):
            tables[key].add(question, words)
        return tables

    def _result(
        self, experiment: Experiment, direction: Direction, sides: Sides, skipped: Sequence[Skipped]
    ) -> MalorResult:
        ratios = LogRatios(sides.log_ratios)
        occupations, resampling = self.probes.occupations, self.options.resampling
        correlations: list[Correlation] = [
            correlation(ratios, occupations, shares, source=source, resampling=resampling)
            for source, shares in self.shares.items()
        ]
        return MalorResult(
            experiment=experiment.value,
            direction=direction.value,
            MALoR=malor_estimate(ratios, resampling=resampling),
            signed_mean=signed_estimate(ratios, resampling=resampling),
            by_field=field_estimates(ratios, occupations, resampling=resampling),
            occupations=occupation_leans(sides, occupations, resampling=resampling),
            correlations=tuple(correlations),
            skipped=tuple(skipped),
        )

    def _record(self, name: str | None) -> RunRecord:
        language = self.probes.language
        return RunRecord(
            instrument=MalorInstrument.name,
            name=name or default_name(self.model.loaded.ref.short_name, language, MalorInstrument.name),
            dataset=DatasetRecord(
                name="probes",
                language=language,
                source="bundled" if self.options.data is None else "given",
                sha256=self.probes.sha256,
                items=len(self.probes.structures),
            ),
            data={
                f"shares of women, {source}": sha256_of(json.dumps(dict(shares), sort_keys=True).encode())
                for source, shares in self.shares.items()
            },
            options={
                "experiments": list(dict.fromkeys(experiment.value for experiment, _ in self.plan)),
                "directions": list(dict.fromkeys(direction.value for _, direction in self.plan)),
                "score": WordScore.named(self.options.score).value,
                "case": TermCase.named(self.options.case).value,
                "scoring": self.scorer.description,
                "libraries": {name: version(name) for name in ("torch", "transformers", "tokenizers")},
            },
            model=record_of(self.model),
            statistics=statistics_record(self.options.resampling),
            environment=EnvironmentRecord.current(),
            warnings=tuple(str(warning) for warning in self.probes.warnings),
        )


def _probes(options: MalorOptions) -> ProbeSet:
    if isinstance(options.data, ProbeSet):
        return options.data
    if options.data is not None:
        raise EvenhandError("MALoR takes structures, occupations and terms from files, not a dataset.")
    return load_probes(
        options.language or DEFAULT_LANGUAGE,
        structures=options.structures,
        occupations=options.occupations,
        terms=options.terms,
    )


def _shares(options: MalorOptions) -> Mapping[str, Mapping[str, float]]:
    if options.shares is None:
        return {}
    if isinstance(options.shares, str):
        return {column: occupation_shares(options.shares, column=column) for column in (EMPLOYED, WRITTEN)}
    return options.shares


def chosen_experiments(probes: ProbeSet, name: str) -> tuple[Experiment, ...]:
    """The experiments that a name means; ``all`` means all that the structures have."""
    if name == ALL:
        return probes.experiments
    if name not in set(Experiment):
        raise UnknownNameError("experiment", name, [*(known.value for known in Experiment), ALL])
    if Experiment(name) not in probes.experiments:
        raise EvenhandError(
            f"The structures have no experiment {name}; they have "
            f"{', '.join(known.value for known in probes.experiments)}."
        )
    return (Experiment(name),)


def refuse_unknown_terms(
    model: LanguageModel, probes: ProbeSet, experiment: Experiment, table: AnswerTable
) -> None:
    """Raise an error if no pair of terms is left."""
    if table.logs.shape[3] == 0:
        reasons = "; ".join(sorted(table.problems)) or "no answer"
        raise ModelError(
            f"{model.loaded.ref.id} cannot be asked for any pair of {experiment.value} terms "
            f"({shortlist(probes.terms[experiment].all)}): {reasons}."
        )


def _lost_pairs(probes: ProbeSet, experiment: Experiment, lost: Sequence[int]) -> list[Skipped]:
    if not lost:
        return []
    pairs = [f"{male}/{female}" for male, female in probes.terms[experiment]]
    return [
        Skipped(
            reason="a term of the pair cannot be asked for, so the pair is left out",
            count=len(lost),
            examples=tuple(pairs[pair] for pair in lost[:5]),
        )
    ]


def _skipped(
    table: AnswerTable, probes: ProbeSet, experiment: Experiment, lost: Sequence[int]
) -> list[Skipped]:
    """Occupations in structures that could not be asked, by reason; lost pairs are told of already."""
    pairs = len(probes.terms[experiment])
    gone = {*lost, *(pairs + pair for pair in lost)}
    found = []
    for reason, places in sorted(table.problems.items()):
        concerned = sorted({(structure, row) for structure, row, term in places if term not in gone})
        if concerned:
            names = dict.fromkeys(probes.occupations[row].name for _, row in concerned)
            found.append(Skipped(reason=reason, count=len(concerned), examples=tuple(names)[:5]))
    return found


def _frame(probes: ProbeSet, experiment: Experiment, direction: Direction, sides: Sides) -> pl.DataFrame:
    rows = [
        {
            "experiment": experiment.value,
            "direction": direction.value,
            "structure": structure.number,
            "text": structure.text,
            "occupation": occupation.name,
            "field": occupation.field,
            "log2_male": _or_null(sides.male[row, column]),
            "log2_female": _or_null(sides.female[row, column]),
            "log2_ratio": _or_null(sides.male[row, column] - sides.female[row, column]),
        }
        for column, structure in enumerate(probes.of(experiment))
        for row, occupation in enumerate(probes.occupations)
    ]
    return pl.DataFrame(rows, schema=dict(SCORES_SCHEMA), orient="row")


def _or_null(value: float) -> float | None:
    return float(value) if np.isfinite(value) else None
