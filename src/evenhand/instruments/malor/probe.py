"""Probe: a model, structures and occupations, to a run with MALoR."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from evenhand.core.errors import EvenhandError, UnknownNameError, shortlist
from evenhand.core.files import sha256_of
from evenhand.core.probes import Experiment, ProbeSet
from evenhand.core.progress import Progress
from evenhand.data.probes import load_probes
from evenhand.instruments.association.evaluation import statistics_record
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
from evenhand.models.identity import record_of
from evenhand.models.language_model import LanguageModel, load_language_model
from evenhand.models.references import ModelError, ModelRef
from evenhand.runs.probe_runs import ProbeRecord, ProbeRun
from evenhand.runs.records import EnvironmentRecord
from evenhand.stats.resampling import Resampling

ALL = "all"

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
"""Columns of ``scores.parquet``, a row an occupation in a structure; null where it could not be asked."""


@dataclass(frozen=True, slots=True)
class ProbeOptions:
    """How a model is probed.

    ``shares`` are real shares of women by occupation, by the name of their source. ``unfinished`` is a folder for what
    is done so far.
    """

    experiment: str = ALL
    direction: str = Direction.GENDER.value
    score: str = WordScore.PRODUCT.value
    case: str = TermCase.BY_PLACE.value
    max_tokens: int | None = None
    resampling: Resampling = field(default_factory=Resampling)
    shares: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    name: str | None = None
    unfinished: Path | None = None


def probe(
    model: str | ModelRef | LanguageModel,
    probes: ProbeSet | str = "en",
    *,
    options: ProbeOptions | None = None,
    report: Progress | None = None,
) -> ProbeRun:
    """Ask a model which gender goes with which occupation.

    Args:
        model: A name or folder, a reference, or a model already loaded.
        probes: What to ask: a set from ``load_probes``, or a language.
        options: Experiments, directions and how to score.
        report: Told about progress.
    """
    chosen = options or ProbeOptions()
    asked = model if isinstance(model, LanguageModel) else load_language_model(model)
    given = load_probes(probes) if isinstance(probes, str) else probes
    asker = WordScorer(asked, score=WordScore.named(chosen.score))
    plan = [
        (experiment, direction)
        for experiment in chosen_experiments(given, chosen.experiment)
        for direction in Direction.named(chosen.direction)
    ]
    tables = _answered(asker, given, plan, chosen, report)
    results, frames = [], []
    for experiment, direction in plan:
        lost = tables[experiment, direction].lost_pairs
        table = tables[experiment, direction].without_pairs(lost)
        refuse_unknown_terms(asked, given, experiment, table)
        sides = sides_of(table, direction, by_sentence=asker.by_sentence)
        skipped = (*_lost_pairs(given, experiment, lost), *_skipped(table, given, experiment, lost))
        results.append(_result(given, experiment, direction, sides, skipped, chosen))
        frames.append(_frame(given, experiment, direction, sides))
    return ProbeRun(
        record=probe_record(asked, given, chosen, description=asker.description),
        results=tuple(results),
        scores=pl.concat(frames),
    )


def planned_record(model: LanguageModel, probes: ProbeSet, options: ProbeOptions) -> ProbeRecord:
    """The record that a probe will have, known before anything is asked."""
    asker = WordScorer(model, score=WordScore.named(options.score))
    return probe_record(model, probes, options, description=asker.description)


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


def probe_record(
    model: LanguageModel, probes: ProbeSet, options: ProbeOptions, *, description: str
) -> ProbeRecord:
    """What ran on what, in which way."""
    determining: dict[str, Any] = {
        "experiments": [known.value for known in chosen_experiments(probes, options.experiment)],
        "directions": [known.value for known in Direction.named(options.direction)],
        "score": WordScore.named(options.score).value,
        "case": TermCase.named(options.case).value,
        "scoring": description,
        "libraries": {name: version(name) for name in ("torch", "transformers", "tokenizers")},
    }
    return ProbeRecord(
        name=options.name or f"{model.loaded.ref.short_name}_{probes.language}_probe",
        test="malor",
        language=probes.language,
        data={"probes": probes.sha256, **_share_digests(options)},
        options=determining,
        model=record_of(model),
        statistics=statistics_record(options.resampling),
        environment=EnvironmentRecord.current(),
        warnings=tuple(str(warning) for warning in probes.warnings),
    )


def _share_digests(options: ProbeOptions) -> dict[str, str]:
    return {
        f"shares of women, {source}": sha256_of(json.dumps(shares, sort_keys=True).encode())
        for source, shares in options.shares.items()
    }


def _answered(
    asker: WordScorer,
    probes: ProbeSet,
    plan: Sequence[tuple[Experiment, Direction]],
    options: ProbeOptions,
    report: Progress | None,
) -> dict[tuple[Experiment, Direction], AnswerTable]:
    """Everything is asked in one go, so that what questions share is computed once."""
    case = TermCase.named(options.case)
    asked = [
        ((experiment, direction), question)
        for experiment, direction in plan
        for question in probe_questions(probes, experiment, direction, case=case)
    ]
    answers = asker.answers(
        [question.question for _, question in asked],
        max_tokens=options.max_tokens,
        unfinished=options.unfinished,
        report=report,
    )
    tables = {(experiment, direction): AnswerTable(probes, experiment) for experiment, direction in plan}
    for (key, question), found in zip(asked, answers, strict=True):
        tables[key].add(question, found)
    return tables


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


def _result(
    probes: ProbeSet,
    experiment: Experiment,
    direction: Direction,
    sides: Sides,
    skipped: Sequence[Skipped],
    options: ProbeOptions,
) -> MalorResult:
    ratios = LogRatios(sides.log_ratios)
    resampling = options.resampling
    correlations: list[Correlation] = [
        correlation(ratios, probes.occupations, shares, source=source, resampling=resampling)
        for source, shares in options.shares.items()
    ]
    return MalorResult(
        experiment=experiment.value,
        direction=direction.value,
        MALoR=malor_estimate(ratios, resampling=resampling),
        signed_mean=signed_estimate(ratios, resampling=resampling),
        by_field=field_estimates(ratios, probes.occupations, resampling=resampling),
        occupations=occupation_leans(sides, probes.occupations, resampling=resampling),
        correlations=tuple(correlations),
        skipped=tuple(skipped),
    )


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
