"""MALoR, ready to be measured: probes become questions, answers become log-ratios."""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import chain

import numpy as np
import polars as pl

from evenhand.core.errors import shortlist
from evenhand.core.estimates import Estimate
from evenhand.core.experiments import UNTRAINED_EXPERIMENTS, Experiment
from evenhand.core.files import sha256_of
from evenhand.core.probes import ProbeSet, fill
from evenhand.core.progress import Progress
from evenhand.core.protocols import MALOR_V1, get_probe_protocol
from evenhand.core.settled import SettledSet
from evenhand.instruments.gate import behind_gate, gate_warning
from evenhand.instruments.instrument import (
    Preparation,
    Skipped,
    drawn,
    statistics_record,
)
from evenhand.instruments.malor.chosen_probes import (
    all_probes_of,
    case_of,
    other_than_published,
    probes_of,
    shares_of,
)
from evenhand.instruments.malor.estimates import (
    LogRatios,
    correlation,
    field_estimates,
    malor_estimate,
    occupation_leans,
    signed_estimate,
    spread_estimate,
)
from evenhand.instruments.malor.instrument import NAME, MalorOptions, chosen_experiments
from evenhand.instruments.malor.questions import (
    UNEVEN_TERMS,
    AnswerTable,
    Asked,
    GenderProbabilities,
    ProbeDirection,
    ProbeQuestion,
    count_questions,
    gender_probabilities,
    probe_questions,
    question_chunks,
)
from evenhand.instruments.malor.results import SCORES_SCHEMA, Correlation, MalorResult
from evenhand.instruments.settled_scoring import (
    NONSENSE_EVERY,
    ask_settled,
    sense_estimate,
)
from evenhand.instruments.word_scoring import WordScore, WordScorer
from evenhand.models.model import Model
from evenhand.models.references import ModelError
from evenhand.models.requests import Continue, filled_text
from evenhand.store.jobs import Parts
from evenhand.store.records import (
    DatasetRecord,
    EnvironmentRecord,
    ProtocolRecord,
    RunRecord,
    SampleRecord,
)
from evenhand.store.run import Run


class MalorPreparation(Preparation):
    """A model and probes, with the questions chosen."""

    unit = "sentences"

    def __init__(self, model: Model, options: MalorOptions, *, name: str) -> None:
        self.model = model
        self.protocol = get_probe_protocol(options.protocol)
        self.probes = probes = probes_of(options)
        self.options = options
        self.shares = shares_of(options)
        self.scorer = WordScorer(model, score=WordScore.named(options.score))
        self.settled = settled_for(probes, self.scorer)
        self.plan = _plan(probes, options)
        self.record = self._record(planned_record(name, options))

    @property
    def notices(self) -> tuple[str, ...]:
        """What asking costs."""
        texts = (
            Continue("", filled_text(question.question.text, fill)[0])
            for question in self._questions()
            for fill in question.question.fills
        )
        settled = self.settled.sample(NONSENSE_EVERY) if self.settled else ()
        gate = (
            Continue("", filled_text(sentence.text, word)[0])
            for sentence in settled
            for word in (sentence.right, sentence.wrong, sentence.nonsense)
        )
        cost = self.model.describe_cost(chain(texts, gate))
        return () if cost is None else (cost,)

    def measure(self, *, parts: Parts | None = None, progress: Progress | None = None) -> Run:
        """Ask chunk after chunk, so that memory does not grow with what is asked."""
        tables = self._answered(parts, progress)
        sense = self._sense(parts)
        results, frames = [], []
        for experiment, direction in self.plan:
            asked = tables[experiment, direction]
            unknown = asked.lost_pairs
            if experiment not in UNTRAINED_EXPERIMENTS:
                refuse_unknown_terms(self.model, self.probes, experiment, asked.without_pairs(unknown))
            even = comparable_answers(asked, direction=direction, scorer=self.scorer)
            uneven = [pair for pair in even.lost_pairs if pair not in unknown]
            is_comparable = len(uneven) < len(self.probes.terms[experiment]) - len(unknown) or not uneven
            # Where no pair compares all stay, without a value, so that the result can say why.
            lost = even.lost_pairs if is_comparable else unknown
            table = even.without_pairs(lost)
            sides = self._sides(table, direction)
            skipped = (
                *_lost_pairs(self.probes, experiment, unknown, reason=UNKNOWN_PAIR),
                *(_lost_pairs(self.probes, experiment, uneven, reason=UNEVEN_PAIR) if is_comparable else ()),
                *_skipped(table, self.probes, experiment, lost),
            )
            result = behind_gate(self._result(experiment, direction, sides, skipped), sense)
            results.append(result if is_comparable else _without_figures(result))
            frames.append(_frame(self.probes, experiment, direction, sides))
        return Run(record=self._warned(sense), results=tuple(results), scores=pl.concat(frames))

    def sample(self, generator: np.random.Generator, *, times: int = 1) -> Preparation:
        """Occupations in every structure; structures with every occupation where whole sentences are compared.

        Which pairs of terms compare is told by all structures, and what a whole sentence says by all occupations.
        """
        few = copy.copy(self)
        few.settled, few.shares = None, {}
        if self.scorer.by_sentence:
            structures = drawn(self.probes.structures, times * SAMPLED_STRUCTURES, generator)
            few.probes = replace(self.probes, structures=structures)
            few.plan = [asked for asked in self.plan if asked[0] in few.probes.experiments]
        else:
            occupations = drawn(self.probes.occupations, times * SAMPLED_OCCUPATIONS, generator)
            few.probes = replace(self.probes, occupations=occupations)
        return few

    def _sense(self, parts: Parts | None) -> Estimate:
        """Whether the model knows pronouns at all: how often the right one beats nonsense in settled sentences."""
        if self.settled is None:
            return Estimate.undefined(f"there are no settled sentences in {self.probes.language!r}")
        sentences = self.settled.sample(NONSENSE_EVERY)
        try:
            answers = ask_settled(
                self.scorer,
                sentences,
                beside_nonsense=sentences,
                max_tokens=self.options.max_tokens,
                parts=parts,
            )
        except ModelError as problem:  # of a model that knows its own sentences only
            return Estimate.undefined(str(problem))
        return sense_estimate(answers, resampling=self.options.resampling)

    def _warned(self, sense: Estimate) -> RunRecord:
        """The record, with a warning where the figures say nothing."""
        warnings = (*self.record.warnings, *gate_warning(self.model.ref.id, sense))
        return self.record.model_copy(update={"warnings": warnings})

    def _sides(self, table: AnswerTable, direction: ProbeDirection) -> GenderProbabilities:
        if not table.logs.shape[3]:  # pairs that nobody trains for may be unknown to a model
            unknown = np.full(table.logs.shape[1::-1], np.nan)
            return GenderProbabilities(unknown, unknown)
        return gender_probabilities(table, direction, by_sentence=self.scorer.by_sentence)

    def _answered(self, parts: Parts | None, progress: Progress | None) -> dict[Asked, AnswerTable]:
        tables = {asked: AnswerTable(self.probes, asked[0]) for asked in self.plan}
        done, total = 0, count_questions(self.probes, self.plan)
        for chunk in question_chunks(self._questions()):
            answers = self.scorer.answers(
                [question.question for question in chunk],
                max_tokens=self.options.max_tokens,
                parts=parts,
                progress=_after(progress, done, total) if progress else None,
            )
            for question, words in zip(chunk, answers, strict=True):
                tables[question.asked].add(question, words)
            done += len(chunk)
        return tables

    def _questions(self) -> Iterator[ProbeQuestion]:
        return probe_questions(self.probes, self.plan, case=case_of(self.options))

    def _result(
        self,
        experiment: Experiment,
        direction: ProbeDirection,
        sides: GenderProbabilities,
        skipped: Sequence[Skipped],
    ) -> MalorResult:
        ratios = LogRatios(sides.log_ratios)
        occupations, resampling = self.probes.occupations, self.options.resampling
        correlations: list[Correlation] = [
            correlation(ratios, occupations, shares, source=source, resampling=resampling)
            for source, shares in self.shares.items()
        ]
        return MalorResult(
            experiment=experiment.value,
            direction=direction.name_for(self.probes.terms[experiment]),
            groups=self.probes.terms[experiment].groups,
            MALoR=malor_estimate(ratios, resampling=resampling),
            signed_mean=signed_estimate(ratios, resampling=resampling),
            spread=spread_estimate(ratios, resampling=resampling),
            by_field=field_estimates(ratios, occupations, resampling=resampling),
            occupations=occupation_leans(sides, occupations, resampling=resampling),
            correlations=tuple(correlations),
            skipped=tuple(skipped),
        )

    def _record(self, planned: RunRecord) -> RunRecord:
        return planned.model_copy(
            update={
                "options": {
                    **planned.options,
                    "scoring": self.scorer.description,
                    "libraries": dict(self.model.libraries),
                    **({} if self.settled is None else {"settled": self.settled.sha256}),
                },
                "model": self.model.record,
                "warnings": (
                    *(str(warning) for warning in self.probes.warnings),
                    *other_than_published(self.probes, self.protocol),
                    *self.model.language_warnings(
                        self._sample(), name="the probes", language=self.probes.language
                    ),
                ),
            }
        )

    def _sample(self) -> list[str]:
        """Every structure once, as it is asked."""
        form = self.probes.occupations[0].forms[0]
        return [
            fill(structure, form, term=self.probes.terms[structure.experiment].male[0])
            for structure in self.probes.structures
        ]


def _plan(probes: ProbeSet, options: MalorOptions) -> list[Asked]:
    """Experiments and directions that are asked."""
    return [
        (experiment, direction)
        for experiment in chosen_experiments(probes, options.experiment)
        for direction in ProbeDirection.named(options.direction)
        # Pairs that nobody trains for show whether a change reaches them, which the trained direction tells.
        if direction is ProbeDirection.GENDER or experiment not in UNTRAINED_EXPERIMENTS
    ]


def planned_record(name: str, options: MalorOptions) -> RunRecord:
    """The record of a run without its model, and how that is asked."""
    everything, protocol = all_probes_of(options), get_probe_protocol(options.protocol)
    probes = everything.sampled(options.limit)
    plan = _plan(probes, options)
    directions = [direction.name_for(probes.terms[experiment]) for experiment, direction in plan]
    chosen = {experiment for experiment, _ in plan}
    structures, of = (sum(len(own.of(experiment)) for experiment in chosen) for own in (probes, everything))
    return RunRecord(
        instrument=NAME,
        name=name,
        dataset=DatasetRecord(
            name="probes",
            language=probes.language,
            source="bundled" if options.data is None else "given",
            sha256=probes.sha256,
            items=len(probes.structures),
            sample=SampleRecord.taken(options.limit, items=structures, of=of, unit="structures"),
        ),
        data={
            f"shares of women, {source}": sha256_of(json.dumps(dict(shares), sort_keys=True).encode())
            for source, shares in shares_of(options).items()
        },
        options={
            "experiments": list(dict.fromkeys(experiment.value for experiment, _ in plan)),
            "directions": list(dict.fromkeys(directions)),
            "score": WordScore.named(options.score).value,
            "case": case_of(options).value,
        },
        protocol=None if protocol is MALOR_V1 else ProtocolRecord.of(protocol),
        statistics=statistics_record(options.resampling),
        environment=EnvironmentRecord.current(),
    )


SAMPLED_OCCUPATIONS, SAMPLED_STRUCTURES = 2, 4
"""What is asked again of answers that are kept."""

UNKNOWN_PAIR = "a term of the pair cannot be asked for, so the pair is left out"

UNEVEN_PAIR = (
    "the terms of the pair have different numbers of tokens, which this model's answers cannot compare"
)


def settled_for(probes: ProbeSet, scorer: WordScorer) -> SettledSet | None:
    """The settled sentences that show whether a model knows pronouns; without those that it cannot read in order."""
    if probes.settled is None:
        return None
    return probes.settled.read_from_the_left() if scorer.by_sentence else probes.settled


def comparable_answers(table: AnswerTable, *, direction: ProbeDirection, scorer: WordScorer) -> AnswerTable:
    """The answers that compare: all of them, unless terms of different lengths stand in the gap and must not."""
    if direction is ProbeDirection.OCCUPATION or scorer.compares_lengths:
        return table
    return table.with_even_terms()


def _without_figures(result: MalorResult) -> MalorResult:
    """A result that says why there is no figure."""
    nothing = Estimate.undefined(f"{UNEVEN_TERMS}. Probe a model whose tokenizer has both terms")
    return result.model_copy(update={"MALoR": nothing, "signed_mean": nothing, "spread": nothing})


def _after(progress: Progress, before: int, total: int) -> Progress:
    """Progress of a part of the work, told as progress of the whole."""
    return lambda done, _: progress(before + done, total)


def refuse_unknown_terms(model: Model, probes: ProbeSet, experiment: Experiment, table: AnswerTable) -> None:
    """Raise an error if no pair of terms is left."""
    if table.logs.shape[3] == 0:
        reasons = "; ".join(sorted(table.problems)) or "no answer"
        raise ModelError(
            f"{model.ref.id} cannot be asked for any pair of {experiment.value} terms "
            f"({shortlist(probes.terms[experiment].all)}): {reasons}."
        )


def _lost_pairs(
    probes: ProbeSet, experiment: Experiment, lost: Sequence[int], *, reason: str
) -> list[Skipped]:
    if not lost:
        return []
    pairs = [f"{male}/{female}" for male, female in probes.terms[experiment]]
    return [
        Skipped(
            reason=reason,
            count=len(lost),
            examples=tuple(pairs[pair] for pair in lost[:5]),
        )
    ]


def _skipped(
    table: AnswerTable, probes: ProbeSet, experiment: Experiment, lost: Sequence[int]
) -> list[Skipped]:
    """Occupations in structures that could not be asked, by reason; lost pairs are told of already."""
    pairs = len(probes.terms[experiment])
    kept = [term for term in range(2 * pairs) if term % pairs not in lost]
    found = []
    for reason, places in sorted(table.problems.items()):
        concerned = np.argwhere(places[:, :, kept].any(axis=2))
        if len(concerned):
            names = dict.fromkeys(probes.occupations[row].name for _, row in concerned.tolist())
            found.append(Skipped(reason=reason, count=len(concerned), examples=tuple(names)[:5]))
    return found


def _frame(
    probes: ProbeSet, experiment: Experiment, direction: ProbeDirection, sides: GenderProbabilities
) -> pl.DataFrame:
    rows = [
        {
            "experiment": experiment.value,
            "direction": direction.name_for(probes.terms[experiment]),
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
