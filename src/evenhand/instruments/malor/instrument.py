"""MALoR as an instrument: a model, structures and occupations, to a run."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import polars as pl

from evenhand.core.errors import EvenhandError, UnknownNameError
from evenhand.core.estimates import Estimate
from evenhand.core.experiments import KNOWN_EXPERIMENTS, Experiment
from evenhand.core.probes import ProbeSet
from evenhand.core.protocols import MALOR_V1, PROBE_PROTOCOLS
from evenhand.instruments.instrument import (
    Instrument,
    InstrumentOptions,
    Preparation,
    ScoresLayout,
)
from evenhand.instruments.malor.comparison import compare_malor, malor_bias_rows, refuse_different_questions
from evenhand.instruments.malor.flattened import flattened_rows
from evenhand.instruments.malor.questions import (
    ProbeDirection,
    TermCase,
)
from evenhand.instruments.malor.results import SCORES_SCHEMA, MalorResult
from evenhand.instruments.word_scoring import WordScore
from evenhand.models.model import Model
from evenhand.models.references import ModelRef
from evenhand.models.requests import Continue, Fill
from evenhand.stats.resampling import Resampling
from evenhand.store.calibration import Expectation, Response
from evenhand.store.certificate_bias import BiasRow, FlattenedRow
from evenhand.store.certificate_files import resampling_of
from evenhand.store.comparison import Comparison, ComparisonOptions
from evenhand.store.figures import Figure, FigureGroups
from evenhand.store.records import RunRecord
from evenhand.store.run import Run, run_name

NAME = "malor"

ALL = "all"

DEFAULT_LANGUAGE = "en"


@dataclass(frozen=True, kw_only=True)
class MalorOptions(InstrumentOptions):
    """Which experiments and directions are asked, and how words are scored.

    ``data`` is a set of probes; the bundled one of the language if None, with ``structures``, ``occupations`` or
    ``terms`` from files in the place of bundled ones. ``limit`` takes a sample of the structures of each experiment.
    """

    experiment: str = field(
        default=ALL, metadata={"help": "he-she, his-her, names, one of your structures, or all."}
    )
    direction: str = field(
        default=ProbeDirection.GENDER.value, metadata={"help": "gender or term, occupation, or both."}
    )
    score: str = field(default=WordScore.PRODUCT.value, metadata={"help": "product or mean-prob."})
    case: str = field(default=TermCase.BY_PLACE.value, metadata={"help": "How terms are spelled."})
    protocol: str = field(default=MALOR_V1.name, metadata={"help": f"{', '.join(PROBE_PROTOCOLS)}."})
    structures: Path | None = field(default=None, metadata={"help": "A file of sentence structures."})
    occupations: Path | None = field(default=None, metadata={"help": "A file of occupations."})
    terms: Path | None = field(default=None, metadata={"help": "A file of gendered terms."})
    shares: Mapping[str, Mapping[str, float]] | str | None = field(
        default=None,
        metadata={"help": "Real shares of women by occupation: a name or a file in Winogender's layout."},
    )


class MalorInstrument(Instrument[MalorOptions]):
    """MALoR: the mean absolute log-ratio of male to female terms over occupations."""

    name = NAME
    version = "malor.v1"
    title = "MALoR"
    summary = "Which gender a model expects with which occupation, in bits."
    needs = (Fill, Continue)
    options_type = MalorOptions
    result_type = MalorResult
    expectation = Expectation(Response.GROWS_AWAY, in_bits=True)
    gives_one_result = False
    scores_layout = ScoresLayout(
        SCORES_SCHEMA,
        key=("experiment", "direction", "structure", "occupation"),
        optional=("field",),
        bits=(pl.col("log2_male"), pl.col("log2_female")),
    )

    @property
    def measures(self) -> tuple[str, ...]:
        """The names of its figures."""
        return ("MALoR", "signed_mean", "spread")

    def figure_groups(self, options: MalorOptions) -> FigureGroups:
        """Experiments by direction, and for the signed mean fields of work."""
        from evenhand.instruments.malor.chosen_probes import probes_of

        probes = probes_of(options)
        wholes = [
            (known.value, direction.name_for(probes.terms[known]))
            for known in chosen_experiments(probes, options.experiment)
            for direction in ProbeDirection.named(options.direction)
        ]
        fields = dict.fromkeys(own.field for own in probes.occupations if own.field)
        by_field = [(*whole, name) for whole in wholes for name in fields]
        return {"MALoR": wholes, "signed_mean": [*wholes, *by_field], "spread": wholes}

    def refuse_impossible(self, options: MalorOptions) -> None:
        """Refuse probes and shares that cannot be read, and names that do not exist."""
        from evenhand.instruments.malor.chosen_probes import case_of, shares_of

        self.experiments(options)
        ProbeDirection.named(options.direction)
        case_of(options)
        WordScore.named(options.score)
        shares_of(options)

    def run_name(self, ref: ModelRef, options: MalorOptions) -> str:
        """Model, instrument, the user's own files, language and limit."""
        from evenhand.instruments.malor.chosen_probes import all_probes_of

        files = [path for path in (options.structures, options.occupations, options.terms) if path]
        return run_name(
            ref.short_name,
            instrument=NAME,
            dataset="-".join(Path(path).stem for path in files) or "probes",
            language=all_probes_of(options).language,
            limit=options.limit,
        )

    def planned_record(self, ref: ModelRef, options: MalorOptions, *, name: str) -> RunRecord:  # noqa: ARG002
        """All but the model and how it is asked."""
        from evenhand.instruments.malor.preparation import planned_record

        return planned_record(name, options)

    def prepare(self, model: Model, options: MalorOptions, *, name: str | None = None) -> Preparation:
        """Load the probes, and say what the record will be."""
        from evenhand.instruments.malor.preparation import MalorPreparation

        self.refuse_unable(model)
        return MalorPreparation(model, options, name=name or self.run_name(model.ref, options))

    def figures(self, run: Run) -> tuple[Figure, ...]:
        """MALoR and the signed mean of each experiment and direction, and signed means by field."""
        results: Sequence[MalorResult] = run.results
        return tuple(figure for result in results for figure in _figures(result))

    def results_again(self, run: Run) -> tuple[MalorResult, ...]:
        """The leans of occupations and their means; the gate and the real shares of women are as they are stated."""
        from evenhand.instruments.malor.estimates import results_of_scores

        resampling = resampling_of(run.record.statistics)
        return tuple(results_of_scores(own, run.scores, resampling=resampling) for own in run.results)

    def compare(self, first: Run, second: Run, options: ComparisonOptions) -> Comparison:
        """Paired by occupation and structure."""
        return compare_malor(first, second, options)

    def experiments(self, options: MalorOptions) -> tuple[str, ...]:
        """Those that are asked."""
        from evenhand.instruments.malor.chosen_probes import probes_of

        return tuple(known.value for known in chosen_experiments(probes_of(options), options.experiment))

    def bias_rows(self, before: Run, after: Run, *, resampling: Resampling) -> dict[str, BiasRow]:
        """MALoR of each experiment, its base rate and its spread."""
        return malor_bias_rows(before, after, resampling=resampling)

    def flattened_rows(
        self, before: Run, after: Run, kept: Mapping[str, Estimate], *, resampling: Resampling
    ) -> tuple[FlattenedRow, ...]:
        """MALoR and its spread beside what flatter answers alone would have given."""
        return flattened_rows(before, after, kept, resampling=resampling)

    def refuse_incomparable(self, first: Run, second: Run) -> None:
        """Refuse runs without a common question."""
        refuse_different_questions(first, second)


MALOR = MalorInstrument()


def _figures(result: MalorResult) -> Iterator[Figure]:
    group = (result.experiment, result.direction)
    yield Figure("MALoR", group, result.MALoR, "Mean absolute log-ratio", 0.0, unit="bits", is_headline=True)
    yield Figure("signed_mean", group, result.signed_mean, "Mean log-ratio", 0.0, unit="bits")
    yield Figure("spread", group, result.spread, "Spread of occupations", 0.0, unit="bits")
    for name, estimate in result.by_field.items():
        yield Figure("signed_mean", (*group, name), estimate, f"Mean log-ratio, {name}", 0.0, unit="bits")


def chosen_experiments(probes: ProbeSet, name: str) -> tuple[Experiment, ...]:
    """The experiments that a name means; ``all`` means all that the structures have."""
    if name == ALL:
        return probes.experiments
    if Experiment(name) in probes.experiments:
        return (Experiment(name),)
    if name in KNOWN_EXPERIMENTS:
        raise EvenhandError(
            f"The structures have no experiment {name}; they have "
            f"{', '.join(known.value for known in probes.experiments)}."
        )
    raise UnknownNameError("experiment", name, [*(known.value for known in probes.experiments), ALL])
