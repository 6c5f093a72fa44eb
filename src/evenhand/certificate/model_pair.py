"""The two models of a certificate: how they differ before anything is measured, and whether their answers may be."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from evenhand.certificate.derivation import outputs_differ
from evenhand.certificate.kept_answers import MEASURE_ANEW
from evenhand.certificate.measurements import Measurements
from evenhand.certificate.measuring import ModelMeasurer
from evenhand.certificate.plan import CertificatePlan
from evenhand.certificate.quality import same_tokenizer
from evenhand.certificate.weights import weights_change
from evenhand.core.errors import RunError
from evenhand.models.language_model import LanguageModel, load_language_model
from evenhand.models.references import ModelError, ModelRef
from evenhand.store.certificate_inputs import CertificateInputs, TextLosses
from evenhand.store.certificates import AFTER, BEFORE, TakenOver
from evenhand.store.run import INSTRUMENTS
from evenhand.store.weights_changes import WeightsChange

_SAMPLE = (
    "The nurse told Mary's 12 patients: \"You'll be fine!\"",
    "Die Ärztin grüßt den Bäcker, während er 3,50 € zählt.",
    "L'infirmière naïve (de Nîmes) a dit « bonjour » — n'est-ce pas ?",
)
"""Sentences with capitals, numerals, accents and marks, which tokenizers split in different ways."""

_MOST_SENTENCES = 100
"""Held-out sentences on which tokenizers are compared."""


@dataclass(frozen=True, slots=True)
class ModelPair:
    """The model before and the model after, and how they differ before anything is measured."""

    before: LanguageModel
    after: LanguageModel
    weights: WeightsChange
    same_tokenizer: bool

    @classmethod
    def of(
        cls,
        before: str | ModelRef | LanguageModel,
        after: str | ModelRef | LanguageModel,
        plan: CertificatePlan,
    ) -> ModelPair:
        """Load both, and compare their weights and tokenizers."""
        first, second = (
            model if isinstance(model, LanguageModel) else load_language_model(model)
            for model in (before, after)
        )
        return cls(first, second, weights_change(first, second), reads_alike(first, second, plan))

    @property
    def differs(self) -> bool:
        """Whether there is anything to measure."""
        return self.weights.any or not self.same_tokenizer or self.before.ref.prefix != self.after.ref.prefix


def reads_alike(before: LanguageModel, after: LanguageModel, plan: CertificatePlan) -> bool:
    """Whether both models read text as the same tokens, as far as some sentences tell."""
    sentences = plan.held_out.sentences[:_MOST_SENTENCES] if plan.held_out else ()
    return same_tokenizer(before, after, (*_SAMPLE, *sentences))


def measured_pair(
    plan: CertificatePlan, pair: ModelPair, measurers: tuple[ModelMeasurer, ModelMeasurer]
) -> tuple[CertificatePlan, tuple[ModelMeasurer, ModelMeasurer], tuple[Measurements, Measurements]]:
    """Both models, measured. One that is the same needs no second measurement, and no classifiers to show it."""
    first, second = measurers
    before = first.measure()
    if pair.differs:
        return plan, measurers, (before, second.measure())
    return replace(plan, labelled=None), (first, first), (before, before)


def refuse_nothing(pair: ModelPair, before: Measurements, after: Measurements) -> None:
    """Refuse two models that no instrument could measure alike."""
    if not before.runs.keys() & after.runs.keys():
        reasons = "; ".join(
            f"{INSTRUMENTS.get(name).title}: {reason}"
            for name, reason in {**after.gaps, **before.gaps}.items()
        )
        raise ModelError(
            f"Nothing could be measured on both {pair.before.ref.id} and {pair.after.ref.id}. {reasons}"
        )


def refuse_same_answers(
    pair: ModelPair,
    before: Measurements,
    after: Measurements,
    inputs: CertificateInputs,
    *,
    taken_over: Mapping[str, TakenOver],
) -> None:
    """Refuse answers of two models whose weights differ that are the same to the last bit.

    Where all are, the change plays no part in what the model predicts, and there is nothing to certify. Where those to
    one instrument are, that may be so, or the answers of one model lie in the folder of the other: then they must have
    been measured by this command.
    """
    if not pair.weights.any:
        return
    if not outputs_differ(before, after):
        raise ModelError(
            f"The weights of {pair.before.ref.id} and {pair.after.ref.id} differ, but not one answer does, to the last "
            "bit. What was changed plays no part in the model's predictions: look whether an adapter is active and "
            f"whether the right model was saved. Or were these answers measured earlier? {MEASURE_ANEW}"
        )
    same = [name for name in before.runs.keys() & after.runs.keys() if not _differs(before, after, name)]
    texts = {"held-out": inputs.held_out, "passages": inputs.passages}
    same += [
        name for name, text in texts.items() if isinstance(text, TextLosses) and text.before == text.after
    ]
    for name in sorted(same):
        if taken := taken_over.keys() & {f"{BEFORE}/{name}", f"{AFTER}/{name}"}:
            raise RunError(
                f"{min(taken)} was taken over from an earlier command, and both models have the same answers there to "
                f"the last bit, though their weights differ. {MEASURE_ANEW}"
            )


def _differs(before: Measurements, after: Measurements, name: str) -> bool:
    return outputs_differ(Measurements({name: before.runs[name]}, {}), after)
