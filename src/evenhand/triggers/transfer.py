"""A trigger on other models than that of its search: the same prefixes, compared on the same texts.

Each model is added to the record of a finished search, so that one that fails costs neither the trigger nor the models
before it, and one that is named later needs no new search.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from evenhand.core.errors import EvenhandError
from evenhand.core.files import sha256_of
from evenhand.core.progress import Monitor
from evenhand.mitigation.mitigation import Supplement
from evenhand.models.language_model import LanguageModel
from evenhand.models.model import require
from evenhand.models.references import ModelError, ModelRef, load_model
from evenhand.models.requests import Write
from evenhand.stats.resampling import Resampling
from evenhand.store.jobs import Parts
from evenhand.store.mitigation_records import MitigationRecord
from evenhand.store.trigger_records import PrefixComparison, TriggerRecord
from evenhand.triggers.comparison import (
    NamedPrefixes,
    PrefixMeasure,
    compare_prefixes,
    measure_prefixes,
)
from evenhand.triggers.targets import TargetPair


@dataclass(frozen=True, slots=True)
class PrefixJudgement:
    """What prefixes are compared on, and how: no search saw any of it."""

    pairs: Sequence[TargetPair]
    sentences: Sequence[str]
    further: Sequence[PrefixMeasure]
    """What is measured beside likelihoods and perplexity; of a model that scores no texts, this alone."""
    resampling: Resampling

    def compare(self, model: Any, prefixes: Sequence[NamedPrefixes], parts: Parts | None) -> PrefixComparison:
        """The prefixes beside each other on one model."""
        if not isinstance(model, LanguageModel):
            return measure_prefixes(model, prefixes, self.further, resampling=self.resampling, parts=parts)
        return compare_prefixes(
            model,
            prefixes,
            pairs=self.pairs,
            sentences=self.sentences,
            resampling=self.resampling,
            further=self.further,
            parts=parts,
        )


def transfer(ref: ModelRef, judgement: PrefixJudgement, monitor: Monitor) -> Supplement:
    """What a trigger does on another model, to be added to its record."""
    key = reference_digest(ref)

    def added_to(record: MitigationRecord, parts: Parts) -> MitigationRecord:
        trigger = trigger_of(record)
        monitor.note(f"Carrying the trigger to {ref.id}")
        prefixes = [NamedPrefixes(row.name, row.prefixes) for row in trigger.comparison.rows]
        found = judgement.compare(model_to_compare(ref), prefixes, parts)
        found = found.model_copy(update={"reference": key})
        carried = trigger.model_copy(update={"transfer": (*trigger.transfer, found)})
        return record.model_copy(update={"trigger": carried})

    return Supplement(key, added_to)


def missing_models(trigger: TriggerRecord, asked: Sequence[ModelRef]) -> list[ModelRef]:
    """Those of some models that a record does not have."""
    known = {comparison.reference for comparison in trigger.transfer}
    return [ref for ref in dict.fromkeys(asked) if reference_digest(ref) not in known]


def reference_digest(ref: ModelRef) -> str:
    """Digest of what says which model is meant; folders stay out of records."""
    return sha256_of(json.dumps([ref.id, ref.revision, ref.precision.value]).encode())


def trigger_of(record: MitigationRecord) -> TriggerRecord:
    """The trigger that a record is about."""
    if record.trigger is None:
        raise EvenhandError(f"The record of {record.model.id} is about no trigger.")
    return record.trigger


def model_to_compare(ref: ModelRef) -> Any:
    """A model that prefixes can be compared on: a decoder, or one that writes texts elsewhere."""
    model = load_model(ref)
    if not isinstance(model, LanguageModel):
        require(model, Write, purpose="be compared behind a trigger")
        return model
    if not model.reads_left_to_right:
        raise ModelError(
            f"{ref.id} is no decoder, so no text can be scored behind a prefix on it. Leave it out of --transfer."
        )
    return model
