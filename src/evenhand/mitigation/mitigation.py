"""What a mitigation is: it takes a model and gives back a model, with training or without.

A mitigation changes the weights of a loaded model, or only how it is referred to. Everything else, the store, the model
folder, the record and the card, is done for it by ``mitigate``. A method without training is a few lines:

    class Shrink(Mitigation[ShrinkOptions]):
        name = "shrink"
        title = "Shrinking"
        summary = "the last layer was made smaller"
        options_type = ShrinkOptions

        def mitigate(self, model, *, data, options, job, monitor):
            with torch.no_grad():
                model.loaded.model.get_output_embeddings().weight.mul_(options.factor)
            return MitigationOutcome()
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any, ClassVar, Generic, TypeVar

from evenhand.core.estimates import Estimate
from evenhand.core.experiments import Experiment
from evenhand.core.probes import ProbeSet
from evenhand.core.progress import Monitor, Progress
from evenhand.core.recipes import Recipe
from evenhand.data.corpus_sources import CorpusSource
from evenhand.instruments.instrument import InstrumentOptions
from evenhand.mitigation.texts import HeldOutSentences, keep_back, read_held_out
from evenhand.models.language_model import LanguageModel
from evenhand.models.references import ModelRef
from evenhand.store.jobs import Job, Parts
from evenhand.store.mitigation_records import DataRecord, MitigationRecord, SeedRecord
from evenhand.store.mitigation_summaries import FrontierPoint
from evenhand.store.trigger_records import TriggerRecord

Setting = float | int | str | bool


@dataclass(frozen=True, kw_only=True)
class MitigationOptions:
    """What a mitigation can be told. Fields that a mitigation adds may carry ``help`` in their metadata."""


Options = TypeVar("Options", bound=MitigationOptions)


@dataclass(frozen=True, slots=True)
class MitigationData:
    """What a model is mitigated with.

    Attributes:
        sources: The corpus; methods without training may need none.
        probes: What MALoR asks.
        experiments: Those to mitigate for.
        held_out: Sources of sentences to measure the quality on; if empty, some of the corpus are kept back.
        may_read_probes: Whether sentences of the probes may be trained on: only in the lab, whose grammar has hardly
            any others, and never those of the structures and occupations that are held out.
        instruments: What is read off a model after every epoch, by name of the instrument, with its options; MALoR of
            the experiments if empty.
    """

    sources: tuple[CorpusSource, ...]
    probes: ProbeSet
    experiments: tuple[Experiment, ...]
    held_out: tuple[CorpusSource, ...] = ()
    may_read_probes: bool = False
    instruments: Mapping[str, InstrumentOptions] = field(default_factory=dict)

    def held_out_sentences(self, progress: Progress | None = None) -> HeldOutSentences:
        """The sentences that no training sees."""
        if self.held_out:
            return read_held_out(self.held_out)
        return keep_back(self.sources, progress=progress)


@dataclass(frozen=True, kw_only=True)
class MitigationOutcome:
    """What a mitigation did, for the record. Everything is optional: what was not done is left out.

    Attributes:
        reference: How the mitigated model is referred to where more than its weights changed; the folder is put in.
        settings: In place of those of the options.
        trigger: What stands before every prompt, where that is the mitigation; nothing is said of experiments then.
        beside: Folders to keep beside the weights, by name, such as trained adapters.
    """

    reference: ModelRef | None = None
    settings: Mapping[str, Setting] | None = None
    objective: str | None = None
    data: DataRecord | None = None
    recipe: Recipe | None = None
    precision: str | None = None
    seeds: tuple[SeedRecord, ...] = ()
    chosen_seed: int | None = None
    before: Mapping[str, Estimate] = field(default_factory=dict)
    after: Mapping[str, Estimate] = field(default_factory=dict)
    frontier: tuple[FrontierPoint, ...] = ()
    trigger: TriggerRecord | None = None
    beside: Mapping[str, Path] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class MitigatedModel:
    """The model that a mitigation made, and what was done."""

    ref: ModelRef
    record: MitigationRecord


@dataclass(frozen=True, slots=True)
class Supplement:
    """Something that is added to the record of a finished mitigation."""

    key: str
    """What tells it from other supplements."""
    added_to: Callable[[MitigationRecord, Parts], MitigationRecord]
    """The record with it; what takes long is kept in the parts as it comes."""


class Mitigation(ABC, Generic[Options]):
    """A way to mitigate."""

    name: ClassVar[str]
    """The name under which it is registered."""
    title: ClassVar[str]
    """Its name for people."""
    summary: ClassVar[str]
    """What it did to a model, for the model card: "its output layer was projected ..."."""
    options_type: ClassVar[type[MitigationOptions]]

    def refuse_impossible(self, data: MitigationData, options: Options) -> None:
        """Raise an error for data or options that cannot be used, before a model is loaded."""

    def identity(self, options: Options) -> Mapping[str, Any]:
        """What of the options determines the result."""
        return {"settings": self.settings(options)}

    def settings(self, options: Options) -> Mapping[str, Setting]:
        """The options for the record."""
        values = {own.name: getattr(options, own.name) for own in fields(options)}
        return {
            name: value if isinstance(value, Setting) else str(value)
            for name, value in values.items()
            if value is not None
        }

    def supplements(
        self,
        record: MitigationRecord,
        *,
        data: MitigationData,
        options: Options,
        monitor: Monitor,
    ) -> Sequence[Supplement]:
        """What the options ask for that is no part of the mitigation itself and that its record lacks: nothing.

        Each supplement is kept when it is there, so one that fails costs neither the mitigation nor those before it.
        """
        del record, data, options, monitor
        return ()

    @abstractmethod
    def mitigate(
        self, model: LanguageModel, *, data: MitigationData, options: Options, job: Job, monitor: Monitor
    ) -> MitigationOutcome:
        """Mitigate a model in place, and say what was done.

        Args:
            model: The original, loaded; afterwards it has the weights that are to be saved.
            data: Corpus, probes and held-out sentences.
            options: As ``options_type`` has them.
            job: Where to keep what is needed to go on after an interruption (``job.subfolder``).
            monitor: Told how it goes.

        Raises:
            ModelError: If the model cannot be mitigated in this way.
            DatasetError: If the corpus does not serve.
        """
