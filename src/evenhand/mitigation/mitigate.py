"""Mitigate: a model reference goes in, a model reference comes out, and a record says what lies between."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from importlib.metadata import version
from pathlib import Path

from evenhand.core.errors import DatasetError
from evenhand.core.files import sha256_of
from evenhand.core.probes import Experiment, ProbeSet
from evenhand.core.progress import Progress
from evenhand.core.recipes import Recipe
from evenhand.data.corpus_sources import CorpusSource
from evenhand.mitigation.method import Method, Prepared, Wanted
from evenhand.mitigation.model_folder import mitigated_before, save_mitigated
from evenhand.mitigation.texts import HeldOutSentences, TrainingText, given_held_out, kept_back
from evenhand.mitigation.unfinished import claimed, leave_if_untrained, unfinished_folder
from evenhand.models.capabilities import Trains, require
from evenhand.models.identity import record_of
from evenhand.models.language_model import LanguageModel, load_language_model
from evenhand.models.references import ModelRef
from evenhand.runs.mitigation_records import DataRecord, MitigationRecord, SeedRecord, planted_bias_of
from evenhand.runs.records import EnvironmentRecord
from evenhand.training.epoch_trainer import chosen_precision, refuse_missing_reporters
from evenhand.training.fitting import ADAPTER_FOLDER, LOGS_FOLDER, FitReport, Fitted
from evenhand.training.perplexity import HeldOut
from evenhand.training.seeds import fit_seeds, recipes_by_seed
from evenhand.training.watching import ModelWatch

_LIBRARIES = ("torch", "transformers", "tokenizers", "accelerate")


@dataclass(frozen=True, slots=True)
class Material:
    """What a model is mitigated with.

    Attributes:
        sources: The corpus.
        probes: What MALoR asks.
        experiments: Those to train for.
        held_out: Sources of sentences to measure the quality on; if not given, some of the corpus are kept back.
        may_read_probes: Whether sentences of the probes may be trained on, as in the lab.
    """

    sources: tuple[CorpusSource, ...]
    probes: ProbeSet
    experiments: tuple[Experiment, ...]
    held_out: tuple[CorpusSource, ...] = ()
    may_read_probes: bool = False

    def untrained(self, report: Progress | None = None) -> HeldOutSentences:
        """The sentences that no training sees."""
        return given_held_out(self.held_out) if self.held_out else kept_back(self.sources, report=report)


@dataclass(frozen=True, slots=True)
class MitigationReport:
    """Who is told how a mitigation goes."""

    stage: Callable[[str], None] = lambda _: None
    warning: Callable[[str], None] = lambda _: None
    read: Progress = lambda _done, _total: None
    """Told how many bytes of the corpus are read."""
    fit: Callable[[int], FitReport] = field(default=lambda _: FitReport())
    """Asked, for a seed, who is told about its training."""


@dataclass(frozen=True, slots=True)
class Mitigated:
    """The model that a mitigation made, and what was done."""

    ref: ModelRef
    record: MitigationRecord


def mitigate(
    ref: ModelRef,
    method: Method,
    *,
    material: Material,
    recipe: Recipe,
    out: Path,
    seeds: Sequence[int] | None = None,
    report: MitigationReport | None = None,
    command: str | None = None,
) -> Mitigated:
    """Lower what the probes read off a model, and write the result as a model folder.

    Interrupted and called again, it goes on where it was; called again when it is done, it finds the result.

    Args:
        ref: The original.
        method: How to mitigate.
        material: Corpus, probes and held-out sentences.
        recipe: How to train.
        out: Folder for the mitigated model; new, empty, or of this very mitigation.
        seeds: The training is done once for each, and the best is kept; the recipe's own seed if not given.
        report: Told about progress.
        command: What the card says to repeat it with.

    Raises:
        OutputError: If ``out`` holds something else, or cannot be written.
        ModelError: If the model cannot be trained.
        DatasetError: If the corpus has nothing to train on.
    """
    told = report or MitigationReport()
    all_seeds = (recipe.seed,) if seeds is None else tuple(seeds)
    recipes_by_seed(recipe, all_seeds)
    refuse_missing_reporters(recipe)
    model = load_language_model(ref)
    require(model, Trains, purpose="be mitigated")
    fingerprint = fingerprint_of(model, method, material, recipe, all_seeds)
    done = mitigated_before(out, fingerprint)
    if done is not None:
        return Mitigated(mitigated_reference(ref, out), done)
    scratch = claimed(unfinished_folder(out), fingerprint)
    told.stage("Reading the corpus")
    try:
        held_out = material.untrained(told.read)
        prepared = method.prepare(model, _wanted(material, held_out, recipe, scratch, told.read))
    except DatasetError:
        leave_if_untrained(scratch)
        raise
    for warning in prepared.warnings:
        told.warning(warning)
    told.stage(
        f"Training on {len(prepared.objective.examples):,} examples; {len(held_out.sentences):,} sentences are held out"
    )
    work = _Work(model, method, material, held_out, prepared, recipe, all_seeds, scratch)
    record, chosen = work.execute(fingerprint, told.fit)
    save_mitigated(model, record, out, beside=_beside(chosen), command=command)
    shutil.rmtree(scratch, ignore_errors=True)
    return Mitigated(mitigated_reference(ref, out), record)


@dataclass(frozen=True, slots=True)
class _Work:
    model: LanguageModel
    method: Method
    material: Material
    held_out: HeldOutSentences
    prepared: Prepared
    recipe: Recipe
    seeds: tuple[int, ...]
    scratch: Path

    def execute(
        self, fingerprint: str, report: Callable[[int], FitReport]
    ) -> tuple[MitigationRecord, Fitted]:
        """Train, and tell what came of it."""
        loaded = self.model.loaded
        original = record_of(self.model)
        watch = ModelWatch(
            self.model,
            self.material.probes,
            experiments=self.material.experiments,
            held_out=HeldOut(self.held_out.sentences, self.model),
        )
        before = watch.estimates()
        fitted = fit_seeds(
            self.model,
            self.prepared.objective,
            self.recipe,
            seeds=self.seeds,
            watch=watch,
            folder=self.scratch,
            identity={"data": self.prepared.sha256},
            report=report,
        )
        record = MitigationRecord(
            method=self.method.name,
            objective=self.prepared.objective.name,
            model=original,
            lab=planted_bias_of(loaded.ref.location),
            language=self.material.probes.language,
            experiments=tuple(experiment.value for experiment in self.material.experiments),
            probes=self.material.probes.sha256,
            data=self._data(),
            settings=dict(self.method.settings),
            recipe=fitted.chosen.recipe,
            precision=chosen_precision(self.recipe, loaded.device).value,
            seeds=tuple(_seed_record(known) for known in fitted.fits),
            chosen_seed=fitted.chosen.recipe.seed,
            before=before,
            after=watch.estimates(),
            environment=EnvironmentRecord.current(),
            libraries={name: version(name) for name in _LIBRARIES},
            fingerprint=fingerprint,
        )
        return record, fitted.chosen

    def _data(self) -> DataRecord:
        return DataRecord(
            corpus=self.prepared.corpus,
            examples=len(self.prepared.objective.examples),
            counts=dict(self.prepared.counts),
            sha256=self.prepared.sha256,
            held_out=self.held_out.record,
        )


def _seed_record(fitted: Fitted) -> SeedRecord:
    return SeedRecord(
        seed=fitted.recipe.seed,
        stopped=fitted.stopped,
        curve=fitted.curve,
        best=fitted.best,
        keeps_quality=fitted.keeps_quality,
    )


def _beside(fitted: Fitted) -> Mapping[str, Path]:
    """Folders that are kept beside the weights."""
    found = {LOGS_FOLDER: fitted.folder / LOGS_FOLDER} if fitted.recipe.report_to else {}
    return found if fitted.adapter is None else {**found, ADAPTER_FOLDER: fitted.adapter}


def _wanted(
    material: Material, held_out: HeldOutSentences, recipe: Recipe, scratch: Path, report: Progress
) -> Wanted:
    return Wanted(
        text=TrainingText(material.sources, held_out, report),
        probes=material.probes,
        experiments=material.experiments,
        recipe=recipe,
        scratch=scratch,
        may_read_probes=material.may_read_probes,
    )


def fingerprint_of(
    model: LanguageModel, method: Method, material: Material, recipe: Recipe, seeds: Sequence[int]
) -> str:
    """What tells this mitigation from any other."""
    determining = {
        "weights": record_of(model).weights,
        "method": method.name,
        "settings": dict(method.settings),
        "probes": material.probes.sha256,
        "experiments": [experiment.value for experiment in material.experiments],
        "corpus": [source.identity() for source in material.sources],
        "held_out": [source.identity() for source in material.held_out],
        "may_read_probes": material.may_read_probes,
        "recipe": recipe.fingerprint,
        "seeds": list(seeds),
        "evenhand": version("evenhand"),
    }
    return sha256_of(json.dumps(determining, sort_keys=True).encode())


def mitigated_reference(ref: ModelRef, out: Path) -> ModelRef:
    """The model that was made of another: loaded alike, from its folder, whose weights are safetensors."""
    return ref.model_copy(update={"id": str(out), "revision": None, "allow_pickle_weights": False})
